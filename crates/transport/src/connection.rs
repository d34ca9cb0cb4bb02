//! How does a message reach a server?

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::Deserialize;

use crate::{Refusal, ServerCommand, TooLong};
use spillgate_mcp::{Envelope, RequestId, object};

/// A server and the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    /// What the server is called in messages and in per-server rules.
    pub name: String,
    /// The way.
    pub transport: Transport,
}

/// The transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A process's standard streams.
    Command(ServerCommand),
    /// Streamable HTTP (MCP 2025-03-26 and later).
    Http(HttpServer),
    /// HTTP with server-sent events (MCP 2024-11-05).
    Sse(HttpServer),
}

/// A server that is reached by HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpServer {
    /// Its endpoint.
    pub url: String,
    /// Headers of every request, such as `Authorization`: secrets mostly, so they
    /// are never printed.
    pub headers: BTreeMap<String, String>,
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.headers.keys().collect();
        // A query may hold a key, and user information does.
        let shown = reqwest::Url::parse(&self.url).map(|url| crate::http::place(&url));
        f.debug_struct("HttpServer")
            .field("url", &shown.unwrap_or_default())
            .field("headers", &names)
            .finish()
    }
}

/// A message for a server. Printed without its bytes.
#[derive(Clone)]
pub struct Message {
    /// Its bytes: one JSON-RPC message, or a batch of them.
    pub frame: Bytes,
    /// The id, for a request.
    pub id: Option<RequestId>,
    /// The method, for a request or notification.
    pub method: Option<String>,
    /// `params.name` or `params.uri`, for methods whose HTTP requests say it in
    /// `Mcp-Name`.
    pub name: Option<String>,
    /// Headers of the client's HTTP request that the server is to get as they
    /// are, names in lower case: `mcp-protocol-version`, `mcp-param-*`.
    pub headers: Vec<(String, String)>,
}

impl Message {
    /// A frame that is no request of ours to keep account of: a notification, an answer, or
    /// what its sender numbers itself.
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

    /// A frame with what its envelope says of it; `None` for a batch.
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

/// The way to one server. What comes back goes to the sink that the link was
/// opened with.
pub trait Connection: Send + Sync + fmt::Debug {
    /// Passes a message on. What becomes of a request is told through the sink;
    /// an error here means that nothing was sent, or that the server did not
    /// accept what is no request. Over HTTP it takes until a message that is no
    /// request was accepted, so that the next one cannot overtake it.
    fn send(&self, message: Message) -> BoxFuture<'_, Result<(), ConnectionError>>;

    /// Opens the stream for what belongs to no request, or takes up a broken
    /// stream after the event `after`. Nothing where the transport has a single
    /// stream. An error where the client that asks for it is to learn that there
    /// is none ([`ConnectionError::Refused`] with status 405).
    fn listen(&self, after: Option<String>) -> BoxFuture<'_, Result<(), ConnectionError>>;

    /// Gives a request up whose answer nobody waits for: the transport's own way to say so, if
    /// it has one, such as closing the response (2026-07-28). The sink gets no more events of
    /// this request; one that is being delivered may be dropped.
    fn abandon(&self, of: &RequestId) -> BoxFuture<'_, ()>;

    /// Ends it, with what was started for it. In time, unless `hurried`.
    fn close(&self, hurried: bool) -> BoxFuture<'_, ()>;
}

/// A message could not be brought to a server, or its answer back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The server's command could not be started.
    #[error("could not be started: {0}")]
    Start(String),
    /// The server has ended.
    #[error("{0}")]
    Gone(String),
    /// It ended shortly ago and is not started again yet.
    #[error("{how} and is started again in {seconds} s")]
    Resting {
        /// How it ended.
        how: String,
        /// Seconds to wait.
        seconds: u64,
    },
    /// No connection, or a broken one.
    #[error("could not be reached: {0}")]
    Unreachable(String),
    /// It answered with something that is no MCP.
    #[error("answered with {0}")]
    NotMcp(String),
    /// It sent more than a message may have.
    #[error("{0}")]
    TooLong(TooLong),
    /// It refused a message that is no request.
    #[error("refused it with HTTP status {}", .0.status)]
    Refused(Refusal),
    /// Its settings cannot be used.
    #[error("is set up wrongly: {0}")]
    Settings(String),
    /// It wants the user to log in.
    #[error("wants authorization: {0}")]
    Unauthorized(String),
}
