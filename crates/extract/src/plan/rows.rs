//! Groups lines that must stay together.
//!
//! A *row* is in a chunk as a whole or not at all: a line of text; a row of a table with the line
//! breaks in its quoted cells; a record of NDJSON; in JSON a subtree that is small enough to be
//! printed on one line ([`super::json`]).

use std::collections::VecDeque;
use std::io;

use memchr::memchr_iter;
use spillgate_artifact::{ContentKind, Layout, LineRange};
use spillgate_lookup::Artifact;
use spillgate_text::{Lines, View};

use super::json::JsonRows;
use super::text::Ranker;

/// The rank of a place inside a line: the last resort for a cut.
pub(crate) const WITHIN_LINE: u16 = u16::MAX;
/// The rank of a row of a table and of a record.
const RECORD: u16 = 0;
/// Most bytes of a row of a table. A longer one means that quotes were misread, and it is cut like
/// text.
const LONGEST_ROW: u64 = 16 << 10;

/// Lines that stay together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// View lines, from 1.
    pub lines: LineRange,
    /// First byte in the view.
    pub start: u64,
    /// The byte after its last one.
    pub end: u64,
    /// How bad a cut before it is: 0 is best.
    pub rank: u16,
    /// Whether it begins inside a line that was broken for its length.
    pub continues: bool,
    /// Its role in a JSON document.
    pub shape: Shape,
}

/// The role of a row in a JSON document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Members or elements of the innermost open container.
    Whole {
        /// Their number; 0 if an element only continues, and outside of JSON.
        children: u64,
    },
    /// The first line of a container that is larger than a row.
    Opens(Box<Opened>),
    /// The last line of such a container.
    Closes,
}

/// A container that opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opened {
    /// Its key as written, quotes included; `None` if it is too long.
    pub key: Option<String>,
    /// Whether it has no key: it is an element, or the document.
    pub is_element: bool,
    /// Whether its own children are elements.
    pub is_array: bool,
}

/// How lines are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Line by line.
    Text(ContentKind),
    /// A table; cells in quotes may contain line breaks.
    Table {
        /// Whether cells may be quoted: only in CSV.
        quotes: bool,
    },
    /// One JSON document a line.
    Records,
    /// One JSON document after a prelude of notes.
    Json {
        /// Bytes of the lines that are not JSON.
        prelude: u64,
        /// Whether the layout is ours, with a member or element on every line, so that paths
        /// are known.
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
            // It arrived with short lines, in any layout.
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

    /// Whether a chunk repeats the end of the previous one.
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
    /// Whether it begins inside a line that was broken for its length.
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

/// Reads the rows of some lines of a view, front to back, in bounded memory.
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
    /// Reads the rows of `lines`. If these begin with a row of the whole view, all following rows
    /// are rows of the view, too.
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

    /// Returns the next row, but none that more lines might still extend.
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
        // A break before a tag separates nothing that belongs together.
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

    /// Takes a line; returns the record that ends with it.
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
