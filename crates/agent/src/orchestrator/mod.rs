//! Makes the tool calls of an agent. Every tool result passes through this module
//! (docs/spec/behaviour.md, "Results in an agent").
//!
//! ```text
//! call → raw result → sanitize → measure → (the session decides) → show · store · release
//!        ↑ or the cached result
//! ```
//!
//! The orchestrator holds a result, in memory or in a draft of the store, until the session
//! decides.

mod retrieval;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use spillgate_artifact::{Interrupt, Origin, Reason};
use spillgate_extract::{PREVIEW_BYTES, Scope};
use spillgate_llm::{ToolCall, ToolSpec};
use spillgate_offload::{Choice, Offloader, Outcome, PendingResult};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::cache::{CacheEntry, Caching, Teeing};
use crate::event::{CallId, Kept, Planned, Returned};
use crate::host::{Given, Host};
use crate::internal::{GET_CONTINUATION, RESERVED, TOOL_OUTPUT};
pub use retrieval::Retrieval;

/// Makes the calls of one session and holds their results until the session decides.
#[derive(Debug)]
pub struct Orchestrator {
    hosts: Vec<Arc<dyn Host>>,
    offloader: Offloader,
    retrieval: Retrieval,
    caching: Option<Caching>,
    /// The time limit of a call.
    limit: Option<Duration>,
    held: Mutex<HashMap<CallId, PendingResult>>,
    /// The names under which results of this session can be read page by page.
    paged: Mutex<HashSet<String>>,
}

/// A tool's result and where it comes from.
struct Got {
    server: Option<String>,
    given: Given,
    /// The cache entry that is written while the result is read.
    entry: Option<Box<dyn CacheEntry>>,
}

impl Got {
    fn of(given: Given) -> Self {
        Self {
            server: None,
            given,
            entry: None,
        }
    }
}

impl Orchestrator {
    /// Returns an orchestrator of the tools of these hosts.
    #[must_use]
    pub fn new(hosts: Vec<Arc<dyn Host>>, offloader: Offloader, retrieval: Retrieval) -> Self {
        let is_short = matches!(retrieval, Retrieval::Continuation { short_ids: true });
        Self {
            hosts,
            offloader: match is_short {
                true => offloader.with_short_ids(true),
                false => offloader,
            },
            retrieval,
            caching: None,
            limit: None,
            held: Mutex::default(),
            paged: Mutex::default(),
        }
    }

    /// Returns the orchestrator with a tool cache.
    #[must_use]
    pub fn with_cache(self, caching: Caching) -> Self {
        let caching = Some(caching);
        Self { caching, ..self }
    }

    /// Returns the orchestrator with a time limit for each call.
    #[must_use]
    pub fn with_call_timeout(self, limit: Duration) -> Self {
        let limit = Some(limit);
        Self { limit, ..self }
    }

    /// Returns all tools of the hosts. If several hosts offer a tool of the same name, the first
    /// host's tool is used. Tools with the names of the session's own tools are left out.
    #[must_use]
    pub fn tools(&self) -> Vec<ToolSpec> {
        let mut all: Vec<ToolSpec> = Vec::new();
        for tool in self.hosts.iter().flat_map(|host| host.tools()) {
            let is_reserved = RESERVED.contains(&tool.name.as_str());
            if !is_reserved && all.iter().all(|known| known.name != tool.name) {
                all.push(tool);
            }
        }
        all
    }

    /// Returns the tool that reads stored results; `None` if results are not stored.
    #[must_use]
    pub fn retrieval(&self) -> Option<ToolSpec> {
        self.retrieval.spec(self.offloader.policy())
    }

