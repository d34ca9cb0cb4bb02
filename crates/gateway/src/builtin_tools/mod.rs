//! The gateway's built-in tools, and the rules for when a client's tool list contains them.

pub(crate) mod calls;
pub(crate) mod progress;

use crate::tool_search::FIND;
use crate::tool_search::find::Tool;
use spillgate_mcp::frame;
use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spillgate_extract::Extractor;
use spillgate_offload::{Offloader, Policy, Profile};

use spillgate_retrieval::{CONTINUE, Extraction, PREFIX, TOOL_OUTPUT, definitions, listed};

/// Most names of the servers' tools that are remembered.
const MOST_KNOWN: usize = 10_000;
/// Most tools by which a list grows: with usual definitions some 5,000 tokens.
const MOST_GROWN: usize = 32;
/// How long the result of a search waits until the client fetches the list. Claude Code takes a few
/// milliseconds.
const FETCH_LIMIT: Duration = Duration::from_millis(500);
/// How long the result waits after that.
const FETCH_PAUSE: Duration = Duration::from_millis(20);

/// When the gateway lists its own tools (docs/gateway.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListTools {
    /// The tools are listed from the start. The list then never changes, so prompt caches stay
    /// valid.
    #[default]
    Always,
    /// The tools are listed after this gateway has stored something (as in ai-agent). Calls are
    /// answered even before that, because a handle may come from an earlier session.
    WhenStored,
    /// The tools are never listed, because another entry of the client's configuration offers them.
    /// Calls are still answered.
    Never,
}

/// Returns the notification after which a client fetches the list again.
pub(crate) fn list_changed() -> Vec<u8> {
    frame::line(frame::notification(
        "notifications/tools/list_changed",
        None,
    ))
}

/// The clients for which tools are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clients {
    /// The client of a session.
    Session,
    /// All clients of stateless requests. Nobody knows what such a client has stored: perhaps through
    /// another process that uses the same store.
    Stateless,
}

/// The gateway's built-in tools.
#[derive(Debug)]
pub(crate) struct BuiltinTools {
    /// Whether any rule uses the profile whose previews need `get_continuation`.
    continuation: bool,
    /// Whether the gateway offers `tool_output`.
    extraction: bool,
    /// How `tool_output` is listed; `None` if it is not listed.
    extraction_listed: Option<Extraction>,
    list: ListTools,
    clients: Clients,
    /// Whether the server has tools with our names, which means that it is itself a Spillgate.
    server_is_one: AtomicBool,
    /// Whether the server finds tools by a search itself.
    server_finds: AtomicBool,
    /// Whether the server has its own tool `get_continuation`.
    server_continues: AtomicBool,
    /// Whether the server has its own tool `tool_output`.
    server_extracts: AtomicBool,
    /// Whether something has been stored.
    stored: AtomicBool,
    /// Whether the client still has to be informed that the list has changed.
    unannounced: AtomicBool,
    /// The names of the servers' tools that were listed or found.
    known: Mutex<HashSet<String>>,
    /// The tools that the last search looked through, by name.
    found: Mutex<HashMap<String, Arc<Tool>>>,
    /// Whether the list grows by the tools that a search finds.
    grows: bool,
    /// The names of the tools by which the list has grown, oldest first.
    grown: Mutex<Vec<String>>,
    /// Wakes those who wait until the client fetches the list.
    fetched: Notify,
    /// Whether the client did not fetch a list that had grown.
    is_deaf: AtomicBool,
}

impl BuiltinTools {
    /// Returns the tools. `grows` says whether the list grows by the tools that a search finds; then
    /// the look-up tools, too, are listed only when they are of use.
    pub(crate) fn new(
        offloader: &Offloader,
        extractor: Option<&Extractor>,
        list: ListTools,
        grows: bool,
    ) -> Self {
        let policy = offloader.policy();
        let list = match list {
            ListTools::Always if grows => ListTools::WhenStored,
            list => list,
        };
        Self {
            continuation: policy.uses(&Profile::Continuation),
            extraction: extractor.is_some(),
            extraction_listed: extraction_listed(policy, extractor),
            list,
            clients: Clients::Session,
            server_is_one: AtomicBool::new(false),
            server_finds: AtomicBool::new(false),
            server_continues: AtomicBool::new(false),
            server_extracts: AtomicBool::new(false),
            stored: AtomicBool::new(false),
            unannounced: AtomicBool::new(false),
            known: Mutex::default(),
            found: Mutex::default(),
            grows,
            grown: Mutex::default(),
            fetched: Notify::new(),
            is_deaf: AtomicBool::new(false),
        }
    }

