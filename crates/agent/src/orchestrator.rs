//! The one place that every tool result passes (decision 18).
//!
//! ```text
//! call → raw result → sanitize → weigh → (the session decides) → show · store · let go
//! ```
//!
//! What the session has not decided about yet is held here: in memory, or in a
//! draft of the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use spillgate_artifact::{Origin, Reason};
use spillgate_extract::{Extractor, NoWatch};
use spillgate_llm::{ToolCall, ToolSpec};
use spillgate_offload::{Offloader, Outcome, Weighed};
use tokio::task::spawn_blocking;

use crate::event::{CallId, Counted, Kept, Planned, Returned};
use crate::host::{Given, Host};
use crate::internal::TOOL_OUTPUT;

/// Makes the calls of a session, and keeps what they gave until it is decided.
#[derive(Debug)]
pub struct Orchestrator {
    hosts: Vec<Arc<dyn Host>>,
    offloader: Offloader,
    /// What answers `tool_output`; `None` switches storing off: results over the
    /// size cap are cut (decision 25).
    extractor: Option<Extractor>,
    held: Mutex<HashMap<CallId, Weighed>>,
}

impl Orchestrator {
    /// An orchestrator of the tools of these hosts.
    #[must_use]
    pub fn new(
        hosts: Vec<Arc<dyn Host>>,
        offloader: Offloader,
        extractor: Option<Extractor>,
    ) -> Self {
        Self {
            hosts,
            offloader,
            extractor,
            held: Mutex::default(),
        }
    }

    /// All tools of the hosts, each name once: the first host that has it.
    #[must_use]
    pub fn tools(&self) -> Vec<ToolSpec> {
        let mut all: Vec<ToolSpec> = Vec::new();
        for tool in self.hosts.iter().flat_map(|host| host.tools()) {
            if all.iter().all(|known| known.name != tool.name) {
                all.push(tool);
            }
        }
        all
    }

    /// Makes a call and weighs what it gives.
    pub async fn call(&self, planned: &Planned) -> Returned {
        let call = &planned.call;
        let is_retrieval = call.name == TOOL_OUTPUT;
        let (server, given) = match is_retrieval {
            true => (None, self.tool_output(call).await),
            false => self.of_host(call).await,
        };
        let origin = Origin {
            server,
            tool: call.name.clone(),
            arguments: Some(call.arguments.clone()),
            call_id: Some(planned.id.as_str().to_owned()),
        };
        let (offloader, may_store) = (self.offloader.clone(), self.extractor.is_some());
        let weighing =
            spawn_blocking(move || weigh(&offloader, origin, given, may_store && !is_retrieval));
        match weighing.await {
            Ok((returned, weighed)) => {
                if let Some(weighed) = weighed {
                    self.lock().insert(planned.id.clone(), weighed);
                }
                returned
            }
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    async fn of_host(&self, call: &ToolCall) -> (Option<String>, Given) {
        let has = |host: &&Arc<dyn Host>| host.tools().iter().any(|tool| tool.name == call.name);
        match self.hosts.iter().find(has) {
            Some(host) => (Some(host.name().to_owned()), host.call(call).await),
            None => (
                None,
                Given::error(format!("There is no tool '{}' any more.", call.name)),
            ),
        }
    }

    async fn tool_output(&self, call: &ToolCall) -> Given {
        let Some(extractor) = &self.extractor else {
            return Given::error("tool_output is switched off.");
        };
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let text = |key: &str| arguments[key].as_str();
        let answer = extractor
            .tool_output(text("handle"), text("extract"), text("mode"), &NoWatch)
            .await;
        Given {
            is_error: answer.is_error,
            ..Given::text(answer.text)
        }
    }

    /// Stores what a call gave.
    pub async fn store(&self, id: &CallId, reason: Reason) -> Kept {
        let Some(weighed) = self.lock().remove(id) else {
            return Kept::Failed(self.counted("(nothing is left of this result)".to_owned()));
        };
        let offloader = self.offloader.clone();
        let tool = weighed.origin().tool.clone();
        let keeping = spawn_blocking(move || weighed.keep(&offloader, reason));
        match keeping.await {
            Ok(Outcome::Offloaded(stored)) => {
                let bytes = stored.receipt.manifest().facts.stats.bytes;
                tracing::warn!(
                    tool,
                    ?reason,
                    handle = %stored.receipt.handle(),
                    "Tool '{tool}' output stored for tool_output ({reason:?}, {bytes} bytes)."
                );
                Kept::Stored(self.counted(stored.shown.text().to_owned()))
            }
            Ok(Outcome::NotStored(lost)) => {
                tracing::error!(tool, error = %lost.error, "tool_output store failed");
                Kept::Failed(self.counted(lost.shown.text().to_owned()))
            }
            Ok(Outcome::Inline(_)) => unreachable!("what is kept is never inline"),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Lets go of what a call gave.
    pub fn release(&self, id: &CallId) {
        if let Some(weighed) = self.lock().remove(id) {
            weighed.pass(&self.offloader);
        }
    }

    fn counted(&self, text: String) -> Counted {
        let tokens = self.offloader.counter().count(&text);
        Counted { text, tokens }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<CallId, Weighed>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Weighs what a tool gave: what the session must know of it, and the rest, to be
/// held.
fn weigh(
    offloader: &Offloader,
    origin: Origin,
    mut given: Given,
    is_storable: bool,
) -> (Returned, Option<Weighed>) {
    let counted = |text: String| Counted {
        tokens: offloader.counter().count(&text),
        text,
    };
    match offloader.weigh(origin, given.is_error, &mut *given.body) {
        Ok(weighed) => {
            let is_over = weighed.is_over();
            let returned = Returned {
                whole: weighed.whole().map(counted),
                cut: is_over.then(|| counted(weighed.cut(offloader))),
                is_over,
                is_error: given.is_error,
                is_storable,
            };
            (returned, Some(weighed))
        }
        Err(error) => {
            let returned = Returned {
                whole: Some(counted(format!("The result could not be read: {error}."))),
                cut: None,
                is_over: false,
                is_error: true,
                is_storable: false,
            };
            (returned, None)
        }
    }
}
