//! Errors of the HTTP server.

use std::io;
use std::net::SocketAddr;

/// The server could not start, or cannot continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpServerError {
    /// A setting is invalid. The caller's fault.
    #[error("[http]: {0}")]
    Settings(String),
    /// Other machines can reach the address, and there is no authentication. The caller's fault.
    #[error("{0} can be reached from other machines, and nothing asks who comes")]
    Exposed(SocketAddr),
    /// The listener failed. The system's fault.
    #[error("the listener failed")]
    Listen(#[source] io::Error),
}

impl HttpServerError {
    /// An invalid setting, and what is wrong with it.
    pub(crate) fn setting((key, what): (&'static str, String)) -> Self {
        Self::Settings(format!("`{key}`: {what}"))
    }
}
