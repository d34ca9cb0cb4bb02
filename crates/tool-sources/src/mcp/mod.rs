//! Offers the tools of an MCP server to an agent.
//!
//! A server is connected in the same way as by the gateway
//! ([`Upstream`](spillgate_upstream::Upstream)), which handles restarts, timeouts, logins, both
//! generations of the protocol and messages of any size. The session decides what happens to a
//! result.

mod body;
mod client;
mod leftovers;
mod listing;
mod peer;
mod tool_result;

use std::fmt;
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use spillgate_agent::{Given, Host, Scope};
use spillgate_bridge::{BridgedConnector, KnownGenerations};
use spillgate_llm::{ToolCall, ToolSpec};
use spillgate_mcp::object_in;
use spillgate_transport::{Connector, ServerLog, Transport};
use spillgate_upstream::Server;
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::timeout;

pub use leftovers::Leftovers;
use peer::Peer;

/// How long a server may take to answer `initialize` and list its tools, unless configured
/// otherwise. It is long because launchers such as `npx` may have to download the server first.
pub const OPENING: Duration = Duration::from_secs(120);

/// The protocol version of this client. A bridge translates for servers of the other generation.
const PROTOCOL: &str = spillgate_mcp::ProtocolVersion::LEGACY;

/// A server cannot be used, because of an error of the server or in its settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the MCP server `{server}` {what}")]
pub struct McpError {
    /// Name of the server.
    pub server: String,
    /// What happened, in the server's own words if it gave any.
    pub what: String,
}

/// The tools of an MCP server.
pub struct McpTools {
    name: String,
    peer: Arc<Peer>,
    tools: Arc<Mutex<Vec<ToolSpec>>>,
    instructions: Option<String>,
    /// The task that lists the tools again when they change.
    refresher: AbortHandle,
}

impl fmt::Debug for McpTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpTools")
            .field("name", &self.name)
            .field("tools", &self.tools.lock().len())
            .finish_non_exhaustive()
    }
}

impl Leftovers {
    /// Opens these servers with `connector`, all at the same time. Returns the outcome of each in
    /// their order, so that the caller can decide whether to continue without the servers that
    /// failed. If this future is dropped, or an opened server is dropped without being closed,
    /// [`Leftovers::ended`] waits for everything that was started.
    pub async fn open_all(
        &self,
        connector: &Arc<dyn Connector>,
        servers: &[Server],
        patience: Duration,
    ) -> Vec<Result<McpTools, McpError>> {
        let opened = servers.iter().map(|server| async move {
            let mut own = server.clone();
            if let Transport::Command(command) = &mut own.spec.transport {
                // The log of the servers is not shown, because the user watches the agent.
                command.log = ServerLog::StderrTail;
            }
            McpTools::open(own, connector, patience, self).await
        });
        join_all(opened).await
    }
}

impl McpTools {
    /// Opens a server, initializes it and lists its tools, all within `patience`. If the server is
    /// not closed later, `leftovers` ends it.
    ///
    /// # Errors
    ///
    /// Fails if the server does not start, refuses or is too slow. The server has then ended.
    pub async fn open(
        server: Server,
        connector: &Arc<dyn Connector>,
        patience: Duration,
        leftovers: &Leftovers,
    ) -> Result<Self, McpError> {
        let name = server.spec.name.clone();
        let generations = Arc::new(KnownGenerations::default());
        generations.adopt(iter::once((&server.spec, server.bridge)));
        let connector = BridgedConnector::session(Arc::clone(connector), generations, Arc::new(()));
        let peer = Arc::new(Peer::new(server, connector, leftovers));
        let greeting = match timeout(patience, greeted(&peer)).await {
            Ok(Ok(greeting)) => Ok(greeting),
            Ok(Err(what)) => Err(peer.how_it_ended().await.unwrap_or(what)),
            Err(_) => Err(format!("was not ready within {} s", patience.as_secs_f64())),
        };
        let greeting = match greeting {
            Ok(greeting) => greeting,
            Err(what) => {
                peer.close(true).await;
                return Err(McpError { server: name, what });
            }
        };
        let tools = Arc::new(Mutex::new(greeting.tools));
        let refresher = tokio::spawn(refresh(name.clone(), Arc::clone(&peer), Arc::clone(&tools)));
        Ok(Self {
            name,
            peer,
            tools,
            instructions: greeting.instructions,
            refresher: refresher.abort_handle(),
        })
    }

