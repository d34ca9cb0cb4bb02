//! A search over the tools of the servers, in place of a long list of their definitions.
//!
//! The client's list then contains the gateway's own tools, the tools that the configuration pins,
//! and a tool that finds tools by words. The client calls a tool that was found directly, after the
//! list has grown by it, or by a second tool that calls a tool by its name. A call through the
//! second is treated like a direct call.

pub(crate) mod call;
pub(crate) mod find;
mod form;
mod repair;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spillgate_upstream::ToolFilter;

/// Finds tools by words.
pub(crate) const FIND: &str = "spillgate_find_tools";
/// Calls a tool by its name.
pub(crate) const CALL: &str = "spillgate_call_tool";

/// Most bytes of the servers' names in the definition of [`FIND`].
const MOST_NAMES: usize = 120;

/// What a client's list of tools contains of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolList {
    /// All its tools.
    #[default]
    All,
    /// Only pinned tools. The others are found by a search and called by their names.
    Search,
    /// Only pinned tools, and from then on those that a search finds. The client is notified that
    /// the list has changed. Stateless clients receive the list of `Search`.
    Found,
}

/// Which tools are listed and which are found by a search.
#[derive(Debug, Clone)]
pub struct ToolSearch {
    of_all: ToolList,
    servers: BTreeMap<String, ToolList>,
    /// The tools that are always listed; `None` if there are none.
    pinned: Option<ToolFilter>,
    /// Tokens above which a list is reported as too long.
    budget: u64,
}

/// Default tokens above which a list of tools is reported as too long.
pub const DEFAULT_LIST_BUDGET: u64 = 10_000;

impl Default for ToolSearch {
    fn default() -> Self {
        Self {
            of_all: ToolList::All,
            servers: BTreeMap::new(),
            pinned: None,
            budget: DEFAULT_LIST_BUDGET,
        }
    }
}

impl ToolSearch {
    /// Returns the rules. `of_all` applies to servers without a rule in `servers`. `pinned` are
    /// patterns of the tools that are always listed, by the names that the client sees; `budget` is
    /// in tokens. The error names an invalid pattern.
    pub fn new(
        of_all: ToolList,
        servers: BTreeMap<String, ToolList>,
        pinned: &[String],
        budget: u64,
    ) -> Result<Self, globset::Error> {
        let pinned = match pinned {
            [] => None,
            some => Some(ToolFilter::new(some, &[])?),
        };
        Ok(Self {
            of_all,
            servers,
            pinned,
            budget,
        })
    }

    /// Returns whether the tools of this server are found by a search.
    pub(crate) fn searches(&self, server: &str) -> bool {
        let list = self.servers.get(server).copied();
        list.unwrap_or(self.of_all) != ToolList::All
    }

    /// Returns whether the list grows by the tools of this server that a search finds.
    pub(crate) fn lists_found(&self, server: &str) -> bool {
        let list = self.servers.get(server).copied();
        list.unwrap_or(self.of_all) == ToolList::Found
    }

    /// Returns whether the list may grow.
    pub(crate) fn may_grow(&self) -> bool {
        let lists = self.servers.values().chain([&self.of_all]);
        lists.into_iter().any(|list| *list == ToolList::Found)
    }

    /// Returns whether the list leaves out a tool, given its server and the client's name for it.
    pub(crate) fn hides(&self, server: &str, shown: &str) -> bool {
        let is_pinned = |pinned: &ToolFilter| pinned.admits(shown);
        self.searches(server) && !self.pinned.as_ref().is_some_and(is_pinned)
    }

    /// Returns the number of tokens above which a list is too long.
    pub(crate) fn budget(&self) -> u64 {
        self.budget
    }
}

/// Returns the result of a look-up in a session that has stored nothing. If it is an error, what a
/// search for tools finds for the same words follows, because small models take a look-up for the
/// search for tools. Both results are JSON. `is_stateless` means that nobody knows what the client
/// has stored.
pub(crate) async fn instead_of_look_up(
    result: String,
    is_stateless: bool,
    found: impl Future<Output = String>,
) -> String {
    let Ok(mut told) = serde_json::from_str::<Value>(&result) else {
        return result;
    };
    if told["isError"] != true {
        return result;
    }
    let found: Value = serde_json::from_str(&found.await).unwrap_or_default();
    let text = |result: &Value| result["content"][0]["text"].as_str().map(str::to_owned);
    let next = match text(&found).filter(|_| found["isError"] != true) {
        Some(found) => format!("This is what {FIND} finds:\n{found}"),
        None => format!("To do a task, call {FIND} first, with the task in words."),
    };
    if let (Some(why), Some(place)) = (text(&told), told.pointer_mut("/content/0/text")) {
        let stored = match is_stateless {
            true => "",
            false => "Nothing is stored yet in this session. ",
        };
        *place = format!("{why}\n{stored}{next}").into();
    }
    told.to_string()
}

/// The size of a list of tools.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ListSize {
    /// The number of tools of the servers.
    pub(crate) tools: u64,
    /// Tokens of their definitions.
    pub(crate) tokens: u64,
    /// Tokens of the definitions that the client receives.
    pub(crate) listed: u64,
}

/// Returns the definitions of the tools that find and call tools, as JSON, separated by a comma; only
/// the first of them if the list grows by the tools that are found.
pub(crate) fn definitions(servers: &[String], grows: bool) -> String {
    let text = json!({"type": "string"});
    let mut names = String::new();
    for name in servers {
        let name: String = name.chars().filter(|c| !c.is_control()).collect();
        if names.len() + name.len() > MOST_NAMES {
            names.push_str(", …");
            break;
        }
        names.push_str(if names.is_empty() { "" } else { ", " });
        names.push_str(&name);
    }
    let purpose = match grows {
        // Small models guess the names of tools otherwise.
        true => "The only tool until it has found others: finds the tool for a task. Servers:",
        false => "First step for any task: finds the tool that does it. Servers:",
    };
    let find = json!({
        "name": FIND,
        "description": format!("{purpose} {names}"),
        "inputSchema": {
            "type": "object",
            // Not `query`: for a task that itself is a search, small models gave the words of that search.
            "properties": {"task": {"type": "string", "description": "what the tool has to do, such as: rename a file"}},
            "required": ["task"],
        },
        "annotations": {"readOnlyHint": true},
    });
    if grows {
        return find.to_string();
    }
    // Without a hint, clients treat the tool as one that may change something.
    let call = json!({
        "name": CALL,
        "description": format!("Second step: calls the tool that {FIND} found, as shown there."),
        "inputSchema": {
            "type": "object",
            "properties": {"name": text, "arguments": {"type": "object"}},
            "required": ["name", "arguments"],
        },
    });
    format!("{},{}", Value::to_string(&find), Value::to_string(&call))
}
