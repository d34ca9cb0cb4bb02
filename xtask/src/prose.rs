//! `cargo xtask prose`: checks that commits whose topic is `prose` or `texts` change nothing else.
//!
//! A commit with the topic `prose` may change comments and documents. A commit with the topic
//! `texts` may also change string literals. All other tokens of the Rust files must be unchanged.

use std::fmt::Write;
use std::process::Command;

use anyhow::{Context, Result, bail};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::command::output;
use crate::report::{Report, say};
use crate::workspace;

const USAGE: &str = "usage: cargo xtask prose BASE";

/// Extensions of documents, which may change freely. The JSON files are schemas that are generated
/// from doc comments; a test compares them.
const DOCUMENTS: [&str; 3] = ["json", "md", "snap"];

/// Checks each commit since `BASE` whose topic is `prose` or `texts`.
pub(crate) fn run_with(report: &mut Report, arguments: &[String]) -> Result<()> {
    let [base] = arguments else { bail!("{USAGE}") };
    report.step("prose", || check_since(base))
}

fn check_since(base: &str) -> Result<()> {
    let range = format!("{base}..HEAD");
    let log = git(&["log", "--reverse", "--no-merges", "--format=%h %s", &range])?;
    let (mut checked, mut wrong) = (0, Vec::new());
    for line in log.lines() {
        let (commit, subject) = line.split_once(' ').unwrap_or((line, ""));
        let strings = match subject.split_once(':') {
            Some(("prose", _)) => Strings::Kept,
            Some(("texts", _)) => Strings::Ignored,
            _ => continue,
        };
        checked += 1;
        let (files, changes) = changes(commit, strings)?;
        say(&format!(
            "{line}: {files} files, {} with other tokens\n",
            changes.len()
        ))?;
        wrong.extend(changes.into_iter().map(|what| format!("{commit} {what}")));
    }
    if !wrong.is_empty() {
        bail!(
            "these commits change more than they say:\n  {}",
            wrong.join("\n  ")
        );
    }
    say(&format!("{checked} commits change what they say\n"))
}

/// Whether a commit may change string literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strings {
    Kept,
    Ignored,
}

/// Returns the number of files that a commit changes, and the files with a change that the commit
/// must not make.
fn changes(commit: &str, strings: Strings) -> Result<(usize, Vec<String>)> {
    let parent = format!("{commit}^");
    let names = git(&["diff", "--name-status", "--no-renames", &parent, commit])?;
    let (mut files, mut wrong) = (0, Vec::new());
    for line in names.lines() {
        files += 1;
        let (status, path) = line.split_once('\t').context("invalid line of git")?;
        let extension = path.rsplit('.').next().unwrap_or_default();
        let is_same = match (status, extension) {
            (_, extension) if DOCUMENTS.contains(&extension) => true,
            ("M", "rs") => {
                let at = |commit: &str| git(&["show", &format!("{commit}:{path}")]);
                let (before, after) = (at(&parent)?, at(commit)?);
                let read = |text: &str| tokens(text, strings).with_context(|| path.to_owned());
                read(&before)? == read(&after)?
            }
            _ => false,
        };
        if !is_same {
            wrong.push(path.to_owned());
        }
    }
    Ok((files, wrong))
}

/// Returns the tokens of a Rust file, one per line, without comments.
fn tokens(text: &str, strings: Strings) -> Result<String> {
    // A `#!` line is not handled, because no Rust file of the workspace begins with one.
    let stream: TokenStream = text
        .parse()
        .map_err(|error| anyhow::anyhow!("is not valid Rust: {error}"))?;
    let mut written = String::new();
    write_tokens(stream, strings, &mut written);
    Ok(written)
}

fn write_tokens(stream: TokenStream, strings: Strings, to: &mut String) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                let inner = trees.next_if(
                    |next| matches!(next, TokenTree::Punct(punct) if punct.as_char() == '!'),
                );
                if trees.next_if(is_doc).is_none() {
                    to.push_str("#\n");
                    to.push_str(if inner.is_some() { "!\n" } else { "" });
                }
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ('(', ')'),
                    Delimiter::Brace => ('{', '}'),
                    Delimiter::Bracket => ('[', ']'),
                    Delimiter::None => (' ', ' '),
                };
                let _ = writeln!(to, "{open}");
                write_tokens(group.stream(), strings, to);
                let _ = writeln!(to, "{close}");
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let is_string = text.ends_with(['"', '#']) && !text.starts_with('\'');
                match strings {
                    Strings::Ignored if is_string => to.push_str("\"\"\n"),
                    _ => drop(writeln!(to, "{text}")),
                }
            }
            other => drop(writeln!(to, "{other}")),
        }
    }
}

/// Whether `tree` is a doc comment in the form of its attribute: `[doc = "…"]`.
fn is_doc(tree: &TokenTree) -> bool {
    let TokenTree::Group(group) = tree else {
        return false;
    };
    let mut inside = group.stream().into_iter();
    let is_named = matches!(inside.next(), Some(TokenTree::Ident(name)) if name == "doc");
    is_named && matches!(inside.next(), Some(TokenTree::Punct(punct)) if punct.as_char() == '=')
}

fn git(arguments: &[&str]) -> Result<String> {
    output(
        Command::new("git")
            .args(arguments)
            .current_dir(workspace::root()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_no_tokens_and_strings_only_where_they_count() {
        let code = "//! A.\n/// B.\n#[must_use] fn f() -> &'static str { \"c\" /* d */ }";
        let same = |other: &str, strings| {
            tokens(code, strings).unwrap() == tokens(other, strings).unwrap()
        };
        let cases = [
            // The other text, and whether it is the same with string literals and without them.
            (
                "/// E.\n#[must_use]\nfn f() -> &'static str { \"c\" }",
                true,
                true,
            ),
            ("#[must_use] fn f() -> &'static str { \"x\" }", false, true),
            (
                "#[must_use] fn f() -> &'static str { r#\"x\"# }",
                false,
                true,
            ),
            ("fn f() -> &'static str { \"c\" }", false, false),
            (
                "#![must_use] fn f() -> &'static str { \"c\" }",
                false,
                false,
            ),
            ("#[must_use] fn g() -> &'static str { \"c\" }", false, false),
        ];
        for (other, kept, ignored) in cases {
            assert_eq!(same(other, Strings::Kept), kept, "{other}");
            assert_eq!(same(other, Strings::Ignored), ignored, "{other}");
        }
    }
}
