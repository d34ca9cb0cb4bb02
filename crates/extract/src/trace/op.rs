//! What is known of an operation?
//!
//! Requests are kept as counts and bytes, replies as a preview: a trace does not grow
//! with what was read.

use serde::{Deserialize, Serialize};
use spillgate_artifact::{Handle, Reason};
use spillgate_llm::Usage;

use crate::Strategy;

/// Bytes of a reply that a trace keeps (docs/spec/behaviour.md, "Traces").
pub const PREVIEW_BYTES: usize = 4096;

/// An operation and those within it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Op {
    /// What sort.
    pub kind: OpKind,
    /// Which: `map 3/12`, `Read`, `full-chunked`.
    pub name: String,
    /// Milliseconds from the start of the whole to its own.
    pub at_ms: u64,
    /// Milliseconds that it took, or has taken so far.
    pub took_ms: u64,
    /// Whether it is still under way, or was given up before its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// Messages of the request to a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Bytes of a request or of a tool's arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_bytes: Option<u64>,
    /// Bytes of what came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_bytes: Option<u64>,
    /// The first [`PREVIEW_BYTES`] of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_preview: Option<String>,
    /// Who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Who has the tool that was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Whether the tool was not called, for what it gave before was kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// What became of what the tool gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Decided>,
    /// Tokens of it, or of what stands in its place, in the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_shown: Option<u64>,
    /// Whether that was left out of the conversation later, to make room.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_out: bool,
    /// How the answer of an extraction was made; none before it is there, and of what is
    /// no extraction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it consists of, in the order of their starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Op>,
}

/// A sort of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    /// An agent's session.
    Agent,
    /// A turn of it: one request to its model, and the calls of the reply.
    Turn,
    /// An extraction, or a strategy of it.
    Session,
    /// A request to a model.
    Llm,
    /// A call of a tool by a model.
    Tool,
    /// Work without a model.
    Internal,
}

/// What became of a tool's result in an agent's conversation (docs/spec/behaviour.md,
/// "Results in an agent").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "as")]
pub enum Decided {
    /// It is shown as it is.
    Shown,
    /// It is stored, and a handle is shown.
    Stored {
        /// The handle.
        handle: Handle,
        /// Why it is not shown.
        reason: Reason,
    },
    /// It was to be stored, and the store failed: its ends are shown.
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
    /// The call was not made any more.
    NotMade,
    /// The call was not made: there is no such tool, it may not be called in that place,
    /// or there were too many.
    Refused,
}

/// How the answer of an extraction was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// By which strategy.
    pub strategy: Strategy,
    /// Why it is not the strategy that was to be run, on one line; strangers' words may
    /// be in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fell_back: Option<String>,
}

/// What requests to models came to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sum {
    /// Requests that came to an end.
    pub calls: u64,
    /// What they used.
    pub usage: Usage,
}

impl Op {
    /// An operation without figures yet.
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

    /// The same with what came back.
    #[must_use]
    pub fn with_response(mut self, text: &str) -> Self {
        self.answered(text);
        self
    }

    /// Notes what came back.
    pub fn answered(&mut self, text: &str) {
        self.response_bytes = Some(text.len() as u64);
        self.response_preview = Some(text[..text.floor_char_boundary(PREVIEW_BYTES)].to_owned());
    }

    /// The requests to models in it, at any depth.
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
