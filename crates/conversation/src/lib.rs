//! Conversations of a model with tools.
//!
//! [`Conversation`] is the one engine. It holds what was said and what it costs, leaves out what
//! the window does not hold, decides when the last turn comes, and makes the requests and reads the
//! replies. Its users differ in a [`TurnPolicy`] and in what becomes of results. [`run`] is the
//! simplest user: it shows every result as it is, until there is an answer. The answer stands in a
//! wrapper with a fresh nonce ([`Slot`]), so that nothing that the model has read can pass for it.

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
