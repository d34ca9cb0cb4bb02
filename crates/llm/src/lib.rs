//! Talking to a language model.
//!
//! [`ChatModel`] is one conversation step: messages and tools in, a reply out.
//! Endpoints speak HTTP; everything around them (retries, rates,
//! fallback to the next target, a recording) is a `ChatModel` around a
//! `ChatModel`. Only this crate knows what providers write.

mod chat;
mod error;
mod limits;
mod scripted;
mod target;
mod usage;

pub use chat::{
    ChatModel, Message, NoDeltas, OnDelta, Reply, ReplyFuture, Request, Stop, ToolCall, ToolReply,
    ToolSpec,
};
pub use error::{ErrorKind, LlmError};
pub use limits::{ModelLimits, Prices};
pub use scripted::{Scripted, Seen};
pub use target::{Target, TargetError};
pub use usage::{Dollars, Usage};
