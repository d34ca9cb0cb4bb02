//! The facts that are recorded about an operation: name, duration, sizes, tokens, cost.
//!
//! A trace keeps only counts and sizes of requests, and a preview of each reply, so it does not
//! grow with the amount of text that was read.

use serde::{Deserialize, Serialize};
use spillgate_artifact::{Handle, LineRange, Reason};
use spillgate_llm::Usage;

use super::record::ExtractionRecord;
use crate::Strategy;

/// Maximum size of a reply's preview in a trace, in bytes (docs/spec/behaviour.md, "Traces").
pub const PREVIEW_BYTES: usize = 4096;

/// Returns the beginning of a text for a trace: at most [`PREVIEW_BYTES`]. A longer text is cut
/// between two words, if there are any in the last kilobyte, or else between two values. Secrets are
/// marked when the trace is shown or written, and a part of a secret could not be recognised then.
#[must_use]
pub fn preview(text: &str) -> &str {
    const SEARCHED: usize = 1 << 10;
    if text.len() <= PREVIEW_BYTES {
        return text;
    }
    let head = &text[..text.floor_char_boundary(PREVIEW_BYTES)];
    let from = head.ceil_char_boundary(head.len() - SEARCHED);
    let word = head[from..].rfind(char::is_whitespace);
    let end = word.or_else(|| head[from..].rfind([',', ';', '}', ']']));
    &head[..end.map_or(head.len(), |end| from + end)]
}

/// An operation and the operations within it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Op {
    /// The kind of operation.
    pub kind: OpKind,
    /// The name of the operation: `map 3/12`, `Read`, `full-chunked`.
    pub name: String,
    /// Time from the start of the whole tree to the start of this operation, in milliseconds.
    pub at_ms: u64,
    /// Duration in milliseconds, up to now if the operation is still running.
    pub took_ms: u64,
    /// Whether the operation is still running, or was abandoned before its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// Number of messages in the request to a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Size of a request, or of a tool's arguments, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_bytes: Option<u64>,
    /// Size of the response, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_bytes: Option<u64>,
    /// The first [`PREVIEW_BYTES`] of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_preview: Option<String>,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Tokens and cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The server of the tool that was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Whether the result came from the cache, without a call of the tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// The decision about the tool's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Decided>,
    /// Size of the result in the conversation, or of the text that replaces it, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_shown: Option<u64>,
    /// Whether the result was left out of the conversation later to make room.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_out: bool,
    /// How the answer of an extraction was made. `None` while there is no answer, and for other
    /// operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
    /// The lines of the output that the operation reads: a chunk, or what a look-up showed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineRange>,
    /// The question and the outcome of an extraction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extraction: Option<Box<ExtractionRecord>>,
    /// The error; `None` if the operation did not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The operations within this one, in the order in which they started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Op>,
}

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    /// An agent's session.
    Agent,
    /// A turn of an agent: one request to its model, and the calls of the reply.
    Turn,
    /// An extraction, or one of its strategies.
    Session,
    /// A request to a model.
    Llm,
    /// A model's call of a tool.
    Tool,
    /// Work without a model.
    Internal,
}

/// The decision about a tool's result in an agent's conversation (docs/spec/behaviour.md, "Results
/// in an agent").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "as")]
pub enum Decided {
    /// The result is shown unchanged.
    Shown,
    /// The result is stored, and a handle is shown.
    Stored {
        /// The handle.
        handle: Handle,
        /// Why the result is not shown itself.
        reason: Reason,
    },
    /// The result should have been stored, but the store failed. Its beginning and end are shown.
    NotStored {
        /// Why the result is not shown completely.
        reason: Reason,
    },
    /// The middle of the result is cut out.
    Cut,
    /// Nothing of the result fits, so it is dropped.
    Dropped,
    /// The tool failed, and its error is shown.
    Failed,
    /// The call was not made, because the conversation already exceeded its window.
    NotMade,
    /// The call was refused: the tool does not exist or must not be called at this point, or there
    /// were too many calls.
    Refused,
}

/// How the answer of an extraction was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// The strategy that made the answer.
    pub strategy: Strategy,
    /// Why the answer is not from the strategy that was chosen first, on one line. The text may
    /// contain untrusted words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fell_back: Option<String>,
}

/// Totals of requests to models.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sum {
    /// Number of requests that have finished.
    pub calls: u64,
    /// Tokens and cost of these requests.
    pub usage: Usage,
}

impl Op {
    /// Creates an operation without any further facts.
    #[must_use]
    pub fn new(kind: OpKind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            at_ms: 0,
            took_ms: 0,
            unfinished: false,
            messages: None,
            request_bytes: None,
            response_bytes: None,
            response_preview: None,
            target: None,
            usage: None,
            server: None,
            cached: false,
            decided: None,
            tokens_shown: None,
            left_out: false,
            made: None,
            lines: None,
            extraction: None,
            error: None,
            children: Vec::new(),
        }
    }

    /// Returns the operation with this response.
    #[must_use]
    pub fn with_response(mut self, text: &str) -> Self {
        self.answered(text);
        self
    }

    /// Records a response.
    pub fn answered(&mut self, text: &str) {
        self.response_bytes = Some(text.len() as u64);
        self.response_preview = Some(preview(text).to_owned());
    }

    /// Returns the totals of the requests to models within the operation, at any depth.
    #[must_use]
    pub fn sum(&self) -> Sum {
        let mut sum = Sum::default();
        if self.kind == OpKind::Llm && !self.unfinished {
            sum.calls = 1;
            sum.usage = self.usage.unwrap_or_default();
        }
        for child in self.children.iter().map(Self::sum) {
            sum.calls += child.calls;
            sum.usage += child.usage;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_ends_between_words() {
        let key = "AKIAQ3EGXZ7LKTPNWB5M";
        // 4,085 bytes, so that the limit is inside the key.
        let words = "word ".repeat(817);
        for (text, want) in [
            ("short".to_owned(), 5),
            (format!("{words}{key} and more"), 4084),
            (format!("{}{key}", words.replace(' ', ",")), 4084),
            ("é".repeat(2048), PREVIEW_BYTES),
            (format!("a{}", "é".repeat(3000)), PREVIEW_BYTES - 1),
        ] {
            let shown = preview(&text);
            assert_eq!(shown.len(), want, "{shown}");
            assert!(!shown.contains("AKIA"));
        }
    }
}
