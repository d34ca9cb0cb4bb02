//! The rule when a server is bridged, and the observer of bridged connections.

use std::fmt;

/// When a server is bridged whose generation of MCP is not the client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bridging {
    /// When a client insists: `server/discover` and its refusal pass unchanged.
    #[default]
    Auto,
    /// Always: `server/discover` is answered even for a server that does not know it.
    Always,
    /// Never: everything passes unchanged.
    Never,
}

/// Observes when a client and a server of different generations are connected.
pub trait BridgeObserver: fmt::Debug + Send + Sync {
    /// Called when a client is bridged to the server with this name.
    fn bridged(&self, server: &str);
}

/// Ignores the event.
impl BridgeObserver for () {
    fn bridged(&self, _: &str) {}
}
