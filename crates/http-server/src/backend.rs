//! The interface of the gateway that the HTTP server uses.

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use spillgate_gateway::{Hub, Incoming, Session};
use spillgate_mcp::RequestId;
use spillgate_transport::Sink;

/// The service that clients connect to: the [`Hub`], or a scripted one in tests.
pub trait Backend: Send + Sync + fmt::Debug {
    /// Opens a session for a client (2025-11-25 and older).
    fn session(&self, to: Arc<dyn Sink>) -> Arc<dyn Peer>;

    /// Opens an exchange for one stateless request (2026-07-28).
    fn exchange(&self, to: Arc<dyn Sink>) -> Arc<dyn Peer>;

    /// Returns the input schema of a tool, if known. `Mcp-Param-*` headers are checked against it.
    fn input_schema(&self, tool: &str) -> Option<serde_json::Value> {
        let _ = tool;
        None
    }
}

/// A client's session at the backend: a [`Session`], or a scripted one in tests. Its responses go
/// to the sink that was given when it was opened.
pub trait Peer: Send + Sync + fmt::Debug {
    /// Handles a frame from the client.
    fn take(&self, incoming: Incoming) -> BoxFuture<'static, ()>;

    /// Called when the client opened its stream for messages that belong to no request, or when it
    /// resumes a broken stream after the event `after`.
    fn listen(&self, after: Option<String>) -> BoxFuture<'static, ()>;

    /// Called when the client closed the response stream of a request.
    fn abandon(&self, of: RequestId) -> BoxFuture<'static, ()>;

    /// Called when the response to a request is no longer read and cannot be resumed.
    fn unread(&self, of: &RequestId);

    /// Called when the client has disconnected.
    fn close(&self, hurried: bool) -> BoxFuture<'static, ()>;
}

/// The hub as a backend.
#[derive(Debug)]
pub(crate) struct HubBackend {
    pub(crate) hub: Arc<Hub>,
    /// Tells that somebody uses the hub: each peer has a copy.
    pub(crate) in_use: Arc<()>,
}

impl HubBackend {
    fn peer(&self, session: Arc<Session>) -> Arc<dyn Peer> {
        Arc::new(SessionPeer {
            session,
            _in_use: Arc::clone(&self.in_use),
        })
    }
}

#[derive(Debug)]
struct SessionPeer {
    session: Arc<Session>,
    _in_use: Arc<()>,
}

impl Backend for HubBackend {
    fn session(&self, to: Arc<dyn Sink>) -> Arc<dyn Peer> {
        self.peer(self.hub.session(to))
    }

    fn exchange(&self, to: Arc<dyn Sink>) -> Arc<dyn Peer> {
        self.peer(self.hub.exchange(to))
    }
}

impl Peer for SessionPeer {
    fn take(&self, incoming: Incoming) -> BoxFuture<'static, ()> {
        let session = Arc::clone(&self.session);
        async move { session.take(incoming).await }.boxed()
    }

    fn listen(&self, after: Option<String>) -> BoxFuture<'static, ()> {
        let session = Arc::clone(&self.session);
        async move { session.listen(after).await }.boxed()
    }

    fn abandon(&self, of: RequestId) -> BoxFuture<'static, ()> {
        let session = Arc::clone(&self.session);
        async move { session.abandon(&of).await }.boxed()
    }

    fn unread(&self, of: &RequestId) {
        self.session.unread(of);
    }

    fn close(&self, hurried: bool) -> BoxFuture<'static, ()> {
        let session = Arc::clone(&self.session);
        async move { session.close(hurried).await }.boxed()
    }
}
