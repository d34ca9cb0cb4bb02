//! The [`Authority`] trait, which supplies credentials for servers that require a login.

use std::fmt;

use futures_util::future::BoxFuture;
use reqwest::header::HeaderValue;

/// Supplies the credentials for one server. The credentials are marked as sensitive, so `Debug`
/// never prints them.
pub trait Authority: Send + Sync + fmt::Debug {
    /// Returns the `Authorization` value for the next request. `None` if nobody has logged in. The
    /// request is then sent without credentials, because the server may not require any.
    fn credential(&self) -> BoxFuture<'_, Option<HeaderValue>>;

    /// Called when the server has refused a request. Returns a credential to try once more, or an
    /// error that tells the user what to do.
    fn refused(&self, refused: Refused) -> BoxFuture<'_, Result<HeaderValue, NoCredential>>;
}

/// No credential is available that the server would accept. The text tells the user what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoCredential(pub String);

/// A request that the server refused because of its credential.
#[derive(Debug, Clone)]
pub struct Refused {
    /// The credential that was sent with the request.
    pub credential: Option<HeaderValue>,
    /// The response's `WWW-Authenticate` header.
    pub challenge: Option<String>,
}
