//! When a bridge stands before a server, and who is told of it.

use std::fmt;

/// When a bridge stands before a server whose generation of MCP is not the
/// client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bridging {
    /// When a client insists: `server/discover` and its refusal pass.
    #[default]
    Auto,
    /// `server/discover` is answered for a server that does not know it, too.
    Always,
    /// Never: everything passes.
    Never,
}

/// Is told when a client and a server of different generations are brought together.
pub trait BridgeObserver: fmt::Debug + Send + Sync {
    /// A client is now bridged to the server of this name.
    fn bridged(&self, server: &str);
}

/// Nobody wants to know.
impl BridgeObserver for () {
    fn bridged(&self, _: &str) {}
}
