//! Groups lines that must stay together in a chunk.
//!
//! A chunk contains a *row* completely or not at all. A row is a line of text; a row of a table,
//! including the line breaks in its quoted cells; a record of NDJSON; or, in JSON, a subtree that
//! is small enough to be printed on one line ([`super::json`]).

use std::collections::VecDeque;
use std::io;

use memchr::memchr_iter;
use spillgate_artifact::{ContentKind, Layout, LineRange};
use spillgate_lookup::Artifact;
use spillgate_text::{Lines, View};

use super::json::JsonRows;
use super::text::Ranker;

/// The rank of a cut inside a line, which is the last resort.
pub(crate) const WITHIN_LINE: u16 = u16::MAX;
/// The rank of a cut before a row of a table or a record.
const RECORD: u16 = 0;
/// Maximum size of a row of a table, in bytes. A longer row means that quotes were misread, and it
/// is cut like text.
const LONGEST_ROW: u64 = 16 << 10;

/// Lines that stay together when a view is cut into chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// View lines, from 1.
    pub lines: LineRange,
    /// First byte in the view.
    pub start: u64,
    /// The byte after the last byte of the row.
    pub end: u64,
    /// How much harm a cut before the row does; 0 means the least harm.
    pub rank: u16,
    /// Whether the row begins inside a line that was broken because of its length.
    pub continues: bool,
    /// The role of the row in a JSON document.
    pub shape: Shape,
}

/// The role of a row in a JSON document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Members or elements of the innermost open container.
    Whole {
        /// The number of members or elements that begin in the row; 0 outside of JSON.
        children: u64,
    },
    /// The first line of a container that is larger than a row.
    Opens(Box<Opened>),
    /// The last line of a container that is larger than a row.
    Closes,
}

/// A container whose first line is a row of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opened {
    /// The key as written, including quotes; `None` if the key is too long.
    pub key: Option<String>,
    /// Whether the container has no key, because it is an element or the document itself.
    pub is_element: bool,
    /// Whether the children of the container are array elements.
    pub is_array: bool,
}

/// How lines are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Each line is a row.
    Text(ContentKind),
    /// A table, in which quoted cells may contain line breaks.
    Table {
        /// Whether cells may be quoted: only in CSV.
        quotes: bool,
    },
    /// One JSON document per line.
    Records,
    /// One JSON document, possibly after lines that are not JSON.
    Json {
        /// Size of the lines before the document, in bytes.
        prelude: u64,
        /// Whether the view is in our layout, with each member or element on a line of its own.
        /// Only then are paths known.
        is_laid_out: bool,
    },
}

impl Sort {
    pub(crate) fn of(artifact: &Artifact) -> Self {
        let facts = &artifact.manifest().facts;
        match (artifact.view().layout(), facts.stats.kind) {
            (Layout::Json, _) => Self::Json {
                prelude: facts.view.prelude,
                is_laid_out: true,
            },
            // JSON that arrived with short lines keeps the layout that it arrived in.
            (_, ContentKind::Json) => Self::Json {
                prelude: 0,
                is_laid_out: false,
            },
            (_, ContentKind::Csv) => Self::Table { quotes: true },
            (_, ContentKind::Tsv) => Self::Table { quotes: false },
            (_, ContentKind::Ndjson) => Self::Records,
            (_, kind) => Self::Text(kind),
        }
    }

    pub(crate) fn is_json(self) -> bool {
        matches!(self, Self::Json { .. })
    }

    /// Returns whether a chunk repeats the end of the previous one.
    pub(crate) fn overlaps(self) -> bool {
        matches!(self, Self::Text(_))
    }
}

/// A line of a view with its text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub number: u64,
    pub start: u64,
    pub text: &'a [u8],
    /// Whether the line begins inside a line of the text that was broken because of its length.
    pub continues: bool,
}

impl Line<'_> {
    pub(crate) fn row(&self, rank: u16) -> Row {
        Row {
            lines: LineRange {
                first: self.number,
                last: self.number,
            },
            start: self.start,
            end: self.start + self.text.len() as u64,
            rank,
            continues: self.continues,
            shape: Shape::Whole { children: 0 },
        }
    }
}

/// Reads the rows of a range of lines of a view, from front to back, in bounded memory.
#[derive(Debug)]
pub(crate) struct Rows<'a> {
    lines: Lines<'a>,
    layout: Layout,
    /// The last line to read.
    last: u64,
    /// Whether the next line begins after a newline.
    is_fresh: bool,
    former: Former,
    ready: VecDeque<Row>,
    is_done: bool,
}

