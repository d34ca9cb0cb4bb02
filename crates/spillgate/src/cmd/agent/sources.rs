//! Opens the sources of an agent's tools.
//!
//! If a source that the agent's files name cannot be opened, the run fails, because an agent
//! without some of its tools might do something other than its task.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Url};
use spillgate_agent::Host;
use spillgate_agent_files::{Agent, McpKind, McpServer, Problems, SourceKind, ToolSource};
use spillgate_tool_sources::{
    Leftovers, McpTools, OPENING, OpenApi, RestTool, RestTools, ToolSelection, choose,
};
use spillgate_transport::{Connector, HttpServer, ServerCommand, ServerLog, ServerSpec, Transport};
use spillgate_upstream::{Server, ToolFilter};

use super::guarded;
use super::plan::wrong;
use crate::failure::{Failure, Fault};
use crate::net;

/// The tools of an agent, ready to be called.
#[derive(Debug, Default)]
pub(super) struct Opened {
    pub(super) hosts: Vec<Arc<dyn Host>>,
    /// The MCP servers among `hosts`, which have to be closed.
    pub(super) servers: Vec<Arc<McpTools>>,
}

/// Converts the servers of an agent to the gateway's type.
pub(super) fn servers(agent: &Agent) -> Result<Vec<Server>, Failure> {
    let named = agent.tools.iter().filter_map(|source| {
        let server = source.server.as_ref()?;
        Some(server_of(source, server))
    });
    named.collect()
}

fn server_of(source: &ToolSource, server: &McpServer) -> Result<Server, Failure> {
    let http = |url: &String| HttpServer {
        url: url.clone(),
        headers: server.headers.clone(),
    };
    let transport = match (&server.command, &server.url) {
        (Some(program), _) => Transport::Command(ServerCommand {
            program: program.clone(),
            arguments: server.args.clone(),
            env: server.env.clone(),
            directory: server.cwd.as_ref().map(|cwd| directory(source).join(cwd)),
            // Otherwise the server's output would appear unfiltered in the middle of the live view.
            log: ServerLog::StderrTail,
        }),
        (None, Some(url)) if server.kind == Some(McpKind::Sse) => Transport::Sse(http(url)),
        (None, Some(url)) => Transport::Http(http(url)),
        (None, None) => {
            let error = source.entry.wrong(&[], "has neither `command` nor `url`");
            return Err(wrong(&Problems::from(error)));
        }
    };
    // The error leaves out the pattern: a variable may have been substituted into it.
    let tools = ToolFilter::new(&server.allow, &server.deny).map_err(|error| {
        let what = format!("a pattern of `allow` or `deny` is wrong: {}", error.kind());
        wrong(&Problems::from(source.entry.wrong(&["allow"], what)))
    })?;
    let spec = ServerSpec {
        name: source.entry.name().to_owned(),
        transport,
    };
    let silence = server.timeout.map(|time| Some(time.get()));
    let server = Server::new(spec);
    Ok(Server {
        tools,
        timeout: silence.unwrap_or(server.timeout),
        ..server
    })
}

/// Returns the directory that relative paths of an entry start from.
pub(super) fn directory(source: &ToolSource) -> &Path {
    source.entry.file().parent().unwrap_or(Path::new(""))
}

/// REST tools and API descriptions, read but not yet used, so that errors in them are reported
/// before anything starts.
#[derive(Debug)]
pub(super) enum Described {
    Rest(RestTools),
    Api(OpenApi),
}

/// Reads the REST tools and APIs of an agent, in the order of its files.
pub(super) fn described(agent: &Agent) -> Result<Vec<(&ToolSource, Described)>, Failure> {
    let mut all = Vec::new();
    for source in &agent.tools {
        let described = match source.kind {
            SourceKind::Mcp | SourceKind::Guarded => continue,
            SourceKind::Rest => {
                let tool: RestTool = source.entry.read().map_err(|problems| wrong(&problems))?;
                let made = RestTools::one(source.entry.name(), &tool, client(&tool.url)?);
                Described::Rest(made.map_err(|error| blamed(source, error.to_string()))?)
            }
            SourceKind::OpenApi => {
                let api = source.entry.read().map_err(|problems| wrong(&problems))?;
                Described::Api(api)
            }
        };
        all.push((source, described));
    }
    Ok(all)
}

fn blamed(source: &ToolSource, what: String) -> Failure {
    wrong(&Problems::from(source.entry.wrong(&[], what)))
}

