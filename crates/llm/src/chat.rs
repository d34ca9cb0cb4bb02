//! Requests to a model and its replies.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{LlmError, ModelLimits, Target, Usage};

/// One step of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Request {
    /// The system prompt; empty for none.
    pub system: String,
    /// The conversation so far, oldest first. It begins with a user's message.
    pub messages: Vec<Message>,
    /// Tools that the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// Whether none of them may be called now. Providers want tools listed that the
    /// conversation has calls of, also where it must come to its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_calls: bool,
    /// Tokens that the reply may have.
    pub max_output_tokens: u64,
}

impl Request {
    /// Bytes of everything that the model reads, for accounts that do not keep
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
    /// From the user.
    User(String),
    /// From the model.
    Assistant {
        /// What it said.
        text: String,
        /// The tools that it called.
        calls: Vec<ToolCall>,
    },
    /// The results of the calls of the message before, one for each.
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

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// JSON Schema of its arguments.
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
    /// What the reply to it names it by.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments as the model wrote them: JSON, or what was meant to be.
    pub arguments: String,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolReply {
    /// The id of the call.
    pub call_id: String,
    /// What the tool gave.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
}

/// What a model said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Its text; thinking that the provider tells apart is not in it.
    pub text: String,
    /// The tools that it calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub stop: Stop,
    /// What it cost.
    pub usage: Usage,
    /// Who answered: with fallback it need not be the first target.
    pub target: Target,
    /// The provider's id of the exchange, for its support.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It had said what it wanted to say.
    End,
    /// It reached the limit of output tokens.
    Length,
    /// It waits for the results of its calls.
    ToolCalls,
    /// It, or a filter of the provider's, refused.
    Refused,
    /// Something else, in the provider's word.
    Other(String),
}

/// What a call of [`ChatModel::chat`] is: dropping it ends the exchange.
pub type ReplyFuture<'a> = Pin<Box<dyn Future<Output = Result<Reply, LlmError>> + Send + 'a>>;

/// Who is told of a reply's text while it comes.
pub trait OnDelta: Send + Sync {
    /// More text of the reply. A retry tells its text again, from the start.
    fn text(&self, more: &str);
}

/// Nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDeltas;

impl OnDelta for NoDeltas {
    fn text(&self, _: &str) {}
}

/// A language model that can be talked to.
pub trait ChatModel: Send + Sync + fmt::Debug {
    /// One step of a conversation. Dropping the future cancels it.
    fn chat<'a>(&'a self, request: &'a Request, deltas: &'a dyn OnDelta) -> ReplyFuture<'a>;

    /// Who answers first.
    fn target(&self) -> Target;

    /// What a request may be; where several targets may answer, what all of
    /// them take.
    fn limits(&self) -> ModelLimits;
}

/// A model that is shared is a model.
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
