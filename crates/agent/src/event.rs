//! The events that a session reacts to, and the effects that it asks for.
//!
//! The set is closed: every way in which a model, a tool or a store can behave is one of these
//! events, so a test table can contain a row for each.

use spillgate_artifact::{Handle, Reason};
use spillgate_conversation::LeftOut;
use spillgate_extract::Decided;
use spillgate_llm::{LlmError, Reply, Request, ToolCall};
use spillgate_offload::Presentation;

use crate::report::Finished;

/// Identifies a call within a session: the id that the model gave, or, within a batch, the id of
/// the batch, a slash and the call's own id.
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

    /// Returns whether the call belongs to the batch `batch`.
    pub(crate) fn is_within(&self, batch: &Self) -> bool {
        let rest = self.0.strip_prefix(&batch.0);
        rest.is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns the id that a tool reply in the conversation refers to.
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
    /// The id of the call.
    pub id: CallId,
    /// The tool and its arguments.
    pub call: ToolCall,
}

/// A tool's result before the session has decided about it. The orchestrator holds the bytes until
/// the session tells it to store or release them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned {
    /// The whole result; `None` if it exceeds the size cap or is too large for any conversation.
    pub whole: Option<Presentation>,
    /// The result with its middle cut out to fit the size cap. Set only if the result exceeds the
    /// cap and must not be stored.
    pub cut: Option<Presentation>,
    /// Whether the result exceeds the size cap.
    pub is_over: bool,
    /// Whether the tool reports a failure.
    pub is_error: bool,
    /// Whether the result may be stored. Results of retrieval tools are never stored, and no result
    /// is stored while `tool_output` is off.
    pub is_storable: bool,
    /// Approximate size, in tokens, of the message that would replace the result if it were stored
    /// for lack of room.
    pub instead: u64,
}

/// The outcome of storing a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// The result is stored.
    Stored {
        /// The message that replaces the result.
        shown: Presentation,
        /// The handle of the stored result.
        handle: Handle,
    },
    /// The result could not be stored. The text shows its beginning and end and says that the rest
    /// is lost.
    Failed(Presentation),
}

/// An event in a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The session starts.
    Start,
    /// The reply of the model, after all retries and fallback targets.
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
    /// The session was cancelled.
    Cancelled,
    /// The session exceeded its time limit.
    TimedOut,
    /// The run that the session belongs to has used up its allowance. The reason was passed to
    /// [`Session::conclude`](crate::Session::conclude).
    UsedUp,
}

/// An action that the caller of the session must take. Unless noted otherwise, the caller answers
/// each action with an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask the model.
    Ask(Request),
    /// Make a call.
    Call(Planned),
    /// Store the result of a call and show a message instead.
    Store(CallId, Reason),
    /// Release the held result of a call, because the session has decided to show it or to drop it.
    /// No event follows.
    Release(CallId),
    /// Record what the model is shown of a call's result. This replaces an earlier record of the
    /// call. No event follows.
    Settled(CallId, Settled),
    /// Record that a call was not made, and what the model was told. No event follows.
    Refused {
        /// The call.
        id: CallId,
        /// The tool that the call names.
        tool: String,
        /// What the model was told.
        why: String,
    },
    /// Record that a batch begins; the calls within it follow. No event follows.
    Batched(Planned),
    /// Record that, from now on, the text of a call or of a batch is left out of the conversation
    /// to make room. No event follows.
    LeftOut(LeftOut),
    /// Show the progress to the user. No event follows.
    Status(Status),
    /// The session is finished. No event follows.
    Finish(Box<Finished>),
}

/// What the model is shown of a call's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The tool.
    pub tool: String,
    /// The decision about the result.
    pub decided: Decided,
    /// Size of the text that is shown, in tokens.
    pub tokens: u64,
}

/// The model's own report of its progress (`agent__task_status`).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Status {
    /// The state, in the model's words: `starting`, `in-progress`, `completed` …
    pub status: String,
    /// The work that is done.
    pub done: String,
    /// The work that is left.
    pub pending: String,
    /// What the model is doing now.
    pub now: String,
}
