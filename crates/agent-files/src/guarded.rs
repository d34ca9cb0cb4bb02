//! The `guardedTools` section.
//!
//! Like `mcpServers`, the section contains one table per named entry. The code that opens the tools
//! defines their rules; this module holds the configured values.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use spillgate_config::{Member, Node, NodeKind, Position, Text, camel};

use crate::entry::variable;
use crate::problem::FileError;
use crate::values::{Names, Whole};

/// The key of the section.
pub(crate) const SECTION: &str = "guardedTools";

/// Guarded tools, which have bounded answers: files below one directory, commands and the web.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct GuardedTools {
    /// The directory that no file name can leave, a path relative to the directory of this file; by
    /// default the working directory.
    pub root: Option<PathBuf>,
    /// The tools that are offered; by default all that the other settings allow.
    pub tools: Option<Vec<GuardedTool>>,
    /// Maximum size of an answer, in tokens (bytes / 4); a larger answer is refused. By default
    /// 25000.
    pub max_tokens: Option<Whole<100, { u64::MAX }>>,
    /// What happens to a command's output or a web page of more than `maxTokens`; by default
    /// `offload` if results are stored, otherwise `reject`.
    pub on_overflow: Option<Overflow>,
    /// Whether refusals end with a summary of the content and with calls to make next; by default
    /// `false`.
    pub detailed_recovery: Option<bool>,
    /// Where web pages may be saved: anywhere below `root` (`true`, the default), nowhere
    /// (`false`), or below the directories of a list (paths relative to `root`).
    pub writable: Option<WritableBelow>,
    /// The settings of commands; `false` removes `execute_shell`.
    #[schemars(with = "Option<Switch<GuardedShell>>")]
    pub shell: Option<GuardedShell>,
    /// The settings of `web_fetch`; `false` removes this tool.
    #[schemars(with = "Option<Switch<GuardedWeb>>")]
    pub web: Option<GuardedWeb>,
    /// The search service of `web_search`; without it there is no such tool.
    pub search: Option<GuardedSearch>,
}

/// A guarded tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuardedTool {
    /// Reads a file or a page of it.
    ReadFile,
    /// Searches the contents of files.
    GrepContent,
    /// Finds files by name.
    GlobFiles,
    /// Runs a command; not available with `shell: false`.
    ExecuteShell,
    /// Fetches a web page; not available with `web: false`.
    WebFetch,
    /// Searches the web; only available with `search`.
    WebSearch,
}

impl GuardedTool {
    /// All tools, in the order in which they are listed.
    pub const ALL: [Self; 6] = [
        Self::ReadFile,
        Self::GrepContent,
        Self::GlobFiles,
        Self::ExecuteShell,
        Self::WebFetch,
        Self::WebSearch,
    ];

    /// Returns the name that a model calls.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadFile => "read_file",
            Self::GrepContent => "grep_content",
            Self::GlobFiles => "glob_files",
            Self::ExecuteShell => "execute_shell",
            Self::WebFetch => "web_fetch",
            Self::WebSearch => "web_search",
        }
    }
}

/// What happens to an oversized answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Overflow {
    /// The answer is stored whole, and the model gets a handle.
    Offload,
    /// The call is refused, and the error says what to do instead.
    Reject,
}

/// Where web pages may be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WritableBelow {
    /// Anywhere below the root, or nowhere.
    Anywhere(bool),
    /// Below these directories, whose paths are relative to the root.
    Directories(Vec<PathBuf>),
}

const WRITABLE: &str = "true, false or a list of directories";

impl<'de> Deserialize<'de> for WritableBelow {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Places;
        impl<'de> Visitor<'de> for Places {
            type Value = WritableBelow;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(WRITABLE)
            }

            fn visit_bool<E: de::Error>(self, anywhere: bool) -> Result<WritableBelow, E> {
                Ok(WritableBelow::Anywhere(anywhere))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<WritableBelow, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(WritableBelow::Directories(all))
            }
        }
        from.deserialize_any(Places)
    }
}

impl JsonSchema for WritableBelow {
    fn schema_name() -> Cow<'static, str> {
        "WritableBelow".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`true` means anywhere below `root`, `false` nowhere, and a list names directories by paths relative to `root`.",
            "anyOf": [
                { "type": "boolean" },
                { "type": "array", "items": { "type": "string" } },
            ],
        })
    }
}

