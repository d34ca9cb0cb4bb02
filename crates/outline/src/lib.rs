//! Outlines texts: the shape of a text in a few lines.
//!
//! An outline tells a model what it can ask for: paths for a jq filter, words for a search, line
//! numbers to read from. It is made from the whole view up to a bound, in bounded memory; if it
//! covers only a part of the view, it says so. It does not depend on the number of threads.
//!
//! [`outline`] finds the entries, each with a rank. [`within`] selects those that fit a budget, and
//! is the only place that turns entries into lines.

mod binary;
mod code;
mod commits;
mod diff;
mod drawn;
mod failure;
mod fit;
mod html;
mod json;
mod junit;
mod leads;
mod listing;
mod lock;
mod log;
mod markdown;
mod minified;
mod page;
mod parts;
mod plain;
mod prose;
mod schema;
mod table;
mod threads;
mod tree;
mod values;
mod xml;

use std::{fmt, io};

use spillgate_artifact::{ByteSource, ContentKind, ViewFacts};
use spillgate_text::{SAMPLE_BYTES, Sample, View, classify, clip};
use spillgate_untrusted::marked;

pub use failure::{FailurePick, picks, runner_prefix};
pub use fit::{DEFAULT_TOKENS, within};
pub use leads::{FirstRecord, Lead, failure_leads, first_record, leads};
pub use page::is_page;
pub use parts::grouped;
use parts::{SamplePlan, counted};

/// Most characters of a line.
const LINE_CHARS: usize = 160;
/// Most characters of a line that says why a run failed: it is shown as it stands in the text.
const FAILURE_CHARS: usize = 300;
/// The rank from which such a line is as short as others.
const SHOWN_WHOLE: usize = 10;

/// An entry of an outline, which becomes a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineEntry {
    /// How dispensable it is. When space is short, entries with the highest rank are dropped first,
    /// and of equal ones the later.
    pub rank: usize,
    /// How many other entries it is nested in.
    pub depth: usize,
    /// What it is about.
    pub kind: EntryKind,
    /// The 1-based line of the text where that begins.
    pub line: Option<u64>,
    /// The text: untrusted, on one line, bounded.
    pub text: String,
    /// A call that leads to it, if a path or a line alone does not.
    pub(crate) lead: Option<Lead>,
    /// For a list of objects in laid-out JSON: the offset of the line above the first of them.
    pub(crate) records: Option<u64>,
    /// The first of these objects, for one list of the outline.
    pub(crate) first: Option<Box<FirstRecord>>,
}

/// What an entry is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// The whole text, or the outline itself.
    Remark,
    /// The number of all definitions, if not each is named.
    Definitions(u64),
    /// A place in the text.
    Place,
    /// A line of the text that says how a run failed, or why.
    Failure,
    /// The path from the entry above, which a caller uses to ask for the place.
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
            lead: None,
            records: None,
            first: None,
        }
    }

    /// Returns what precedes the text on its line.
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

/// Returns the outline of a stored text of this kind, which had `lines` lines as it arrived. A text
/// without a shape has no entries. Content that is not text has the outline of its raw bytes
/// ([`outline_of_binary`]).
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
    bound(&mut entries);
    Ok(entries)
}

/// Returns the outline of content of the kind `binary`: its format, and what the format tells.
///
/// # Errors
///
/// Fails if the bytes cannot be read. Bytes that are damaged are no error.
pub fn outline_of_binary(raw: &dyn ByteSource) -> io::Result<Vec<OutlineEntry>> {
    let mut entries = binary::outline(raw)?;
    bound(&mut entries);
    Ok(entries)
}

/// Bounds the texts, and marks hidden characters in them.
fn bound(entries: &mut [OutlineEntry]) {
    for entry in entries {
        // Marks are longer than the characters they replace, so the bound applies to what is shown.
        let most = match entry.kind {
            EntryKind::Failure if entry.rank < SHOWN_WHOLE => FAILURE_CHARS,
            _ => LINE_CHARS,
        };
        let room = most.saturating_sub(entry.prefix().chars().count());
        entry.text = clip(&marked(&entry.text), room);
        if let EntryKind::Path(path) = &mut entry.kind {
            *path = marked(path).into_owned();
        }
    }
}

