//! Defines requests to a model and its replies.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{LlmError, ModelLimits, Target, Usage};

/// A request for one step of a conversation, which is the model's next reply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Request {
    /// The system prompt; empty if there is none.
    pub system: String,
    /// The conversation so far, oldest message first. It begins with a user message.
    pub messages: Vec<Message>,
    /// Tools that the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// Whether no tool may be called in this step. Providers require that `tools` lists the tools
    /// of all calls in the conversation, even if no more calls are allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_calls: bool,
    /// Maximum length of the reply, in tokens.
    pub max_output_tokens: u64,
}

impl Request {
    /// Returns the size, in bytes, of everything that the model reads, for traces that do not keep
    /// the text (docs/spec/behaviour.md, "Traces").
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let messages = self.messages.iter().map(Message::bytes).sum::<usize>();
        let tools = self.tools.iter().map(ToolSpec::bytes).sum::<usize>();
        (self.system.len() + messages + tools) as u64
    }
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A message from the user.
    User(String),
    /// A message from the model.
    Assistant {
        /// The text of the message.
        text: String,
        /// The tool calls of the message.
        calls: Vec<ToolCall>,
    },
    /// The results of the calls in the previous message, one for each call.
    Tools(Vec<ToolReply>),
}

impl Message {
    fn bytes(&self) -> usize {
        match self {
            Self::User(text) => text.len(),
            Self::Assistant { text, calls } => {
                let calls = calls
                    .iter()
                    .map(|call| call.name.len() + call.arguments.len());
                text.len() + calls.sum::<usize>()
            }
            Self::Tools(replies) => replies.iter().map(|reply| reply.text.len()).sum(),
        }
    }
}

/// A tool as it is described to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name of the tool.
    pub name: String,
    /// The purpose of the tool.
    pub description: String,
    /// The JSON Schema of the tool's arguments.
    pub schema: serde_json::Value,
}

impl ToolSpec {
    fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.schema.to_string().len()
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id that the reply to the call refers to.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments as the model wrote them. They should be JSON, but may be invalid.
    pub arguments: String,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolReply {
    /// The id of the call.
    pub call_id: String,
    /// What the tool returned.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
}

/// A reply of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The text, without any thinking that the provider marks as such.
    pub text: String,
    /// The tool calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Why the model stopped.
    pub stop: Stop,
    /// Tokens and cost.
    pub usage: Usage,
    /// The target that answered. If targets failed, it is not the first one.
    pub target: Target,
    /// The id that the provider gave to the request. The provider's support staff can look it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The reply is complete.
    End,
    /// The reply reached the limit of output tokens.
    Length,
    /// The model waits for the results of its tool calls.
    ToolCalls,
    /// The model, or a filter of the provider, refused.
    Refused,
    /// Another reason, as the provider names it.
    Other(String),
}

/// The future that [`ChatModel::chat`] returns. Dropping it cancels the request.
pub type ReplyFuture<'a> = Pin<Box<dyn Future<Output = Result<Reply, LlmError>> + Send + 'a>>;

/// Receives the text of a reply while it arrives.
pub trait OnDelta: Send + Sync {
    /// Receives more text of the reply. A retry sends the text again from the start.
    fn text(&self, more: &str);
}

/// Ignores the text of a reply.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDeltas;

impl OnDelta for NoDeltas {
    fn text(&self, _: &str) {}
}

/// A language model.
pub trait ChatModel: Send + Sync + fmt::Debug {
    /// Asks the model for one step of a conversation. Dropping the future cancels the request.
    fn chat<'a>(&'a self, request: &'a Request, deltas: &'a dyn OnDelta) -> ReplyFuture<'a>;

    /// Returns the target that is asked first.
    fn target(&self) -> Target;

    /// Returns the limits of requests. If several targets may answer, all of them accept these
    /// limits.
    fn limits(&self) -> ModelLimits;
}

/// A shared model can be used like the model itself.
impl<M: ChatModel + ?Sized> ChatModel for Arc<M> {
    fn chat<'a>(&'a self, request: &'a Request, deltas: &'a dyn OnDelta) -> ReplyFuture<'a> {
        (**self).chat(request, deltas)
    }

    fn target(&self) -> Target {
        (**self).target()
    }

    fn limits(&self) -> ModelLimits {
        (**self).limits()
    }
}
