//! Conversations of a model with tools.
//!
//! [`Conversation`] holds the messages and counts their tokens, leaves out messages that do not fit
//! the window, decides when the last turn comes, makes the requests and reads the replies. Its
//! users differ in their [`TurnPolicy`] and in how they treat results.
//! [`run`] is the simplest user: it shows every result unchanged until there is an answer. The
//! answer stands in a wrapper with a fresh nonce ([`Slot`]), so no text that the model has read can
//! be mistaken for it.

mod calls;
mod conversation;
mod guard;
mod host;
mod run;
mod slot;
mod texts;
mod tool_loop;

pub use calls::{Calls, Sorted};
pub use conversation::{Conversation, LeftOut, Said, TurnLimits, TurnPolicy, Turns, tokens_of};
pub use guard::Guard;
pub use host::{Observer, ToolHost, ToolReplyFuture};
pub use run::run;
pub use slot::{Nonce, Nonces, RandomNonces, Slot, SlotError};
pub use texts::DROPPED;
pub use tool_loop::{LoopEnding, LoopOutcome};
