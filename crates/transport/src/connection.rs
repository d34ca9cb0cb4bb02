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
    /// The server's name in messages and in per-server rules.
    pub name: String,
    /// How to reach it.
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
    /// The URL of its endpoint.
    pub url: String,
    /// Headers of every request, such as `Authorization`. Most are secrets, so they are never
    /// printed.
    pub headers: BTreeMap<String, String>,
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.headers.keys().collect();
        // A query may hold a key, and user information always does.
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
    /// The id, if it is a request.
    pub id: Option<RequestId>,
    /// The method, if it is a request or notification.
    pub method: Option<String>,
    /// `params.name` or `params.uri`, for methods whose HTTP requests repeat it in `Mcp-Name`.
    pub name: Option<String>,
    /// Headers of the client's HTTP request that may be passed on to the server, such as
    /// `mcp-protocol-version`, `mcp-param-*` and `traceparent`. Names are in lower case.
    pub headers: Vec<(String, String)>,
}

impl Message {
    /// Makes a message that we do not track as a request: a notification, a response, or a request
    /// that its sender numbers itself.
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

    /// Makes a message from a frame and its envelope. `envelope` is `None` for a batch.
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

/// A connection to one server. Whatever comes back goes to the sink that the connection was opened
/// with.
pub trait Connection: Send + Sync + fmt::Debug {
    /// Sends a message. The outcome of a request arrives at the sink. An error here means that
    /// nothing was sent, or that the server did not accept a message that is no request. Over HTTP
    /// the future completes only when the server has accepted a message that is no request, so that
    /// the next message cannot overtake it.
    fn send(&self, message: Message) -> BoxFuture<'_, Result<(), ConnectionError>>;

    /// Opens the stream for messages that belong to no request, or resumes a broken stream after
    /// the event `after`. Does nothing if the transport has a single stream. Returns an error if
    /// the client that asks should learn that there is no such stream ([`ConnectionError::Refused`]
    /// with status 405).
    fn listen(&self, after: Option<String>) -> BoxFuture<'_, Result<(), ConnectionError>>;

    /// Gives up a request whose response nobody waits for. Uses the transport's own way to say so
    /// if it has one, such as closing the response stream (2026-07-28). The sink gets no more
    /// events of this request; an event that is being delivered may be dropped.
    fn abandon(&self, of: &RequestId) -> BoxFuture<'_, ()>;

    /// Closes the connection and everything started for it. Gives the server time to end, unless
    /// `hurried`.
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
    #[error("{how} and is started again in {seconds} s")]
    Resting {
        /// How it ended.
        how: String,
        /// Seconds until the restart.
        seconds: u64,
    },
    /// There is no connection, or it broke.
    #[error("could not be reached: {0}")]
    Unreachable(String),
    /// The server answered with something that is not MCP.
    #[error("answered with {0}")]
    NotMcp(String),
    /// The server sent a message above the size limit.
    #[error("{0}")]
    TooLong(TooLong),
    /// The server refused a message that is no request.
    #[error("refused it with HTTP status {}", .0.status)]
    Refused(Refusal),
    /// The server's settings are unusable.
    #[error("is set up wrongly: {0}")]
    Settings(String),
    /// The server requires the user to log in.
    #[error("wants authorization: {0}")]
    Unauthorized(String),
}
