//! Offers the guarded tools (`read_file`, `execute_shell` and others) to an agent, and runs them in
//! this process.
//!
//! No server is needed, so [`GuardedTools`] contains only a name and the tools themselves. If a
//! tool's output is too large, it is not cut: the session gets the whole output and stores it.

use std::fmt;
use std::io::{Cursor, Read};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use spillgate_agent::{Given, Host, Scope};
use spillgate_llm::{ToolCall, ToolSpec};
use spillgate_workspace_tools::{Body, Definition, OversizedOutput, ToolResult, WorkspaceTools};
use tokio::time::timeout;

/// The tool whose calls have time limits of their own, set by the rules and by the call. At such a
/// limit, the tool still returns what the command has printed. If [`GuardedTools`] limited the call
/// instead, this output would be lost.
const COMMAND: &str = "execute_shell";

/// The guarded tools as a [`Host`], which is a source of an agent's tools.
pub struct GuardedTools {
    name: String,
    guarded: WorkspaceTools,
    definitions: Vec<Definition>,
    /// Maximum duration of a call. It does not apply to commands.
    most: Duration,
}

impl GuardedTools {
    /// Creates the host `name` with the tools in `guarded`.
    #[must_use]
    pub fn new(name: &str, guarded: WorkspaceTools) -> Self {
        Self {
            name: name.to_owned(),
            definitions: guarded.definitions(),
            guarded,
            most: Duration::MAX,
        }
    }

    /// Returns the host with calls that take at most `most`. Commands are exempt, because the rules
    /// of the tools limit their duration.
    #[must_use]
    pub fn within(self, most: Duration) -> Self {
        Self { most, ..self }
    }

    async fn given(&self, call: &ToolCall) -> Given {
        let arguments = match arguments(&call.arguments) {
            Ok(arguments) => arguments,
            Err(what) => return Given::error(what),
        };
        let most = match call.name == COMMAND {
            true => Duration::MAX,
            false => self.most,
        };
        let answering = self.guarded.call(&call.name, arguments);
        if let Ok(answer) = timeout(most, answering).await {
            return given(answer);
        }
        let (tool, seconds) = (&call.name, self.most.as_secs_f64());
        Given::error(format!(
            "Error: {tool} gave nothing within {seconds} s and was stopped. Ask for less at once."
        ))
    }
}

impl fmt::Debug for GuardedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedTools")
            .field("name", &self.name)
            .field("tools", &self.definitions.len())
            .finish_non_exhaustive()
    }
}

impl Host for GuardedTools {
    fn name(&self) -> &str {
        &self.name
    }

    fn tools(&self) -> Vec<ToolSpec> {
        let spec = |one: &Definition| ToolSpec {
            name: one.name.to_owned(),
            description: one.description.clone(),
            schema: Value::Object(one.schema.clone()),
        };
        self.definitions.iter().map(spec).collect()
    }

    /// Returns true, because a time limit of the session could end a command before the command's
    /// own limit, and what the command has printed would be lost.
    fn keeps_time(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, call: &'a ToolCall, _: &'a Scope) -> BoxFuture<'a, Given> {
        self.given(call).boxed()
    }
}

/// Parses arguments as a model wrote them: an object, or an empty text for no arguments.
fn arguments(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => {
            Err("Error: The arguments are no JSON object. Write {\"name\": value}.".to_owned())
        }
        Err(error) => Err(format!(
            "Error: The arguments are no JSON: {error}. Write an object, {{\"name\": value}}."
        )),
    }
}

/// Converts a result. Output that is too large is returned completely, so that the session can
/// store it. Such output is never marked as an error, because its last lines say how the command
/// ended.
fn given(answer: ToolResult) -> Given {
    match answer.body {
        Body::Text(text) => Given {
            body: Box::new(Cursor::new(text)),
            is_error: answer.is_error,
        },
        Body::Oversized(OversizedOutput { whole, notes, .. }) => {
            let notes = match notes.is_empty() {
                true => notes,
                false => format!("\n{notes}\n"),
            };
            Given {
                body: Box::new(whole.chain(Cursor::new(notes))),
                is_error: false,
            }
        }
    }
}

#[cfg(test)]
mod tests;
