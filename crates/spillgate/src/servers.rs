//! The settings of the servers behind the gateway, and the rules for their results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::{Deserialize, Serialize, Serializer};
use spillgate_bridge::Bridging;
use spillgate_gateway::ToolList;
use spillgate_offload::{Rule, with_limits};
use spillgate_transport::{HttpServer, ServerCommand, ServerSpec};
use spillgate_upstream::{DEFAULT_TIMEOUT, Server, ToolFilter};

use crate::failure::{Failure, Fault};
use crate::quantities::Span;
use crate::settings::Settings;

with_limits! {
each #[serde(skip_serializing_if = "Option::is_none")]
/// One server: its transport, and the rules for its results. All fields are listed here, so that a
/// misspelt field is detected.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServerSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by_reference: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by_reference_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by_reference_secrets: Option<bool>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) tools: BTreeMap<String, Rule>,
    /// The program that runs the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    #[serde(
        serialize_with = "names_only",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    env: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<PathBuf>,
    /// The URL of a remote server.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<Transport>,
    #[serde(
        serialize_with = "names_only",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    headers: BTreeMap<String, String>,
    /// `false` disables the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    /// Patterns of the allowed tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allow: Vec<String>,
    /// Patterns of excluded tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deny: Vec<String>,
    /// Maximum time without a message about a request, such as "10m"; "0s" is unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<Span>,
    /// Whether the list of tools contains the server's tools, or a search for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_list: Option<ToolList>,
    /// When the server is bridged to clients of another MCP generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    bridge: Option<Bridge>,
}
}

/// When a server is bridged to clients of another MCP generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Bridge {
    /// Only to clients that do not fall back to the server's generation by themselves.
    Auto,
    /// Like `Auto`; in addition, `server/discover` is answered for a server that does not know it.
    Always,
    /// Never: all messages pass unchanged.
    Never,
}

impl From<Bridge> for Bridging {
    fn from(bridge: Bridge) -> Self {
        match bridge {
            Bridge::Auto => Self::Auto,
            Bridge::Always => Self::Always,
            Bridge::Never => Self::Never,
        }
    }
}

/// The transport of a server with a `url`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Transport {
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, as of 2024-11-05.
    Sse,
}

/// Hides the values, which are usually secrets.
fn names_only<S: Serializer>(map: &BTreeMap<String, String>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(map.keys().map(|name| (name, "…")))
}

