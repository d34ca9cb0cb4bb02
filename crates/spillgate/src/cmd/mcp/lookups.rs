//! The look-up tools: runs a separate MCP server for them, and decides whether a gateway lists them
//! or leaves that to the separate server.

use std::path::PathBuf;

use spillgate_clients::{Client, Lookups, explicit, lookups};
use spillgate_gateway::ListTools;
use spillgate_offload::Audience;
use spillgate_retrieval::audience;
use spillgate_tool_server::{LookupTools, serve_lookups};
use tokio::runtime::Builder;

use crate::clients::surroundings;
use crate::failure::{Failure, Fault};
use crate::server_args::Mcp;
use crate::wiring::App;

/// The configuration file of a client that may have an entry for the look-up tools.
#[derive(Debug, Clone)]
pub(crate) struct LookupsIn {
    client: Client,
    file: PathBuf,
}

impl std::str::FromStr for LookupsIn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (client, file) = text
            .split_once('=')
            .ok_or("write CLIENT=FILE, such as claude-code=/home/ann/.claude.json")?;
        Ok(Self {
            client: client.parse()?,
            file: file.into(),
        })
    }
}

/// Whether to serve only the look-up tools: on request, or because no server is named anywhere.
pub(super) fn are_all(app: &App, mcp: &Mcp) -> Result<bool, Failure> {
    let is_asked = !mcp.command.is_empty()
        || mcp.url.is_some()
        || mcp.url_env.is_some()
        || !mcp.servers.is_empty()
        || mcp.http.is_some()
        || app.client_file().is_some();
    if mcp.lookups || is_asked {
        return Ok(mcp.lookups);
    }
    let is_none = crate::servers::configured(&app.settings, &[])?.is_empty();
    if is_none {
        tracing::warn!(
            "no server is configured: only the look-up tools are offered; `spillgate mcp --help` says how to name a server"
        );
    }
    Ok(is_none)
}

/// Serves the look-up tools until the client disconnects.
pub(super) fn serve(app: &App) -> Result<u8, Failure> {
    let (tools, listed) = super::retrieval(app)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(serve_lookups(LookupTools::new(tools, listed)));
    // A look-up whose client has disconnected must not keep the process alive.
    runtime.shutdown_background();
    app.tidy(None);
    served.map_err(|error| Failure::new("stdio", Fault::Us, error.to_string()))?;
    Ok(0)
}

/// Returns when the gateway lists the look-up tools itself. If it never lists them, also returns
/// how else a reader can look up results, because a message must not name a tool that the model
/// cannot call.
pub(super) fn listed(app: &App, mcp: &Mcp) -> (ListTools, Option<Audience>) {
    let command_line = || audience::command_line(&app.store_option());
    match (&mcp.lookups_in, app.settings.list_tools) {
        (Some(place), _) if is_offered(place) => (ListTools::Never, None),
        (Some(_), _) | (None, ListTools::Never) => (ListTools::Never, Some(command_line())),
        (None, list) => (list, None),
    }
}

fn is_offered(place: &LookupsIn) -> bool {
    let Ok(around) = surroundings() else {
        return false;
    };
    let places = explicit(place.client, &place.file, &around);
    match lookups(place.client, &place.file, &places) {
        Ok(found) => matches!(found, Lookups::Offered(_)),
        Err(error) => {
            tracing::warn!(%error, "the client's configuration could not be read, so it is not known whether it offers the look-up tools");
            false
        }
    }
}
