//! Who has the tools?
//!
//! An MCP server, a REST description, another prompt file, the guarded tools: to
//! a session all are hosts. What they give is bytes and whether they failed; what
//! becomes of it is decided in one place, the orchestrator.

use std::fmt;
use std::io::Read;

use futures_util::future::BoxFuture;
use spillgate_extract::Scope;
use spillgate_llm::{ToolCall, ToolSpec};

/// What a tool gave.
pub struct Given {
    /// All of it, however much.
    pub body: Box<dyn Read + Send>,
    /// Whether the tool says that it failed.
    pub is_error: bool,
}

impl Given {
    /// A text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            body: Box::new(std::io::Cursor::new(text.into())),
            is_error: false,
        }
    }

    /// Why a call failed, for the model to mend.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Given")
            .field("is_error", &self.is_error)
            .finish_non_exhaustive()
    }
}

/// Has tools and calls them.
pub trait Host: Send + Sync + fmt::Debug {
    /// What it is called in accounts and logs.
    fn name(&self) -> &str;

    /// Its tools, in the order in which the model is told of them.
    fn tools(&self) -> Vec<ToolSpec>;

    /// The name that the tool `name` has where it comes from: a host may know it by
    /// another one. Rules that people write are of this one.
    fn own_name(&self, name: &str) -> String {
        name.to_owned()
    }

    /// Whether it ends in time by itself, so that the limit for calls is not for it: an
    /// agent has its own.
    fn keeps_time(&self) -> bool {
        false
    }

    /// Calls one. A failure is given, too: the model is told and can mend it.
    /// Dropping the future cancels the call. What it does beside may be written down
    /// in `scope`, which is the call's own.
    fn call<'a>(&'a self, call: &'a ToolCall, scope: &'a Scope) -> BoxFuture<'a, Given>;
}
