//! Talking to a language model.
//!
//! [`ChatModel`] is one conversation step: messages and tools in, a reply out.
//! Endpoints speak HTTP; everything around them (retries, rates,
//! fallback to the next target, a recording) is a `ChatModel` around a
//! `ChatModel`. Only this crate knows what providers write.

mod catalogue;
mod chat;
mod endpoint;
mod error;
mod fallback;
mod key;
mod limits;
mod paced;
mod priced;
mod retrying;
mod scripted;
mod target;
mod usage;

pub use catalogue::{
    Catalogue, CatalogueError, ModelConfig, ProviderConfig, Secrets, read_key_file,
};
pub use chat::{
    ChatModel, Message, NoDeltas, OnDelta, Reply, ReplyFuture, Request, Stop, ToolCall, ToolReply,
    ToolSpec,
};
pub use endpoint::{
    Dialect, Endpoint, EndpointConfig, EndpointError, EndpointModel, MaxTokensField, Timeouts,
};
pub use error::{ErrorKind, LlmError};
pub use fallback::Fallback;
pub use key::Key;
pub use limits::{ModelLimits, Prices};
pub use paced::{Gate, Paced};
pub use priced::Priced;
pub use retrying::{RetryPolicy, Retrying};
pub use scripted::{Scripted, ScriptedRequest};
pub use target::{Target, TargetError};
pub use usage::{Dollars, Usage};
