//! A bare loop of a model with tools.
//!
//! [`Turns`] says what is talked about and how long; [`Conversation`] is the talk
//! as a pure step function: told what happened, it says what to do next. [`run`]
//! does it: asks the model, calls the tools. The answer stands in a wrapper with a
//! fresh nonce ([`Slot`]), so that nothing that the model has read can pass for it.

mod calls;
mod host;
mod run;
mod slot;
mod step;
mod texts;

pub use calls::{Calls, Sorted};
pub use host::{Observer, ToolHost, ToolReplyFuture};
pub use run::run;
pub use slot::{Nonce, Nonces, RandomNonces, Slot, SlotError};
pub use step::{Conversation, Effect, Ending, Event, Finished, TurnLimits, Turns};