    /// Returns the server's instructions for a model, as the server wrote them. The text is
    /// untrusted.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// Ends the server and everything that was started for it. Unless `hurried`, its current work
    /// is finished first. Calls in progress fail.
    pub async fn close(&self, hurried: bool) {
        self.refresher.abort();
        self.peer.close(hurried).await;
    }
}

impl Drop for McpTools {
    fn drop(&mut self) {
        self.refresher.abort();
        // The refresher also uses the peer and may end later, so dropping the peer here would not
        // end the server.
        self.peer.abandon();
    }
}

impl Host for McpTools {
    fn name(&self) -> &str {
        &self.name
    }

    fn tools(&self) -> Vec<ToolSpec> {
        self.tools.lock().clone()
    }

    fn call<'a>(&'a self, call: &'a ToolCall, _: &'a Scope) -> BoxFuture<'a, Given> {
        async move {
            let Some(arguments) = arguments(&call.arguments) else {
                return Given::error(
                    "The arguments are no JSON object; write them as the tool's schema says.",
                );
            };
            let answer = match self.peer.call(&call.name, arguments).await {
                Ok(answer) => answer,
                Err(how) => return Given::error(format!("The server `{}` {how}.", self.name)),
            };
            let read = spawn_blocking(move || tool_result::of_answer(answer));
            read.await
                .unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
        }
        .boxed()
    }
}

/// Returns the arguments unchanged, so that numbers keep their spelling; `None` if they are not an
/// object.
fn arguments(text: &str) -> Option<&RawValue> {
    let text = match text.trim() {
        "" | "null" => "{}",
        text => text,
    };
    object_in::<serde::de::IgnoredAny>(text)?;
    text.starts_with('{')
        .then(|| serde_json::from_str(text).ok())?
}

/// What a server answered when it was opened.
struct Greeting {
    tools: Vec<ToolSpec>,
    instructions: Option<String>,
}

async fn greeted(peer: &Peer) -> Result<Greeting, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialized {
        protocol_version: String,
        #[serde(default)]
        capabilities: serde_json::Map<String, serde_json::Value>,
        #[serde(default)]
        instructions: Option<String>,
    }
    peer.start().await?;
    let params = json!({
        "protocolVersion": PROTOCOL,
        "capabilities": {},
        "clientInfo": {"name": "spillgate", "version": env!("CARGO_PKG_VERSION")},
    });
    let greeting = peer.ask("initialize", &params).await?;
    let greeting: Initialized = serde_json::from_value(greeting)
        .map_err(|error| format!("answered `initialize` with an invalid result: {error}"))?;
    tracing::debug!(
        version = greeting.protocol_version,
        "an MCP server answered `initialize`"
    );
    peer.notify("notifications/initialized");
    let tools = match greeting.capabilities.contains_key("tools") {
        true => listing::tools(peer).await?,
        false => Vec::new(),
    };
    Ok(Greeting {
        tools,
        instructions: greeting.instructions.filter(|text| !text.trim().is_empty()),
    })
}

/// Lists the tools again whenever the server reports a change.
async fn refresh(server: String, peer: Arc<Peer>, tools: Arc<Mutex<Vec<ToolSpec>>>) {
    loop {
        peer.changed().await;
        match listing::tools(&peer).await {
            Ok(listed) => *tools.lock() = listed,
            Err(how) => tracing::warn!(
                server,
                how,
                "a server's tools changed, but could not be listed; the old list stays in use"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_an_object() {
        for (text, want) in [
            ("", Some("{}")),
            (" null ", Some("{}")),
            (" {\"a\": 1.0} ", Some("{\"a\": 1.0}")),
            ("[1]", None),
            ("{\"a\": ", None),
            ("{} {}", None),
            ("\"{}\"", None),
        ] {
            assert_eq!(arguments(text).map(RawValue::get), want, "{text}");
        }
    }
}
