//! Formats the answers of `grep_content`.

use std::fmt::Write;
use std::ops::Range;

use spillgate_offload::{Rejection, estimated_tokens};

use super::query::{ContentQuery, HEAP_LIMIT, Mode};
use super::search::SearchResults;
use crate::recovery::for_search;
use crate::tool_result::{Body, Reply, ToolError};
use crate::walk::{Deadline, SkippedEntries};
use crate::workspace::shown as named;
use crate::workspace_tools::Shared;

/// The results of a search, and what was skipped.
pub(super) struct SearchReport<'a> {
    pub(super) query: &'a ContentQuery,
    pub(super) found: &'a SearchResults,
    pub(super) skipped: &'a SkippedEntries,
    pub(super) shared: &'a Shared,
    /// Returns the searched path, relative to the root.
    pub(super) path: &'a dyn Fn() -> String,
}

impl SearchReport<'_> {
    /// The answer with all results; `bytes` is the size of their rows.
    pub(super) fn whole(&self, bytes: u64) -> Reply {
        if self.found.matches == 0 {
            return Ok(Body::Text(self.nothing()));
        }
        let (head, notes) = (self.head(), self.notes());
        let separator = match self.query.mode == Mode::Lines && self.query.has_context() {
            true => "--\n",
            false => "",
        };
        let separators = separator.len() as u64 * (self.found.files - 1);
        let bytes = bytes + separators + (head.len() + notes.len()) as u64;
        if self.shared.rules.exceeds(bytes) {
            return Err(self.too_much(bytes));
        }
        let rows: Vec<&str> = self
            .found
            .hits
            .iter()
            .map(|hit| hit.rows.as_str())
            .collect();
        self.within(head + &rows.join(separator) + &notes)
    }

    /// The answer with the results in `part` of `total`; `rows` are their rows.
    pub(super) fn page(&self, part: &Range<u64>, total: u64, rows: &str) -> Reply {
        let page = match *part == (0..total) {
            true => String::new(),
            false => format!("[Results {}-{} of {total}]\n", part.start + 1, part.end),
        };
        self.within(page + &self.head() + rows + &self.notes())
    }

    fn within(&self, text: String) -> Reply {
        let bytes = text.len() as u64;
        match self.shared.rules.exceeds(bytes) {
            true => Err(self.too_much(bytes)),
            false => Ok(Body::Text(text)),
        }
    }

    /// The refusal (docs/spec/texts.md, "Reject profile").
    pub(super) fn too_much(&self, bytes: u64) -> ToolError {
        let tokens = estimated_tokens(bytes);
        let (query, found) = (self.query, self.found);
        let matches = (query.mode != Mode::Files).then_some(found.matches);
        let asked = query.refused_search((self.path)());
        let counts = (matches, found.files);
        let block = for_search(self.shared, &asked, counts, &found.most.sorted());
        ToolError::from(Rejection::Search { tokens }).with(&block)
    }

    /// The header with the totals.
    fn head(&self) -> String {
        let files = self.found.files;
        let files_text = format!("{files} {}", noun(files, "file", "files"));
        if self.query.mode == Mode::Files {
            return format!("Found {files_text}\n");
        }
        format!("Found {} in {files_text}\n", self.matches())
    }

    fn matches(&self) -> String {
        let matches = self.found.matches;
        let what = match self.query.multiline {
            true => noun(matches, "match", "matches"),
            false => noun(matches, "matching line", "matching lines"),
        };
        format!("{matches} {what}")
    }

    /// The answer of a search without matches, with what was skipped.
    fn nothing(&self) -> String {
        let found = self.found;
        let searched = found.searched;
        let mut text = format!(
            "No matches found. {searched} {} searched.",
            noun(searched, "file was", "files were")
        );
        let mut passed = Vec::new();
        if let (Some(glob), 1..) = (&self.query.glob, found.other) {
            let glob = named(glob);
            passed.push(format!("{} that glob '{glob}' leaves out", found.other));
        }
        if found.binary > 0 && found.is_named {
            text += " It is binary (holds NUL bytes) and was searched as text.";
        } else if found.binary > 0 {
            passed.push(format!("{} binary", found.binary));
        }
        if found.links > 0 {
            passed.push(format!("{} links", found.links));
        }
        passed.extend(self.skipped.notes());
        if !passed.is_empty() {
            write!(text, " Passed by: {}.", passed.join(", ")).expect("writing to a string");
        }
        let notes = self.notes();
        if !notes.is_empty() {
            text.push('\n');
            text += notes.trim_end();
        }
        text
    }

    /// Notes on files and directories that may hold unreported matches.
    fn notes(&self) -> String {
        let found = self.found;
        let heap = HEAP_LIMIT >> 20;
        let too_large = match self.query.multiline {
            true => format!("larger than {heap} MiB, too large to search over lines"),
            false => format!("with a line longer than {heap} MiB"),
        };
        let kinds = [
            ("Not read", found.unreadable.note("file", "files")),
            (
                "Not read",
                self.skipped.unreadable.note("directory", "directories"),
            ),
            (
                "Shortened while it was searched, so call again",
                found.shortened.note("file", "files"),
            ),
            (
                "Not searched to its end",
                found
                    .too_large
                    .note(&format!("file {too_large}"), &format!("files {too_large}")),
            ),
            (
                "Not searched to its end, for the pattern is large and its word boundaries meet \
                 characters that are not ASCII (write `(?-u:\\b)` for `\\b`, or smaller repetitions)",
                found.costly.note("file", "files"),
            ),
            (
                match found.is_named {
                    true => "Binary (holds NUL bytes, each counted as a line's end), shown as text",
                    false => "Binary (holds NUL bytes), searched in part only",
                },
                found.cut_short.note("file", "files"),
            ),
        ];
        let mut notes = String::new();
        for (what, names) in kinds {
            if let Some(names) = names {
                writeln!(notes, "[{what}: {names}]").expect("writing to a string");
            }
        }
        notes
    }

    /// The error for a search that exceeded its time limit.
    pub(super) fn timed_out(&self, deadline: &Deadline<'_>) -> ToolError {
        let (searched, files) = (self.found.searched, self.found.files);
        ToolError::new(format!(
            "Search took longer than {} s: {searched} {} searched, {} in {files} {} so far. \
             Please narrow it with path or glob parameters.",
            deadline.limit().as_secs(),
            noun(searched, "file", "files"),
            self.matches(),
            noun(files, "file", "files")
        ))
    }
}

fn noun<'n>(count: u64, one: &'n str, many: &'n str) -> &'n str {
    match count {
        1 => one,
        _ => many,
    }
}