/// Opens all sources. `connector` opens servers; `leftovers` takes servers whose start failed;
/// `below` are the sub-agents that this agent may call.
pub(super) async fn open(
    agent: &Agent,
    connector: &Arc<dyn Connector>,
    leftovers: &Leftovers,
    below: Vec<Arc<dyn Host>>,
) -> Result<Opened, Failure> {
    let mut opened = Opened::default();
    let servers = servers(agent)?;
    let mut failed = Vec::new();
    for one in leftovers.open_all(connector, &servers, OPENING).await {
        match one {
            Ok(server) => opened.servers.push(Arc::new(server)),
            Err(error) => failed.push(error.to_string()),
        }
    }
    let mut hosts: Vec<Arc<dyn Host>> = Vec::new();
    let servers = opened.servers.iter();
    hosts.extend(servers.map(|server| Arc::clone(server) as Arc<dyn Host>));
    match described_hosts(agent).await {
        Ok(described) => hosts.extend(described),
        Err(failure) => failed.push(failure.text().to_owned()),
    }
    match guarded::tools(agent) {
        Ok(guarded) => hosts.extend(
            guarded
                .into_iter()
                .map(|one| Arc::new(one) as Arc<dyn Host>),
        ),
        Err(failure) => failed.push(failure.text().to_owned()),
    }
    if !failed.is_empty() {
        close(&opened.servers, true).await;
        return Err(not_started(agent, &failed));
    }
    hosts.extend(below);
    match chosen(agent, &hosts) {
        Ok(chosen) => opened.hosts = chosen,
        Err(failure) => {
            close(&opened.servers, true).await;
            return Err(failure);
        }
    }
    Ok(opened)
}

/// Returns the hosts with the tools that the agent's files select. Sub-agents are always included.
fn chosen(agent: &Agent, hosts: &[Arc<dyn Host>]) -> Result<Vec<Arc<dyn Host>>, Failure> {
    let mut names: Vec<(&str, Option<&str>)> = Vec::new();
    for source in &agent.tools {
        let name = source.entry.name();
        match &source.only[..] {
            [] => names.push((name, None)),
            only => names.extend(only.iter().map(|tool| (name, Some(tool.as_str())))),
        }
    }
    let sources: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    let below = hosts
        .iter()
        .map(|host| host.name())
        .filter(|name| !sources.contains(name));
    names.extend(below.map(|name| (name, None)));
    let refused = |what: String, hint: &str| {
        Failure::new("agent_files", Fault::Caller, what).hint(hint.to_owned())
    };
    let choice = ToolSelection::of(&names);
    let choice = choice.map_err(|error| refused(error.to_string(), "correct it in `tools`"))?;
    let chosen = choose(hosts, &choice);
    match &chosen.unmatched[..] {
        [] => Ok(chosen.hosts),
        some => {
            let what = format!("`tools` names tools that do not exist: {}", some.join(", "));
            Err(refused(what, &tools_of(hosts)))
        }
    }
}

/// Lists the tools that can be selected.
fn tools_of(hosts: &[Arc<dyn Host>]) -> String {
    /// Maximum number of tool names that are listed for a host.
    const MOST: usize = 20;
    let told = hosts.iter().map(|host| {
        let tools = host.tools();
        let mut names: Vec<&str> = tools
            .iter()
            .take(MOST)
            .map(|tool| tool.name.as_str())
            .collect();
        if tools.len() > MOST {
            names.push("…");
        }
        match &names[..] {
            [] => format!("{} has no tools", host.name()),
            names => format!("{} has {}", host.name(), names.join(", ")),
        }
    });
    told.collect::<Vec<_>>().join("; ")
}

async fn described_hosts(agent: &Agent) -> Result<Vec<Arc<dyn Host>>, Failure> {
    let mut hosts: Vec<Arc<dyn Host>> = Vec::new();
    for (source, described) in described(agent)? {
        let tools = match described {
            Described::Rest(tools) => tools,
            Described::Api(api) => {
                let client = client(api.base_url.as_ref().unwrap_or(&api.spec))?;
                let loaded = api.load(source.entry.name(), directory(source), client);
                loaded
                    .await
                    .map_err(|error| blamed(source, error.to_string()))?
            }
        };
        // The limit covers reading the response body, too.
        hosts.push(Arc::new(tools.within(agent.tool_timeout.value)));
    }
    Ok(hosts)
}

/// Returns a client for an address with placeholders. If the host itself is a placeholder, the
/// client works for any address.
fn client(address: &str) -> Result<Client, Failure> {
    let before = address.split("${").next().unwrap_or_default();
    let url = Url::parse(before).ok().filter(Url::has_host);
    let anywhere = || Url::parse("https://localhost.invalid").expect("invariant: it is an address");
    net::client(&url.unwrap_or_else(anywhere))
}

fn not_started(agent: &Agent, failed: &[String]) -> Failure {
    let files = agent.tools.iter().map(|source| source.entry.file());
    let mut files: Vec<String> = files.map(|file| file.display().to_string()).collect();
    files.sort();
    files.dedup();
    Failure::new("server_not_started", Fault::Upstream, failed.join("\n")).hint(format!(
        "correct it in {}, or take it out of `tools`; --dry-run shows what is started",
        files.join(" or ")
    ))
}

/// Maximum time for all servers to end.
const ENDING: Duration = Duration::from_secs(8);

/// Ends all servers at the same time.
pub(super) async fn close(servers: &[Arc<McpTools>], hurried: bool) {
    let closing = servers.iter().map(|server| server.close(hurried));
    let all = futures_util::future::join_all(closing);
    if tokio::time::timeout(ENDING, all).await.is_err() {
        tracing::warn!("servers did not exit in time; the run no longer waits for them");
    }
}
