//! Who lets us in at a server that asks for a login?

use std::fmt;

use futures_util::future::BoxFuture;
use reqwest::header::HeaderValue;

/// The credentials for one server. Their values are marked as sensitive, so that
/// no `Debug` prints them.
pub trait Authority: Send + Sync + fmt::Debug {
    /// The `Authorization` of the next request; none where nobody has logged in,
    /// as a server may let everybody in.
    fn credential(&self) -> BoxFuture<'_, Option<HeaderValue>>;

    /// The server refused a request: what to try once more with, or what the
    /// user has to do.
    fn refused(&self, refused: Refused) -> BoxFuture<'_, Result<HeaderValue, NoCredential>>;
}

/// There is no credential that a server would take, and what the user has to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoCredential(pub String);

/// How a request was refused.
#[derive(Debug, Clone)]
pub struct Refused {
    /// The credential that it had.
    pub credential: Option<HeaderValue>,
    /// `WWW-Authenticate` of the response.
    pub challenge: Option<String>,
}
