//! The interfaces that a loop uses: the host of the tools, and an observer of the loop.

use std::future::Future;
use std::pin::Pin;

use spillgate_llm::{LlmError, Reply, Request, ToolCall, ToolReply, ToolSpec};

/// A tool call in progress. Dropping it cancels the call.
pub type ToolReplyFuture<'a> = Pin<Box<dyn Future<Output = ToolReply> + Send + 'a>>;

/// A provider of tools.
pub trait ToolHost: Send + Sync {
    /// Returns the tools, in the order in which they are listed for the model.
    fn tools(&self) -> Vec<ToolSpec>;

    /// Calls a tool. A failure is a reply too: the model reads it and can act on it.
    fn call<'a>(&'a self, call: &'a ToolCall) -> ToolReplyFuture<'a>;
}

/// Observes a loop, for example to record its cost and its trace.
pub trait Observer: Send + Sync {
    /// The model was asked; `reply` is its reply or the error.
    fn asked(&self, request: &Request, reply: &Result<Reply, LlmError>);

    /// A tool was called and returned `reply`.
    fn called(&self, call: &ToolCall, reply: &ToolReply);
}
