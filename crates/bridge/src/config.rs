//! The surroundings of a bridge: capabilities, limits, the caller.

use std::fmt;
use std::time::{Duration, Instant};

use bytes::Bytes;

/// The configuration of a bridge.
#[derive(Debug)]
pub struct Config {
    /// Name of the server, for messages.
    pub server: String,
    /// Name and version of the gateway, used if the client does not identify itself.
    pub ourselves: (String, String),
    /// The client capabilities that a legacy server is told.
    pub declare: DeclaredCapabilities,
    /// Whether each request has its own response stream (HTTP). A modern request is then cancelled
    /// by closing the stream, otherwise by a notification.
    pub streams: bool,
    /// The source of `requestState`s.
    pub tokens: TokenGenerator,
    /// Limits of what the bridge keeps.
    pub limits: Limits,
}

/// The capabilities declared to a legacy server. They are declared once per session, though modern
/// clients declare theirs with each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclaredCapabilities {
    /// Those of the request that opened the session: for one client.
    FirstRequest,
    /// Everything that can be bridged: for a session that many clients share. Questions that a
    /// client cannot answer are refused one by one.
    Everything,
}

/// Generates unguessable texts with at least 128 random bits each. Whoever has one may answer the
/// question that it stands for.
pub struct TokenGenerator(Box<dyn FnMut() -> String + Send>);

impl TokenGenerator {
    /// Creates a generator with this source.
    pub fn new(source: impl FnMut() -> String + Send + 'static) -> Self {
        Self(Box::new(source))
    }

    pub(crate) fn next(&mut self) -> String {
        (self.0)()
    }
}

impl fmt::Debug for TokenGenerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenGenerator")
    }
}

/// Limits of a bridge. What exceeds one is refused with an error that names the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most requests of clients that wait for an answer, including those that wait for the
    /// handshake or a client's input.
    pub calls: usize,
    /// Most rounds of questions that a client has not answered yet.
    pub states: usize,
    /// Most questions of one call in a round or waiting for the next; and most questions that
    /// belong to no call.
    pub questions: usize,
    /// Most `subscriptions/listen` streams.
    pub listens: usize,
    /// Most subscribed resources, over all streams.
    pub resources: usize,
    /// Most bytes of results that arrived while their client was being asked.
    pub held_bytes: usize,
    /// Most rounds of questions for one call. The SDKs stop at 10, too.
    pub rounds: usize,
    /// Longest time in which a client may come back with its answers.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls: 1024,
            states: 256,
            questions: 16,
            listens: 64,
            resources: 1024,
            held_bytes: 64 << 20,
            rounds: 10,
            patience: Duration::from_secs(600),
        }
    }
}

/// Number of a client's connection or exchange: its messages come under this number, and its events
/// go to it. A bridge for one client's session always uses the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Caller(pub u64);

/// A frame from a client.
#[derive(Debug, Clone, Copy)]
pub struct ClientFrame<'a> {
    /// The sender.
    pub from: Caller,
    /// One message, or a batch.
    pub frame: &'a Bytes,
    /// Headers of the HTTP request, with names in lower case; empty on stdio.
    pub headers: &'a [(String, String)],
    /// When the frame arrived.
    pub now: Instant,
}
