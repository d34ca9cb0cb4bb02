//! Errors of filters.

use std::io;
use std::time::Duration;

use crate::page::MissingPath;

/// The reason why a filter has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The filter is not valid jq; the message marks the place.
    #[error("the filter is not valid jq: {message}\n  {line}\n  {mark}")]
    BadFilter {
        /// What is wrong with it.
        message: String,
        /// The line of the filter that is wrong.
        line: String,
        /// As many blanks as there are characters before the place in that line, and a `^`.
        mark: String,
    },
    /// The filter is longer than any that a person or a model would write.
    #[error("the filter has {bytes} bytes; {limit} are the most")]
    FilterTooLong {
        /// Its length in bytes.
        bytes: usize,
        /// Most bytes that it may have.
        limit: usize,
    },
    /// The filter failed because its path leads nowhere.
    #[error("{message}: {missing}")]
    NoSuchPath {
        /// jq's message.
        message: String,
        /// Where the path ends, and what is there.
        missing: Box<MissingPath>,
    },
    /// The filter failed before its first result.
    #[error("the filter failed on document {document}: {message}")]
    Failed {
        /// jq's message.
        message: String,
        /// Number of the document, from 1.
        document: u64,
    },
    /// jq cannot read the stored text.
    #[error("the stored output is not JSON: {message}")]
    NotJson {
        /// What is wrong and where.
        message: String,
    },
    /// There are fewer results.
    #[error("result {asked} is past the end: there are {total} results, counted from 0")]
    PastEnd {
        /// The requested result.
        asked: u64,
        /// The number of results.
        total: u64,
    },
    /// The first result of the page is shorter.
    #[error("byte {asked} is past the end of result {result}, which has fewer bytes")]
    PastResult {
        /// The requested byte.
        asked: u64,
        /// Number of the result, from 0.
        result: u64,
    },
    /// The document nests deeper than filters may follow.
    #[error("the stored document nests deeper than {limit} levels (at byte {at})")]
    TooDeep {
        /// Most levels that there may be.
        limit: usize,
        /// Byte of the document at which it exceeds the limit.
        at: u64,
    },
    /// The filter, or a value that it built, recursed until the stack was full.
    #[error("the filter, or the document, nests too deeply")]
    Recursed,
    /// The filter took too long.
    #[error("the filter was stopped after {limit:?}")]
    Timeout {
        /// Longest time that it may take.
        limit: Duration,
    },
    /// The filter needed too much memory.
    #[error("the filter wanted more than {} MiB of memory", limit >> 20)]
    Memory {
        /// Most bytes that it may use.
        limit: u64,
    },
    /// The process that ran the filter ended without an answer.
    #[error("the process that ran the filter ended without an answer: {how}")]
    Died {
        /// The signal or exit code, and the last text on its standard error.
        how: String,
    },
    /// The process that runs filters could not be started.
    #[error("the process that runs filters could not be started: {0}")]
    Spawn(io::Error),
    /// The stored bytes could not be read or passed on.
    #[error("the stored output could not be read: {0}")]
    Io(#[from] io::Error),
}

impl QueryError {
    /// Returns the kind as a short word for `--json` and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BadFilter { .. } | Self::FilterTooLong { .. } => "bad_filter",
            Self::NoSuchPath { .. } => "no_such_path",
            Self::Failed { .. } => "filter_failed",
            Self::NotJson { .. } => "not_json",
            Self::PastEnd { .. } | Self::PastResult { .. } => "past_end",
            Self::TooDeep { .. } | Self::Recursed => "too_deep",
            Self::Timeout { .. } => "timeout",
            Self::Memory { .. } => "out_of_memory",
            Self::Died { .. } | Self::Spawn(_) => "query_process",
            Self::Io(_) => "store_io",
        }
    }

    /// Returns whether the caller can correct it.
    #[must_use]
    pub fn is_callers(&self) -> bool {
        !matches!(self, Self::Died { .. } | Self::Spawn(_) | Self::Io(_))
    }

    /// Returns what to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::BadFilter { .. } => "filters are jq: .items[] | select(.price > 5) | .name",
            Self::FilterTooLong { .. } => "ask for less at a time",
            Self::NoSuchPath { .. } => "take a key that is there; `keys` lists them",
            Self::Failed { .. } => {
                "look at one value first, as in `.items[0]`; `?` behind a step leaves out what fails"
            }
            Self::PastEnd { .. } => "ask for a result before the end",
            Self::PastResult { .. } => "take `--start` and `--byte` from the page before",
            Self::NotJson { .. } | Self::TooDeep { .. } => {
                "read it as text: by lines or with a regular expression"
            }
            Self::Recursed => "let the filter's recursion end sooner, or read the output as text",
            Self::Timeout { .. } => {
                "begin with a path, as in `.items[] | …`, take a part with `limit(100; …)`, and see that recursion ends"
            }
            Self::Memory { .. } => {
                "begin with a path, as in `.items[] | …`: then one value at a time is held"
            }
            Self::Died { .. } => "try again; if it happens again, read the output as text",
            Self::Spawn(_) => "see whether the program may start processes",
            Self::Io(_) => "remove the output from the store and make it again",
        }
    }
}

/// Returns the error for a filter that is wrong at byte `at`.
pub(crate) fn bad_filter(filter: &str, message: String, at: usize) -> QueryError {
    /// Characters shown before and after the place.
    const AROUND: usize = 40;
    let at = filter.floor_char_boundary(at);
    let message = match odd_key(filter, at) {
        Some(key) => format!("{message}; write .{key:?} for such a key"),
        None => message,
    };
    let start = filter[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let end = filter[at..]
        .find('\n')
        .map_or(filter.len(), |newline| at + newline);
    let before: Vec<char> = filter[start..at].chars().collect();
    let shown = &before[before.len().saturating_sub(AROUND)..];
    let after = filter[at..end].chars().take(AROUND);
    let line = shown.iter().copied().chain(after);
    QueryError::BadFilter {
        message,
        line: line.map(|c| if c == '\t' { ' ' } else { c }).collect(),
        mark: format!("{}^", " ".repeat(shown.len())),
    }
}

/// Returns the key around byte `at` that jq does not read as one, as in `.pkg-3` or `.xml:lang`:
/// such a key needs quotes.
fn odd_key(filter: &str, at: usize) -> Option<&str> {
    let is_plain = |c: char| c.is_alphanumeric() || c == '_';
    let is_key = |c: char| is_plain(c) || matches!(c, '-' | ':' | '@' | '/' | '$' | '+');
    filter.match_indices('.').find_map(|(dot, _)| {
        let key = &filter[dot + 1..];
        let key = &key[..key.find(|c| !is_key(c)).unwrap_or(key.len())];
        // jq may report the token after the key.
        let is_near = dot <= at && at <= dot + key.len() + 2;
        let is_odd =
            key.starts_with(is_plain) && key.ends_with(is_plain) && key.contains(|c| !is_plain(c));
        (is_near && is_odd).then_some(key)
    })
}
