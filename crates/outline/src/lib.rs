//! Makes outlines: the shape of a text in a few lines.
//!
//! An outline tells a model what it can ask for: paths for a jq filter, words for a search, line
//! numbers to read from. It is made from the whole view, in bounded memory. If a view is too large,
//! the outline covers a part of it and says so. It does not depend on the number of threads.
//!
//! [`outline`] finds the entries, each with a rank. [`within`] selects those that fit a budget, and
//! turns them into lines.

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

pub use failure::{FailureLine, FailureLines, runner_prefix};
pub use fit::{DEFAULT_TOKENS, within};
pub use leads::{FirstRecord, Lead, failure_leads, first_record, leads};
pub use log::signature as line_signature;
pub use page::is_page;
pub use parts::grouped;
use parts::{SamplePlan, counted};

/// Maximum number of characters of a line.
const LINE_CHARS: usize = 160;
/// Maximum number of characters of a line that says how or why a run failed.
const FAILURE_CHARS: usize = 300;
/// From this rank on, [`LINE_CHARS`] applies also to lines about a failure.
const SHOWN_WHOLE: usize = 10;

/// An entry of an outline, which becomes a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineEntry {
    /// The order in which entries are dropped if space is short: those with the highest rank first,
    /// and of entries with the same rank the later ones first.
    pub rank: usize,
    /// Number of other entries in which this one is nested.
    pub depth: usize,
    /// The kind of thing that the entry describes.
    pub kind: EntryKind,
    /// The 1-based line of the text at which the described thing begins.
    pub line: Option<u64>,
    /// The text of the entry: untrusted, on one line, of limited length.
    pub text: String,
    /// For a template that only one line follows: the 1-based number of this line.
    pub(crate) only_line: Option<u64>,
    /// A call that shows the described thing, if a path or a line number is not enough.
    pub(crate) lead: Option<Lead>,
    /// For a list of objects in laid-out JSON: the offset of the line above the first object.
    pub(crate) records: Option<u64>,
    /// The first object of this list. Only one list of an outline has it.
    pub(crate) first: Option<Box<FirstRecord>>,
}

/// The kind of thing that an entry describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// The whole text, or the outline itself.
    Remark,
    /// The text is JSON that is cut or damaged, so that no filter can run on it.
    Cut,
    /// The number of all definitions, if the outline does not name all of them.
    Definitions(u64),
    /// A place in the text.
    Place,
    /// A line of the text that says how or why a run failed.
    Failure,
    /// A place in JSON. Contains the path from the entry above to this place.
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
            only_line: None,
            lead: None,
            records: None,
            first: None,
        }
    }

    /// Returns whether the entry says nothing that one of `lines` does not say: it is the template of
    /// a single line, which is one of them.
    #[must_use]
    pub fn is_told_by(&self, lines: &[Self]) -> bool {
        let is_it = |line: &Self| line.line.is_some() && line.line == self.only_line;
        lines.iter().any(is_it)
    }

    /// Returns the indentation and the line number that precede the text.
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

/// Returns the outline of a stored text of the given kind. `lines` is the number of lines of the
/// original text. If the text is known to be the output of a run that `has_failed`, the lines that
/// report failures come first wherever they stand; otherwise only if the text ends in a failure, or
/// is a log. If no shape is found, there are no entries. Content that is not text is outlined
/// from its raw bytes ([`outline_of_binary`]).
pub fn outline(
    view: &View,
    facts: &ViewFacts,
    kind: ContentKind,
    lines: u64,
    has_failed: bool,
) -> io::Result<Vec<OutlineEntry>> {
    let mut entries = of_kind(view, facts, kind, has_failed)?;
    let shown = view.lines();
    if view.bytes() == 0 {
        let why = match lines {
            0 => "(it is empty)",
            _ => "(nothing in it can be shown; the stored bytes have it)",
        };
        entries.insert(0, note(why.to_owned()));
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

/// Returns the outline of content of the kind `binary`: its format and, for some formats, its
/// content.
///
/// # Errors
///
/// Fails if the bytes cannot be read. Damaged content is not an error.
pub fn outline_of_binary(raw: &dyn ByteSource) -> io::Result<Vec<OutlineEntry>> {
    let mut entries = binary::outline(raw)?;
    bound(&mut entries);
    Ok(entries)
}

/// Limits the length of the texts, and marks hidden characters in them.
fn bound(entries: &mut [OutlineEntry]) {
    for entry in entries {
        // Marks are longer than the characters that they replace, so the text is cut after marking.
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

/// Returns a remark about the outline itself. It is dropped before remarks about the text.
fn aside(text: String) -> OutlineEntry {
    OutlineEntry::new(2, 0, EntryKind::Remark, text)
}

/// Returns an entry for a place that begins at byte `offset`.
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

fn of_kind(
    view: &View,
    facts: &ViewFacts,
    kind: ContentKind,
    has_failed: bool,
) -> io::Result<Vec<OutlineEntry>> {
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
            // Browser tools print Markdown headings above the snapshots of pages.
            page if !page.is_empty() => page,
            _ => markdown::outline(view, &plan)?,
        },
        ContentKind::Diff => diff::outline(view, &plan)?,
        _ => of_output(view, &plan, kind, has_failed)?,
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

/// Outlines a text that has a certain shape. Returns no entries for other texts.
type ShapeOutline = fn(&View, &SamplePlan) -> io::Result<Vec<OutlineEntry>>;

/// The outlines that are tried on logs, code and prose. Each checks at the head of the text whether
/// the text has its shape.
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

/// Outlines logs, code and prose. If a run failed, the lines that say why come first. This does not
/// apply to texts with one of the [`SHAPES`]: in a table or a commit, the word `failed` is data.
fn of_output(
    view: &View,
    plan: &SamplePlan,
    kind: ContentKind,
    has_failed: bool,
) -> io::Result<Vec<OutlineEntry>> {
    for outline in SHAPES {
        let shape = outline(view, plan)?;
        if !shape.is_empty() {
            return Ok(shape);
        }
    }
    let (failures, rest) = at_once(
        plan,
        || failure::outline(view, plan, kind, has_failed),
        || match kind {
            ContentKind::Log => log::outline(view, plan),
            _ => plainly(view, plan, kind),
        },
    )?;
    let behind = failures.len();
    let rest = rest.into_iter().map(|line| OutlineEntry {
        rank: line.rank + behind,
        ..line
    });
    Ok(failures.into_iter().chain(rest).collect())
}

/// Returns the results of two scans of a text. A text of one part that is long enough to pay for a
/// thread is scanned by both at the same time; of a text of several parts, each scan reads two parts
/// at a time.
fn at_once<T: Send, U>(
    plan: &SamplePlan,
    one: impl FnOnce() -> io::Result<T> + Send,
    other: impl FnOnce() -> io::Result<U>,
) -> io::Result<(T, U)> {
    /// Size from which on a scan takes several times as long as starting a thread.
    const LONG: u64 = 256 << 10;
    let [(from, end)] = plan.parts[..] else {
        return Ok((one()?, other()?));
    };
    if end - from < LONG {
        return Ok((one()?, other()?));
    }
    std::thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        let panicked = |_| Err(io::Error::other("a thread of the outline panicked"));
        Ok((one.join().unwrap_or_else(panicked)?, other?))
    })
}

/// Outlines code and prose, unless the text has a regular layout, which is outlined instead.
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

/// Returns whether the head of the text is JSON. JSON that was cut off is stored as another kind,
/// but its keys are still the most useful outline.
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

    /// Returns a view that is identical to the text.
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
            let lines = outline(&view_of(&text), &facts, kind, 1, false).unwrap();
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
