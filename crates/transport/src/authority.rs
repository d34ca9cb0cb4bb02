//! The [`Authority`] trait, which supplies credentials for servers that require a login.

use std::fmt;

use futures_util::future::BoxFuture;
use reqwest::header::HeaderValue;

/// Supplies the credentials for one server. Their values are marked as sensitive, so `Debug` never
/// prints them.
pub trait Authority: Send + Sync + fmt::Debug {
    /// The `Authorization` value of the next request. `None` if nobody has logged in; the server
    /// may not require it.
    fn credential(&self) -> BoxFuture<'_, Option<HeaderValue>>;

    /// Handles a refused request. Returns the credential for one more try, or what the user has to
    /// do.
    fn refused(&self, refused: Refused) -> BoxFuture<'_, Result<HeaderValue, NoCredential>>;
}

/// No credential is available that the server would accept. Says what the user has to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoCredential(pub String);

/// How a request was refused.
#[derive(Debug, Clone)]
pub struct Refused {
    /// The credential that the request had.
    pub credential: Option<HeaderValue>,
    /// `WWW-Authenticate` of the response.
    pub challenge: Option<String>,
}
