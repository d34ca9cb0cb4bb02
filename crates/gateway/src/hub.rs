//! What do all clients of a gateway share?

use std::sync::Arc;

use bytes::Bytes;
use spillgate_wire::{Key, Sink};

use crate::Gateway;

/// The servers behind a gateway and what it does with their results: one for
/// all clients.
#[derive(Debug)]
pub struct Hub {
    gateway: Gateway,
}

impl Hub {
    /// A hub that serves by these settings.
    #[must_use]
    pub fn new(gateway: Gateway) -> Arc<Self> {
        Arc::new(Self { gateway })
    }

    /// One connection of a client: standard streams, or a session over HTTP.
    #[must_use]
    pub fn session(self: &Arc<Self>, to: Arc<dyn Sink>) -> Arc<Session> {
        let hub = Arc::clone(self);
        Arc::new(Session { hub, to })
    }

    /// One stateless request over HTTP (MCP 2026-07-28).
    #[must_use]
    pub fn exchange(self: &Arc<Self>, to: Arc<dyn Sink>) -> Arc<Session> {
        self.session(to)
    }
}

/// A frame from a client.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// Its bytes.
    pub frame: Bytes,
    /// Headers that came with it, names in lower case: `mcp-*` but for the
    /// session's id, `traceparent`, `tracestate`, `baggage`.
    pub headers: Vec<(String, String)>,
}

/// A client, as the gateway sees it.
#[derive(Debug)]
pub struct Session {
    hub: Arc<Hub>,
    to: Arc<dyn Sink>,
}

impl Session {
    /// Takes one frame from the client: a request, a notification, a response or
    /// a batch. What comes back goes to the session's sink.
    pub async fn take(self: &Arc<Self>, incoming: Incoming) {
        drop((&self.hub.gateway, &self.to, incoming));
    }

    /// Opens the stream for what belongs to no request, or takes up a broken one
    /// after the event `after`.
    pub async fn listen(self: &Arc<Self>, after: Option<String>) {
        drop(after);
    }

    /// The client closed the response stream of a request: in MCP 2026-07-28, a
    /// cancellation.
    pub async fn abandon(self: &Arc<Self>, of: &Key) {
        let _ = of;
    }

    /// The client is gone. What is under way may still be answered, unless
    /// `hurried`.
    pub async fn close(self: &Arc<Self>, hurried: bool) {
        let _ = hurried;
    }
}
