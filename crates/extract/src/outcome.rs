//! The outcome of an extraction.

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
    /// The output.
    pub handle: Handle,
    /// Whether there is an answer.
    pub status: Status,
    /// The strategy that made the answer.
    pub strategy: Strategy,
    /// The answer with its marks: the text between the envelope's first line and its end.
    pub body: String,
    /// The places in the output that the answer rests on.
    pub citations: Vec<Citation>,
    /// Quoted values that are nowhere in the output.
    pub unverified: Vec<String>,
    /// How much of the output was examined.
    pub coverage: Coverage,
    /// Number of requests to models.
    pub calls: u64,
    /// What these requests used.
    pub usage: Usage,
    /// The operations, as a tree.
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

/// Whether there is an answer. None of these is an error: *not found* says what was searched,
/// *failed* that no strategy could run and ends were shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// There is an answer.
    Found,
    /// The answer, even that there is nothing, covers only a part of the output: chunks failed or
    /// were left out, or only the two ends are shown.
    Partial,
    /// Nothing was found in what was examined; [`Coverage`] says how much that was.
    NotFound,
    /// The strategy could not run; the fallback's text is shown.
    Failed,
}

/// How an answer was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// A model read every chunk.
    FullChunked,
    /// A model read and grepped.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// View lines, as `spillgate read` counts them.
    pub lines: LineRange,
    /// The raw bytes that the lines come from: the first byte, and the one after the last.
    pub bytes: (u64, u64),
    /// The path in jq syntax, in JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The value that was quoted and found there; `None` for lines that are cited without a quote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// How the quote matches; `None` without a quote.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matched: Option<Match>,
}

/// How a quote matches the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// Byte for byte.
    Exact,
    /// Apart from white space, or from escapes in JSON.
    Normalised,
}

/// How much of an output was examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Coverage {
    /// Bytes of the view that a model or a search has seen, each counted once.
    pub bytes_examined: u64,
    /// Bytes of the view.
    pub bytes_total: u64,
    /// Chunks that were planned.
    pub chunks: u64,
    /// Planned chunks that were read.
    pub read_chunks: u64,
    /// Planned chunks that could not be read.
    pub failed_chunks: u64,
}

impl Coverage {
    /// Whether the whole output was examined.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.bytes_examined >= self.bytes_total
    }
}
