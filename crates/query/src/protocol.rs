//! The messages between parent and child.
//!
//! The request is an environment variable, the only one besides the allocator's settings: standard
//! input carries the data, and every user of the machine can read arguments. The answers are one
//! JSON document per line, no longer than the window allows.

use serde::{Deserialize, Serialize};
use spillgate_artifact::Layout;

use crate::MissingPath;

/// The environment variable with the child's request. Unlike the arguments of a process, only its
/// owner can read its environment.
pub const REQUEST: &str = "SPILLGATE_QUERY";

/// The task of the child, and its limits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) filter: String,
    pub(crate) raw: bool,
    pub(crate) slurp: bool,
    /// Results to skip.
    pub(crate) start: u64,
    /// Bytes of the first shown result to skip.
    pub(crate) byte: u64,
    /// Bytes of results to send; later results are only counted.
    pub(crate) window: usize,
    /// Most results that are counted after the window is full.
    pub(crate) counted: u64,
    pub(crate) format: Format,
    /// First byte of the data in standard input.
    pub(crate) from: u64,
    /// Bytes of the data.
    pub(crate) length: u64,
    /// Bytes that may be allocated besides the data.
    pub(crate) memory: u64,
    /// Seconds of processor time.
    pub(crate) cpu: u64,
    /// Most levels that a document may nest.
    pub(crate) depth: usize,
}

/// How the data is split into documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Format {
    /// JSON documents one after another; usually there is one.
    Json,
    /// One JSON document per line.
    Ndjson,
    /// Rows with a header.
    Table {
        /// The byte between two cells.
        delimiter: u8,
    },
    /// Lines of text, each a string.
    Lines {
        /// The rule by which view lines are cut.
        layout: Layout,
    },
}

/// A message of the child.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// A result within the window.
    Result {
        /// Its text from byte `from` on, as far as the window reaches.
        text: String,
        /// Bytes of it that were skipped.
        from: u64,
        /// Whether the text reaches to its end.
        whole: bool,
    },
    /// The window is full; later results are counted.
    Full,
    /// The last message of a run.
    End(Summary),
    /// The filter could not run at all.
    Refused(Refusal),
}

/// The outcome of a run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// Results of the filter.
    pub(crate) results: u64,
    /// Whether the filter ran to its end.
    pub(crate) complete: bool,
    /// Documents on which it ran.
    pub(crate) documents: u64,
    /// Lines or rows that could not be read.
    pub(crate) bad: u64,
    /// The first of them, counted from 1, and what is wrong with it.
    pub(crate) first_bad: Option<(u64, String)>,
    /// Documents on which it failed.
    pub(crate) failed: u64,
    /// The first failure.
    pub(crate) failure: Option<Failure>,
    /// The place where the filter's path leaves the document.
    pub(crate) missing: Option<MissingPath>,
}

/// A failure of the filter on a document.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// Number of the document, from 1.
    pub(crate) document: u64,
    /// Number of results before it.
    pub(crate) after: u64,
    /// jq's message.
    pub(crate) message: String,
}

/// The reason why nothing could run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Refusal {
    /// The filter is not valid jq.
    Filter {
        /// What is wrong.
        message: String,
        /// Byte of the filter at which it is wrong.
        at: usize,
    },
    /// The data is not JSON.
    NotJson {
        /// What is wrong and where.
        message: String,
    },
    /// The document nests too deeply.
    TooDeep {
        /// Byte of the document at which it exceeds the limit.
        at: u64,
    },
    /// The operating system refused something.
    Failed {
        /// Its message.
        message: String,
    },
}
