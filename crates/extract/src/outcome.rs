//! What came of an extraction?

use std::fmt;

use serde::{Deserialize, Serialize};
use spillgate_artifact::{Handle, LineRange};
use spillgate_llm::Usage;

use crate::envelope;
use crate::trace::Op;

/// What an extraction gave.
#[derive(Debug, Clone)]
pub struct Extraction {
    /// The tool whose output was looked into.
    pub tool: String,
    /// The output.
    pub handle: Handle,
    /// Whether there is an answer.
    pub status: Status,
    /// How it was made.
    pub strategy: Strategy,
    /// The answer, marked: what stands between the envelope's first line and its
    /// end.
    pub body: String,
    /// Where in the output the answer stands.
    pub citations: Vec<Citation>,
    /// Quoted values that are nowhere in the output.
    pub unverified: Vec<String>,
    /// How much of the output was looked at.
    pub coverage: Coverage,
    /// Times that a model was asked.
    pub calls: u64,
    /// What that used.
    pub usage: Usage,
    /// What was done, as a tree.
    pub trace: Op,
}

impl Extraction {
    /// The answer in its envelope, as a model sees it (docs/spec/texts.md,
    /// "Envelopes of extraction").
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

/// Whether there is an answer. None of these is an error: *not found* says what was
/// searched, *failed* that no strategy could run and ends were shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// There is one.
    Found,
    /// What there is to say, be it that there is nothing, is of a part of the output:
    /// chunks failed or were left out, or only the two ends are shown.
    Partial,
    /// There is nothing in what was looked at; [`Coverage`] says how much that was.
    NotFound,
    /// The strategy could not run; the fallback's text is shown.
    Failed,
}

/// How an answer was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Every chunk was read by a model.
    FullChunked,
    /// A model read and grepped.
    ReadGrep,
    /// The middle was cut out.
    Truncate,
    /// Passages were ranked.
    Search,
}

impl Strategy {
    /// Its name on the wire.
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

/// A place in the output that an answer names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// View lines, as `spillgate read` counts them.
    pub lines: LineRange,
    /// Where in the raw bytes they come from: first byte, and the one after the
    /// last.
    pub bytes: (u64, u64),
    /// The path as jq writes it, in JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The value that was quoted there, and found; `None` where lines are cited
    /// without a quote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// How the quote matches; `None` without one.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matched: Option<Match>,
}

/// How a quote matches the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// Byte for byte.
    Exact,
    /// But for white space, or for escapes in JSON.
    Normalised,
}

/// How much of an output was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Coverage {
    /// Bytes of the view that a model or a search has seen, each counted once.
    pub bytes_examined: u64,
    /// Bytes of the view.
    pub bytes_total: u64,
    /// Chunks that were planned.
    pub chunks: u64,
    /// Those of them that were read.
    pub read_chunks: u64,
    /// Those of them that could not be read.
    pub failed_chunks: u64,
}

impl Coverage {
    /// Whether everything was looked at.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.bytes_examined >= self.bytes_total
    }
}