    /// Makes a call and measures its result. Details are recorded in `scope`, which belongs to this
    /// call. Dropping the future cancels the call and releases its result.
    pub async fn call(&self, planned: &Planned, scope: &Scope) -> Returned {
        let call = &planned.call;
        let is_retrieval = [TOOL_OUTPUT, GET_CONTINUATION].contains(&call.name.as_str());
        let Got {
            server,
            given,
            entry,
        } = match is_retrieval {
            true => Got::of(self.retrieve(call, scope).await),
            false => self.of_host(call, scope).await,
        };
        let origin = Origin {
            server,
            tool: call.name.clone(),
            arguments: Some(call.arguments.clone()),
            call_id: self.call_id(&planned.id),
        };
        // Reading stops when this future is dropped, because nothing needs the result any more.
        let stop = Interrupt::default();
        let _stops = stop.on_drop();
        let taking = Taking {
            offloader: self.offloader.clone(),
            origin,
            reader: Teeing::new(given.body, entry, stop),
            is_error: given.is_error,
            is_storable: self.retrieval.stores() && !is_retrieval,
            is_retrieval,
            scope: scope.clone(),
        };
        match spawn_blocking(move || taking.submit()).await {
            Ok((returned, pending)) => {
                if let Some(pending) = pending {
                    self.held.lock().insert(planned.id.clone(), pending);
                }
                returned
            }
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    async fn of_host(&self, call: &ToolCall, scope: &Scope) -> Got {
        let has = |host: &&Arc<dyn Host>| host.tools().iter().any(|tool| tool.name == call.name);
        let Some(host) = self.hosts.iter().find(has) else {
            let what = format!("There is no tool '{}' any more.", call.name);
            return Got::of(Given::error(what));
        };
        let server = Some(host.name().to_owned());
        scope.note(|op| op.server.clone_from(&server));
        let caching = self.caching.as_ref();
        let wanted = caching.and_then(|caching| Some((caching, caching.wanted(&**host, call)?)));
        if let Some((caching, wanted)) = &wanted
            && let Some(body) = caching.kept(wanted).await
        {
            scope.note(|op| op.cached = true);
            let given = Given {
                body,
                is_error: false,
            };
            return Got {
                server,
                ..Got::of(given)
            };
        }
        let given = self.given(&**host, call, scope).await;
        let entry = match wanted {
            Some((caching, wanted)) if !given.is_error => caching.begin(wanted).await,
            _ => None,
        };
        Got {
            server,
            given,
            entry,
        }
    }

    async fn given(&self, host: &dyn Host, call: &ToolCall, scope: &Scope) -> Given {
        let giving = host.call(call, scope);
        let Some(limit) = self.limit.filter(|_| !host.keeps_time()) else {
            return giving.await;
        };
        timeout(limit, giving).await.unwrap_or_else(|_| {
            let (tool, server) = (&call.name, host.name());
            let seconds = limit.as_secs_f64();
            Given::error(format!(
                "The tool '{tool}' of '{server}' gave nothing within {seconds} s; the call was cancelled."
            ))
        })
    }

    /// Stores the result of a call.
    pub async fn store(&self, id: &CallId, reason: Reason) -> Kept {
        let Some(pending) = self.held.lock().remove(id) else {
            let words = "(nothing is left of this result)".to_owned();
            return Kept::Failed(self.offloader.presented(words));
        };
        let tool = pending.origin().tool.clone();
        let storing = spawn_blocking(move || pending.settle(Choice::Store(reason)));
        match storing.await {
            Ok(Outcome::Offloaded(stored)) => {
                let facts = &stored.receipt.manifest().facts;
                let (bytes, handle) = (facts.stats.bytes, stored.receipt.handle());
                tracing::warn!(
                    tool,
                    %reason,
                    %handle,
                    "Tool '{tool}' output stored for tool_output ({reason}, {bytes} bytes)."
                );
                let mut paged = self.paged.lock();
                paged.extend(facts.origin.call_id.clone());
                paged.insert(handle.to_string());
                Kept::Stored {
                    shown: stored.shown,
                    handle,
                }
            }
            Ok(Outcome::NotStored(lost)) => {
                tracing::error!(tool, error = %lost.error, "tool_output store failed");
                Kept::Failed(lost.shown)
            }
            Ok(Outcome::Inline(_)) => unreachable!("what is to be stored is never inline"),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Releases the held result of a call that is shown or dropped.
    pub fn release(&self, id: &CallId) {
        if let Some(pending) = self.held.lock().remove(id) {
            pending.pass();
        }
    }

    /// Releases all held results, because the session has ended. No draft is left in the store.
    pub fn let_go(&self) {
        self.held.lock().clear();
    }
}

/// A result that is about to be captured.
struct Taking {
    offloader: Offloader,
    origin: Origin,
    reader: Teeing,
    is_error: bool,
    is_storable: bool,
    /// Whether this is the output of a retrieval tool. Such output is already bounded, and must not
    /// be truncated a second time.
    is_retrieval: bool,
    scope: Scope,
}

impl Taking {
    /// Submits the result to the pipeline. Returns the facts that the session needs for its
    /// decision, and the pending result, which the orchestrator holds until the decision.
    fn submit(mut self) -> (Returned, Option<PendingResult>) {
        let offloader = &self.offloader;
        let (is_error, reader) = (self.is_error, &mut self.reader);
        let mut pending = match offloader.submit_stream(self.origin, is_error, reader, &mut |_| {})
        {
            Ok(pending) => pending,
            Err(error) => {
                let why = format!("The result could not be read: {error}.");
                self.scope.note(|op| op.error = Some(why.clone()));
                let returned = Returned {
                    whole: Some(offloader.presented(why)),
                    cut: None,
                    is_over: false,
                    is_error: true,
                    is_storable: false,
                    instead: 0,
                };
                return (returned, None);
            }
        };
        // Without a commit, nothing of the cache's entry stays.
        if pending.may_be_kept() {
            self.reader.complete();
        }
        let is_over = pending.is_over() && !self.is_retrieval;
        // A result over the cap is never shown whole, so its whole text is not read. Its cut text
        // is needed only if it must not be stored.
        let whole = (!is_over).then(|| pending.whole()).flatten();
        let cut = (is_over && !self.is_storable).then(|| pending.cut());
        if let Some(cut) = &cut {
            let (tool, bytes) = (&pending.origin().tool, pending.bytes());
            tracing::warn!(
                tool,
                bytes,
                shown = cut.len(),
                "Tool '{tool}' output is over the cap and is not stored: {bytes} bytes, cut to {}.",
                cut.len()
            );
        }
        let seen = pending.beginning(PREVIEW_BYTES);
        self.scope.note(|op| {
            op.response_bytes = Some(pending.bytes());
            op.error = seen.clone().filter(|_| self.is_error);
            op.response_preview = seen;
        });
        let returned = Returned {
            whole: whole.map(|text| offloader.unchanged(text)),
            cut: cut.map(|text| offloader.unchanged(text)),
            is_over,
            is_error: self.is_error,
            is_storable: self.is_storable,
            instead: pending.instead(),
        };
        (returned, Some(pending))
    }
}
