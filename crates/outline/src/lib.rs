//! Outlines: the shape of a text in a few lines.
//!
//! An outline is a few lines that tell a model what it can ask for: paths for a
//! jq filter, words for a search, line numbers to read from. It is made of the
//! whole view up to a bound, in bounded memory; where that is not all of it, the
//! outline says so. Deterministic, however many threads look.
//!
//! [`outline`] finds the entries, each with a rank; [`within`] chooses among them
//! what fits a budget, and is the one place that makes lines of them.

mod code;
mod diff;
mod fit;
mod html;
mod json;
mod log;
mod markdown;
mod output;
mod parts;
mod plain;
mod prose;
mod table;
mod values;
mod xml;

use std::{fmt, io};

use spillgate_artifact::{ContentKind, ViewFacts};
use spillgate_text::{SAMPLE_BYTES, Sample, View, classify, clip};
use spillgate_untrusted::marked;

pub use fit::{DEFAULT_TOKENS, within};
pub use parts::grouped;
use parts::{SamplePlan, counted};

/// Characters of an outline's line.
const LINE_CHARS: usize = 160;

/// A line of an outline, before it is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineEntry {
    /// How dispensable it is: where room is short, entries of the highest rank go
    /// first, later ones before earlier ones.
    pub rank: usize,
    /// How many others it is a part of.
    pub depth: usize,
    /// What it is about.
    pub kind: EntryKind,
    /// The line of the text where that begins, from 1.
    pub line: Option<u64>,
    /// What it says: text of a stranger's, on one line, bounded.
    pub text: String,
}

/// What an entry is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// The whole, or the outline itself.
    Remark,
    /// How many definitions there are in all, where not each is named.
    Definitions(u64),
    /// Something in the text.
    Place,
    /// What a path leads to: the path from the entry above, by which one asks for it.
    Path(String),
}

impl OutlineEntry {
    fn new(rank: usize, depth: usize, kind: EntryKind, text: String) -> Self {
        Self {
            rank,
            depth,
            kind,
            line: None,
            text,
        }
    }

    /// What stands before the text in its line.
    fn prefix(&self) -> String {
        let indent = "  ".repeat(self.depth);
        let line = self.line.map(|line| format!("{line}: "));
        indent + &line.unwrap_or_default()
    }
}

impl fmt::Display for OutlineEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}{}", self.prefix(), self.text)
    }
}

/// The outline of a stored text of this kind, which had `lines` lines as it came; none for kinds
/// that have no shape.
pub fn outline(
    view: &View,
    facts: &ViewFacts,
    kind: ContentKind,
    lines: u64,
) -> io::Result<Vec<OutlineEntry>> {
    let mut entries = of_kind(view, facts, kind)?;
    let shown = view.lines();
    if view.bytes() == 0 {
        entries.insert(
            0,
            note("(nothing in it can be shown; the stored bytes have it)".to_owned()),
        );
    } else if shown.abs_diff(lines) > 1 {
        entries.insert(
            0,
            aside(format!(
                "(laid out as {})",
                counted(&shown.to_string(), "line")
            )),
        );
    }
    for entry in &mut entries {
        // Marks are longer than what they stand for: the bound is of what is shown.
        let room = LINE_CHARS.saturating_sub(entry.prefix().chars().count());
        entry.text = clip(&marked(&entry.text), room);
        if let EntryKind::Path(path) = &mut entry.kind {
            *path = marked(path).into_owned();
        }
    }
    Ok(entries)
}

fn note(text: String) -> OutlineEntry {
    OutlineEntry::new(0, 0, EntryKind::Remark, text)
}

/// A remark on the outline itself: what the text is, comes before it.
fn aside(text: String) -> OutlineEntry {
    OutlineEntry::new(2, 0, EntryKind::Remark, text)
}

/// An entry about what begins at byte `offset`.
fn located(
    view: &View,
    offset: u64,
    (rank, depth): (usize, usize),
    text: String,
) -> io::Result<OutlineEntry> {
    let line = Some(view.line_of_offset(offset)?);
    let entry = OutlineEntry::new(rank, depth, EntryKind::Place, text);
    Ok(OutlineEntry { line, ..entry })
}

