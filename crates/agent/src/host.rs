//! The interface to the providers of tools.
//!
//! For a session, MCP servers, REST descriptions, other prompt files and the guarded tools are all
//! hosts. A host returns the bytes of a result and whether the call failed. It does not decide
//! whether these bytes are shown or stored; the session does.

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
    /// Returns a successful result with this text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            body: Box::new(std::io::Cursor::new(text.into())),
            is_error: false,
        }
    }

    /// Returns a failure with its reason. The model reads the reason and can act on it.
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
    /// Returns the host's name, for logs and for the account of the session.
    fn name(&self) -> &str;

    /// Returns the host's tools, in the order in which they are listed for the model.
    fn tools(&self) -> Vec<ToolSpec>;

    /// Returns the provider's own name for the tool that the model knows as `name`. Rules in the
    /// configuration use the provider's name.
    fn own_name(&self, name: &str) -> String {
        name.to_owned()
    }

    /// Returns whether the host limits the time of its calls itself. The time limit for calls then
    /// does not apply. This is the case for agents.
    fn keeps_time(&self) -> bool {
        false
    }

    /// Calls a tool. A failure is also a result: the model reads it and can act on it. Dropping the
    /// future cancels the call. Details of the work may be recorded in `scope`, which belongs to
    /// this call.
    fn call<'a>(&'a self, call: &'a ToolCall, scope: &'a Scope) -> BoxFuture<'a, Given>;
}