impl ServerSettings {
    /// Returns the transport; `None` if the settings only have rules. The error names the wrong
    /// field and says why.
    fn reached_by(&self) -> Result<Option<spillgate_transport::Transport>, (&'static str, String)> {
        let expand = |member, text: &String| expand(text).map_err(|what| (member, what));
        let all = |member, map: &BTreeMap<String, String>| {
            let pairs = map.iter().map(|(name, value)| {
                let named = |(member, what)| (member, format!("`{name}`: {what}"));
                Ok((name.clone(), expand(member, value).map_err(named)?))
            });
            pairs.collect::<Result<BTreeMap<_, _>, (&'static str, String)>>()
        };
        Ok(Some(match (&self.command, &self.url) {
            (None, None) => return Ok(None),
            (Some(command), _) => spillgate_transport::Transport::Command(ServerCommand {
                program: expand("command", command)?,
                arguments: self
                    .args
                    .iter()
                    .map(|one| expand("args", one))
                    .collect::<Result<_, _>>()?,
                env: all("env", &self.env)?,
                directory: self.cwd.clone(),
                ..ServerCommand::default()
            }),
            (None, Some(url)) => {
                let server = HttpServer {
                    url: expand("url", url)?,
                    headers: all("headers", &self.headers)?,
                };
                match self.transport {
                    Some(Transport::Sse) => spillgate_transport::Transport::Sse(server),
                    _ => spillgate_transport::Transport::Http(server),
                }
            }
        }))
    }

    /// Returns the filter of the server's tools.
    fn filter(&self) -> Result<ToolFilter, (&'static str, String)> {
        let wrong = |error| format!("a tool pattern is wrong: {error}");
        ToolFilter::new(&self.allow, &[]).map_err(|error| ("allow", wrong(error)))?;
        ToolFilter::new(&self.allow, &self.deny).map_err(|error| ("deny", wrong(error)))
    }

    /// Checks everything except variables, which must be set only if the server is used.
    fn check(&self) -> Result<(), (&'static str, String)> {
        self.filter()?;
        if self
            .command
            .as_deref()
            .is_some_and(|one| one.trim().is_empty())
        {
            return Err(("command", "is empty".to_owned()));
        }
        let Some(url) = &self.url else {
            return Ok(());
        };
        if self.command.is_some() {
            let what = "cannot be combined with `command`, because a server is reached in one way";
            return Err(("url", what.to_owned()));
        }
        let is_http = || {
            let url = reqwest::Url::parse(url).ok();
            url.is_some_and(|url| matches!(url.scheme(), "http" | "https"))
        };
        match url.contains("${") || is_http() {
            true => Ok(()),
            // The URL may hold a secret, so the message does not repeat it.
            false => Err(("url", "is no http or https URL".to_owned())),
        }
    }

    /// Returns the server with its transport (`spec`) and its other settings.
    fn server(&self, spec: ServerSpec) -> Result<Server, (&'static str, String)> {
        let timeout = match &self.timeout {
            None => Some(DEFAULT_TIMEOUT),
            Some(set) => set.time,
        };
        let tools = self.filter()?;
        Ok(Server {
            tools,
            timeout,
            bridge: self.bridge.map(Bridging::from).unwrap_or_default(),
            ..Server::new(spec)
        })
    }
}

/// Checks the settings of each server.
pub(crate) fn check(settings: &Settings) -> Result<(), Failure> {
    settings.servers.iter().try_for_each(|(name, of)| {
        of.check()
            .map_err(|(member, what)| wrong(settings, name, member, &what))
    })
}

/// Returns the settings of a server that the command line names. If the configuration file contains
/// rules under the server's name, they apply.
pub(crate) fn named(settings: &Settings, spec: ServerSpec) -> Result<Server, Failure> {
    let name = spec.name.clone();
    match settings.servers.get(&name) {
        None => Ok(Server::new(spec)),
        Some(of) => of
            .server(spec)
            .map_err(|(member, what)| wrong(settings, &name, member, &what)),
    }
}

/// Returns the configured servers, or those of the given names.
pub(crate) fn configured(settings: &Settings, only: &[String]) -> Result<Vec<Server>, Failure> {
    let mut servers = Vec::new();
    for (name, of) in &settings.servers {
        let is_meant = only.is_empty() || only.contains(name);
        if !is_meant || of.enabled == Some(false) && only.is_empty() {
            continue;
        }
        let told = |(member, what): (&str, String)| wrong(settings, name, member, &what);
        let Some(transport) = of.reached_by().map_err(told)? else {
            continue;
        };
        let spec = ServerSpec {
            name: name.clone(),
            transport,
        };
        servers.push(of.server(spec).map_err(told)?);
    }
    let missing = only
        .iter()
        .find(|name| !servers.iter().any(|one| one.spec.name == **name));
    match missing {
        None => Ok(servers),
        Some(name) => {
            let known = settings.servers.iter();
            let known = known.filter(|(_, of)| of.command.is_some() || of.url.is_some());
            let known: Vec<&str> = known.map(|(name, _)| name.as_str()).collect();
            let what = format!("there is no server `{name}` with a `command` or a `url`");
            let hint = match &*known {
                [] => "none has one".to_owned(),
                some => crate::tool_output::nearest(name, some.iter().copied()),
            };
            Err(Failure::new("config", Fault::Caller, what).hint(hint))
        }
    }
}

/// The address of a server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// A remote server with this URL.
    Url(String),
    /// A local program.
    Program,
    /// No server has that name.
    Unknown,
}

/// Returns the address of a configured server.
pub(crate) fn address(settings: &Settings, name: &str) -> Result<Address, Failure> {
    let Some(of) = settings.servers.get(name) else {
        return Ok(Address::Unknown);
    };
    match (&of.url, &of.command) {
        (Some(url), _) => expand(url)
            .map(Address::Url)
            .map_err(|what| wrong(settings, name, "url", &what)),
        (None, Some(_)) => Ok(Address::Program),
        (None, None) => Ok(Address::Unknown),
    }
}

/// Returns the names of the configured remote servers.
pub(crate) fn remote_names(settings: &Settings) -> impl Iterator<Item = &str> + Clone {
    let all = settings.servers.iter();
    all.filter(|(_, of)| of.url.is_some())
        .map(|(name, _)| name.as_str())
}