/// The settings of commands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(
    default,
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a table, true or false"
)]
pub struct GuardedShell {
    /// Whether the tool `execute_shell` is offered; by default `true`.
    pub enabled: Option<bool>,
    /// Time limit for a command in seconds, unless the call sets its own; by default 120.
    pub timeout_s: Option<Whole<1, 600>>,
    /// Names of the agent's environment variables that commands get in addition to the usual ones.
    /// `NAME*` means all variables that begin with `NAME`.
    pub env: Option<Names>,
    /// Whether commands can write only below `root`, and read little except `root` and the system;
    /// by default `false`.
    pub sandbox: Option<bool>,
    /// Whether commands can use the network; by default `true`. `false` also switches the sandbox
    /// on.
    pub network: Option<bool>,
    /// Paths that commands in a sandbox may read in addition, relative to the directory of this
    /// file.
    pub readable: Option<Vec<PathBuf>>,
    /// Paths below which commands in a sandbox may write in addition, relative to the directory of
    /// this file.
    pub writable: Option<Vec<PathBuf>>,
}

/// The settings of the tool `web_fetch`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(
    default,
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a table, true or false"
)]
pub struct GuardedWeb {
    /// Whether the tool `web_fetch` is offered; by default `true`.
    pub enabled: Option<bool>,
    /// Time limit for fetching a page in seconds, unless the call sets its own; by default 30.
    pub timeout_s: Option<Whole<1, 120>>,
    /// Private addresses from which pages may be fetched, each written `HOST:PORT`; by default
    /// none.
    pub allow_private: Option<Names>,
}

/// The search service of `web_search`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GuardedSearch {
    /// The service.
    pub provider: SearchService,
    /// The address of the service; required for `searxng`.
    #[serde(default)]
    pub url: Option<String>,
    /// The name of the environment variable that contains the API key; required for `brave` and
    /// `tavily`.
    #[serde(default)]
    #[schemars(regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub api_key_env: Option<String>,
}

/// A search service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchService {
    /// A `SearXNG` server of your own.
    Searxng,
    /// The API of Brave Search.
    Brave,
    /// The API of Tavily.
    Tavily,
}

/// A boolean or a table of settings; `false` switches the feature off.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[allow(dead_code, reason = "it is a schema and nothing else")]
enum Switch<T> {
    /// Whether the feature is on.
    Is(bool),
    /// The settings of the feature.
    How(T),
}

impl GuardedTools {
    /// Returns whether `execute_shell` is available.
    #[must_use]
    pub fn has_shell(&self) -> bool {
        let is_off = |shell: &GuardedShell| shell.enabled == Some(false);
        self.may(GuardedTool::ExecuteShell) && !self.shell.as_ref().is_some_and(is_off)
    }

    /// Returns whether `web_fetch` is available.
    #[must_use]
    pub fn has_web(&self) -> bool {
        let is_off = |web: &GuardedWeb| web.enabled == Some(false);
        self.may(GuardedTool::WebFetch) && !self.web.as_ref().is_some_and(is_off)
    }

    /// Returns whether `tools` includes the tool; without `tools` all are included.
    #[must_use]
    pub fn may(&self, tool: GuardedTool) -> bool {
        let named = self.tools.as_ref();
        named.is_none_or(|tools| tools.contains(&tool))
    }

    /// Checks the rules that the types cannot express. Returns each violation as the path of the
    /// member, the problem and the advice.
    fn faults(&self) -> Vec<(Vec<String>, &'static str, &'static str)> {
        let mut faults = Vec::new();
        let key = |keys: &[&str]| keys.iter().map(|&key| key.to_owned()).collect();
        for (index, tool) in self.tools.iter().flatten().enumerate() {
            let (is_there, hint) = match tool {
                GuardedTool::ExecuteShell => (self.has_shell(), "remove it, or `shell: false`"),
                GuardedTool::WebFetch => (self.has_web(), "remove it, or `web: false`"),
                GuardedTool::WebSearch => (self.search.is_some(), "set `search`"),
                _ => (true, ""),
            };
            if !is_there {
                let index = format!("[{index}]");
                faults.push((key(&["tools", &index]), "is listed, but disabled", hint));
            }
        }
        if self.tools.as_ref().is_some_and(Vec::is_empty) {
            let hint = "name a tool, or remove the key to get all tools that can work";
            faults.push((key(&["tools"]), "names no tool", hint));
        }
        let allowed = self.web.iter().filter_map(|web| web.allow_private.as_ref());
        if allowed
            .flat_map(|names| &names.0)
            .any(|one| !is_host_and_port(one))
        {
            let hint = "write for example \"127.0.0.1:8080\"";
            faults.push((
                key(&["web", "allowPrivate"]),
                "must contain only HOST:PORT",
                hint,
            ));
        }
        let Some(search) = &self.search else {
            return faults;
        };
        let is_own = search.provider == SearchService::Searxng;
        if is_own && search.url.is_none() {
            let what = "needs `url`: it is a server of your own";
            faults.push((key(&["search"]), what, "write \"url\": \"https://…\""));
        }
        match &search.api_key_env {
            None if !is_own => {
                let hint = "write \"apiKey\": \"${NAME}\"";
                faults.push((key(&["search"]), "needs `apiKey`", hint));
            }
            Some(name) if !is_name(name) => {
                let what =
                    "is not the name of a variable; an API key must not be written into this file";
                let hint = "put the key into a variable and write \"apiKey\": \"${NAME}\"";
                faults.push((key(&["search", "apiKeyEnv"]), what, hint));
            }
            _ => {}
        }
        faults
    }
}

