//! Calls the guarded tools for an agent, in this process.
//!
//! The tools run in this process, so a host is their name, the selected tools and the
//! implementation. Output that is too large for them is neither cut nor lost: the session gets all
//! of it and stores it.

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

/// The tool whose calls have their own time limits, from the rules and the call. At its time limit
/// it reports more than a host can: what the command had printed until then.
const COMMAND: &str = "execute_shell";

/// The guarded tools as a host of an agent.
pub struct GuardedTools {
    name: String,
    guarded: WorkspaceTools,
    definitions: Vec<Definition>,
    /// Longest time of a call, except of a command.
    most: Duration,
}

impl GuardedTools {
    /// Creates the host `name` of the tools in `guarded`.
    #[must_use]
    pub fn new(name: &str, guarded: WorkspaceTools) -> Self {
        Self {
            name: name.to_owned(),
            definitions: guarded.definitions(),
            guarded,
            most: Duration::MAX,
        }
    }

    /// Returns a host whose calls take no longer than `most`. Commands are exempt: the rules of the
    /// tools limit their time.
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

    /// A session's limit would cut a command's own limit short without reporting what the command
    /// has printed.
    fn keeps_time(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, call: &'a ToolCall, _: &'a Scope) -> BoxFuture<'a, Given> {
        self.given(call).boxed()
    }
}

/// Parses arguments as a model wrote them: an object, or nothing at all.
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

/// Converts a result. Output that is too large is returned whole, for the session to store, and not
/// marked as an error: its end says how the command ended.
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
