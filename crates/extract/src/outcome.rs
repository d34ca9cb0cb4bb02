//! The outcome of an extraction: the answer, its citations and what it cost.

use std::fmt;

use serde::{Deserialize, Serialize};
use spillgate_artifact::{Handle, LineRange};
use spillgate_llm::Usage;

use crate::envelope;
use crate::trace::Op;

/// The result of an extraction.
#[derive(Debug, Clone)]
pub struct Extraction {
    /// The tool that made the output.
    pub tool: String,
    /// The handle of the output.
    pub handle: Handle,
    /// Whether there is an answer.
    pub status: Status,
    /// The strategy that made the answer.
    pub strategy: Strategy,
    /// The answer, in which marks show what could not be verified. It is the text inside the
    /// envelope.
    pub body: String,
    /// The places in the output that the answer is based on.
    pub citations: Vec<Citation>,
    /// Quoted values that do not occur in the output.
    pub unverified: Vec<String>,
    /// How much of the output was examined.
    pub coverage: Coverage,
    /// Number of requests to models.
    pub calls: u64,
    /// Total tokens and cost of the requests to models.
    pub usage: Usage,
    /// The operations of the extraction, as a tree.
    pub trace: Op,
}

impl Extraction {
    /// Returns the answer in its envelope, as a model sees it (docs/spec/texts.md, "Envelopes of
    /// extraction").
    #[must_use]
    pub fn text(&self) -> String {
        envelope::success(
            &self.tool,
            &self.handle.to_string(),
            self.strategy.name(),
            &self.body,
        )
    }
}

/// Whether there is an answer. No status is an error: `NotFound` says that nothing was found in
/// what was examined, and `Failed` says that no strategy could run, so that the output's beginning
/// and end are shown instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// There is an answer.
    Found,
    /// The answer covers only a part of the output, because chunks failed or were left out, or
    /// because only the beginning and the end are shown. This also applies to an answer that found
    /// nothing.
    Partial,
    /// Nothing was found in what was examined; [`Coverage`] says how much that was.
    NotFound,
    /// The strategy could not run. The fallback's text is shown.
    Failed,
}

/// How an answer was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// A model read every chunk.
    FullChunked,
    /// A model searched the output with `Read` and `Grep`.
    ReadGrep,
    /// The middle was cut out.
    Truncate,
    /// Passages were ranked.
    Search,
}

impl Strategy {
    /// Returns the strategy's name in answers and settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FullChunked => "full-chunked",
            Self::ReadGrep => "read-grep",
            Self::Truncate => "truncate",
            Self::Search => "search",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A place in the output that an answer cites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// The lines of the view (the output's readable text), as `spillgate read` counts them.
    pub lines: LineRange,
    /// The range of raw bytes that the lines come from, as the first byte and the byte after the
    /// last one.
    pub bytes: (u64, u64),
    /// The path in jq syntax; only in JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The quoted value that was found there; `None` for lines that are cited without a quote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// How the quote matches; `None` without a quote.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub matched: Option<Match>,
}

/// How a quote matches the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// Equal byte for byte.
    Exact,
    /// Equal except for white space, backslash escapes, masking, and punctuation at the ends of the
    /// quote.
    Normalised,
}

/// How much of an output was examined. Sizes are those of the view, the output's readable text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// Bytes of the view that a model or a search has examined, each counted once.
    pub bytes_examined: u64,
    /// Size of the view, in bytes.
    pub bytes_total: u64,
    /// Chunks that were planned.
    pub chunks: u64,
    /// Planned chunks that were read.
    pub read_chunks: u64,
    /// Planned chunks that could not be read.
    pub failed_chunks: u64,
}

impl Coverage {
    /// Returns whether the whole output was examined.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.bytes_examined >= self.bytes_total
    }
}
