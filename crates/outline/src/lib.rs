//! What is in there?
//!
//! An outline is a few lines that tell a model what it can ask for: keys,
//! columns, templates, headings, definitions. Made in bounded memory from a
//! bounded stretch of the view; where that is not all of it, the outline says
//! so. Deterministic.

mod fit;
mod json;
mod lines;
mod log;
mod parts;
mod table;

use std::io;

use spillgate_artifact::{ContentKind, Stats, ViewFacts};
use spillgate_view::{View, clip};

pub use fit::{DEFAULT_TOKENS, within};
use parts::Plan;

/// Bytes of the view that line outlines look at.
const LOOKED_AT: u64 = 1 << 20;

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
    let plan = || Plan::spread(view.source(), 0);
    let lines = match stats.kind {
        ContentKind::Json => return json::outline(view, facts.prelude),
        ContentKind::Ndjson => return json::outline_of_lines(view, &plan()?),
        ContentKind::Log => return log::outline(view, &plan()?),
        ContentKind::Csv => table(b',')?,
        ContentKind::Tsv => table(b'\t')?,
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use spillgate_artifact::Layout;
    use spillgate_view::{Indexer, View};

    use super::Line;

    /// A view of text as it is.
    pub(crate) fn view_of(text: &str) -> View {
        let mut indexer = Indexer::as_is(Layout::AsIs);
        indexer.feed(text.as_bytes());
        let source = Arc::new(text.as_bytes().to_vec());
        View::new(source, indexer.finish(), Layout::AsIs)
    }

    pub(crate) fn texts(lines: &[Line]) -> String {
        let texts: Vec<&str> = lines.iter().map(|line| &*line.text).collect();
        texts.join("\n")
    }
}
