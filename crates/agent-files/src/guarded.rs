//! The `guardedTools` section.
//!
//! It has one table per entry, like `mcpServers`. The code that opens the tools defines their
//! rules; this module holds the configured values.

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

/// Guarded tools below one directory: files, commands and the web, whose answers know
/// their size.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct GuardedTools {
    /// The directory that no name leaves, a path from this file's directory; by default
    /// the working directory.
    pub root: Option<PathBuf>,
    /// Which of them there are; by default all that can work.
    pub tools: Option<Vec<GuardedTool>>,
    /// Tokens (bytes / 4) of an answer over which it is refused; by default 25000.
    pub max_tokens: Option<Whole<100, { u64::MAX }>>,
    /// What becomes of a command's output or a page over that; by default `offload`
    /// where results are stored, else `reject`.
    pub on_overflow: Option<Overflow>,
    /// Whether refusals end with what is there and with calls that go on; by default
    /// no.
    pub detailed_recovery: Option<bool>,
    /// Where pages may be saved: `true` is anywhere below the root, `false` nowhere, a
    /// list names directories, paths from the root. By default anywhere.
    pub writable: Option<WritableBelow>,
    /// How commands run; `false` is not at all.
    #[schemars(with = "Option<Switch<GuardedShell>>")]
    pub shell: Option<GuardedShell>,
    /// How pages are fetched; `false` is not at all.
    #[schemars(with = "Option<Switch<GuardedWeb>>")]
    pub web: Option<GuardedWeb>,
    /// Who is asked for searches of the web; without it there is no `web_search`.
    pub search: Option<GuardedSearch>,
}

/// A guarded tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuardedTool {
    /// A file, or a page of it.
    ReadFile,
    /// What matches in files.
    GrepContent,
    /// Files by their names.
    GlobFiles,
    /// A command; not with `shell: false`.
    ExecuteShell,
    /// A page of the web; not with `web: false`.
    WebFetch,
    /// A search of the web; only with `search`.
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

/// What becomes of what is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Overflow {
    /// It is stored whole, and the model is given a handle.
    Offload,
    /// It is refused, with what to do instead.
    Reject,
}

/// Where pages may be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WritableBelow {
    /// Anywhere below the root, or nowhere.
    Anywhere(bool),
    /// Below these directories, paths from the root.
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
            "description": "`true` is anywhere below the root, `false` nowhere; a list has directories, paths from the root.",
            "anyOf": [
                { "type": "boolean" },
                { "type": "array", "items": { "type": "string" } },
            ],
        })
    }
}

/// How commands run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(
    default,
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a table, true or false"
)]
pub struct GuardedShell {
    /// Whether there is `execute_shell`; by default yes.
    pub enabled: Option<bool>,
    /// Seconds that a command may take unless it says otherwise; by default 120.
    pub timeout_s: Option<Whole<1, 600>>,
    /// Names of our variables that commands get beside the usual ones, `*` at the end
    /// for all that begin so.
    pub env: Option<Names>,
    /// Whether commands write below the root only, and read little else than it and the
    /// system; by default no.
    pub sandbox: Option<bool>,
    /// Whether commands reach the network; by default yes. Without it there is a sandbox,
    /// too.
    pub network: Option<bool>,
    /// What commands in a sandbox may read besides; paths from this file's directory.
    pub readable: Option<Vec<PathBuf>>,
    /// Where commands in a sandbox may write besides; paths from this file's directory.
    pub writable: Option<Vec<PathBuf>>,
}

/// How pages are fetched.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(
    default,
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a table, true or false"
)]
pub struct GuardedWeb {
    /// Whether there is `web_fetch`; by default yes.
    pub enabled: Option<bool>,
    /// Seconds that a page may take unless a call says otherwise; by default 30.
    pub timeout_s: Option<Whole<1, 120>>,
    /// Private addresses that are fetched from all the same, each `HOST:PORT`.
    pub allow_private: Option<Names>,
}

