//! The tool with which a model reads stored results: `tool_output` or `get_continuation`.
//!
//! Results of this tool are neither stored nor cached.

use serde_json::Value;
use spillgate_artifact::Interrupt;
use spillgate_extract::{Extractor, NoWatch, Scope, TOOL, tool_schema};
use spillgate_llm::{ToolCall, ToolSpec};
use spillgate_offload::{
    CONTINUATION_TOOL, ContinuationError, Policy, Profile, continuation_schema,
};
use tokio::task::spawn_blocking;

use super::Orchestrator;
use crate::event::CallId;
use crate::host::Given;
use crate::internal::{GET_CONTINUATION, TOOL_OUTPUT};

/// Maximum length of an id that an error repeats, in characters.
const ID_CHARS: usize = 200;

/// How a model reads stored results.
#[derive(Debug, Clone)]
pub enum Retrieval {
    /// The model asks questions about stored results with `tool_output`.
    ToolOutput(Box<Extractor>),
    /// The model reads stored results page by page with `get_continuation`. The profile of results
    /// must be [`Profile::Continuation`].
    Continuation {
        /// Whether results are named 1, 2, …, because models often copy long ids wrongly. Otherwise
        /// a result is named by the id of its call, or by its handle if another result already uses
        /// that id.
        short_ids: bool,
    },
    /// Results are not stored. Results over the size cap are cut.
    Off,
}

impl Retrieval {
    /// Returns whether results are stored.
    pub(super) fn stores(&self) -> bool {
        !matches!(self, Self::Off)
    }

    /// Returns the tool's definition. The schema is prescribed by the specification of the system
    /// that the tool reproduces.
    pub(super) fn spec(&self, policy: &Policy) -> Option<ToolSpec> {
        let (name, description, schema) = match self {
            Self::ToolOutput(_) => {
                let has_search = !policy.uses_only(&Profile::Handle);
                (TOOL_OUTPUT, TOOL, tool_schema(has_search))
            }
            Self::Continuation { .. } => {
                let schema = continuation_schema();
                (GET_CONTINUATION, CONTINUATION_TOOL, schema)
            }
            Self::Off => return None,
        };
        Some(ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            schema,
        })
    }
}

impl Orchestrator {
    /// Returns the name under which the result of a call can be read page by page; `None` lets the
    /// store choose the name. Some servers number the calls of each reply from 0, so the same id
    /// may already name another result.
    pub(super) fn call_id(&self, id: &CallId) -> Option<String> {
        let is_short = matches!(self.retrieval, Retrieval::Continuation { short_ids: true });
        let is_taken = self.paged.lock().contains(id.as_str());
        (!is_short && !is_taken).then(|| id.as_str().to_owned())
    }

    /// Answers a call of the tool.
    pub(super) async fn retrieve(&self, call: &ToolCall, scope: &Scope) -> Given {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        match &self.retrieval {
            Retrieval::ToolOutput(extractor) if call.name == TOOL_OUTPUT => {
                let text = |key: &str| arguments[key].as_str();
                let extractor = extractor.as_ref().clone().within(scope.clone());
                let answer = extractor
                    .tool_output(text("handle"), text("extract"), text("mode"), &NoWatch)
                    .await;
                Given {
                    is_error: answer.is_error,
                    ..Given::text(answer.shown.text())
                }
            }
            Retrieval::Continuation { .. } if call.name == GET_CONTINUATION => {
                self.continuation(&arguments).await
            }
            _ => Given::error(format!("{} is switched off.", call.name)),
        }
    }

    /// Returns the next page of a result of this session, or an error in the tool's own JSON
    /// format.
    async fn continuation(&self, arguments: &Value) -> Given {
        let id = spelled(arguments, "tool_call_id").or_else(|| spelled(arguments, "id"));
        let (id, offset) = (id.unwrap_or_default(), spelled(arguments, "offset"));
        if !self.paged.lock().contains(&id) {
            let id = id.chars().take(ID_CHARS).collect();
            return Given::error(ContinuationError::UnknownId { id }.to_json());
        }
        let wait = Interrupt::default();
        let _ends = wait.on_drop();
        let offloader = self.offloader.within(&wait);
        let paging = spawn_blocking(move || offloader.continuation(&id, offset.as_deref()));
        match paging.await {
            Ok(Ok(page)) => Given::text(page.text()),
            Ok(Err(error)) => Given::error(error.to_json()),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

/// Returns an argument, given as text or as a number, as it was written.
fn spelled(arguments: &Value, name: &str) -> Option<String> {
    let given = match &arguments[name] {
        Value::Null => return None,
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    Some(given).filter(|given| !given.is_empty())
}
