//! Which lines stay together whatever is cut?
//!
//! A *row* is what a chunk has whole or not at all: a line of text; a row of a table
//! with the line breaks in its quoted cells; a record of NDJSON; in JSON a subtree
//! that is small enough to be printed on one line ([`super::json`]).

use std::collections::VecDeque;
use std::io;

use memchr::memchr_iter;
use spillgate_artifact::{ContentKind, Layout, LineRange};
use spillgate_lookup::Artifact;
use spillgate_text::{Lines, View};

use super::json::JsonRows;
use super::text::Ranker;

/// The rank of a place inside a line: nothing is cut there if it can be helped.
pub(crate) const WITHIN_LINE: u16 = u16::MAX;
/// The rank of a row of a table and of a record.
const RECORD: u16 = 0;
/// Bytes of the longest row of a table. A longer one is none: its quotes were read
/// wrong, and it is cut like text.
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
    /// How bad it is to cut before it: 0 is best.
    pub rank: u16,
    /// It begins inside a line that was broken for its length.
    pub continues: bool,
    /// What it is in a JSON document.
    pub shape: Shape,
}

/// What a row is in a JSON document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    /// So many members or elements of what is open.
    Whole {
        /// 0 where an element only goes on, and outside of JSON.
        children: u64,
    },
    /// The first line of a container that is no single row.
    Opens(Box<Opened>),
    /// The last line of such a one.
    Closes,
}

/// A container that opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opened {
    /// Its key as written, quotes included; `None` where it is too long.
    pub key: Option<String>,
    /// Whether it has no key: an element, or the document.
    pub is_element: bool,
    /// Whether its own children are elements.
    pub is_array: bool,
}

/// How lines are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Line by line.
    Text(ContentKind),
    /// A table; whether a cell in quotes may hold line breaks.
    Table {
        /// Only in CSV.
        quotes: bool,
    },
    /// One JSON document a line.
    Records,
    /// One JSON document after so many bytes of notes.
    Json {
        /// Bytes of lines that are no JSON.
        prelude: u64,
        /// Whether a member or element stands on every line, so that paths can be
        /// told: the layout is ours.
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
            // It came on short lines, in whatever layout.
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

    /// Whether a chunk repeats the end of the one before.
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
    /// It begins inside a line that was broken for its length.
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

/// The rows of some lines of a view, front to back, in memory that does not grow.
#[derive(Debug)]
pub(crate) struct Rows<'a> {
    lines: Lines<'a>,
    layout: Layout,
    /// The last line that is read.
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
    /// The rows of `lines`. Where these begin with a row of the whole view, so do
    /// all that follow.
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

    /// All rows of a view.
    pub(crate) fn all(view: &'a View, sort: Sort) -> io::Result<Self> {
        let (first, last) = (1, view.lines());
        Self::new(view, sort, LineRange { first, last })
    }

    /// The next row; `None` after the last.
    pub(crate) fn next_row(&mut self) -> io::Result<Option<Row>> {
        while self.ready.is_empty() && !self.is_done {
            self.feed()?;
        }
        Ok(self.ready.pop_front())
    }

    /// The same, but not the rows of which more lines might come.
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
        // Between tags nothing was broken that belongs together.
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

/// Puts together the lines of a record.
#[derive(Debug)]
struct Joiner {
    quotes: bool,
    is_quoted: bool,
    /// The record that has not ended.
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

    /// Takes a line; gives the record that ends with it.
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