/// Normalizes `shell: false` to `shell: {enabled: false}`, and `web: false` likewise. Replaces
/// `apiKey: "${NAME}"` by `apiKeyEnv: "NAME"` before variables are expanded, so that the key is
/// read only when it is used.
pub(crate) fn spell_out(root: &mut Node) {
    let sections = root.members_mut().into_iter().flatten();
    let sections = sections.filter(|member| camel(&member.key) == SECTION);
    let entries = sections.filter_map(|section| section.node.members_mut());
    let tables = entries.flatten().filter_map(|one| one.node.members_mut());
    for member in tables.flatten() {
        match (&*member.key, &member.node.kind) {
            ("shell" | "web", NodeKind::Bool(_)) => switch(member),
            ("search", NodeKind::Table(_)) => {
                let search = member.node.members_mut().into_iter().flatten();
                search.for_each(name_key);
            }
            _ => {}
        }
    }
}

/// Replaces `apiKey: "${NAME}"` by `apiKeyEnv: "NAME"`. A literal API key becomes an empty text,
/// which the check of variable names then rejects.
fn name_key(member: &mut Member) {
    if camel(&member.key) != "apiKey" {
        return;
    }
    "apiKeyEnv".clone_into(&mut member.key);
    if let NodeKind::Text(text) = &mut member.node.kind {
        let name = variable(&text.text).unwrap_or_default().to_owned();
        // The written form is kept, because the entry is shown to the user as written.
        let written = (!name.is_empty()).then(|| text.text.clone());
        *text = Text {
            text: name,
            written,
        };
    }
}

/// Replaces a boolean by the table `{enabled: …}`.
pub(crate) fn switch(member: &mut Member) {
    let at = member.node.at;
    let node = std::mem::replace(&mut member.node, Node::new(at, NodeKind::Null));
    let enabled = Member::new("enabled", member.at, node);
    member.node.kind = NodeKind::Table(vec![enabled]);
}

/// Returns the errors of the entries of a file.
pub(crate) fn check(
    given: &BTreeMap<String, GuardedTools>,
    root: &Node,
    path: &Path,
) -> Vec<FileError> {
    let mut all = Vec::new();
    for (name, entry) in given {
        for (keys, what, hint) in entry.faults() {
            let keys: Vec<&str> = [SECTION, name]
                .into_iter()
                .chain(keys.iter().map(String::as_str))
                .collect();
            let key = keys.join(".").replace(".[", "[");
            let error = FileError::whole(path, what).at(place(root, &keys)).of(key);
            all.push(error.hint(hint));
        }
    }
    all
}

/// Returns the position of the value at the keys; the last key may be the `[index]` of a list.
fn place(root: &Node, keys: &[&str]) -> Position {
    let Some((last, above)) = keys.split_last() else {
        return root.at;
    };
    let Some(index) = index(last) else {
        return root.find(keys).map_or(root.at, |member| member.at);
    };
    match root.find(above).map(|member| &member.node.kind) {
        Some(NodeKind::List(elements)) if index < elements.len() => elements[index].at,
        _ => place(root, above),
    }
}

fn index(key: &str) -> Option<usize> {
    key.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

fn is_host_and_port(text: &str) -> bool {
    let (host, port) = text.rsplit_once(':').unwrap_or_default();
    let is_odd = |c: char| c.is_whitespace() || "/@?#".contains(c);
    !host.is_empty() && !host.contains(is_odd) && port.parse::<u16>().is_ok_and(|port| port > 0)
}

fn is_name(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().all(is_name) && text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests;