    /// Returns the tools for stateless requests. What is listed then does not depend on what this
    /// process has stored, so that all processes behind a load balancer list the same tools.
    pub(crate) fn for_stateless(self) -> Self {
        Self {
            clients: Clients::Stateless,
            ..self
        }
    }

    fn is_stateless(&self) -> bool {
        self.clients == Clients::Stateless
    }

    /// Whether the gateway answers calls of this tool. It leaves `get_continuation` and
    /// `tool_output` to a server that has a tool of the same name, except that it answers
    /// `tool_output` itself if that server is also a Spillgate.
    pub(crate) fn has(&self, name: &str) -> bool {
        match name {
            CONTINUE => self.continuation && !self.server_continues.load(Ordering::Relaxed),
            // If the server is also a Spillgate, the Spillgate that stored the handle's output
            // answers.
            TOOL_OUTPUT => {
                let is_theirs = self.server_extracts.load(Ordering::Relaxed);
                self.extraction && (!is_theirs || self.server_is_one())
            }
            _ => name.starts_with(PREFIX),
        }
    }

    /// Whether the server is itself a Spillgate, because it has tools with our names.
    pub(crate) fn server_is_one(&self) -> bool {
        self.server_is_one.load(Ordering::Relaxed)
    }

    /// Whether the server has a tool with the name of our search for tools.
    pub(crate) fn server_finds(&self) -> bool {
        self.server_finds.load(Ordering::Relaxed)
    }

    /// Records the name of one of the server's tools. If we offer a tool with the same name, ours
    /// is no longer offered, because a name must mean only one tool.
    pub(crate) fn note_servers(&self, name: &str) {
        if name == FIND {
            self.server_finds.store(true, Ordering::Relaxed);
        }
        let flag = match name {
            CONTINUE => &self.server_continues,
            TOOL_OUTPUT => &self.server_extracts,
            _ if name.starts_with(PREFIX) => &self.server_is_one,
            _ => return,
        };
        flag.store(true, Ordering::Relaxed);
    }

    /// Records the client's name for a tool of a server.
    pub(crate) fn note_known(&self, name: &str) {
        let mut known = self.known.lock();
        if known.len() < MOST_KNOWN && !known.contains(name) {
            known.insert(name.to_owned());
        }
    }

    /// Returns how many tools of servers the client has seen.
    pub(crate) fn known(&self) -> usize {
        self.known.lock().len()
    }

    /// Records the tools that a search looks through.
    pub(crate) fn note_found(&self, tools: &[Arc<Tool>]) {
        let named = tools
            .iter()
            .map(|tool| (tool.name.clone(), Arc::clone(tool)));
        *self.found.lock() = named.collect();
    }

    /// Returns a tool that the last search looked through.
    pub(crate) fn found(&self, name: &str) -> Option<Arc<Tool>> {
        self.found.lock().get(name).cloned()
    }

    /// Forgets a tool that the last search looked through.
    pub(crate) fn forget_found(&self, name: &str) {
        self.found.lock().remove(name);
    }

