//! The facts of an operation.
//!
//! Requests are kept as counts and bytes, replies as a preview: a trace does not grow with what was
//! read.

use serde::{Deserialize, Serialize};
use spillgate_artifact::{Handle, Reason};
use spillgate_llm::Usage;

use crate::Strategy;

/// Bytes of a reply that a trace keeps (docs/spec/behaviour.md, "Traces").
pub const PREVIEW_BYTES: usize = 4096;

/// An operation and those within it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Op {
    /// The kind of operation.
    pub kind: OpKind,
    /// Its name: `map 3/12`, `Read`, `full-chunked`.
    pub name: String,
    /// Milliseconds from the start of the whole to its own start.
    pub at_ms: u64,
    /// Milliseconds that it took, or has taken so far.
    pub took_ms: u64,
    /// Whether it is still running, or was abandoned before its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// Messages of the request to a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Bytes of a request, or of a tool's arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_bytes: Option<u64>,
    /// Bytes of the response.
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
    /// What happened to the tool's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Decided>,
    /// Tokens of the result, or of what replaces it, in the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_shown: Option<u64>,
    /// Whether it was removed from the conversation later, to make room.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_out: bool,
    /// How the answer of an extraction was made; `None` until there is one, and for other
    /// operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
    /// The error, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The operations within it, in the order of their starts.
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

/// What happened to a tool's result in an agent's conversation (docs/spec/behaviour.md, "Results in
/// an agent").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "as")]
pub enum Decided {
    /// It is shown unchanged.
    Shown,
    /// It is stored, and a handle is shown.
    Stored {
        /// The handle.
        handle: Handle,
        /// Why it is not shown.
        reason: Reason,
    },
    /// It should have been stored, but the store failed: its ends are shown.
    NotStored {
        /// Why it is not shown.
        reason: Reason,
    },
    /// Its middle is cut out.
    Cut,
    /// Nothing of it fits.
    Dropped,
    /// The tool failed; its error is shown.
    Failed,
    /// The call was not made: the conversation was already over its budget.
    NotMade,
    /// The call was rejected: there is no such tool, it may not be called there, or there were too
    /// many calls.
    Refused,
}

/// How the answer of an extraction was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// The strategy.
    pub strategy: Strategy,
    /// Why this is not the intended strategy, on one line; it may contain untrusted words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fell_back: Option<String>,
}

/// Totals of requests to models.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sum {
    /// Requests that have finished.
    pub calls: u64,
    /// What they used.
    pub usage: Usage,
}

impl Op {
    /// Creates an operation without any figures.
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
        self.response_preview = Some(text[..text.floor_char_boundary(PREVIEW_BYTES)].to_owned());
    }

    /// Sums up the requests to models in it, at any depth.
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