fn note(text: String) -> OutlineEntry {
    OutlineEntry::new(0, 0, EntryKind::Remark, text)
}

/// Returns a remark about the outline itself. What the text is ranks before it.
fn aside(text: String) -> OutlineEntry {
    OutlineEntry::new(2, 0, EntryKind::Remark, text)
}

/// Returns an entry for what begins at byte `offset`.
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
        ContentKind::Json => return of_json(view, facts.prelude),
        ContentKind::Html => return html::outline(view),
        ContentKind::Xml => match junit::outline(view)? {
            Some(report) => return Ok(report),
            None => return xml::outline(view),
        },
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
        ContentKind::Markdown => match page::outline(view, &plan)? {
            // Tools print snapshots of pages below headings.
            page if !page.is_empty() => page,
            _ => markdown::outline(view, &plan)?,
        },
        ContentKind::Diff => diff::outline(view, &plan)?,
        _ => of_output(view, &plan, kind)?,
    };
    if plan.is_partial() && !lines.is_empty() {
        lines.insert(0, aside(format!("({})", plan.description())));
    }
    Ok(lines)
}

/// Outlines a JSON document.
fn of_json(view: &View, start: u64) -> io::Result<Vec<OutlineEntry>> {
    let packages = lock::outline(view, &SamplePlan::spread(view.source(), start)?)?;
    if !packages.is_empty() {
        return Ok(packages);
    }
    match schema::of_json(view, start)? {
        Some(description) => Ok(description),
        None => json::outline(view, start),
    }
}

/// Outlines a text that has a certain shape, and returns nothing for other texts.
type ShapeOutline = fn(&View, &SamplePlan) -> io::Result<Vec<OutlineEntry>>;

/// The shapes that are tried on logs, code and prose. Each judges a text by its head.
const SHAPES: [ShapeOutline; 9] = [
    commits::outline,
    page::outline,
    schema::of_yaml,
    lock::outline,
    minified::outline,
    threads::outline,
    listing::outline,
    drawn::outline,
    tree::outline,
];

/// Outlines logs, code and prose. If a run failed, the lines that say why come first, unless the
/// text is something else with a shape: in a table or in a commit, words of failures are data.
fn of_output(view: &View, plan: &SamplePlan, kind: ContentKind) -> io::Result<Vec<OutlineEntry>> {
    for outline in SHAPES {
        let shape = outline(view, plan)?;
        if !shape.is_empty() {
            return Ok(shape);
        }
    }
    let failures = failure::outline(view, plan, kind)?;
    let rest = match kind {
        ContentKind::Log => log::outline(view, plan)?,
        _ => plainly(view, plan, kind)?,
    };
    let behind = failures.len();
    let rest = rest.into_iter().map(|line| OutlineEntry {
        rank: line.rank + behind,
        ..line
    });
    Ok(failures.into_iter().chain(rest).collect())
}

/// Outlines code and prose, unless the text has a layout with a shape.
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

/// Returns whether the text is JSON, as far as its head shows. JSON that was cut off is stored as
/// another kind, but its keys are still what one asks for.
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

    /// Returns a view of text as it is.
    pub(crate) fn view_of(text: &str) -> View {
        let mut indexer = Indexer::as_is(Layout::AsIs);
        indexer.feed(text.as_bytes());
        let source = Arc::new(text.as_bytes().to_vec());
        View::new(source, indexer.finish(), Layout::AsIs)
    }

    /// Returns the outline that a function makes of a whole text.
    pub(crate) fn shown_by(
        outline: impl Fn(&View, &SamplePlan) -> io::Result<Vec<OutlineEntry>>,
        text: &str,
    ) -> String {
        let view = view_of(text);
        let plan = SamplePlan::spread(view.source(), 0).unwrap();
        texts(&outline(&view, &plan).unwrap())
    }

    /// Returns the lines without their common indentation.
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
        // JSON that was cut off may be stored as text or code.
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
