//! A connector whose connections pass frames on, or use a bridge if client and server speak
//! different generations of MCP.
//!
//! It stands between a session and the connection to a server, and neither notices it. It opens the
//! connection and watches the first messages. As long as both ends speak the same generation,
//! frames pass unchanged; once that is certain, they are no longer examined. A bridge begins when a
//! client insists (ADR 11).
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

/// How long a server may take to show which generation it speaks; after that it counts as legacy.
/// Some servers never answer requests that they do not know, others are still being downloaded.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Opens connections that may turn into bridged ones.
#[derive(Debug)]
pub struct BridgedConnector {
    connector: Arc<dyn Connector>,
    generations: Arc<KnownGenerations>,
    observer: Arc<dyn BridgeObserver>,
    /// Provides the bridges of stateless exchanges; a session has its own.
    shared: Option<Arc<SharedServers>>,
}

impl BridgedConnector {
    /// Creates a connector for one client's session, which has the server's process for itself.
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

    /// Creates a connector for stateless exchanges, which share the server's process.
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

/// A connection that may turn into a bridged one, as the session sees it.
#[derive(Debug)]
struct NegotiatedConnection {
    negotiation: Arc<Negotiation>,
    connection: Arc<dyn Connection>,
    /// Whether this is a stateless exchange: its open requests are withdrawn at its end, because
    /// the server goes on.
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
                // Messages that are still held must be sent first.
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

/// Returns the same event for another request; `None` if the event cannot be sent to several
/// requests.
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
