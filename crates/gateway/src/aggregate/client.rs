//! The kind of a session, and what its client said about itself.

use std::sync::Arc;

use crate::session::Session;

/// The kind of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionKind {
    /// A client's connection.
    Client,
    /// A stateless request.
    Exchange,
    /// No client: it asks several servers for their lists on behalf of all stateless requests.
    Scout,
}

/// What a client said about itself.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// It has sent `notifications/initialized`.
    pub(crate) is_initialized: bool,
    /// The lowest level of log messages that it wants.
    pub(crate) level: Option<String>,
    /// The `_meta` of its requests (MCP 2026-07-28), as JSON.
    pub(crate) meta: Option<String>,
}

impl Session {
    pub(crate) fn is_scout(&self) -> bool {
        self.kind == SessionKind::Scout
    }

    /// The session that asks several servers for their lists: this session, or the one that all
    /// stateless requests share.
    pub(crate) fn asker(self: &Arc<Self>) -> Arc<Self> {
        match self.kind {
            SessionKind::Exchange => self.hub().scout(),
            SessionKind::Client | SessionKind::Scout => Arc::clone(self),
        }
    }
}
