//! What is in there?
//!
//! An outline is a few lines that tell a model what it can ask for: keys,
//! columns, templates, headings, definitions. Made in bounded memory from a
//! bounded stretch of the view; where that is not all of it, the outline says
//! so. Deterministic.

mod json;
mod lines;
mod log;
mod table;

use std::io;

use spillgate_artifact::{ContentKind, Stats, ViewFacts};
use spillgate_view::{View, clip};

/// Bytes of the view that line outlines look at.
const LOOKED_AT: u64 = 1 << 20;

/// Bytes that the JSON outline looks at: some 60 ms of parsing.
const JSON_LOOKED_AT: u64 = 16 << 20;

/// Characters of an outline's line.
const LINE_CHARS: usize = 160;

/// A line of an outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// How dispensable it is: where room is short, lines of the highest rank go
    /// first, later ones before earlier ones.
    pub rank: usize,
    /// Its text, indented.
    pub text: String,
}

/// The outline of a stored text; none for kinds that have no shape.
pub fn outline(view: &View, facts: &ViewFacts, stats: &Stats) -> io::Result<Vec<Line>> {
    let mut lines = of_kind(view, facts, stats)?;
    let shown = view.lines();
    if view.bytes() == 0 {
        lines.insert(
            0,
            note("(nothing in it can be shown; the stored bytes have it)".to_owned()),
        );
    } else if shown.abs_diff(stats.lines) > 1 {
        lines.insert(0, note(format!("(laid out as {shown} lines)")));
    }
    for line in &mut lines {
        line.text = format!("  {}", clip(&line.text, LINE_CHARS));
    }
    Ok(lines)
}

fn note(text: String) -> Line {
    Line { rank: 0, text }
}

fn of_kind(view: &View, facts: &ViewFacts, stats: &Stats) -> io::Result<Vec<Line>> {
    let partial = |limit: u64| view.bytes() > limit;
    if matches!(stats.kind, ContentKind::Json | ContentKind::Ndjson) {
        let shape = match stats.kind {
            ContentKind::Ndjson => json::outline_of_lines(view.source(), JSON_LOOKED_AT),
            _ => json::outline(view.source(), facts.prelude, JSON_LOOKED_AT),
        };
        return Ok(noted(shape, partial(JSON_LOOKED_AT), JSON_LOOKED_AT));
    }
    let table = |delimiter| -> io::Result<Vec<String>> {
        let text = view.source().bytes(0, LOOKED_AT)?;
        let text = String::from_utf8_lossy(&text);
        Ok(table::outline(
            &text,
            delimiter,
            stats.lines,
            partial(LOOKED_AT),
        ))
    };
    let lines = match stats.kind {
        ContentKind::Csv => table(b',')?,
        ContentKind::Tsv => table(b'\t')?,
        ContentKind::Log => log::outline(&first_lines(view)?),
        ContentKind::Markdown => lines::headings(&first_lines(view)?),
        ContentKind::Code => lines::definitions(&first_lines(view)?),
        _ => Vec::new(),
    };
    let lines = lines.into_iter().map(note).collect();
    Ok(noted(lines, partial(LOOKED_AT), LOOKED_AT))
}

/// A view line and its number.
type Numbered = (u64, String);

/// The view lines that line outlines look at.
fn first_lines(view: &View) -> io::Result<Vec<Numbered>> {
    let mut first = Vec::new();
    let mut lines = view.lines_from(1)?;
    while let Some((line, bytes)) = lines.next_bytes()? {
        if line.end > LOOKED_AT {
            break;
        }
        let text = String::from_utf8_lossy(bytes);
        first.push((line.number, text.trim_end().to_owned()));
    }
    Ok(first)
}

#[cfg(test)]
fn numbered(text: &str) -> Vec<Numbered> {
    (1..).zip(text.lines().map(str::to_owned)).collect()
}

/// Says that only the beginning was looked at, where that is so.
fn noted(mut lines: Vec<Line>, partial: bool, limit: u64) -> Vec<Line> {
    if partial && !lines.is_empty() {
        lines.insert(0, note(format!("(of the first {} MiB)", limit >> 20)));
    }
    lines
}
