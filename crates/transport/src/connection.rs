//! The [`Connection`] trait, which sends messages to a server, and its errors.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::Deserialize;

use crate::{Refusal, ServerCommand, TooLong};
use spillgate_mcp::{Envelope, RequestId, object};

/// A server and its transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    /// The server's name in log messages and in rules for single servers.
    pub name: String,
    /// How to reach the server.
    pub transport: Transport,
}

/// A transport to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// The standard streams of a child process.
    Command(ServerCommand),
    /// Streamable HTTP (MCP 2025-03-26 and later).
    Http(HttpServer),
    /// HTTP with server-sent events (MCP 2024-11-05).
    Sse(HttpServer),
}

/// A server behind HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpServer {
    /// The URL of the server's endpoint.
    pub url: String,
    /// Headers to send with every request, such as `Authorization`. Most are secrets, so `Debug`
    /// does not print them.
    pub headers: BTreeMap<String, String>,
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.headers.keys().collect();
        // User information in a URL is secret, and the query may contain a key.
        let shown = reqwest::Url::parse(&self.url).map(|url| crate::http::place(&url));
        f.debug_struct("HttpServer")
            .field("url", &shown.unwrap_or_default())
            .field("headers", &names)
            .finish()
    }
}

/// A message for a server. `Debug` does not print its bytes.
#[derive(Clone)]
pub struct Message {
    /// The bytes: one JSON-RPC message, or a batch.
    pub frame: Bytes,
    /// The id, if the message is a request.
    pub id: Option<RequestId>,
    /// The method, if the message is a request or a notification.
    pub method: Option<String>,
    /// `params.name` or `params.uri`, for methods whose HTTP requests repeat this value in
    /// `Mcp-Name`.
    pub name: Option<String>,
    /// Headers of the client's HTTP request that may be sent to the server, such as
    /// `mcp-protocol-version`, `mcp-param-*` and `traceparent`. Names are in lower case.
    pub headers: Vec<(String, String)>,
}

impl Message {
    /// Returns a message that is not tracked as a request: a notification, a response, or a request
    /// whose id only its sender needs.
    #[must_use]
    pub fn notice(frame: Bytes, method: Option<&str>) -> Self {
        Self {
            frame,
            id: None,
            method: method.map(ToOwned::to_owned),
            name: None,
            headers: Vec::new(),
        }
    }

    /// Returns a message made from a frame and its envelope. `envelope` is `None` for a batch.
    #[must_use]
    pub fn new(
        frame: Bytes,
        headers: Vec<(String, String)>,
        envelope: Option<&Envelope<'_>>,
    ) -> Self {
        #[derive(Deserialize)]
        struct Named {
            #[serde(default)]
            name: Option<String>,
            #[serde(default)]
            uri: Option<String>,
        }
        let named = envelope
            .and_then(|envelope| envelope.params)
            .and_then(object::<Named>);
        Self {
            frame,
            id: envelope
                .filter(|envelope| envelope.method.is_some())
                .and_then(Envelope::key),
            method: envelope.and_then(|one| one.method.as_deref().map(ToOwned::to_owned)),
            name: named.and_then(|named| named.name.or(named.uri)),
            headers,
        }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&String> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Message")
            .field("frame", &format_args!("{} bytes", self.frame.len()))
            .field("id", &self.id)
            .field("method", &self.method)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

/// A connection to one server. Everything that the server sends is delivered to the sink that was
/// given when the connection was opened.
pub trait Connection: Send + Sync + fmt::Debug {
    /// Sends a message. The outcome of a request arrives at the sink. An error means that nothing
    /// was sent, or that the server did not accept a message other than a request. Over HTTP, the
    /// future of such a message completes when the server has accepted it, so that the next message
    /// cannot overtake it.
    fn send(&self, message: Message) -> BoxFuture<'_, Result<(), ConnectionError>>;

    /// Opens the stream for messages that belong to no request, or resumes a broken stream after
    /// the event `after`. Does nothing if the transport uses a single stream. Returns an error if
    /// the client should learn that the server offers no such stream ([`ConnectionError::Refused`]
    /// with status 405).
    fn listen(&self, after: Option<String>) -> BoxFuture<'_, Result<(), ConnectionError>>;

    /// Gives up a request because nobody waits for its response. If the transport has a way to tell
    /// the server, such as closing the response stream (2026-07-28), uses it. The sink receives no
    /// more events of this request. An event that is being delivered may be lost.
    fn abandon(&self, of: &RequestId) -> BoxFuture<'_, ()>;

    /// Closes the connection and ends everything that was started for it. Unless `hurried` is true,
    /// gives the server time to end.
    fn close(&self, hurried: bool) -> BoxFuture<'_, ()>;
}

/// A message could not be delivered to a server, or its response could not be received.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The server's command could not be started.
    #[error("could not be started: {0}")]
    Start(String),
    /// The server has ended.
    #[error("{0}")]
    Gone(String),
    /// The server ended recently and is not restarted yet.
    #[error("{how} and will be restarted in {seconds} s")]
    Resting {
        /// How the server ended.
        how: String,
        /// Seconds until the restart.
        seconds: u64,
    },
    /// The connection could not be made, or it broke.
    #[error("could not be reached: {0}")]
    Unreachable(String),
    /// The server answered with something that is not MCP.
    #[error("answered with {0}")]
    NotMcp(String),
    /// The server sent a message above the size limit.
    #[error("{0}")]
    TooLong(TooLong),
    /// The server refused a message other than a request.
    #[error("returned the HTTP status {}", .0.status)]
    Refused(Refusal),
    /// The server's settings are unusable.
    #[error("is configured incorrectly: {0}")]
    Settings(String),
    /// The server requires the user to log in.
    #[error("requires authorization: {0}")]
    Unauthorized(String),
}
