//! Calls the guarded tools for an agent, in this process.
//!
//! They are in this process: a host is their name, the tools that are chosen and who
//! answers. What is too much for them is not cut and not lost: it goes to the
//! session whole, which stores it.

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

/// The tool whose calls have a limit of time each, by the rules and the call. When it is
/// over it says more than we can: what the command had printed until then.
const COMMAND: &str = "execute_shell";

/// The guarded tools as an agent's.
pub struct GuardedTools {
    name: String,
    guarded: WorkspaceTools,
    definitions: Vec<Definition>,
    /// Longer than this no call may take but of a command.
    most: Duration,
}

impl GuardedTools {
    /// Those of `guarded` as the host `name`.
    #[must_use]
    pub fn new(name: &str, guarded: WorkspaceTools) -> Self {
        Self {
            name: name.to_owned(),
            definitions: guarded.definitions(),
            guarded,
            most: Duration::MAX,
        }
    }

    /// The same, of which no call takes longer than this, but for commands: how long
    /// these may take is in the rules of the tools.
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

    /// A command's own limit would else be cut short by one that knows nothing of what it
    /// has printed.
    fn keeps_time(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, call: &'a ToolCall, _: &'a Scope) -> BoxFuture<'a, Given> {
        self.given(call).boxed()
    }
}

/// Arguments as a model wrote them: an object, or nothing at all.
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

/// What is too much is given whole, for the session to store, and is not marked as failed:
/// how a command ended stands at the end of its output.
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
