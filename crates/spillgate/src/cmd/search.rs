//! `spillgate search`: prints the passages of a stored output, or of all, that answer a question.

use std::ops::ControlFlow;

use regex::{Captures, Regex};
use serde_json::json;
use spillgate_artifact::{Handle, TokenBudget};
use spillgate_search::SearchQuery;
use spillgate_untrusted::marked;

use crate::args::Search;
use crate::failure::Failure;
use crate::output::{Output, Paint, Painter};
use crate::wiring::App;

/// Default budget of the passages, in tokens. With this budget, the answer is found for 92 to 100
/// of 100 factual questions (docs/spec/behaviour.md, "Search without a model").
const PASSAGES: u64 = 1000;

/// How many of the newest outputs are looked at. Fewer are searched; binary ones are skipped.
const LOOKED_AT: usize = 200;

pub(crate) fn search(app: &App, search: &Search, out: &Output) -> Result<u8, Failure> {
    let words = match &search.target {
        Some(_) => search.words.join(" "),
        None => search.all.join(" "),
    };
    let budget = search.max_tokens.filter(|&tokens| tokens > 0);
    let asked = SearchQuery::new(&words, TokenBudget::new(budget.unwrap_or(PASSAGES)));
    let (object, text) = if let Some(target) = &search.target {
        let target = app.target(target)?;
        let page = target.offloader.search(target.handle, &asked)?;
        (json!(page), page.render())
    } else {
        let mut newest_first: Vec<Handle> = Vec::new();
        let damaged = app.store.newest(&mut |one| {
            newest_first.push(one.manifest.handle);
            match newest_first.len() < LOOKED_AT {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        let older = match newest_first.len() < LOOKED_AT {
            true => 0,
            false => app.store.count()?.saturating_sub(LOOKED_AT + damaged.len()),
        };
        let page = (app.offloader).search_several(&newest_first, older, &asked)?;
        (json!(page), page.render())
    };
    match (out.json, out.painter) {
        (true, _) => out.object(&object)?,
        (false, Painter(false)) => out.text(&text)?,
        (false, painter) => out.raw(painted(&text, &words, painter).as_bytes())?,
    }
    Ok(0)
}

/// Returns passages with colours: of their numbers, of headings, and of the words that were asked for.
fn painted(text: &str, words: &str, painter: Painter) -> String {
    // Shorter words are in every text, and say little about a passage.
    let asked = words.split(|c: char| !c.is_alphanumeric());
    let asked: Vec<String> = asked
        .filter(|word| word.chars().count() > 3)
        .map(regex::escape)
        .collect();
    let asked = (!asked.is_empty()).then(|| format!("(?i){}", asked.join("|")));
    let asked = asked.and_then(|asked| Regex::new(&asked).ok());
    let mut shown = String::new();
    for line in marked(text).lines() {
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = match line[digits..].strip_prefix(':') {
            Some(rest) if digits > 0 => (&line[..digits], rest),
            _ => ("", line),
        };
        if number.is_empty() && (rest.starts_with('[') || rest == "--") {
            shown.push_str(&painter.paint(Paint::Faint, rest));
        } else {
            if !number.is_empty() {
                shown.push_str(&painter.paint(Paint::Name, number));
                shown.push_str(&painter.paint(Paint::Faint, ":"));
            }
            let bold = |found: &Captures<'_>| painter.paint(Paint::Match, &found[0]);
            match &asked {
                Some(asked) => shown.push_str(&asked.replace_all(rest, bold)),
                None => shown.push_str(rest),
            }
        }
        shown.push('\n');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_headings_and_words_are_painted() {
        let text = "[1 of 2 passages]\n12:the build failed\u{1b}[0m\n--\n.a[3]\n: 7\n";
        let shown = painted(text, "why did the Build fail?", Painter(true));
        let shown = shown.replace("\u{1b}[0m", ">").replace('\u{1b}', "<");
        assert_eq!(
            shown,
            "<[2m[1 of 2 passages]>\n<[36m12><[2m:>the <[1;31mbuild> <[1;31mfail>ed⟨U+001B⟩[0m\n<[2m-->\n.a[3]\n: 7\n"
        );
    }
}
