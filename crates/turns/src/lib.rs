//! A bare loop of a model with tools.
//!
//! [`Turns`] is the conversation as a pure step function: told what happened, it
//! says what to do next. [`run`] does it: asks the model, calls the tools. The
//! answer stands in a wrapper with a fresh nonce ([`Slot`]), so that nothing that
//! the model has read can pass for it.

mod host;
mod slot;
mod step;

pub use host::{Observer, ToolHost, ToolReplyFuture};
pub use slot::{Nonce, Nonces, RandomNonces, Slot, SlotError};
pub use step::{Ending, Finished, Limits, Turns, run};
