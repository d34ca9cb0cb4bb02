//! What was done, in which order, and what did it cost?
//!
//! Requests are kept as counts and bytes, replies as a preview (seed 001, decision
//! 24): a trace does not grow with what was read.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use spillgate_llm::{LlmError, Reply, Request, ToolCall, Usage};
use tokio::time::Instant;

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

/// A moment of an extraction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    at: Instant,
    /// Operations that were written down before it.
    before: usize,
}

/// Writes down what is done.
#[derive(Debug)]
pub(crate) struct Journal {
    started: Instant,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    ops: Vec<Op>,
    calls: u64,
    usage: Usage,
}

/// What was written down.
#[derive(Debug)]
pub(crate) struct Told {
    /// All of it, under one operation.
    pub trace: Op,
    /// Times that a model was asked.
    pub calls: u64,
    /// What that used.
    pub usage: Usage,
}

impl Journal {
    /// A journal that begins now.
    pub(crate) fn begin() -> Self {
        Self {
            started: Instant::now(),
            entries: Mutex::default(),
        }
    }

    /// This moment.
    pub(crate) fn now(&self) -> Moment {
        Moment {
            at: Instant::now(),
            before: self.entries().ops.len(),
        }
    }

    /// A model was asked. `wrong` is what its reply lacks.
    pub(crate) fn asked(
        &self,
        name: &str,
        began: Moment,
        request: &Request,
        reply: &Result<Reply, LlmError>,
        wrong: Option<String>,
    ) {
        let mut op = Op {
            messages: Some(request.messages.len() as u64 + 1),
            request_bytes: Some(request.bytes()),
            ..self.op(OpKind::Llm, name, began)
        };
        let usage = match reply {
            Ok(reply) => {
                op = op.with_response(&reply.text);
                op.target = Some(reply.target.to_string());
                op.usage = Some(reply.usage);
                op.error = wrong;
                reply.usage
            }
            Err(error) => {
                op.target = Some(error.target.to_string());
                op.error = Some(error.to_string());
                Usage::default()
            }
        };
        let mut entries = self.entries();
        entries.calls += 1;
        entries.usage += usage;
        entries.ops.push(op);
    }

    /// A model called a tool.
    pub(crate) fn called(&self, call: &ToolCall, began: Moment, text: &str, is_error: bool) {
        let mut op = Op {
            request_bytes: Some(call.arguments.len() as u64),
            ..self.op(OpKind::Tool, &call.name, began)
        };
        op = op.with_response(text);
        if is_error {
            op.error.clone_from(&op.response_preview);
        }
        self.entries().ops.push(op);
    }

    /// Something was done without a model.
    pub(crate) fn did(&self, name: &str, began: Moment) {
        let op = self.op(OpKind::Internal, name, began);
        self.entries().ops.push(op);
    }

    /// Puts what was done since `began` under one operation.
    pub(crate) fn fold(&self, name: &str, began: Moment, error: Option<String>) {
        let mut op = self.op(OpKind::Session, name, began);
        op.error = error;
        let mut entries = self.entries();
        let since = began.before.min(entries.ops.len());
        op.children = entries.ops.drain(since..).collect();
        op.children.sort_by_key(|op| op.at_ms);
        entries.ops.push(op);
    }

    /// All of it.
    pub(crate) fn told(&self, name: &str) -> Told {
        let start = Moment {
            at: self.started,
            before: 0,
        };
        let mut trace = self.op(OpKind::Session, name, start);
        let mut entries = self.entries();
        trace.children = std::mem::take(&mut entries.ops);
        Told {
            trace,
            calls: entries.calls,
            usage: entries.usage,
        }
    }

    fn op(&self, kind: OpKind, name: &str, began: Moment) -> Op {
        Op {
            at_ms: self.millis(began),
            took_ms: millis(began.at.elapsed()),
            ..Op::new(kind, name)
        }
    }

    fn millis(&self, moment: Moment) -> u64 {
        millis(moment.at.duration_since(self.started))
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
