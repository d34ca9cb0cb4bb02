//! Formats matches as rows.

use std::collections::VecDeque;
use std::fmt::Write;
use std::io;
use std::ops::Range;

use grep_matcher::Matcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};
use spillgate_lookup::Seeker;

use super::query::{ContentQuery, Mode};

/// Maximum length, in bytes, of a line that is shown whole. Lines of code and of logs are hardly
/// ever longer, while one line of a minified file could fill an answer.
const LONGEST_LINE: usize = 2000;

/// Bytes shown before the match in a line that is cut.
const LEAD: usize = 500;

/// Which rows of a file's matches are produced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RowSelection {
    /// None; matches are only counted.
    Count,
    /// All rows, if they take at most this number of bytes together. Rows beyond it are only
    /// counted.
    Rows(u64),
    /// Rows of the matches in this 0-based range, with the same bound in bytes; the search ends
    /// after them.
    Part(Range<u64>, u64),
}

/// Collects the matches of a file.
#[derive(Debug)]
pub(super) struct RowSink<'a> {
    query: &'a ContentQuery,
    seeker: &'a Seeker<'a>,
    path: &'a str,
    wanted: RowSelection,
    /// The rows, `path:line:text` or `path-line-text`; empty if they are too large.
    pub(super) text: String,
    /// The size of the rows in bytes.
    pub(super) bytes: u64,
    /// Matches so far.
    pub(super) matches: u64,
    /// Whether the searcher found a NUL.
    pub(super) is_binary: bool,
    /// Context lines that are shown if a selected match follows.
    pending: VecDeque<(u64, Vec<u8>)>,
    /// The number of the last line shown.
    last: Option<u64>,
}

impl<'a> RowSink<'a> {
    pub(super) fn new(
        query: &'a ContentQuery,
        seeker: &'a Seeker<'a>,
        path: &'a str,
        wanted: RowSelection,
    ) -> Self {
        Self {
            query,
            seeker,
            path,
            wanted,
            text: String::new(),
            bytes: 0,
            matches: 0,
            is_binary: false,
            pending: VecDeque::new(),
            last: None,
        }
    }

    /// The number of bytes beyond which rows are only counted.
    fn room(&self) -> u64 {
        match self.wanted {
            RowSelection::Count => 0,
            RowSelection::Rows(room) | RowSelection::Part(_, room) => room,
        }
    }

    /// Whether the match with this number is shown.
    fn tells(&self, number: u64) -> bool {
        match &self.wanted {
            RowSelection::Count => false,
            RowSelection::Rows(_) => true,
            RowSelection::Part(part, _) => part.contains(&number),
        }
    }

    /// Whether the search can end after this many matches, because no later match is selected.
    fn is_done(&self, matches: u64) -> bool {
        matches!(&self.wanted, RowSelection::Part(part, _) if matches >= part.end)
    }

    /// Adds a line. `mark` is `:` for a line with a match, `-` otherwise.
    fn row(&mut self, line: u64, mark: char, bytes: &[u8]) {
        let begins = self.last.is_none_or(|last| last + 1 < line);
        if self.query.has_context() && begins && self.last.is_some() {
            self.push("--\n");
        }
        self.last = Some(line);
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        // Computes the exact size of the row without formatting it. The total must not depend on
        // the order in which rows arrive.
        if self.bytes > self.room()
            && bytes.len() <= LONGEST_LINE
            && std::str::from_utf8(bytes).is_ok()
        {
            let marks = "::\n".len();
            let digits = line.checked_ilog10().unwrap_or(0) as usize + 1;
            self.bytes += (self.path.len() + marks + digits + bytes.len()) as u64;
            return;
        }
        let at = match mark {
            ':' if bytes.len() > LONGEST_LINE => {
                let found = self.seeker.find(bytes);
                found.ok().flatten().map_or(0, |found| found.start())
            }
            _ => 0,
        };
        let row = format!("{}{mark}{line}{mark}{}\n", self.path, clipped(bytes, at));
        self.push(&row);
    }

    fn push(&mut self, row: &str) {
        self.bytes += row.len() as u64;
        match self.bytes > self.room() {
            true => self.text = String::new(),
            false => self.text.push_str(row),
        }
    }
}

impl Sink for RowSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let number = self.matches;
        if self.is_done(number) {
            return Ok(false);
        }
        self.matches += 1;
        if self.wanted == RowSelection::Count {
            return Ok(self.query.mode != Mode::Files);
        }
        let pending = std::mem::take(&mut self.pending);
        if self.tells(number) {
            for (line, bytes) in pending {
                self.row(line, '-', &bytes);
            }
            let first = found.line_number().unwrap_or(0);
            for (line, bytes) in (first..).zip(found.lines()) {
                self.row(line, ':', bytes);
            }
        }
        Ok(self.query.after > 0 || !self.is_done(self.matches))
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        let line = found.line_number().unwrap_or(0);
        let follows = self
            .matches
            .checked_sub(1)
            .is_some_and(|last| self.tells(last));
        let is_after = *found.kind() == grep_searcher::SinkContextKind::After;
        if is_after && follows {
            self.row(line, '-', found.bytes());
        } else if self.is_done(self.matches) {
            return Ok(false);
        } else {
            self.pending.push_back((line, found.bytes().to_vec()));
            if self.pending.len() > self.query.before {
                self.pending.pop_front();
            }
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.pending.clear();
        Ok(!self.is_done(self.matches))
    }

    fn binary_data(&mut self, searcher: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(searcher.binary_detection().quit_byte().is_none())
    }
}

/// Formats a line. If the line is too long, returns the part around `at` and, on each side, the
/// number of bytes cut.
fn clipped(line: &[u8], at: usize) -> String {
    if line.len() <= LONGEST_LINE {
        return String::from_utf8_lossy(line).into_owned();
    }
    let first = at.saturating_sub(LEAD).min(line.len() - LONGEST_LINE);
    let (first, end) = (letter(line, first), letter(line, first + LONGEST_LINE));
    let mut text = String::new();
    let cut = |text: &mut String, bytes: usize| match bytes {
        0 => {}
        bytes => write!(text, "[{bytes} bytes cut]").expect("writing to a string"),
    };
    cut(&mut text, first);
    text += &String::from_utf8_lossy(&line[first..end]);
    cut(&mut text, line.len() - end);
    text
}

/// The start of the character that contains the byte at `at`.
fn letter(line: &[u8], at: usize) -> usize {
    let before = (at.saturating_sub(3)..=at).rev();
    let mut starts = before.filter(|&at| line.get(at).is_none_or(|byte| byte & 0xC0 != 0x80));
    starts.next().unwrap_or(at)
}
