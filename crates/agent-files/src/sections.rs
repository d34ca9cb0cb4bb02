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

/// Settings that several agents share: providers of models, tools, defaults.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = ".ai-agent.json")]
pub(crate) struct Sections {
    /// The JSON Schema of the file, for editors.
    #[serde(rename = "$schema")]
    #[allow(dead_code, reason = "it is for editors")]
    json_schema: Option<String>,
    /// Providers of models, by the name that stands for them in `provider/model`.
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
    /// Context windows and prices of models, by `provider/model`.
    pub(crate) models: BTreeMap<String, ModelConfig>,
    /// MCP servers, by name, as in the configuration files of clients.
    pub(crate) mcp_servers: BTreeMap<String, McpServer>,
    /// Tools that each make one HTTP request, by name.
    pub(crate) rest_tools: BTreeMap<String, Map<String, Value>>,
    /// Services that an `OpenAPI` document describes, by name. Each operation becomes a tool.
    pub(crate) openapi_specs: BTreeMap<String, Map<String, Value>>,
    /// Tools for files, commands and the web with bounded answers, by name.
    pub(crate) guarded_tools: BTreeMap<String, GuardedTools>,
    /// Settings of all agents that do not set the key themselves.
    pub(crate) defaults: Settings,
    /// What happens to oversized tool results.
    #[schemars(with = "Option<ToolOutputSchema>")]
    pub(crate) tool_output: Option<ToolOutput>,
    /// The cache of tool results, which are returned when the same call is made again.
    pub(crate) cache: Option<Cache>,
}

/// The cache of tool results, which are returned when the same call is made again.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Cache {
    /// How long results are cached; by default `off`.
    pub ttl: Option<CacheFor>,
    /// Maximum size of the cache, in bytes; by default 256 MiB.
    pub max_bytes: Option<Bytes>,
    /// The directory of the cache; a path relative to the directory of this file.
    pub dir: Option<PathBuf>,
    /// How long the results of some tools are cached, by patterns of `TOOL` or `HOST/TOOL`.
    pub tools: BTreeMap<String, CacheFor>,
}

/// An MCP server, as in the configuration files of clients. Other keys of clients are ignored.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct McpServer {
    /// The program of a server on standard input and output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The arguments of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment variables of the program, in addition to those of the agent. Values are never
    /// shown.
    #[serde(
        serialize_with = "names_only",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(with = "BTreeMap<String, String>")]
    pub env: BTreeMap<String, String>,
    /// The working directory of the program, a path relative to the directory of this file; by
    /// default the agent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The URL of a server that is reached by HTTP. Not allowed together with `command`.
    #[serde(
        alias = "httpUrl",
        alias = "serverUrl",
        skip_serializing_if = "Option::is_none"
    )]
    pub url: Option<String>,
    /// The transport; by default Streamable HTTP if there is a `url`, otherwise stdio.
    #[serde(
        rename = "type",
        alias = "transport",
        skip_serializing_if = "Option::is_none"
    )]
    pub kind: Option<McpKind>,
    /// Headers of each request to the server. Values are never shown.
    #[serde(
        serialize_with = "names_only",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(with = "BTreeMap<String, String>")]
    pub headers: BTreeMap<String, String>,
    /// `true` leaves the server out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// `false` leaves the server out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Patterns of tool names. Only the server's tools that match are offered; by default all.
    #[serde(alias = "toolsAllowed", skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Patterns of tool names. The server's tools that match are left out.
    #[serde(alias = "toolsDenied", skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// How long the server may send nothing about a request; by default 10 minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Time>,
}

/// The transport to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpKind {
    /// Standard input and output of a program.
    Stdio,
    /// Streamable HTTP.
    #[serde(
        alias = "streamable-http",
        alias = "streamableHttp",
        alias = "streamable_http"
    )]
    Http,
    /// HTTP with server-sent events, of MCP 2024-11-05.
    Sse,
}

impl McpServer {
    /// Returns whether the server is disabled.
    pub fn is_off(&self) -> bool {
        self.disabled == Some(true) || self.enabled == Some(false)
    }

    /// Checks whether the members of the entry fit together. Returns the error, if any, and the
    /// member at which to report it.
    pub(crate) fn fault(&self) -> Option<(Option<&'static str>, &'static str)> {
        let is_stdio = self.kind == Some(McpKind::Stdio);
        match (&self.command, &self.url) {
            (None, None) => Some((None, "has neither `command` nor `url`")),
            (Some(_), Some(_)) => Some((
                Some("url"),
                "cannot be combined with `command`, because a server is reached in one way",
            )),
            (None, Some(_)) if is_stdio => {
                Some((Some("type"), "is `stdio`, but there is no `command`"))
            }
            (Some(_), None) if self.kind.is_some() && !is_stdio => {
                Some((Some("type"), "is only for servers with a `url`"))
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
