//! Command-line arguments of `mcp` and `auth`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::ValueHint;

use crate::args::LimitArgs;
use crate::cmd::mcp::LookupsIn;

/// Group of the options that give the URL of a server behind HTTP.
const REMOTE: &str = "remote";
const SERVERS: &str = "Servers";
const SERVING: &str = "Serving by HTTP";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = MCP_EXAMPLES)]
pub(crate) struct Mcp {
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// What the server is called in messages and in rules for servers
    #[arg(long, value_name = "NAME", conflicts_with = "servers", help_heading = SERVERS)]
    pub(crate) name: Option<String>,
    /// A server that is reached by Streamable HTTP
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, group = REMOTE, conflicts_with = "command", help_heading = SERVERS)]
    pub(crate) url: Option<String>,
    /// The same with the URL in a variable of the environment: for one that has a secret in it,
    /// which everybody on the machine could read on a command line
    #[arg(long, value_name = "VARIABLE", group = REMOTE, conflicts_with = "command", help_heading = SERVERS)]
    pub(crate) url_env: Option<String>,
    /// Speak HTTP with server-sent events to it, as of 2024-11-05
    #[arg(long, requires = REMOTE, help_heading = SERVERS)]
    pub(crate) sse: bool,
    /// A header for it, "Name: value"; a secret is better kept in --header-env or --bearer-env
    #[arg(long, value_name = "HEADER", requires = REMOTE, help_heading = SERVERS)]
    pub(crate) header: Vec<String>,
    /// A header for it whose whole value is in a variable of the environment, "Name=VARIABLE"
    #[arg(long, value_name = "HEADER", requires = REMOTE, help_heading = SERVERS)]
    pub(crate) header_env: Vec<String>,
    /// A variable of the environment with a token for it, sent as "Authorization: Bearer TOKEN"
    #[arg(long, value_name = "VARIABLE", requires = REMOTE, help_heading = SERVERS)]
    pub(crate) bearer_env: Option<String>,
    /// Serve many clients by Streamable HTTP instead of one on standard streams; without an
    /// address on `http.listen` of the configuration, which is 127.0.0.1:8700 unless set. A port
    /// alone is one of 127.0.0.1, port 0 takes a free one. The address is printed on standard
    /// error
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = "",
        value_parser = listen_address,
        help_heading = SERVING
    )]
    pub(crate) http: Option<Listen>,
    /// A name that clients may call this host by, besides localhost and the address
    #[arg(long, value_name = "HOST", requires = "http", help_heading = SERVING)]
    pub(crate) allow_host: Vec<String>,
    /// An origin from which web pages may come, such as `https://app.example.org`
    #[arg(long, value_name = "ORIGIN", requires = "http", help_heading = SERVING)]
    pub(crate) allow_origin: Vec<String>,
    /// A file with tokens, one a line; clients must send one of them as bearer token
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "http", help_heading = SERVING)]
    pub(crate) token_file: Vec<String>,
    /// Let anyone in who can connect, even from other machines
    #[arg(long, requires = "http", help_heading = SERVING)]
    pub(crate) insecure_no_auth: bool,
    /// Only these servers of the configuration [default: all that have a command or a url]
    #[arg(long = "server", value_name = "NAME", conflicts_with_all = ["command", REMOTE], help_heading = SERVERS)]
    pub(crate) servers: Vec<String>,
    /// Offer only the tools that look into what is stored, before no server: the entry of its own
    /// that `spillgate wrap` adds
    #[arg(long, conflicts_with_all = ["command", REMOTE, "servers", "http", "lookups_in"], help_heading = SERVERS)]
    pub(crate) lookups: bool,
    /// List no look-up tools: an entry in this configuration of a client offers them. Where it is off or
    /// missing, previews name the command line
    #[arg(long, value_name = "CLIENT=FILE", help_heading = SERVERS)]
    pub(crate) lookups_in: Option<LookupsIn>,
    /// A server that is a program: its command and its arguments, behind `--`
    #[arg(
        trailing_var_arg = true,
        value_name = "CMD",
        value_hint = ValueHint::CommandWithArguments
    )]
    pub(crate) command: Vec<String>,
}

const MCP_EXAMPLES: &str = "\
Examples:
  spillgate mcp -- npx -y @modelcontextprotocol/server-filesystem /some/dir
  spillgate mcp --url https://mcp.example.com/mcp --bearer-env EXAMPLE_TOKEN
  spillgate mcp --config .mcp.json           all servers of a client's list behind one
  spillgate mcp --server git --server files  two servers of spillgate.toml
  spillgate mcp --http 127.0.0.1:8700 --config .mcp.json   the same for many clients

It speaks MCP on standard input and output and is started by a client: `spillgate wrap CLIENT` writes it into \
the client's configuration. docs/gateway.md, docs/servers.md and docs/http.md have the rest.";

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
  spillgate auth --status                     where somebody has logged in
  spillgate auth tracker --logout             forget the login

A name is also that of a server that `spillgate wrap` put behind the gateway. A client that the authorization server \
knows already is named with --client-id; its secret, if it has one, is read from SPILLGATE_CLIENT_SECRET.

Exit codes: 0 done; 1 it could not be done, or with --status: not logged in there.";

#[derive(Debug, clap::Args)]
#[command(after_help = AUTH_EXAMPLES)]
pub(crate) struct Auth {
    /// The server: its URL as the gateway is given it, or its name in the configuration
    #[arg(required_unless_present = "status", value_name = "SERVER", value_hint = ValueHint::Url)]
    pub(crate) server: Option<String>,
    /// Forget the login
    #[arg(long, conflicts_with = "status")]
    pub(crate) logout: bool,
    /// Say where somebody has logged in; 1 if not at the named server
    #[arg(long)]
    pub(crate) status: bool,
    /// Print the page to open and open nothing; the URL that the browser ends at may be pasted
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// What to ask for [default: what the server names]
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// A client that is registered already
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