/// Who is asked for searches of the web.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GuardedSearch {
    /// Which service.
    pub provider: SearchService,
    /// Where it is; `searxng` needs it.
    #[serde(default)]
    pub url: Option<String>,
    /// The name of the variable that has its key; `brave` and `tavily` need one.
    #[serde(default)]
    #[schemars(regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub api_key_env: Option<String>,
}

/// A service for searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchService {
    /// A `SearXNG` of one's own.
    Searxng,
    /// The API of Brave Search.
    Brave,
    /// The API of Tavily.
    Tavily,
}

/// What a member can be that `false` switches off.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[allow(dead_code, reason = "it is a schema and nothing else")]
enum Switch<T> {
    /// Whether there is one.
    Is(bool),
    /// How it is.
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

    /// Returns the errors that the types cannot express: the member, the problem and the advice.
    fn faults(&self) -> Vec<(Vec<String>, &'static str, &'static str)> {
        let mut faults = Vec::new();
        let key = |keys: &[&str]| keys.iter().map(|&key| key.to_owned()).collect();
        for (index, tool) in self.tools.iter().flatten().enumerate() {
            let (is_there, hint) = match tool {
                GuardedTool::ExecuteShell => (self.has_shell(), "take it out, or `shell: false`"),
                GuardedTool::WebFetch => (self.has_web(), "take it out, or `web: false`"),
                GuardedTool::WebSearch => (self.search.is_some(), "set `search`"),
                _ => (true, ""),
            };
            if !is_there {
                let index = format!("[{index}]");
                faults.push((key(&["tools", &index]), "cannot work as it is set", hint));
            }
        }
        if self.tools.as_ref().is_some_and(Vec::is_empty) {
            let hint = "name one, or take the key out: then there are all that can work";
            faults.push((key(&["tools"]), "names no tool", hint));
        }
        let allowed = self.web.iter().filter_map(|web| web.allow_private.as_ref());
        if allowed
            .flat_map(|names| &names.0)
            .any(|one| !is_host_and_port(one))
        {
            let hint = "write such as \"127.0.0.1:8080\"";
            faults.push((
                key(&["web", "allowPrivate"]),
                "must be HOST:PORT, each",
                hint,
            ));
        }
        let Some(search) = &self.search else {
            return faults;
        };
        let is_own = search.provider == SearchService::Searxng;
        if is_own && search.url.is_none() {
            let what = "needs `url`: it is a server of one's own";
            faults.push((key(&["search"]), what, "write \"url\": \"https://…\""));
        }
        match &search.api_key_env {
            None if !is_own => {
                let hint = "write \"apiKey\": \"${NAME}\"";
                faults.push((key(&["search"]), "needs `apiKey`", hint));
            }
            Some(name) if !is_name(name) => {
                let what = "is no name of a variable; a key does not belong into this file";
                let hint = "put the key into a variable and write \"apiKey\": \"${NAME}\"";
                faults.push((key(&["search", "apiKeyEnv"]), what, hint));
            }
            _ => {}
        }
        faults
    }
}

/// Normalizes `shell: false` to `shell: {enabled: false}`, `web` likewise, and, before variables
/// are expanded, `apiKey: "${NAME}"` to `apiKeyEnv: "NAME"`: the key is read when it is used.
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

/// Replaces a literal key by an empty text, which the check of variable names then rejects.
fn name_key(member: &mut Member) {
    if camel(&member.key) != "apiKey" {
        return;
    }
    "apiKeyEnv".clone_into(&mut member.key);
    if let NodeKind::Text(text) = &mut member.node.kind {
        let name = variable(&text.text).unwrap_or_default().to_owned();
        // The entry is shown as written.
        let written = (!name.is_empty()).then(|| text.text.clone());
        *text = Text {
            text: name,
            written,
        };
    }
}

/// Replaces a boolean by `{enabled: …}`.
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