fn wrong(settings: &Settings, server: &str, member: &str, what: &str) -> Failure {
    let hint = "docs/servers.md lists the settings of a server";
    settings
        .places
        .wrong(&["servers", server, member], what, hint)
}

/// A client's list of servers, for example `.mcp.json`, with the key `mcpServers` or, in VS Code,
/// `servers`.
#[derive(Debug, Deserialize)]
pub(crate) struct McpJson {
    #[serde(default, rename = "mcpServers")]
    mcp_servers: BTreeMap<String, McpServer>,
    #[serde(default)]
    servers: BTreeMap<String, McpServer>,
}

/// A server in a client's format; other fields are ignored.
#[derive(Debug, Deserialize)]
struct McpServer {
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default, alias = "httpUrl", alias = "serverUrl")]
    url: Option<String>,
    #[serde(default, rename = "type", alias = "transport")]
    kind: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
}

/// Reads a client's list of servers.
pub(crate) fn read_client_file(file: &Path) -> Result<McpJson, Failure> {
    let failed = |what: String, hint: &str| {
        let what = format!("{}: {what}", file.display());
        Failure::new("config", Fault::Caller, what).hint(hint)
    };
    let text = std::fs::read_to_string(file).map_err(|error| {
        let hint = "check --config and SPILLGATE_CONFIG";
        failed(error.to_string(), hint)
    })?;
    let text = text.trim_start_matches('\u{feff}');
    let in_form = "of a server `command` is a text, `args` a list of texts, `env` and `headers` tables of texts";
    match serde_json::from_str(text) {
        Ok(list) => Ok(list),
        Err(error) if error.is_data() => Err(failed(error.to_string(), in_form)),
        // Some clients write comments and trailing commas.
        Err(_) => {
            let values = spillgate_clients::json_values(text).map_err(|(line, what)| {
                failed(
                    format!("line {line}: {what}"),
                    "correct the JSON there; comments and commas at the end are fine",
                )
            })?;
            serde_json::from_value(values).map_err(|error| failed(error.to_string(), in_form))
        }
    }
}

/// Adds the servers of a client's file to the settings. Existing rules for a server of that name
/// apply to it.
pub(crate) fn add_client_file(settings: &mut Settings, file: &Path) -> Result<(), Failure> {
    let list = read_client_file(file)?;
    let mut all = list.mcp_servers;
    all.extend(list.servers);
    if all.is_empty() {
        let what = format!("{}: it lists no servers", file.display());
        return Err(Failure::new("config", Fault::Caller, what).hint(
            "the gateway reads the members `mcpServers` and `servers`, as MCP clients have them",
        ));
    }
    for (name, server) in all {
        let is_sse = server.kind.as_deref() == Some("sse");
        let of = settings.servers.entry(name).or_default();
        of.command = server.command;
        of.args = server.args;
        of.env = server.env;
        of.cwd = server.cwd;
        of.transport = is_sse.then_some(Transport::Sse);
        of.url = server.url;
        of.headers = server.headers;
        if server.disabled {
            of.enabled = Some(false);
        }
    }
    Ok(())
}

/// Expands each `${NAME}` from the environment, and each `${NAME:-default}` to its default if the
/// variable is unset, as clients do.
pub(crate) fn expand(text: &str) -> Result<String, String> {
    static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
            .expect("invariant: the pattern is a constant")
    });
    let mut missing = None;
    let expanded = VARIABLE.replace_all(text, |found: &Captures<'_>| {
        let set = std::env::var(&found[1]).ok();
        let default = || found.get(2).map(|text| text.as_str().to_owned());
        set.or_else(default).unwrap_or_else(|| {
            missing.get_or_insert_with(|| found[1].to_owned());
            String::new()
        })
    });
    match &missing {
        None => Ok(expanded.into_owned()),
        Some(name) => Err(format!(
            "the variable `{name}` is not set in the environment"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in() {
        assert!(!expand("a ${PATH:-x} $b {c}").unwrap().contains("${"));
        assert_eq!(expand("${NO_SUCH_THING:-x y}/z").unwrap(), "x y/z");
        assert_eq!(
            expand("$HOME is no variable").unwrap(),
            "$HOME is no variable"
        );
        let told = expand("${NO_SUCH_THING}").unwrap_err();
        assert_eq!(
            told,
            "the variable `NO_SUCH_THING` is not set in the environment"
        );
    }
}
