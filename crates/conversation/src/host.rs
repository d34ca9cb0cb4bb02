//! Those whom a loop calls and tells: the host of the tools and an observer.

use std::future::Future;
use std::pin::Pin;

use spillgate_llm::{LlmError, Reply, Request, ToolCall, ToolReply, ToolSpec};

/// What a call of a tool is: dropping it cancels the call.
pub type ToolReplyFuture<'a> = Pin<Box<dyn Future<Output = ToolReply> + Send + 'a>>;

/// Has tools and calls them.
pub trait ToolHost: Send + Sync {
    /// The tools, in the order in which the model is told of them.
    fn tools(&self) -> Vec<ToolSpec>;

    /// Calls one. A failure is a reply too: the model is told and can mend it.
    fn call<'a>(&'a self, call: &'a ToolCall) -> ToolReplyFuture<'a>;
}

/// Who is told what goes on, for accounts and traces.
pub trait Observer: Send + Sync {
    /// The model was asked and answered, or did not.
    fn asked(&self, request: &Request, reply: &Result<Reply, LlmError>);

    /// A tool was called and gave this.
    fn called(&self, call: &ToolCall, reply: &ToolReply);
}
