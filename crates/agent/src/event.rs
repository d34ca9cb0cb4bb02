//! The events that a session reacts to, and the effects that it asks for.
//!
//! The set is closed: each way that a model, a tool or a store can behave is one of these, so each
//! is a row in a test table.

use spillgate_artifact::{Handle, Reason};
use spillgate_conversation::LeftOut;
use spillgate_extract::Decided;
use spillgate_llm::{LlmError, Reply, Request, ToolCall};
use spillgate_offload::Presentation;

use crate::report::Finished;

/// Identifies a call within a session: the model's id, or the id of its batch, a slash and its own
/// id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(String);

impl CallId {
    /// Returns the id of a call that the model made itself.
    #[must_use]
    pub fn of(call: &ToolCall) -> Self {
        Self(call.id.clone())
    }

    /// Returns the id of a call within a batch.
    #[must_use]
    pub fn within(batch: &ToolCall, id: &str) -> Self {
        Self(format!("{}/{id}", batch.id))
    }

    /// Returns whether the call belongs to that batch.
    pub(crate) fn is_within(&self, batch: &Self) -> bool {
        let rest = self.0.strip_prefix(&batch.0);
        rest.is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns the id that a reply of the conversation names.
    pub(crate) fn named(id: &str) -> Self {
        Self(id.to_owned())
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A call to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Its id.
    pub id: CallId,
    /// The tool and its arguments.
    pub call: ToolCall,
}

/// A tool's result before the session has decided about it. The orchestrator holds the bytes until
/// it is told to store or to release them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned {
    /// The whole result; `None` if it is over the size cap, or too large for any conversation.
    pub whole: Option<Presentation>,
    /// The result with its middle cut out to fit the size cap, if it is over the cap and may not be
    /// stored.
    pub cut: Option<Presentation>,
    /// Whether it is over the size cap.
    pub is_over: bool,
    /// Whether the tool reports a failure.
    pub is_error: bool,
    /// Whether it may be stored. Results of retrieval tools may not, and none may while
    /// `tool_output` is off.
    pub is_storable: bool,
    /// Approximate tokens of the message that replaces it, if it is stored for lack of room.
    pub instead: u64,
}

/// The outcome of storing a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// It is stored.
    Stored {
        /// The message that replaces it.
        shown: Presentation,
        /// Its handle.
        handle: Handle,
    },
    /// It could not be stored. The text shows what is left and says that the rest is lost.
    Failed(Presentation),
}

/// An event in a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The session starts.
    Start,
    /// The reply of the model, after retries and other targets.
    Replied(Result<Reply, LlmError>),
    /// The result of a call.
    Returned(CallId, Returned),
    /// The outcome of storing a result.
    Kept(CallId, Kept),
    /// The session must end now.
    Ended(Abort),
}

/// Why a session ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abort {
    /// It was cancelled.
    Cancelled,
    /// Its time is over.
    TimedOut,
    /// The run that it is part of has used up its allowance
    /// ([`Session::conclude`](crate::Session::conclude) gave the reason).
    UsedUp,
}

/// An action to take. An event answers each, except where noted.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask the model.
    Ask(Request),
    /// Make a call.
    Call(Planned),
    /// Store the result of a call and show a message instead.
    Store(CallId, Reason),
    /// Release the result of a call: it is shown, or nothing of it is. No event follows.
    Release(CallId),
    /// Record what is shown of a call; it replaces what was shown before. No event follows.
    Settled(CallId, Settled),
    /// Record that a call was not made, and what the model was told. No event follows.
    Refused {
        /// The call.
        id: CallId,
        /// The tool that it names.
        tool: String,
        /// What the model was told.
        why: String,
    },
    /// Record that a batch begins; the calls within it follow. No event follows.
    Batched(Planned),
    /// Record that the text of a call or of a batch is left out of the conversation from now on, to
    /// make room. No event follows.
    LeftOut(LeftOut),
    /// Show a person the progress. No event follows.
    Status(Status),
    /// The session is finished. No event follows.
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

/// The model's own report of its progress (`agent__task_status`).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Status {
    /// In its words: `starting`, `in-progress`, `completed` …
    pub status: String,
    /// What is done.
    pub done: String,
    /// What is left to do.
    pub pending: String,
    /// What it does now.
    pub now: String,
}
