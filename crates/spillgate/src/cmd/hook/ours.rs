//! Which tools of a client are our look-up tools. Their results pass, because their pages are within
//! a limit of their own.

use spillgate_clients::{Client, inspect, places};
use spillgate_retrieval::{GREP, QUERY, READ, SEARCH, TOOL_OUTPUT};

use crate::clients::{files, records, surroundings};
use crate::failure::Failure;

const TOOLS: [&str; 5] = [READ, GREP, QUERY, SEARCH, TOOL_OUTPUT];

/// The names that `wrap` gives to the server with the look-up tools. Programs that add the server
/// to a client in another way use the first one.
const SERVERS: [&str; 2] = ["spillgate", "spillgate_lookups"];

/// Returns whether this is the client's name for one of our look-up tools. Another server's tool may
/// have a name that ends in the same way.
pub(super) fn is_ours(client: Client, name: &str) -> bool {
    let is_tool = |tool: &str| TOOLS.contains(&tool);
    match client {
        // `mcp__SERVER__TOOL`
        Client::ClaudeCode | Client::Codex => {
            let rest = name.strip_prefix("mcp__");
            let parts = rest.and_then(|rest| rest.rsplit_once("__"));
            parts.is_some_and(|(_, tool)| is_tool(tool))
        }
        // Cursor does not tell the server's name.
        Client::Cursor => name.strip_prefix("MCP:").is_some_and(is_tool),
        // `mcp_SERVER_TOOL`
        Client::Gemini => name
            .strip_prefix("mcp_")
            .is_some_and(|rest| is_of(client, rest)),
        // `SERVER_TOOL` in opencode, `SERVER-TOOL` in Copilot CLI
        _ => is_of(client, name),
    }
}

/// Returns whether a name consists of the name of one of our servers and that of a look-up tool.
/// Such a name does not show where the server's name ends.
fn is_of(client: Client, name: &str) -> bool {
    let server = |tool: &&str| name.strip_suffix(tool)?.strip_suffix(['_', '-']);
    let Some(server) = TOOLS.iter().find_map(server) else {
        return false;
    };
    let is_it = |ours: &str| plain(ours) == plain(server);
    let in_files = || servers(client).unwrap_or_default();
    SERVERS.into_iter().any(is_it) || in_files().iter().any(|ours| is_it(ours))
}

/// Returns a server's name as clients write it in the names of tools.
fn plain(server: &str) -> String {
    server.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

/// Returns the names of our gateways in the client's configuration. Each of them may list the
/// look-up tools.
fn servers(client: Client) -> Result<Vec<String>, Failure> {
    let places = places(client, &surroundings()?);
    let records = records()?;
    let mut ours = Vec::new();
    for file in files(&places) {
        // A file that cannot be read names none.
        if let Ok(Some(report)) = inspect(client, &file, &places, &records) {
            let servers = report.servers.into_iter();
            let gateways = servers.filter(|server| server.launch.is_some());
            ours.extend(gateways.map(|server| server.name));
        }
    }
    Ok(ours)
}
