//! What was done, in which order, and what did it cost?
//!
//! Requests are kept as counts and bytes, replies as a preview (seed 001, decision
//! 24): a trace does not grow with what was read.

use serde::Serialize;
use spillgate_llm::Usage;

/// Bytes of a reply that a trace keeps (seed 001, decision 24).
pub(crate) const PREVIEW_BYTES: usize = 4096;

/// An operation and those within it.
#[derive(Debug, Clone, Serialize)]
pub struct Op {
    /// What sort.
    pub kind: OpKind,
    /// Which: `map 3/12`, `Read`, `full-chunked`.
    pub name: String,
    /// Milliseconds from the extraction's start to its own.
    pub at_ms: u64,
    /// Milliseconds that it took.
    pub took_ms: u64,
    /// Messages of the request to a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Bytes of a request or of a tool's arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_bytes: Option<u64>,
    /// Bytes of what came back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_bytes: Option<u64>,
    /// The first [`PREVIEW_BYTES`] of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_preview: Option<String>,
    /// Who answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it consists of, in the order of their starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Op>,
}

/// A sort of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    /// An extraction, or a strategy of it.
    Session,
    /// A request to a model.
    Llm,
    /// A call of a tool by a model.
    Tool,
    /// Work without a model.
    Internal,
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
            messages: None,
            request_bytes: None,
            response_bytes: None,
            response_preview: None,
            target: None,
            usage: None,
            error: None,
            children: Vec::new(),
        }
    }

    /// The same with what came back.
    #[must_use]
    pub fn with_response(mut self, text: &str) -> Self {
        self.response_bytes = Some(text.len() as u64);
        self.response_preview = Some(text[..text.floor_char_boundary(PREVIEW_BYTES)].to_owned());
        self
    }
}
