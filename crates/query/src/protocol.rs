//! Defines the messages between Spillgate and the child process that runs a filter.
//!
//! The request is passed in an environment variable, because standard input carries the data and
//! every user of the machine can read arguments. The child's environment contains only this
//! variable and the settings of the allocator. The child answers with one JSON document per line.
//! The total length of these documents is limited by the number of bytes that the request allows.

use serde::{Deserialize, Serialize};
use spillgate_artifact::Layout;

use crate::MissingPath;

/// The environment variable with the child's request. Only the owner of a process can read its
/// environment, whereas its arguments are public.
pub const REQUEST: &str = "SPILLGATE_QUERY";

/// The task of the child, and its limits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) filter: String,
    pub(crate) raw: bool,
    pub(crate) slurp: bool,
    /// Whether equal results in a row are sent only once, followed by their number.
    #[serde(default)]
    pub(crate) fold: bool,
    /// Number of results to skip.
    pub(crate) start: u64,
    /// Number of bytes to skip at the start of the first returned result.
    pub(crate) byte: u64,
    /// Number of bytes of results to send. Later results are only counted.
    pub(crate) window: usize,
    /// Maximum number of results that are counted after these bytes were sent.
    pub(crate) counted: u64,
    pub(crate) format: Format,
    /// Offset in standard input at which the data begins, in bytes.
    pub(crate) from: u64,
    /// Size of the data, in bytes.
    pub(crate) length: u64,
    /// Maximum number of bytes that may be allocated in addition to the data.
    pub(crate) memory: u64,
    /// Maximum processor time, in seconds.
    pub(crate) cpu: u64,
    /// Maximum nesting depth of a document.
    pub(crate) depth: usize,
}

/// How the data is split into documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Format {
    /// JSON documents in sequence; usually only one.
    Json,
    /// One JSON document per line.
    Ndjson,
    /// Rows of a table with a header.
    Table {
        /// The byte that separates cells.
        delimiter: u8,
    },
    /// Lines of text, each of which is a string.
    Lines {
        /// The layout that determines where view lines end.
        layout: Layout,
    },
}

/// A message of the child.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// A result, or the part of it that is within the window.
    Result {
        /// The text of the result, from byte `from` to its end or the end of the window.
        text: String,
        /// Number of bytes of the result that were skipped.
        from: u64,
        /// Whether the text includes the end of the result.
        whole: bool,
    },
    /// The last result occurred this many more times in a row.
    Again(u64),
    /// The window is full. Later results are only counted.
    Full,
    /// The last message of a run.
    End(Box<Summary>),
    /// The filter could not run at all.
    Refused(Refusal),
}

/// After this many equal results in a row, the child reports their number, even before the run of
/// equal results ends.
pub(crate) const LONG_RUN: u64 = 10_000;

impl Message {
    /// Returns whether the child has begun to count instead of sending results.
    pub(crate) fn only_counts(&self) -> bool {
        matches!(self, Self::Full) || matches!(self, Self::Again(times) if *times >= LONG_RUN)
    }
}

/// What a filter takes as its input, if the data is a sequence of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reading {
    /// Each record.
    Each,
    /// The array of all records.
    All,
}

/// The outcome of a run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// Number of results of the filter.
    pub(crate) results: u64,
    /// Whether the filter ran to its end.
    pub(crate) complete: bool,
    /// Number of documents on which the filter ran.
    pub(crate) documents: u64,
    /// Number of lines or rows that could not be read.
    pub(crate) bad: u64,
    /// The number of the first unreadable line or row, counted from 1, and what is wrong with it.
    pub(crate) first_bad: Option<(u64, String)>,
    /// Number of documents on which the filter failed.
    pub(crate) failed: u64,
    /// Whether the first failure ended the run, because the filter gathers results from all
    /// documents.
    pub(crate) failed_at_once: bool,
    /// The first failure.
    pub(crate) failure: Option<Failure>,
    /// The place where the filter's path leaves the document.
    pub(crate) missing: Option<MissingPath>,
    /// Whether the filter read each record or the array of all records, if both were possible.
    pub(crate) reading: Option<Reading>,
    /// The filter's error on the input ([`Reading`]) that was tried first, if the other input was
    /// used.
    pub(crate) not_read: Option<String>,
    /// Facts about the data that the reader of the results should know.
    pub(crate) hints: Vec<String>,
}

impl Summary {
    /// Returns the first failure if the filter failed on every document on which it ran.
    pub(crate) fn all_failed(&self) -> Option<&Failure> {
        let failure = self.failure.as_ref()?;
        let is_all = self.failed_at_once
            || failure.document == 0
            || self.failed == self.documents - self.bad;
        is_all.then_some(failure)
    }
}

/// A failure of the filter on a document.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// Number of the document, counted from 1; 0 for the array of all documents.
    pub(crate) document: u64,
    /// Number of results before the failure.
    pub(crate) after: u64,
    /// jq's message.
    pub(crate) message: String,
}

/// Why the filter could not run at all.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Refusal {
    /// The filter is not valid jq.
    Filter {
        /// What is wrong.
        message: String,
        /// Position of the error in the filter, in bytes.
        at: usize,
        /// The filter that was probably meant.
        fix: Option<String>,
    },
    /// The data is not JSON.
    NotJson {
        /// What is wrong and where.
        message: String,
    },
    /// The document nests too deeply.
    TooDeep {
        /// Position in the document at which it exceeds the limit, in bytes.
        at: u64,
    },
    /// The operating system refused an operation.
    Failed {
        /// Its message.
        message: String,
    },
}
