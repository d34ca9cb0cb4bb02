//! The sections of `.ai-agent.json` and their types.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use spillgate_llm::{ModelConfig, ProviderConfig};

use crate::guarded::GuardedTools;
use crate::keys::{Settings, ToolOutput, ToolOutputSchema};
use crate::values::{Bytes, CacheFor, Time};

/// What agents have in common: providers of models, tools, defaults.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = ".ai-agent.json")]
pub(crate) struct Sections {
    /// The JSON Schema of the file, for editors.
    #[serde(rename = "$schema")]
    #[allow(dead_code, reason = "it is for editors")]
    json_schema: Option<String>,
    /// Providers of models, by the name that `provider/model` calls them by.
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
    /// Windows and prices of models, by `provider/model`.
    pub(crate) models: BTreeMap<String, ModelConfig>,
    /// MCP servers, as clients have them.
    pub(crate) mcp_servers: BTreeMap<String, McpServer>,
    /// Tools that are one HTTP request each.
    pub(crate) rest_tools: BTreeMap<String, Map<String, Value>>,
    /// Services that an `OpenAPI` document describes: a tool for each operation.
    pub(crate) openapi_specs: BTreeMap<String, Map<String, Value>>,
    /// Tools for files, commands and the web whose answers know their size.
    pub(crate) guarded_tools: BTreeMap<String, GuardedTools>,
    /// What holds for every agent that does not say it itself.
    pub(crate) defaults: Settings,
    /// What becomes of oversized results.
    #[schemars(with = "Option<ToolOutputSchema>")]
    pub(crate) tool_output: Option<ToolOutput>,
    /// Results that are kept for the same call again.
    pub(crate) cache: Option<Cache>,
}

/// Results that are kept for the same call again.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Cache {
    /// How long; by default off.
    pub ttl: Option<CacheFor>,
    /// Bytes that it may hold.
    pub max_bytes: Option<Bytes>,
    /// Where; a path from this file's directory.
    pub dir: Option<PathBuf>,
    /// How long for some tools: patterns of `TOOL` or `HOST/TOOL`.
    pub tools: BTreeMap<String, CacheFor>,
}

/// A server of MCP, as clients have it. What is only theirs is not looked at.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct McpServer {
    /// The program that is the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Variables for it, beside our own. Values are never shown.
    #[serde(
        serialize_with = "names_only",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(with = "BTreeMap<String, String>")]
    pub env: BTreeMap<String, String>,
    /// The directory that it runs in, a path from this file's directory; by default ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Where it is reached by HTTP; not beside `command`.
    #[serde(
        alias = "httpUrl",
        alias = "serverUrl",
        skip_serializing_if = "Option::is_none"
    )]
    pub url: Option<String>,
    /// How; by default Streamable HTTP where there is a `url`.
    #[serde(
        rename = "type",
        alias = "transport",
        skip_serializing_if = "Option::is_none"
    )]
    pub kind: Option<McpKind>,
    /// Headers for each request to it. Values are never shown.
    #[serde(
        serialize_with = "names_only",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(with = "BTreeMap<String, String>")]
    pub headers: BTreeMap<String, String>,
    /// `true` leaves it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// `false` leaves it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Patterns of its tools' names: only these.
    #[serde(alias = "toolsAllowed", skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// But not these.
    #[serde(alias = "toolsDenied", skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// How long it may be silent about a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Time>,
}

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpKind {
    /// On the standard streams of a program.
    Stdio,
    /// Streamable HTTP.
    #[serde(
        alias = "streamable-http",
        alias = "streamableHttp",
        alias = "streamable_http"
    )]
    Http,
    /// HTTP with server-sent events, as of 2024-11-05.
    Sse,
}

impl McpServer {
    /// Returns whether the server is disabled.
    pub fn is_off(&self) -> bool {
        self.disabled == Some(true) || self.enabled == Some(false)
    }

    /// Returns the error of the entry as a whole, with the member to blame.
    pub(crate) fn fault(&self) -> Option<(Option<&'static str>, &'static str)> {
        let is_stdio = self.kind == Some(McpKind::Stdio);
        match (&self.command, &self.url) {
            (None, None) => Some((None, "has neither `command` nor `url`")),
            (Some(_), Some(_)) => Some((
                Some("url"),
                "stands beside `command`, and a server is reached in one way",
            )),
            (None, Some(_)) if is_stdio => {
                Some((Some("type"), "is `stdio`, but there is no `command`"))
            }
            (Some(_), None) if self.kind.is_some() && !is_stdio => {
                Some((Some("type"), "is for servers with a `url`"))
            }
            _ => None,
        }
    }
}

impl fmt::Debug for McpServer {
    /// Shows only the transport: everything else may contain a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = match (&self.command, &self.url) {
            (Some(_), _) => "a program",
            (None, Some(_)) => "HTTP",
            (None, None) => "nowhere",
        };
        write!(f, "McpServer({way})")
    }
}

/// Hides the values, which are usually secrets.
fn names_only<S: Serializer>(map: &BTreeMap<String, String>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(map.keys().map(|name| (name, "…")))
}
