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

use spillgate_artifact::{ContentKind, Layout, Stats};
use spillgate_lookup::Artifact;
use spillgate_view::View;

/// Bytes of the view that line outlines look at.
const LOOKED_AT: u64 = 1 << 20;

/// Bytes that the JSON outline looks at: some 60 ms of parsing.
const JSON_LOOKED_AT: u64 = 16 << 20;

/// Characters of an outline's line.
const LINE_CHARS: usize = 160;

/// The outline of an artifact, most telling lines first; none for kinds that
/// have no shape.
pub(crate) fn outline(artifact: &Artifact, stats: &Stats) -> io::Result<Vec<String>> {
    let view = artifact.view();
    let partial = |limit: u64| view.bytes() > limit;
    if matches!(stats.kind, ContentKind::Json | ContentKind::Ndjson) {
        let facts = &artifact.manifest().facts.view;
        let mut shape = json::outline(view.source(), facts.prelude, JSON_LOOKED_AT);
        if facts.layout == Layout::Json {
            shape.insert(0, format!("(laid out as {} lines)", facts.lines));
        }
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

/// Says that only the beginning was looked at, where that is so, and indents.
fn noted(mut lines: Vec<String>, partial: bool, limit: u64) -> Vec<String> {
    if partial && !lines.is_empty() {
        lines.insert(0, format!("(of the first {} MiB)", limit >> 20));
    }
    let indented = lines
        .iter()
        .map(|line| format!("  {}", crate::present::clip(line, LINE_CHARS)));
    indented.collect()
}
