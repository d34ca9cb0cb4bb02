//! Command-line arguments of `mcp`, `serve` and `auth`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::ValueHint;
use spillgate_gateway::ToolList;
use spillgate_offload::ResultMode;

use crate::args::LimitArgs;
use crate::cmd::mcp::LookupsIn;

/// Group of the options that give the URL of a server behind HTTP.
const REMOTE: &str = "remote";
const SERVERS: &str = "Servers";
const SERVING: &str = "Serving by HTTP";

#[derive(Debug, Clone, Default, clap::Args)]
#[command(after_help = MCP_EXAMPLES)]
pub(crate) struct Mcp {
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// What the client receives of an oversized result: `preview`, or for a program `structured`
    /// (a preview and the whole `structuredContent`) or `whole` [env: `SPILLGATE_RESULTS`]
    /// [default: preview]
    #[arg(long, value_name = "MODE")]
    pub(crate) results: Option<ResultMode>,
    /// What the list of tools contains of the servers: `all` their tools; `search`, a tool that
    /// finds them and a tool that calls them; or `found`, a tool that finds them, and from then on
    /// those that it has found [env: `SPILLGATE_TOOL_LIST`] [default: all]
    #[arg(long, value_name = "LIST", value_parser = tool_list)]
    pub(crate) tool_list: Option<ToolList>,
    /// The name of the server in messages and in rules for servers
    #[arg(long, value_name = "NAME", conflicts_with = "servers", help_heading = SERVERS)]
    pub(crate) name: Option<String>,
    /// A server that is reached by Streamable HTTP
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, group = REMOTE, conflicts_with = "command", help_heading = SERVERS)]
    pub(crate) url: Option<String>,
    /// The environment variable with the URL of a server, for a URL with a secret, which everybody
    /// on the machine could read on a command line
    #[arg(long, value_name = "VARIABLE", group = REMOTE, conflicts_with = "command", help_heading = SERVERS)]
    pub(crate) url_env: Option<String>,
    /// Use HTTP with server-sent events (MCP 2024-11-05) for the server
    #[arg(long, requires = REMOTE, help_heading = SERVERS)]
    pub(crate) sse: bool,
    /// A header for the server, "Name: value"; for a secret use --header-env or --bearer-env
    #[arg(long, value_name = "HEADER", requires = REMOTE, help_heading = SERVERS)]
    pub(crate) header: Vec<String>,
    /// A header for the server whose whole value is in an environment variable, "Name=VARIABLE"
    #[arg(long, value_name = "HEADER", requires = REMOTE, help_heading = SERVERS)]
    pub(crate) header_env: Vec<String>,
    /// The environment variable with a token for the server, which is sent as "Authorization:
    /// Bearer TOKEN"
    #[arg(long, value_name = "VARIABLE", requires = REMOTE, help_heading = SERVERS)]
    pub(crate) bearer_env: Option<String>,
    /// Serve many clients by Streamable HTTP instead of one on standard streams. The default
    /// address is `http.listen` of the configuration, which is 127.0.0.1:8700 unless set. A port
    /// alone means a port of 127.0.0.1, and port 0 any free port. The address is printed on
    /// standard error
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = "",
        value_parser = listen_address,
        help_heading = SERVING
    )]
    pub(crate) http: Option<Listen>,
    /// Another name by which clients may address this host, besides localhost and the address
    #[arg(long, value_name = "HOST", requires = "http", help_heading = SERVING)]
    pub(crate) allow_host: Vec<String>,
    /// An origin whose web pages may send requests, such as `https://app.example.org`
    #[arg(long, value_name = "ORIGIN", requires = "http", help_heading = SERVING)]
    pub(crate) allow_origin: Vec<String>,
    /// A file with tokens, one per line; clients must send one of them as a bearer token
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "http", help_heading = SERVING)]
    pub(crate) token_file: Vec<String>,
    /// Serve every client that can connect, even from other machines, without a token
    #[arg(long, requires = "http", help_heading = SERVING)]
    pub(crate) insecure_no_auth: bool,
    /// Use only this server of the configuration; may be repeated [default: all that have a command
    /// or a url]
    #[arg(long = "server", value_name = "NAME", conflicts_with_all = ["command", REMOTE], help_heading = SERVERS)]
    pub(crate) servers: Vec<String>,
    /// Offer only the look-up tools for stored outputs, without any server. `spillgate wrap` adds
    /// an entry with this option
    #[arg(long, conflicts_with_all = ["command", REMOTE, "servers", "http", "lookups_in"], help_heading = SERVERS)]
    pub(crate) lookups: bool,
    /// Do not list the look-up tools, because an entry in this client's configuration offers them.
    /// If the entry is disabled or missing, previews name commands of the command line
    #[arg(long, value_name = "CLIENT=FILE", help_heading = SERVERS)]
    pub(crate) lookups_in: Option<LookupsIn>,
    /// The command that starts a server, and its arguments, after `--`
    #[arg(
        trailing_var_arg = true,
        value_name = "CMD",
        value_hint = ValueHint::CommandWithArguments
    )]
    pub(crate) command: Vec<String>,
}

