//! Errors of the HTTP server.

use std::io;
use std::net::SocketAddr;

/// The server could not start, or it had to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpServerError {
    /// A setting is invalid. The user has to correct it.
    #[error("[http]: {0}")]
    Settings(String),
    /// Other machines can reach the address, but no authentication is configured. The user has to
    /// change the settings.
    #[error("{0} can be reached from other machines, and no authentication is configured")]
    Exposed(SocketAddr),
    /// The listener failed, because of an error of the operating system.
    #[error("listening for connections failed")]
    Listen(#[source] io::Error),
}

impl HttpServerError {
    /// Returns the error for an invalid setting: its key, and what is wrong with it.
    pub(crate) fn setting((key, what): (&'static str, String)) -> Self {
        Self::Settings(format!("`{key}`: {what}"))
    }
}
