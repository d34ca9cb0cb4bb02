//! The setting that decides when a server is bridged, and the observer of bridged connections.

use std::fmt;

/// When to bridge a server that speaks another generation of MCP than the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bridging {
    /// Bridge if a client keeps to its own generation. `server/discover` and the server's refusal
    /// of it pass unchanged, so a client that speaks both generations can use the generation of the
    /// server.
    #[default]
    Auto,
    /// Always bridge. The gateway answers `server/discover` even for a server that does not support
    /// it.
    Always,
    /// Never bridge. All messages pass unchanged.
    Never,
}

/// Is notified when a client is connected through a bridge to a server of another generation.
pub trait BridgeObserver: fmt::Debug + Send + Sync {
    /// Called when a client is connected through a bridge to the server with this name.
    fn bridged(&self, server: &str);
}

/// An observer that ignores the event.
impl BridgeObserver for () {
    fn bridged(&self, _: &str) {}
}