/// Parses the value of `--tool-list`.
fn tool_list(text: &str) -> Result<ToolList, String> {
    match text {
        "all" => Ok(ToolList::All),
        "search" => Ok(ToolList::Search),
        "found" => Ok(ToolList::Found),
        _ => Err("is none of all, search, found".to_owned()),
    }
}

impl Mcp {
    /// Returns the limits that the flags set.
    pub(crate) fn limits(&self) -> LimitArgs {
        LimitArgs {
            results: self.results,
            ..self.limits.clone()
        }
    }
}

const MCP_EXAMPLES: &str = "\
Examples:
  spillgate mcp -- npx -y @modelcontextprotocol/server-filesystem /some/dir
  spillgate mcp --url https://mcp.example.com/mcp --bearer-env EXAMPLE_TOKEN
  spillgate mcp --config .mcp.json           all servers of a client's list behind one
  spillgate mcp --server git --server files  two servers of spillgate.toml
  spillgate mcp --http 127.0.0.1:8700 --config .mcp.json   the same for many clients

The command speaks MCP on standard input and output. Clients start it: `spillgate wrap CLIENT` writes it into \
a client's configuration. docs/gateway.md, docs/servers.md and docs/http.md explain the options.";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// The address to listen on [default: `http.listen` of the configuration, which is
    /// 127.0.0.1:8700 unless set]. A port alone means a port of 127.0.0.1, and port 0 any free port.
    /// The address is printed on standard error
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub(crate) listen: Option<Listen>,
    /// Another name by which programs may address this host, besides localhost and the address
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
    /// An origin whose web pages may send requests, such as `https://app.example.org`
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// A file with tokens, one per line; programs must send one of them as a bearer token
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Vec<String>,
    /// Serve everybody who can connect, even from other machines, without a token
    #[arg(long)]
    pub(crate) insecure_no_auth: bool,
    /// Offer only this server of the configuration at the MCP endpoint; may be repeated [default:
    /// all that have a command or a url]
    #[arg(long = "server", value_name = "NAME")]
    pub(crate) servers: Vec<String>,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  spillgate serve                               the API at http://127.0.0.1:8700/v1
  spillgate serve --listen 0.0.0.0:8700 --token-file tokens    the same for other machines

  curl --data-binary @build.log 'http://127.0.0.1:8700/v1/offload?tool=make'
  curl 'http://127.0.0.1:8700/v1/artifacts/HANDLE/grep?pattern=error&max_matches=5'
  curl --range 0-999 http://127.0.0.1:8700/v1/artifacts/HANDLE/raw
  curl http://127.0.0.1:8700/v1/openapi.json    all paths and parameters

