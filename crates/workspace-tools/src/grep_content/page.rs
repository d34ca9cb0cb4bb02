//! Selects the results that one page of an answer contains, and searches a single file if one is
//! named.

use std::fs::File;
use std::io::Seek;
use std::ops::Range;

use super::query::{ContentQuery, FileSearcher, Mode};
use super::report::SearchReport;
use super::rows::{RowSelection, RowSink};
use super::search::{FileMatches, GrepSearch, SearchResults};
use crate::tool_result::{Reply, ToolError};
use crate::walk::{Deadline, DeadlineFile, SkippedEntries, StopReason, shown};
use crate::workspace_tools::Shared;

/// Answers a search with all results or with one page of them. For a page, it searches the files
/// again.
pub(super) struct Pager<'a> {
    pub(super) report: SearchReport<'a>,
    pub(super) deadline: &'a Deadline<'a>,
    /// Opens a file with matches again.
    pub(super) reopen: &'a dyn Fn(&[u8]) -> Option<File>,
}

/// Searches a file that the call names.
pub(super) fn file(
    shared: &Shared,
    query: &ContentQuery,
    file: &File,
    path: &[u8],
    deadline: &Deadline<'_>,
) -> Reply {
    let reopen = |_: &[u8]| {
        let mut again = file.try_clone().ok()?;
        again.rewind().ok()?;
        Some(again)
    };
    let search = GrepSearch::new(query, &shared.rules);
    let mut found = SearchResults {
        is_named: true,
        ..SearchResults::default()
    };
    let mut searcher = query.searcher(true, search.only_counts(), deadline);
    if let Some(file) = reopen(path) {
        let file = DeadlineFile::new(file, deadline);
        found.search(&search, &mut searcher, file, path);
    }
    let pager = Pager {
        report: SearchReport {
            query,
            found: &found,
            skipped: &SkippedEntries::default(),
            shared,
            path: &|| shown(path),
        },
        deadline,
        reopen: &reopen,
    };
    pager.reply(search.bytes.into_inner())
}

impl Pager<'_> {
    /// Returns the answer; `bytes` is the size of the rows of all results.
    pub(super) fn reply(&self, bytes: u64) -> Reply {
        let report = &self.report;
        match self.deadline.stop_reason() {
            Some(StopReason::Stopped) => {
                Err(ToolError::new("Search was stopped, nobody waited for it."))
            }
            Some(StopReason::TimeOut) => Err(report.timed_out(self.deadline)),
            None if report.query.is_paged() && report.found.matches > 0 => self.page(),
            None => report.whole(bytes),
        }
    }

    /// Returns a page of the results.
    fn page(&self) -> Reply {
        let (query, found) = (self.report.query, self.report.found);
        let total = match query.mode {
            Mode::Lines => found.matches,
            Mode::Files | Mode::Count => found.files,
        };
        let first = query.offset;
        if first >= total {
            return Err(ToolError::new(format!(
                "offset {first} is past the last result: there are {total}. \
                 Please use a smaller offset."
            )));
        }
        let end = query.max.map_or(total, |max| first.saturating_add(max));
        let part = first..end.min(total);
        let rows = match query.mode {
            Mode::Lines => self.lines(&part)?,
            Mode::Files | Mode::Count => self.files(&part)?,
        };
        self.report.page(&part, total, &rows)
    }

    /// Returns the rows of the files in the range `part`.
    fn files(&self, part: &Range<u64>) -> Result<String, ToolError> {
        let before = usize::try_from(part.start).unwrap_or(usize::MAX);
        let count = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
        let hits = self.report.found.hits.iter().skip(before).take(count);
        let bytes = hits.clone().map(|hit| hit.rows.len() as u64).sum();
        match self.report.shared.rules.exceeds(bytes) {
            true => Err(self.report.too_much(bytes)),
            false => Ok(hits.map(|hit| hit.rows.as_str()).collect()),
        }
    }

    /// Returns the rows of the matches in the range `part`, by searching their files again.
    fn lines(&self, part: &Range<u64>) -> Result<String, ToolError> {
        let query = self.report.query;
        let mut searcher = query.searcher(self.report.found.is_named, false, self.deadline);
        let (mut text, mut bytes, mut before) = (String::new(), 0, 0);
        for hit in &self.report.found.hits {
            let begin = part.start.saturating_sub(before);
            let of_file = begin..part.end.saturating_sub(before).min(hit.matches);
            before += hit.matches;
            if of_file.is_empty() {
                continue;
            }
            if query.has_context() && bytes > 0 {
                text += "--\n";
                bytes += 3;
            }
            let (rows, of_rows) = self.again(&mut searcher, hit, of_file, bytes)?;
            text += &rows;
            bytes += of_rows;
            if bytes > self.report.shared.rules.most_bytes() {
                text = String::new();
            }
        }
        match bytes > self.report.shared.rules.most_bytes() {
            true => Err(self.report.too_much(bytes)),
            false => Ok(text),
        }
    }

    /// Returns the rows for a file's matches in the range `part`, and the size of these rows in
    /// bytes. `counted` is the number of bytes that the rows of earlier files take.
    fn again(
        &self,
        searcher: &mut FileSearcher<'_>,
        hit: &FileMatches,
        part: Range<u64>,
        counted: u64,
    ) -> Result<(String, u64), ToolError> {
        let query = self.report.query;
        let name = shown(&hit.path);
        let changed = || {
            ToolError::new(format!(
                "File '{name}' changed while it was searched. Please call again."
            ))
        };
        let file = (self.reopen)(&hit.path).ok_or_else(changed)?;
        let room = self
            .report
            .shared
            .rules
            .most_bytes()
            .saturating_sub(counted);
        let FileSearcher { searcher, seeker } = searcher;
        let mut rows = RowSink::new(query, seeker, &name, RowSelection::Part(part.clone(), room));
        let deadline = self.deadline;
        // The first pass has already reported an error that occurs after these matches.
        let _ = searcher.search_reader(&*seeker, DeadlineFile::new(file, deadline), &mut rows);
        if deadline.stop_reason().is_some() {
            return Err(self.report.timed_out(deadline));
        }
        match rows.matches < part.end {
            true => Err(changed()),
            false => Ok((rows.text, rows.bytes)),
        }
    }
}
