//! An agent as a tool of another agent.
//!
//! To the calling model, the agent is a tool, and its report is treated like any other result. The
//! binary runs the agent ([`Launch`]), because it knows the prompt and the tools.

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

/// Maximum depth of sub-agents below the first agent, unless configured otherwise. The limit ends
/// chains of agents that call each other in a circle. The number is Spillgate's own choice and not
/// taken from ai-agent.
pub const DEFAULT_MAX_DEPTH: usize = 3;

/// Runs an agent to its end.
pub trait Launch: Send + Sync + fmt::Debug {
    /// Runs the agent with this task. Its journal must lie within `scope`
    /// ([`Journal::within`](crate::Journal::within)). Dropping the future cancels the run.
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
#[error("the input schema of the agent '{agent}' is invalid: {why}")]
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
    /// Checks the input against its schema; `None` if the input is a prompt.
    input: Option<Validator>,
    run: Arc<dyn Launch>,
    max_depth: usize,
}

impl SubAgent {
    /// Creates a tool that runs the agent `name`. `input` is a JSON Schema; without one, the input
    /// is an object with the text field `prompt`. Fails if the schema is invalid.
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

    /// Returns the agent with another limit on the depth of sub-agents.
    #[must_use]
    pub fn with_max_depth(self, max_depth: usize) -> Self {
        Self { max_depth, ..self }
    }

    /// Returns the task in the arguments of a call. The error is written for the model.
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
            // The depth is the number of agents above this one, including the first agent.
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

/// The default input schema: an object with a prompt.
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