If the configuration has servers, the gateway for MCP clients is at /mcp of the same address. docs/http-api.md \
explains the API, and how the guardrails of LiteLLM and Portkey use it.";

/// The arguments of the page.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = UI_EXAMPLES)]
pub(crate) struct Ui {
    /// The port of 127.0.0.1 to listen on; 0 means any free port [default: `ui.port` of the
    /// configuration, which is 8701 unless set, or a free port if another program uses it]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Open the page in the browser, too
    #[arg(long)]
    pub(crate) open: bool,
}

const UI_EXAMPLES: &str = "\
Examples:
  spillgate ui                  print the link to the page, and serve it until Ctrl-C
  spillgate ui --open           the same, and open it in the browser
  spillgate ui --port 0 --json  any free port; the link as JSON
  spillgate ui --store DIR      the page of another store

Only this machine can reach the page, and only who has the link can open it: the link contains a token. From another \
machine, `ssh -L 8701:127.0.0.1:8701 HOST` leads to it. docs/ui.md shows the page; `[ui]` offers it in a gateway, too.";

/// Where to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listen {
    /// At the address that the configuration sets.
    AsConfigured,
    /// At this address.
    At(SocketAddr),
}

/// Parses an address to listen on. A port alone and `localhost` mean this machine.
fn listen_address(text: &str) -> Result<Listen, String> {
    if text.is_empty() {
        return Ok(Listen::AsConfigured);
    }
    let port = text.strip_prefix(':').unwrap_or(text);
    let port = text.strip_prefix("localhost:").unwrap_or(port);
    if let Ok(port) = port.parse() {
        let own = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        return Ok(Listen::At(own));
    }
    text.parse().map(Listen::At).map_err(|_| {
        "write an address and a port, such as 127.0.0.1:8700, or a port alone; a server's command stands behind `--`"
            .to_owned()
    })
}

const AUTH_EXAMPLES: &str = "\
Examples:
  spillgate auth https://mcp.example.com/mcp  log in: shows a page to open, and waits
  spillgate auth tracker                      the same for [servers.tracker] of spillgate.toml
  spillgate auth tracker --config .mcp.json   the same for a server of a client's list
  spillgate auth --status                     list the servers with a stored login
  spillgate auth tracker --logout             remove the stored login

SERVER may also be the name of a server that `spillgate wrap` has put behind the gateway. If you have registered a \
client at the authorization server, pass its id with --client-id; its secret, if any, is read from SPILLGATE_CLIENT_SECRET.

Exit codes: 0 success; 1 failure, or with --status: no login is stored for the server.";

#[derive(Debug, clap::Args)]
#[command(after_help = AUTH_EXAMPLES)]
pub(crate) struct Auth {
    /// The server: the URL that the gateway uses, or the name in the configuration
    #[arg(required_unless_present = "status", value_name = "SERVER", value_hint = ValueHint::Url)]
    pub(crate) server: Option<String>,
    /// Remove the stored login
    #[arg(long, conflicts_with = "status")]
    pub(crate) logout: bool,
    /// List the servers with a stored login; with SERVER, exit with 1 if it has none
    #[arg(long)]
    pub(crate) status: bool,
    /// Print the address of the login page instead of opening it; the URL at which the browser
    /// ends can be pasted
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// A scope to request [default: the scopes that the server names]
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// The id of a client that is already registered at the authorization server
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_to_listen_on() {
        for (text, address) in [
            ("8700", Some("127.0.0.1:8700")),
            (":0", Some("127.0.0.1:0")),
            ("localhost:8700", Some("127.0.0.1:8700")),
            ("0.0.0.0:80", Some("0.0.0.0:80")),
            ("[::1]:80", Some("[::1]:80")),
            ("127.0.0.1", None),
            ("host:80", None),
            ("npx", None),
            ("99999", None),
        ] {
            let address = address.map(|address| Listen::At(address.parse().unwrap()));
            assert_eq!(listen_address(text).ok(), address, "{text}");
        }
    }
}