fn of_kind(view: &View, facts: &ViewFacts, kind: ContentKind) -> io::Result<Vec<OutlineEntry>> {
    let source = view.source();
    match kind {
        ContentKind::Json => return json::outline(view, facts.prelude),
        ContentKind::Html => return html::outline(view),
        ContentKind::Xml => return xml::outline(view),
        ContentKind::Binary => return Ok(Vec::new()),
        _ => {}
    }
    let plan = match kind {
        ContentKind::Csv | ContentKind::Tsv => SamplePlan::first(source, 0)?,
        _ => SamplePlan::spread(source, 0)?,
    };
    let mut lines = match kind {
        ContentKind::Csv => table::outline(source, &plan, b',')?,
        ContentKind::Tsv => table::outline(source, &plan, b'\t')?,
        ContentKind::Ndjson => json::outline_of_lines(view, &plan)?,
        ContentKind::Markdown => markdown::outline(view, &plan)?,
        ContentKind::Diff => diff::outline(view, &plan)?,
        _ => of_output(view, &plan, kind)?,
    };
    if plan.is_partial() && !lines.is_empty() {
        lines.insert(0, aside(format!("({})", plan.description())));
    }
    Ok(lines)
}

/// Logs, code and prose, of which a test or a build may have printed any: what
/// failed comes first then.
fn of_output(view: &View, plan: &SamplePlan, kind: ContentKind) -> io::Result<Vec<OutlineEntry>> {
    let failures = output::outline(view, plan, kind)?;
    // Of a log without failures, what is rare is telling.
    let least = if failures.is_empty() { 1 } else { 2 };
    let rest = match kind {
        ContentKind::Log => log::outline(view, plan, least)?,
        ContentKind::Code | ContentKind::Text if failures.is_empty() => plainly(view, plan, kind)?,
        _ => Vec::new(),
    };
    let behind = failures.len();
    let rest = rest.into_iter().map(|line| OutlineEntry {
        rank: line.rank + behind,
        ..line
    });
    Ok(failures.into_iter().chain(rest).collect())
}

/// Code and prose, unless it is laid out in a way that has a shape.
fn plainly(view: &View, plan: &SamplePlan, kind: ContentKind) -> io::Result<Vec<OutlineEntry>> {
    if begins_as_json(view)? {
        return json::outline(view, 0);
    }
    let shaped = plain::outline(view, plan)?;
    match kind {
        _ if !shaped.is_empty() => Ok(shaped),
        ContentKind::Code => code::outline(view, plan),
        _ => prose::outline(view, plan),
    }
}

/// Whether it is JSON as far as its head tells: what was cut off is none when
/// it is stored, and its keys are still what one asks for.
fn begins_as_json(view: &View) -> io::Result<bool> {
    let head = view.source().bytes(0, SAMPLE_BYTES as u64)?;
    let complete = view.bytes() <= SAMPLE_BYTES as u64;
    let sample = Sample {
        head: &head,
        complete,
    };
    Ok(classify(sample) == ContentKind::Json)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use insta::{allow_duplicates, assert_snapshot};
    use spillgate_artifact::Layout;
    use spillgate_text::Indexer;

    use super::*;

    /// A view of text as it is.
    pub(crate) fn view_of(text: &str) -> View {
        let mut indexer = Indexer::as_is(Layout::AsIs);
        indexer.feed(text.as_bytes());
        let source = Arc::new(text.as_bytes().to_vec());
        View::new(source, indexer.finish(), Layout::AsIs)
    }

    /// The lines, without the indentation of all.
    pub(crate) fn texts(lines: &[OutlineEntry]) -> String {
        let texts = lines.iter().map(|line| line.to_string()[2..].to_owned());
        texts.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_it_is_comes_before_remarks() {
        let text = format!(
            "{{\"items\": [{}",
            "{\"id\": 7, \"name\": \"A name as names are\", \"place\": \"somewhere else\"}, "
                .repeat(40)
        );
        let facts = ViewFacts {
            bytes: text.len() as u64,
            lines: 1,
            longest_line: text.len() as u64,
            is_raw: true,
            layout: Layout::AsIs,
            prelude: 0,
        };
        // What was cut off is text or code when it is stored.
        for kind in [ContentKind::Json, ContentKind::Text, ContentKind::Code] {
            let lines = outline(&view_of(&text), &facts, kind, 1).unwrap();
            allow_duplicates!(assert_snapshot!(texts(&lines), @r#"
            (laid out as 3 lines)
            (as far as it can be read)
            .items[]: array(40) of object
              .id: number: 7
              .name: string: "A name as names are"
              .place: string: "somewhere else"
            "#));
            let first = lines.iter().min_by_key(|line| line.rank).unwrap();
            assert!(first.text.contains(".items[]: array(40) of object"));
        }
    }
}
