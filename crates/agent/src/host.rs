//! The interface to whatever provides tools.
//!
//! MCP servers, REST descriptions, other prompt files and the guarded tools are all hosts to a
//! session. A host returns bytes and whether the call failed. One place, the orchestrator, decides
//! what becomes of them.

use std::fmt;
use std::io::Read;

use futures_util::future::BoxFuture;
use spillgate_extract::Scope;
use spillgate_llm::{ToolCall, ToolSpec};

/// The result of a tool call.
pub struct Given {
    /// The whole result, of any size.
    pub body: Box<dyn Read + Send>,
    /// Whether the tool reports a failure.
    pub is_error: bool,
}

impl Given {
    /// Returns a result that is this text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            body: Box::new(std::io::Cursor::new(text.into())),
            is_error: false,
        }
    }

    /// Returns a failure with its reason, which the model reads and can act on.
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

/// A provider of tools.
pub trait Host: Send + Sync + fmt::Debug {
    /// Returns its name for accounts and logs.
    fn name(&self) -> &str;

    /// Returns its tools, in the order in which the model is told of them.
    fn tools(&self) -> Vec<ToolSpec>;

    /// Returns the name that the provider itself uses for the tool `name`. Rules that people write
    /// use that name.
    fn own_name(&self, name: &str) -> String {
        name.to_owned()
    }

    /// Returns whether it limits its own time, so that the limit for calls does not apply. An agent
    /// does.
    fn keeps_time(&self) -> bool {
        false
    }

    /// Calls a tool. A failure is a result too: the model reads it and can act on it. Dropping the
    /// future cancels the call. Details of the work may be recorded in `scope`, which belongs to
    /// this call.
    fn call<'a>(&'a self, call: &'a ToolCall, scope: &'a Scope) -> BoxFuture<'a, Given>;
}
