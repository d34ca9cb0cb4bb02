//! What can happen to a session, and what does it want done?
//!
//! A closed set: every way that a model, a tool or a store can behave is one of
//! these, so each is a row of a table in a test.

use spillgate_artifact::{Handle, Reason};
use spillgate_conversation::LeftOut;
use spillgate_extract::Decided;
use spillgate_llm::{LlmError, Reply, Request, ToolCall};
use spillgate_offload::Presentation;

use crate::report::Finished;

/// Names one call of a session: the model's id for it, or that of its batch, a
/// slash and its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(String);

impl CallId {
    /// A call of the model's own.
    #[must_use]
    pub fn of(call: &ToolCall) -> Self {
        Self(call.id.clone())
    }

    /// A call within a batch.
    #[must_use]
    pub fn within(batch: &ToolCall, id: &str) -> Self {
        Self(format!("{}/{id}", batch.id))
    }

    /// Whether it is a call of that batch.
    pub(crate) fn is_within(&self, batch: &Self) -> bool {
        let rest = self.0.strip_prefix(&batch.0);
        rest.is_some_and(|rest| rest.starts_with('/'))
    }

    /// The call that a reply of the conversation names.
    pub(crate) fn named(id: &str) -> Self {
        Self(id.to_owned())
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A call that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// What to name it by.
    pub id: CallId,
    /// The tool and its arguments.
    pub call: ToolCall,
}

/// What a tool gave, before anything is decided about it. The rim holds the bytes
/// until it is told to store them or to let them go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned {
    /// All of it; `None` if it is over the size cap, or too large for any conversation.
    pub whole: Option<Presentation>,
    /// With its middle cut out to the size cap, where it is over the cap and may
    /// not be stored.
    pub cut: Option<Presentation>,
    /// Whether it is over the size cap.
    pub is_over: bool,
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// Whether it may be stored: no result of a retrieval is, and none while
    /// `tool_output` is off.
    pub is_storable: bool,
    /// Tokens, about, of what is shown instead if it is stored for want of room.
    pub instead: u64,
}

/// What came of storing a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// It is stored.
    Stored {
        /// What is shown instead.
        shown: Presentation,
        /// Where it is.
        handle: Handle,
    },
    /// It could not be; this is shown, and that the rest is lost.
    Failed(Presentation),
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Nothing yet.
    Start,
    /// The model was asked, and this came of it: retries and other targets
    /// included.
    Replied(Result<Reply, LlmError>),
    /// A call was made, and this came of it.
    Returned(CallId, Returned),
    /// A result was to be stored.
    Kept(CallId, Kept),
    /// The session is to end now.
    Ended(Abort),
}

/// Why a session ends before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abort {
    /// Somebody wants it to.
    Cancelled,
    /// Its time is over.
    TimedOut,
    /// The run that it is part of has used up what it may
    /// ([`Session::conclude`](crate::Session::conclude) said why).
    UsedUp,
}

/// What to do next. Each is answered by an event, but for those that say so.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask the model.
    Ask(Request),
    /// Make a call.
    Call(Planned),
    /// Store what a call gave, and say what is shown instead.
    Store(CallId, Reason),
    /// Let go what a call gave: it is shown, or nothing of it is. No event.
    Release(CallId),
    /// Write down what is shown of a call; what was shown before it no longer is. No
    /// event.
    Settled(CallId, Settled),
    /// Write down that a call was not made, and what the model was told. No event.
    Refused {
        /// The call.
        id: CallId,
        /// The tool that it names.
        tool: String,
        /// What the model was told.
        why: String,
    },
    /// Write down that a batch begins; the calls within it follow. No event.
    Batched(Planned),
    /// Write down that what is shown of a call, or of a batch, is left out of the
    /// conversation from now on, to make room. No event.
    LeftOut(LeftOut),
    /// Show a person how far it is. No event.
    Status(Status),
    /// Nothing more: this came of it. No event.
    Finish(Box<Finished>),
}

/// What is shown of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The tool.
    pub tool: String,
    /// What became of its result.
    pub decided: Decided,
    /// Tokens of what is shown.
    pub tokens: u64,
}

/// What the model says of its own progress (`agent__task_status`).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Status {
    /// In its words: `starting`, `in-progress`, `completed` …
    pub status: String,
    /// What is done.
    pub done: String,
    /// What is not.
    pub pending: String,
    /// What it does now.
    pub now: String,
}
