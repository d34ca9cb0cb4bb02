//! The kind of a session (connection, stateless request), and what its client said about itself.

use std::sync::Arc;

use crate::session::Session;

/// The kind of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionKind {
    /// A client's connection.
    Client,
    /// A stateless request.
    Exchange,
    /// No client: the session requests the lists of several servers for all stateless requests.
    Scout,
}

/// The information that a client gave about itself.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Whether the client has sent `notifications/initialized`.
    pub(crate) is_initialized: bool,
    /// The lowest level of log messages that the client wants.
    pub(crate) level: Option<String>,
    /// The `_meta` of the client's requests (MCP 2026-07-28), as JSON.
    pub(crate) meta: Option<String>,
}

impl Session {
    pub(crate) fn is_scout(&self) -> bool {
        self.kind == SessionKind::Scout
    }

    /// Returns the session that requests the lists of several servers. For a stateless request,
    /// this is the session that all stateless requests share; otherwise it is this session.
    pub(crate) fn asker(self: &Arc<Self>) -> Arc<Self> {
        match self.kind {
            SessionKind::Exchange => self.hub().scout(),
            SessionKind::Client | SessionKind::Scout => Arc::clone(self),
        }
    }
}
