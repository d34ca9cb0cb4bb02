//! Who a session is for, and what its client said of itself.

use std::sync::Arc;

use crate::session::Session;

/// What a session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionKind {
    /// One connection of a client.
    Client,
    /// One stateless request.
    Exchange,
    /// Nobody: it asks several servers for their lists for all stateless requests.
    Scout,
}

/// What a client said of itself.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// It sent `notifications/initialized`.
    pub(crate) is_initialized: bool,
    /// The least of the log messages that it wants.
    pub(crate) level: Option<String>,
    /// What its requests say of themselves in `_meta` (MCP 2026-07-28), as JSON.
    pub(crate) meta: Option<String>,
}

impl Session {
    pub(crate) fn is_scout(&self) -> bool {
        self.kind == SessionKind::Scout
    }

    /// Who asks several servers for their lists: the session itself, or one that lasts
    /// for all stateless requests.
    pub(crate) fn asker(self: &Arc<Self>) -> Arc<Self> {
        match self.kind {
            SessionKind::Exchange => self.hub().scout(),
            SessionKind::Client | SessionKind::Scout => Arc::clone(self),
        }
    }
}
