//! An agent as a tool of another agent.
//!
//! The calling model sees a tool, and its report takes the way of every result. The binary runs the
//! agent ([`Launch`]), because it knows the prompt and the tools.

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jsonschema::Validator;
use serde_json::{Value, json};
use spillgate_extract::{OpKind, Scope};
use spillgate_llm::{ToolCall, ToolSpec};

use crate::host::{Given, Host};
use crate::report::{Ending, Finished};
use crate::schema::faults;

/// Most agents below one another, not counting the first, unless configured otherwise. It bounds
/// how often a task is handed down, also in a circle. The number is ours.
pub const DEFAULT_MAX_DEPTH: usize = 3;

/// Runs an agent to its end.
pub trait Launch: Send + Sync + fmt::Debug {
    /// Runs the agent with this task. Its journal must be one within `scope`
    /// ([`Journal::within`](crate::Journal::within)). Dropping the future cancels it.
    fn launch<'a>(
        &'a self,
        task: String,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<Finished, NotLaunched>>;
}

/// An agent could not be started. The text is written for the calling model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotLaunched(pub String);

/// The schema of an agent's input is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the input schema of the agent '{agent}' is broken: {why}")]
pub struct BadInput {
    /// The agent.
    pub agent: String,
    /// What is wrong with the schema.
    pub why: String,
}

/// An agent as a tool.
#[derive(Debug)]
pub struct SubAgent {
    spec: ToolSpec,
    /// Checks the input; `None` if the input is a prompt.
    input: Option<Validator>,
    run: Arc<dyn Launch>,
    max_depth: usize,
}

impl SubAgent {
    /// Returns the agent of that name. `input` is a JSON Schema; without it the input is an object
    /// with a text, `prompt`. The error is the schema's.
    pub fn new(
        name: &str,
        description: &str,
        input: Option<Value>,
        run: Arc<dyn Launch>,
    ) -> Result<Self, BadInput> {
        let validator = input.as_ref().map(jsonschema::validator_for).transpose();
        let validator = validator.map_err(|error| BadInput {
            agent: name.to_owned(),
            why: error.to_string(),
        })?;
        let spec = ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            schema: input.unwrap_or_else(prompt),
        };
        Ok(Self {
            spec,
            input: validator,
            run,
            max_depth: DEFAULT_MAX_DEPTH,
        })
    }

    /// Returns the same agent with another limit of agents below the first.
    #[must_use]
    pub fn with_max_depth(self, max_depth: usize) -> Self {
        Self { max_depth, ..self }
    }

    /// Returns the task in a call. The error is written for the model.
    fn task(&self, call: &ToolCall) -> Result<String, String> {
        let given: Value = serde_json::from_str(&call.arguments)
            .map_err(|error| format!("The arguments are not JSON: {error}."))?;
        let Some(input) = &self.input else {
            let prompt = given["prompt"].as_str().unwrap_or_default().trim();
            return match prompt.is_empty() {
                true => Err("`prompt` must be a text that says what to do.".to_owned()),
                false => Ok(prompt.to_owned()),
            };
        };
        match faults(input, &given) {
            None => Ok(given.to_string()),
            Some(faults) => Err(format!("The input is not of its schema: {faults}.")),
        }
    }

    fn given(&self, ended: Result<Finished, NotLaunched>) -> Given {
        let name = &self.spec.name;
        let finished = match ended {
            Ok(finished) => finished,
            Err(error) => {
                return Given::error(format!("The agent '{name}' could not be started: {error}."));
            }
        };
        let how = match finished.ending {
            Ending::Success => return Given::text(finished.report.content),
            Ending::Failed(_) => "failed",
            Ending::Cancelled => "was cancelled",
            Ending::TimedOut => "took too long",
            Ending::UsedUp(_) => "was stopped",
        };
        Given::error(format!(
            "The agent '{name}' {how}. {}",
            finished.report.content
        ))
    }
}

impl Host for SubAgent {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn tools(&self) -> Vec<ToolSpec> {
        vec![self.spec.clone()]
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, call: &'a ToolCall, scope: &'a Scope) -> BoxFuture<'a, Given> {
        async move {
            // The first agent is above this one, too.
            if scope.depth(OpKind::Agent) > self.max_depth {
                return Given::error(format!(
                    "The agent '{}' was not started: there are {} agents above it already. Do the task yourself.",
                    self.spec.name, self.max_depth
                ));
            }
            match self.task(call) {
                Ok(task) => self.given(self.run.launch(task, scope).await),
                Err(why) => Given::error(why),
            }
        }
        .boxed()
    }
}

/// The description of an agent that has none.
fn prompt() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "prompt": {
                "type": "string",
                "minLength": 1,
                "description": "The task, with all that is needed for it: the agent sees nothing of this conversation.",
            },
        },
        "required": ["prompt"],
    })
}
