//! Formats the results as a table.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result};

use super::outcome::Outcome;
use crate::workspace;

/// The marks before and after the table in the documentation.
const MARKS: [&str; 2] = ["<!-- table -->\n", "<!-- /table -->\n"];

/// One run of the suite, directly and through the gateway.
#[derive(Debug)]
pub(crate) struct Row {
    what: String,
    revision: String,
    direct: Outcome,
    through: Outcome,
    /// Scenarios whose checks differ.
    pub(crate) differing: Vec<String>,
}

impl Row {
    pub(crate) fn new(what: String, revision: &str, direct: Outcome, through: Outcome) -> Self {
        Self {
            what,
            revision: revision.to_owned(),
            differing: direct.differing(&through),
            direct,
            through,
        }
    }
}

/// Formats the table, followed by the checks of each scenario that differs.
pub(crate) fn text(rows: &[Row]) -> String {
    let mut text = String::from(
        "| suite | revision | scenarios | directly: passed/failed/other | through the gateway | scenarios that differ |\n\
         |---|---|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            row.what,
            row.revision,
            row.direct.0.len(),
            counts(&row.direct),
            counts(&row.through),
            row.differing.len()
        );
    }
    for row in rows.iter().filter(|row| !row.differing.is_empty()) {
        let _ = writeln!(text, "\n{} {}:", row.what, row.revision);
        for scenario in &row.differing {
            text += &row.direct.difference(&row.through, scenario);
        }
    }
    text
}

fn counts(outcome: &Outcome) -> String {
    let other = outcome.count("WARNING") + outcome.count("SKIPPED");
    format!(
        "{}/{}/{other}",
        outcome.count("SUCCESS"),
        outcome.count("FAILURE")
    )
}

/// Puts the table into `docs/conformance.md`.
pub(crate) fn save(rows: &[Row]) -> Result<()> {
    let file = workspace::root().join("docs/conformance.md");
    let page = fs::read_to_string(&file).context("cannot read docs/conformance.md")?;
    let (before, rest) = page.split_once(MARKS[0]).context("the page has no table")?;
    let (_, after) = rest
        .split_once(MARKS[1])
        .context("the table has no end mark")?;
    let page = [before, MARKS[0], &text(rows), MARKS[1], after].concat();
    fs::write(file, page).context("cannot write docs/conformance.md")
}
