//! Why can the front not serve?

use std::io;
use std::net::SocketAddr;

/// The front could not start, or cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpServerError {
    /// A setting makes no sense. The caller's fault.
    #[error("[http]: {0}")]
    Settings(String),
    /// Others than this machine's users can reach the address, and nothing asks
    /// who they are. The caller's fault.
    #[error("{0} can be reached from other machines, and nothing asks who comes")]
    Exposed(SocketAddr),
    /// The listener failed. The system's fault.
    #[error("the listener failed")]
    Listen(#[source] io::Error),
}

impl HttpServerError {
    /// A setting that is wrong, and what is wrong with it.
    pub(crate) fn setting((key, what): (&'static str, String)) -> Self {
        Self::Settings(format!("`{key}`: {what}"))
    }
}
