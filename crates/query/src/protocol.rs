//! The messages between parent and child.
//!
//! The request is a variable of an otherwise empty environment, for
//! standard input is the data, and arguments can be read by every user of the
//! machine; answers come back as a JSON document a line, no longer than the window allows.

use serde::{Deserialize, Serialize};
use spillgate_artifact::Layout;

use crate::MissingPath;

/// The environment variable in which a child finds its request. Unlike
/// arguments, only the owner of a process can read its environment.
pub const REQUEST: &str = "SPILLGATE_QUERY";

/// What the child is to do, and within which limits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) filter: String,
    pub(crate) raw: bool,
    pub(crate) slurp: bool,
    /// Results that are not shown.
    pub(crate) start: u64,
    /// Bytes of the first shown result that are not shown.
    pub(crate) byte: u64,
    /// Bytes of results that are sent; later ones are counted.
    pub(crate) window: usize,
    /// Results that are counted after the window is full.
    pub(crate) counted: u64,
    pub(crate) format: Format,
    /// First byte of the data in standard input.
    pub(crate) from: u64,
    /// Bytes of the data.
    pub(crate) length: u64,
    /// Bytes that may be allocated.
    pub(crate) memory: u64,
    /// Seconds of the processor.
    pub(crate) cpu: u64,
    /// Levels that a document may nest.
    pub(crate) depth: usize,
}

/// How the data is cut into documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Format {
    /// JSON documents one after the other; most often there is one.
    Json,
    /// A JSON document a line.
    Ndjson,
    /// Rows with a header.
    Table {
        /// What stands between two cells.
        delimiter: u8,
    },
    /// Lines of text, each a string.
    Lines {
        /// By which rule view lines are cut.
        layout: Layout,
    },
}

/// What the child says.
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
    /// The window is full; what follows is counted.
    Full,
    /// There is nothing to come.
    End(Summary),
    /// The filter could not be run at all.
    Refused(Refusal),
}

/// How a run went.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// Results that the filter gave.
    pub(crate) results: u64,
    /// Whether it was run to its end.
    pub(crate) complete: bool,
    /// Documents that it was run on.
    pub(crate) documents: u64,
    /// Lines or rows that could not be read.
    pub(crate) bad: u64,
    /// The first of them, from 1, and what is wrong with it.
    pub(crate) first_bad: Option<(u64, String)>,
    /// Documents on which it failed.
    pub(crate) failed: u64,
    /// The first failure.
    pub(crate) failure: Option<Failure>,
    /// Where the filter's path leaves the document.
    pub(crate) missing: Option<MissingPath>,
}

/// The filter failed on a document.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// Which document, from 1.
    pub(crate) document: u64,
    /// Results before it.
    pub(crate) after: u64,
    /// What jq says.
    pub(crate) message: String,
}

/// Why there was nothing to run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Refusal {
    /// The filter is no jq.
    Filter {
        /// What is wrong.
        message: String,
        /// Byte of the filter.
        at: usize,
    },
    /// The data is not JSON.
    NotJson {
        /// What is wrong and where.
        message: String,
    },
    /// The document nests too deeply.
    TooDeep {
        /// Byte of the document at which the limit was passed.
        at: u64,
    },
    /// Something that the machine would not do.
    Failed {
        /// What it said.
        message: String,
    },
}
