//! Talks to language models.
//!
//! [`ChatModel`] performs one step of a conversation: it takes messages and tools and returns a
//! reply. An endpoint is a `ChatModel` that asks a provider over HTTP. Everything else (retries,
//! rate limits, fallback to the next model, recording) is a `ChatModel` that wraps another one.
//! Only this crate knows the formats of providers.

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