#[derive(Debug)]
enum Former {
    Text(Ranker),
    Joined(Joiner),
    Json(JsonRows),
}

impl<'a> Rows<'a> {
    /// Reads the rows of `lines`. These are the same rows as in the whole view if `lines` begins
    /// where a row of the whole view begins.
    pub(crate) fn new(view: &'a View, sort: Sort, lines: LineRange) -> io::Result<Self> {
        let former = match sort {
            Sort::Text(kind) => Former::Text(Ranker::new(kind)),
            Sort::Table { quotes } => Former::Joined(Joiner::new(quotes)),
            Sort::Records => Former::Joined(Joiner::new(false)),
            Sort::Json { prelude, .. } => Former::Json(JsonRows::new(prelude)),
        };
        let is_fresh = match lines.first {
            0 | 1 => true,
            first => {
                let start = view.offset_of_line(first)?;
                view.source().bytes(start.saturating_sub(1), start)? == b"\n"
            }
        };
        Ok(Self {
            lines: view.lines_from(lines.first)?,
            layout: view.layout(),
            last: lines.last,
            is_fresh,
            former,
            ready: VecDeque::new(),
            is_done: false,
        })
    }

    /// Reads all rows of a view.
    pub(crate) fn all(view: &'a View, sort: Sort) -> io::Result<Self> {
        let (first, last) = (1, view.lines());
        Self::new(view, sort, LineRange { first, last })
    }

    /// Returns the next row; `None` after the last.
    pub(crate) fn next_row(&mut self) -> io::Result<Option<Row>> {
        while self.ready.is_empty() && !self.is_done {
            self.feed()?;
        }
        Ok(self.ready.pop_front())
    }

    /// Returns the next row if no further line can extend it.
    pub(crate) fn next_sure(&mut self) -> io::Result<Option<Row>> {
        while self.ready.is_empty() && !self.is_done {
            self.feed()?;
            if self.is_done {
                self.ready.clear();
            }
        }
        Ok(self.ready.pop_front())
    }

    fn feed(&mut self) -> io::Result<()> {
        let next = self.lines.next_bytes()?;
        let Some((span, text)) = next.filter(|(span, _)| span.number <= self.last) else {
            self.is_done = true;
            match &mut self.former {
                Former::Text(_) => {}
                Former::Joined(joiner) => self.ready.extend(joiner.open.take()),
                Former::Json(json) => json.finish(&mut self.ready),
            }
            return Ok(());
        };
        // Markup may be split before a tag: nothing that belongs together is separated there.
        let is_tag = self.layout == Layout::Markup && text.starts_with(b"<");
        let line = Line {
            number: span.number,
            start: span.start,
            text,
            continues: !self.is_fresh && !is_tag,
        };
        self.is_fresh = text.ends_with(b"\n");
        match &mut self.former {
            Former::Text(ranker) => self.ready.push_back(line.row(ranker.rank(line))),
            Former::Joined(joiner) => self.ready.extend(joiner.feed(line)),
            Former::Json(json) => json.feed(line, &mut self.ready),
        }
        Ok(())
    }
}

/// Joins the lines of a record.
#[derive(Debug)]
struct Joiner {
    quotes: bool,
    is_quoted: bool,
    /// The record that has not ended yet.
    open: Option<Row>,
}

impl Joiner {
    fn new(quotes: bool) -> Self {
        Self {
            quotes,
            is_quoted: false,
            open: None,
        }
    }

    /// Adds a line. Returns the record if the line ends one.
    fn feed(&mut self, line: Line<'_>) -> Option<Row> {
        if self.quotes {
            self.is_quoted ^= memchr_iter(b'"', line.text).count() % 2 == 1;
        }
        let mut row = self.open.take().unwrap_or_else(|| {
            line.row(match line.continues {
                true => WITHIN_LINE,
                false => RECORD,
            })
        });
        row.lines.last = line.number;
        row.end = line.start + line.text.len() as u64;
        let is_whole = line.text.ends_with(b"\n") && !self.is_quoted;
        if is_whole || row.end - row.start > LONGEST_ROW {
            self.is_quoted = false;
            return Some(row);
        }
        self.open = Some(row);
        None
    }
}
