//! `cargo xtask picture`: runs the commands of the README's picture and draws what they print, as
//! `docs/img/session.svg`.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{cargo, output, run};
use crate::report::Report;
use crate::workspace;

/// The commands, as a user types them after `spillgate`.
const COMMANDS: [&[&str]; 2] = [
    &["run", "--", "cargo", "metadata", "--format-version", "1"],
    &[
        "query",
        "last",
        ".packages[] | select(.name == \"serde\") | {version, license}",
    ],
];

/// Width of the picture in characters; longer lines end with `…`.
const COLUMNS: usize = 100;
/// Size of a character in pixels, for a font of 13 pixels.
const CHARACTER: (f64, usize) = (7.83, 19);
/// Space around the text, in pixels.
const MARGIN: usize = 16;

/// Runs the commands with a store of their own and writes the picture.
pub(crate) fn draw(report: &mut Report) -> Result<()> {
    report.step("picture", || {
        run(&mut cargo(
            "build --package spillgate --features full --locked",
        ))?;
        let program = workspace::built()?.join("spillgate");
        let store = workspace::root().join("target/picture");
        let mut lines = Vec::new();
        for arguments in COMMANDS {
            let typed = arguments.iter().map(|word| match word.contains(' ') {
                true => format!("'{word}'"),
                false => (*word).to_owned(),
            });
            lines.push(format!(
                "$ spillgate {}",
                typed.collect::<Vec<_>>().join(" ")
            ));
            let mut command = Command::new(&program);
            command
                .args(arguments)
                .env("SPILLGATE_STORE", &store)
                .current_dir(workspace::root());
            let text = output(&mut command)?;
            let text = text.replace(&workspace::root().display().to_string(), "/repo");
            lines.extend(text.lines().map(str::to_owned));
            lines.push(String::new());
        }
        fs::remove_dir_all(store).context("cannot remove the store of the picture")?;
        let directory = workspace::root().join("docs/img");
        fs::create_dir_all(&directory)?;
        fs::write(directory.join("session.svg"), svg(&lines)).context("cannot write the picture")
    })
}

/// Returns a picture of these lines.
fn svg(lines: &[String]) -> String {
    let (width, height) = CHARACTER;
    let size = |count: usize| count * height + 2 * MARGIN;
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0}\" height=\"{}\" role=\"img\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1e2127\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"13\" xml:space=\"preserve\">\n",
        width * COLUMNS as f64 + 2.0 * MARGIN as f64,
        size(lines.len())
    );
    for (at, line) in lines.iter().enumerate() {
        let shown = match line.chars().count() > COLUMNS {
            true => line.chars().take(COLUMNS - 1).chain(['…']).collect(),
            false => line.clone(),
        };
        let escaped = shown.replace('&', "&amp;").replace('<', "&lt;");
        // The last line of text stands on its base line, not below it.
        let y = size(at) - MARGIN + height * 2 / 3;
        let _ = writeln!(
            picture,
            "<text x=\"{MARGIN}\" y=\"{y}\" fill=\"{}\">{escaped}</text>",
            colour(line)
        );
    }
    picture.push_str("</g>\n</svg>\n");
    picture
}

/// Returns the colour of a line.
fn colour(line: &str) -> &'static str {
    match line.split(' ').next() {
        Some("$") => "#ffffff",
        Some("[spillgate]") => "#98c379",
        Some("next:" | "also,") => "#61afef",
        _ => "#abb2bf",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_and_marks_are_escaped() {
        let picture = svg(&["$ a <b> & c".to_owned(), "é".repeat(COLUMNS + 1)]);
        assert!(picture.contains(">$ a &lt;b> &amp; c</text>"), "{picture}");
        let cut = format!(">{}…</text>", "é".repeat(COLUMNS - 1));
        assert!(picture.contains(&cut), "{picture}");
    }
}