    /// Records that the list grows by these tools, and forgets the oldest ones above a limit.
    pub(crate) fn grow<'t>(&self, names: impl IntoIterator<Item = &'t str>) {
        let mut grown = self.grown.lock();
        for name in names {
            if grown.iter().any(|one| one == name) {
                continue;
            }
            if grown.len() == MOST_GROWN {
                grown.remove(0);
            }
            grown.push(name.to_owned());
            self.unannounced.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the list has grown by this tool.
    pub(crate) fn has_grown_by(&self, name: &str) -> bool {
        self.grown.lock().iter().any(|one| one == name)
    }

    /// Records that the client has asked for the list of tools.
    pub(crate) fn note_fetched(&self) {
        self.fetched.notify_waiters();
    }

    /// Informs the client, by `inform`, that the list has changed, and waits until it fetches the
    /// list: a client that gets the result of a search first asks its model with the old list. A
    /// client that did not fetch a list is not waited for again.
    pub(crate) async fn inform(&self, inform: impl Future<Output = ()>) {
        let mut fetched = pin!(self.fetched.notified());
        fetched.as_mut().enable();
        inform.await;
        if self.is_deaf.load(Ordering::Relaxed) {
            return;
        }
        if timeout(FETCH_LIMIT, fetched).await.is_ok() {
            // The list is sent and read before the result.
            sleep(FETCH_PAUSE).await;
        } else if !self.is_deaf.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the client did not fetch the list of tools again, so its model cannot call what a \
                 search finds; set tool_list = \"search\" for this client"
            );
        }
    }

    /// Whether a call of this name needs no look at the list: one of our own tools, or a tool that
    /// was listed or found.
    pub(crate) fn is_known(&self, name: &str) -> bool {
        self.has(name) || self.known.lock().contains(name)
    }

    /// Records that something was stored.
    pub(crate) fn note_stored(&self) {
        let is_first = !self.stored.swap(true, Ordering::Relaxed);
        if is_first && self.list == ListTools::WhenStored && !self.is_stateless() {
            self.unannounced.store(true, Ordering::Relaxed);
        }
    }

    /// Whether something was stored.
    pub(crate) fn has_stored(&self) -> bool {
        self.stored.load(Ordering::Relaxed)
    }

    /// Whether the client must be informed now that the list has changed. Returns true only once
    /// after each change.
    pub(crate) fn take_announcement(&self) -> bool {
        self.unannounced.swap(false, Ordering::Relaxed)
    }

    /// Whether the list of tools may change.
    pub(crate) fn is_announced(&self) -> bool {
        !self.is_stateless() && (self.grows || self.list == ListTools::WhenStored)
    }

    /// Returns the tool definitions to append to the client's list, as JSON; empty if nothing is
    /// listed now.
    pub(crate) fn listed(&self) -> String {
        let is_due = self.list != ListTools::WhenStored || self.is_stateless() || self.has_stored();
        if self.list == ListTools::Never || !is_due || self.server_is_one() {
            return String::new();
        }
        let extraction = self.extraction_listed.filter(|_| self.has(TOOL_OUTPUT));
        let names = listed(self.has(CONTINUE), extraction.is_some());
        let tools = definitions(&names, extraction.unwrap_or(Extraction::Ours));
        let tools: Vec<String> = tools.iter().map(Value::to_string).collect();
        tools.join(",")
    }
}

/// Returns the names of the tools that a gateway with these rules and this extractor lists, so
/// previews may name them. A tool is not listed if the server has a tool with the same name.
#[must_use]
pub fn own_tools(policy: &Policy, extractor: Option<&Extractor>) -> Vec<&'static str> {
    listed(
        policy.uses(&Profile::Continuation),
        extraction_listed(policy, extractor).is_some(),
    )
}

/// Returns how `tool_output` is listed; `None` if it is not. It is listed if previews name it or if
/// there is a model. Without a model, `spillgate_search` does the same for fewer tokens. If the
/// model is the only reason to list it, it is not listed together with `get_continuation`, because
/// other tools would then have to be removed from the list.
fn extraction_listed(policy: &Policy, extractor: Option<&Extractor>) -> Option<Extraction> {
    let extractor = extractor?;
    let is_named = policy.uses(&Profile::Handle);
    let is_useful = extractor.has_model() && !policy.uses(&Profile::Continuation);
    match is_named && policy.uses_only(&Profile::Handle) {
        true => Some(Extraction::Seed),
        false => (is_named || is_useful).then_some(Extraction::Ours),
    }
}
