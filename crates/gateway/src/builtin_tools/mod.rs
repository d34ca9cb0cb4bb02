//! The gateway's built-in tools, and when the client sees them.

pub(crate) mod calls;
pub(crate) mod progress;

use spillgate_mcp::frame;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spillgate_extract::Extractor;
use spillgate_offload::{Offloader, Policy, Profile};

use spillgate_retrieval::{CONTINUE, Extraction, PREFIX, TOOL_OUTPUT, definitions, listed};

/// When the gateway lists its own tools (docs/gateway.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListTools {
    /// From the start: the list never changes, so prompt caches stay warm.
    #[default]
    Always,
    /// Once this gateway has stored something (ai-agent's rule). Calls are answered before that,
    /// too: a handle may be from an earlier session.
    WhenStored,
    /// Never: another entry of the client's configuration offers them. Calls are still answered.
    Never,
}

/// The notification that makes a client fetch the list again.
pub(crate) fn list_changed() -> Vec<u8> {
    frame::line(frame::notification(
        "notifications/tools/list_changed",
        None,
    ))
}

/// The gateway's built-in tools.
#[derive(Debug)]
pub(crate) struct BuiltinTools {
    /// Whether any rule uses the profile that needs `get_continuation`.
    continuation: bool,
    /// Whether there is a `tool_output` tool.
    extraction: bool,
    /// How it is listed; `None` if it is not.
    extraction_listed: Option<Extraction>,
    list: ListTools,
    /// The server has tools with our names, so it is a Spillgate itself.
    server_is_one: AtomicBool,
    /// The server has a tool called `get_continuation`.
    server_continues: AtomicBool,
    /// The server has a tool called `tool_output`.
    server_extracts: AtomicBool,
    /// Something was stored.
    stored: AtomicBool,
    /// The client has yet to be told that the list has changed.
    unannounced: AtomicBool,
}

impl BuiltinTools {
    pub(crate) fn new(
        offloader: &Offloader,
        extractor: Option<&Extractor>,
        list: ListTools,
    ) -> Self {
        let policy = offloader.policy();
        Self {
            continuation: policy.uses(&Profile::Continuation),
            extraction: extractor.is_some(),
            extraction_listed: extraction_listed(policy, extractor),
            list,
            server_is_one: AtomicBool::new(false),
            server_continues: AtomicBool::new(false),
            server_extracts: AtomicBool::new(false),
            stored: AtomicBool::new(false),
            unannounced: AtomicBool::new(false),
        }
    }

    /// Whether calls of this tool are answered here. Does not hold if the server has the tool as
    /// well.
    pub(crate) fn has(&self, name: &str) -> bool {
        match name {
            CONTINUE => self.continuation && !self.server_continues.load(Ordering::Relaxed),
            // If there are two Spillgates, the one that has the handle answers.
            TOOL_OUTPUT => {
                let is_theirs = self.server_extracts.load(Ordering::Relaxed);
                self.extraction && (!is_theirs || self.server_is_one())
            }
            _ => name.starts_with(PREFIX),
        }
    }

    /// Whether the server has our tools, too.
    pub(crate) fn server_is_one(&self) -> bool {
        self.server_is_one.load(Ordering::Relaxed)
    }

    /// Records the name of one of the server's tools. A name must mean one tool, so ours of that
    /// name is dropped.
    pub(crate) fn note_servers(&self, name: &str) {
        let flag = match name {
            CONTINUE => &self.server_continues,
            TOOL_OUTPUT => &self.server_extracts,
            _ if name.starts_with(PREFIX) => &self.server_is_one,
            _ => return,
        };
        flag.store(true, Ordering::Relaxed);
    }

    /// Records that something was stored.
    pub(crate) fn note_stored(&self) {
        if !self.stored.swap(true, Ordering::Relaxed) {
            self.unannounced
                .store(self.is_announced(), Ordering::Relaxed);
        }
    }

    /// Whether the client must be told now that the list has changed. True only once.
    pub(crate) fn take_announcement(&self) -> bool {
        self.unannounced.swap(false, Ordering::Relaxed)
    }

    /// Whether the list may change.
    pub(crate) fn is_announced(&self) -> bool {
        self.list == ListTools::WhenStored
    }

    /// The definitions appended to the client's list, as JSON; empty while there are none.
    pub(crate) fn listed(&self) -> String {
        let is_due = !self.is_announced() || self.stored.load(Ordering::Relaxed);
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

/// The tools that a gateway with these rules and this extractor lists, unless the server has tools
/// with these names. Previews may name them.
#[must_use]
pub fn own_tools(policy: &Policy, extractor: Option<&Extractor>) -> Vec<&'static str> {
    listed(
        policy.uses(&Profile::Continuation),
        extraction_listed(policy, extractor).is_some(),
    )
}

/// How `tool_output` is listed. It is listed if messages name it or there is a model; without
/// either, `spillgate_search` does the same for fewer tokens. A model alone does not list it beside
/// `get_continuation`, because other tools would have to go for it.
fn extraction_listed(policy: &Policy, extractor: Option<&Extractor>) -> Option<Extraction> {
    let extractor = extractor?;
    let is_named = policy.uses(&Profile::Handle);
    let is_useful = extractor.has_model() && !policy.uses(&Profile::Continuation);
    match is_named && policy.uses_only(&Profile::Handle) {
        true => Some(Extraction::Seed),
        false => (is_named || is_useful).then_some(Extraction::Ours),
    }
}
