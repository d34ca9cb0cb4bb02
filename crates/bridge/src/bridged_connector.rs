//! A connector whose connections pass frames on, or use a bridge if client and server speak
//! different generations of MCP.
//!
//! The connector is placed between a session and the connection to a server; neither needs to know
//! about it. It opens the connection and watches the first messages. While both ends may speak the
//! same generation, frames pass unchanged. Once that is certain, frames are no longer examined. A
//! bridge begins when a client insists on its generation (ADR 11).
//!
//! ```text
//! Session ──▶ NegotiatedConnection ─┬─ passes ──────▶ Connection ──▶ server
//!                                   └─ RunningBridge ─▶ Connection ──▶ server
//! ```

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use spillgate_mcp::RequestId;
use spillgate_transport::{
    Connection, ConnectionError, Connector, Message, ServerEvent, ServerSpec, Sink,
};
use tokio::time::timeout;

use crate::negotiation::{Decision, Negotiation, probe};
use crate::{BridgeObserver, Bridging, KnownGenerations, SharedServers};

/// How long a server may take to show which generation it speaks. After this time it counts as
/// legacy. Some servers never answer unknown requests; others are still being downloaded.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Opens connections that may turn into bridged ones.
#[derive(Debug)]
pub struct BridgedConnector {
    connector: Arc<dyn Connector>,
    generations: Arc<KnownGenerations>,
    observer: Arc<dyn BridgeObserver>,
    /// Provides the bridges for stateless exchanges; `None` for a session, which has its own
    /// bridge.
    shared: Option<Arc<SharedServers>>,
}

impl BridgedConnector {
    /// Creates a connector for the session of one client, which uses the server's process alone.
    #[must_use]
    pub fn session(
        connector: Arc<dyn Connector>,
        generations: Arc<KnownGenerations>,
        observer: Arc<dyn BridgeObserver>,
    ) -> Arc<dyn Connector> {
        Arc::new(Self {
            connector,
            generations,
            observer,
            shared: None,
        })
    }

    /// Creates a connector for stateless exchanges (single requests of MCP 2026-07-28), which share
    /// the server's process.
    #[must_use]
    pub fn exchange(
        shared: &Arc<SharedServers>,
        generations: Arc<KnownGenerations>,
        observer: Arc<dyn BridgeObserver>,
    ) -> Arc<dyn Connector> {
        Arc::new(Self {
            observer,
            connector: Arc::clone(shared) as Arc<dyn Connector>,
            generations,
            shared: Some(Arc::clone(shared)),
        })
    }
}

impl Connector for BridgedConnector {
    fn open<'a>(
        &'a self,
        server: &'a ServerSpec,
        sink: Arc<dyn Sink>,
    ) -> BoxFuture<'a, Result<Arc<dyn Connection>, ConnectionError>> {
        let rule = self.generations.rule(&server.name);
        if rule == Bridging::Never {
            return self.connector.open(server, sink);
        }
        async move {
            let known = (Arc::clone(&self.generations), Arc::clone(&self.observer));
            let negotiation =
                Negotiation::new(server.clone(), rule, known, self.shared.clone(), sink);
            let connection = self
                .connector
                .open(server, negotiation.clone() as Arc<dyn Sink>)
                .await?;
            negotiation.connect(&connection);
            let is_exchange = self.shared.is_some();
            Ok(Arc::new(NegotiatedConnection {
                negotiation,
                connection,
                is_exchange,
            }) as Arc<dyn Connection>)
        }
        .boxed()
    }
}

/// A connection that may start to use a bridge. The session uses it like any other connection.
#[derive(Debug)]
struct NegotiatedConnection {
    negotiation: Arc<Negotiation>,
    connection: Arc<dyn Connection>,
    /// Whether the connection is for a single stateless request. At its end, its open requests are
    /// cancelled, because the server continues to run.
    is_exchange: bool,
}

impl Connection for NegotiatedConnection {
    fn send(&self, message: Message) -> BoxFuture<'_, Result<(), ConnectionError>> {
        if self.negotiation.is_passing() {
            return self.connection.send(message);
        }
        async move {
            match self.negotiation.decide(message) {
                Decision::Pass(message) => self.connection.send(message).await,
                Decision::ToBridge(running, caller, message) => {
                    running.on_client(caller, &message).await
                }
                Decision::Answer(event) => {
                    self.negotiation.to_client(event).await;
                    Ok(())
                }
                Decision::Probe => {
                    let sent = self.connection.send(probe()).await;
                    sent.inspect_err(|_| self.negotiation.forget_probe())
                }
                Decision::Bridge => {
                    Arc::clone(&self.negotiation).bridge_held().await;
                    Ok(())
                }
                Decision::Wait => Ok(()),
            }
        }
        .boxed()
    }

    fn listen(&self, after: Option<String>) -> BoxFuture<'_, Result<(), ConnectionError>> {
        match self.negotiation.bridge() {
            // The bridge opens the stream itself.
            Some(_) => std::future::ready(Ok(())).boxed(),
            None => self.connection.listen(after),
        }
    }

    fn abandon(&self, of: &RequestId) -> BoxFuture<'_, ()> {
        if self.negotiation.withdraw(of) {
            return std::future::ready(()).boxed();
        }
        match self.negotiation.bridge() {
            Some((running, caller)) => {
                let of = of.clone();
                async move { running.abandon(caller, &of).await }.boxed()
            }
            None => self.connection.abandon(of),
        }
    }

    fn close(&self, hurried: bool) -> BoxFuture<'_, ()> {
        async move {
            if !hurried {
                // Held messages must be sent before closing.
                drop(timeout(PATIENCE, self.negotiation.settled()).await);
            }
            if self.is_exchange {
                self.negotiation.leave();
            }
            self.connection.close(hurried).await;
        }
        .boxed()
    }
}

impl Drop for NegotiatedConnection {
    fn drop(&mut self) {
        self.negotiation.leave();
    }
}

/// Returns a copy of the event for another request; `None` if the event cannot be copied.
pub(crate) fn for_request(event: &ServerEvent, key: &RequestId) -> Option<ServerEvent> {
    use spillgate_transport::Item;
    let item = match &event.item {
        Item::Refused(refusal) => Item::Refused(refusal.clone()),
        Item::Failed(error) => Item::Failed(error.clone()),
        _ => return None,
    };
    Some(ServerEvent {
        of: Some(key.clone()),
        event: None,
        item,
    })
}
