//! Errors of filters.

use std::io;
use std::time::Duration;

use crate::page::MissingPath;

/// Why a filter has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The filter is not valid jq. The message marks the position of the error.
    #[error("the filter is not valid jq: {message}\n  {line}\n  {mark}{}", meant(.fix.as_deref()))]
    BadFilter {
        /// What is wrong with it.
        message: String,
        /// The line of the filter that contains the error.
        line: String,
        /// A `^` below the position of the error, with spaces before it.
        mark: String,
        /// The valid filter that was probably meant.
        fix: Option<String>,
    },
    /// The filter is longer than a person or a model would write.
    #[error("the filter has {bytes} bytes; {limit} are the most")]
    FilterTooLong {
        /// Its length in bytes.
        bytes: usize,
        /// Maximum length, in bytes.
        limit: usize,
    },
    /// The filter failed because its path does not exist in the document.
    #[error("{message}: {missing}")]
    NoSuchPath {
        /// jq's message.
        message: String,
        /// The place where the path leaves the document, and what is there.
        missing: Box<MissingPath>,
    },
    /// The filter failed before its first result.
    #[error("the filter failed on {place}: {message}{}", joined(.hints))]
    Failed {
        /// jq's message.
        message: String,
        /// What the filter failed on: a document, row or line, or the array of all of them.
        place: String,
        /// Facts about the data that may explain the failure.
        hints: Vec<String>,
    },
    /// jq cannot read the stored text.
    #[error("the stored output is not JSON: {message}")]
    NotJson {
        /// What is wrong and where.
        message: String,
    },
    /// There are fewer results than the page skips.
    #[error("result {asked} is past the end: there are {total} results, counted from 0")]
    PastEnd {
        /// The requested result.
        asked: u64,
        /// The number of results.
        total: u64,
    },
    /// The first result of the page is shorter than the part of it that the page skips.
    #[error("byte {asked} is past the end of result {result}, which has fewer bytes")]
    PastResult {
        /// The requested byte.
        asked: u64,
        /// Number of the result, counted from 0.
        result: u64,
    },
    /// The document nests deeper than the limit.
    #[error("the stored document nests deeper than {limit} levels (at byte {at})")]
    TooDeep {
        /// Maximum nesting depth.
        limit: usize,
        /// Position in the document at which it exceeds the limit, in bytes.
        at: u64,
    },
    /// The filter, or a value that it built, recursed until the stack was full.
    #[error("the filter, or the document, nests too deeply")]
    Recursed,
    /// The filter took too long.
    #[error("the filter was stopped after {limit:?}")]
    Timeout {
        /// The time limit.
        limit: Duration,
    },
    /// The filter needed too much memory.
    #[error("the filter wanted more than {} MiB of memory", limit >> 20)]
    Memory {
        /// Maximum memory, in bytes.
        limit: u64,
    },
    /// The process that ran the filter ended without an answer.
    #[error("the process that ran the filter ended without an answer: {how}")]
    Died {
        /// The signal or exit code, and what the process wrote to its standard error.
        how: String,
    },
    /// The process that runs filters could not be started.
    #[error("the process that runs filters could not be started: {0}")]
    Spawn(io::Error),
    /// The stored bytes could not be read or passed to the child.
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

    /// Returns whether the caller can correct the error.
    #[must_use]
    pub fn is_callers(&self) -> bool {
        !matches!(self, Self::Died { .. } | Self::Spawn(_) | Self::Io(_))
    }

    /// Returns advice on what to do about the error.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::BadFilter { .. } => "filters are jq: .items[] | select(.price > 5) | .name",
            Self::FilterTooLong { .. } => "ask for less at a time",
            Self::NoSuchPath { .. } => "take a key that is there; `keys` lists them",
            Self::Failed { message, .. } if message.ends_with("as string") => {
                "`tostring` makes a text of a number, as in `(.id | tostring)`; `?` behind a step leaves out what fails"
            }
            Self::Failed { message, .. }
                if message.contains("as number") || message.contains("calculate") =>
            {
                "`tonumber` makes a number of a text, as in `(.price | tonumber? // 0)`"
            }
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

/// Returns the line that names the filter that was probably meant.
fn meant(fix: Option<&str>) -> String {
    fix.map_or_else(String::new, |fix| format!("\ntry: {fix}"))
}

fn joined(hints: &[String]) -> String {
    hints.iter().map(|hint| format!("; {hint}")).collect()
}

/// Returns the error for a filter with an error at byte `at`. `fix` is the filter that was probably
/// meant.
pub(crate) fn bad_filter(
    filter: &str,
    message: String,
    at: usize,
    fix: Option<String>,
) -> QueryError {
    /// Number of characters that are shown before and after the position of the error.
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
        fix,
    }
}

/// Returns the key around byte `at` if jq reads only a part of it as a key, as in `.pkg-3` or
/// `.xml:lang`. Such a key needs quotes.
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
