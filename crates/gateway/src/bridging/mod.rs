//! Where does a bridge between two generations of MCP stand?
//!
//! Between a session and the way to a server, so that neither knows of it: an
//! [`Connector`] that opens the way and watches the first messages. As long as both
//! ends speak the same generation, frames pass as they are; once that is
//! certain, nothing is looked at any more. A bridge begins when a client
//! insists (ADR 11).
//!
//! ```text
//! Session ──▶ Gate ─▶ (passes) ──────────────▶ Connection ──▶ server
//!                 └─▶ Live (a bridge) ───────────┘
//! ```

mod eras;
mod live;
mod verdict;
mod way;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use spillgate_mcp::RequestId;
use spillgate_wire::{
    Connection, ConnectionError, Connector, Message, ServerEvent, ServerSpec, Sink,
};
use tokio::time::timeout;

use self::way::{Verb, Way};
use crate::gateway::Bridging;
use crate::shared::Shared;
use crate::telemetry::metrics::Metrics;

pub(crate) use eras::{Eras, Speaks};
pub(crate) use live::Live;

/// How long a server may take to say which generation it speaks; then it is
/// taken for a legacy one. Some never answer what they do not know, others are
/// still being downloaded.
const PATIENCE: Duration = Duration::from_secs(60);

/// Opens ways that a bridge may come to stand in.
#[derive(Debug)]
pub(crate) struct Bridged {
    connector: Arc<dyn Connector>,
    eras: Arc<Eras>,
    metrics: Arc<Metrics>,
    /// Where the bridges of stateless exchanges are; a session has its own.
    shared: Option<Arc<Shared>>,
}

impl Bridged {
    /// For one client's session.
    pub(crate) fn session(
        connector: Arc<dyn Connector>,
        eras: Arc<Eras>,
        metrics: Arc<Metrics>,
    ) -> Arc<dyn Connector> {
        Arc::new(Self {
            connector,
            eras,
            metrics,
            shared: None,
        })
    }

    /// For a stateless exchange.
    pub(crate) fn exchange(
        shared: &Arc<Shared>,
        eras: Arc<Eras>,
        metrics: Arc<Metrics>,
    ) -> Arc<dyn Connector> {
        Arc::new(Self {
            metrics,
            connector: Arc::clone(shared) as Arc<dyn Connector>,
            eras,
            shared: Some(Arc::clone(shared)),
        })
    }
}

impl Connector for Bridged {
    fn open<'a>(
        &'a self,
        server: &'a ServerSpec,
        sink: Arc<dyn Sink>,
    ) -> BoxFuture<'a, Result<Arc<dyn Connection>, ConnectionError>> {
        let rule = self.eras.rule(&server.name);
        if rule == Bridging::Never {
            return self.connector.open(server, sink);
        }
        async move {
            let known = (Arc::clone(&self.eras), Arc::clone(&self.metrics));
            let way = Way::new(server.clone(), rule, known, self.shared.clone(), sink);
            let connection = self
                .connector
                .open(server, way.clone() as Arc<dyn Sink>)
                .await?;
            way.connect(&connection);
            let is_exchange = self.shared.is_some();
            Ok(Arc::new(Gate {
                way,
                connection,
                is_exchange,
            }) as Arc<dyn Connection>)
        }
        .boxed()
    }
}

/// A way that a bridge may come to stand in, as the session sees it.
#[derive(Debug)]
struct Gate {
    way: Arc<Way>,
    connection: Arc<dyn Connection>,
    /// What it waits for has to be taken back when it ends: the server goes on.
    is_exchange: bool,
}

impl Connection for Gate {
    fn send(&self, message: Message) -> BoxFuture<'_, Result<(), ConnectionError>> {
        if self.way.is_passing() {
            return self.connection.send(message);
        }
        async move {
            match self.way.decide(message) {
                Verb::Pass(message) => self.connection.send(message).await,
                Verb::Hear(live, caller, message) => live.hear(caller, &message).await,
                Verb::Tell(event) => {
                    self.way.to_client(event).await;
                    Ok(())
                }
                Verb::Probe => {
                    let sent = self.connection.send(way::probe()).await;
                    sent.inspect_err(|_| self.way.forget_probe())
                }
                Verb::Turn => {
                    Arc::clone(&self.way).turn().await;
                    Ok(())
                }
                Verb::Wait => Ok(()),
            }
        }
        .boxed()
    }

    fn listen(&self, after: Option<String>) -> BoxFuture<'_, Result<(), ConnectionError>> {
        match self.way.bridge() {
            // The bridge listens by itself.
            Some(_) => std::future::ready(Ok(())).boxed(),
            None => self.connection.listen(after),
        }
    }

    fn abandon(&self, of: &RequestId) -> BoxFuture<'_, ()> {
        if self.way.withdraw(of) {
            return std::future::ready(()).boxed();
        }
        match self.way.bridge() {
            Some((live, caller)) => {
                let of = of.clone();
                async move { live.abandon(caller, &of).await }.boxed()
            }
            None => self.connection.abandon(of),
        }
    }

    fn close(&self, hurried: bool) -> BoxFuture<'_, ()> {
        async move {
            if !hurried {
                // What still waits to be sent is to be sent.
                drop(timeout(PATIENCE, self.way.settled()).await);
            }
            if self.is_exchange {
                self.way.leave();
            }
            self.connection.close(hurried).await;
        }
        .boxed()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.way.leave();
    }
}

/// The same event for another request, of what can be told to several.
fn for_request(event: &ServerEvent, key: &RequestId) -> Option<ServerEvent> {
    use spillgate_wire::Item;
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
