//! The configuration of a bridge (declared capabilities, limits), and the numbers that identify its
//! clients.

use std::fmt;
use std::time::{Duration, Instant};

use bytes::Bytes;

/// The configuration of a bridge.
#[derive(Debug)]
pub struct Config {
    /// The server's name, for error messages.
    pub server: String,
    /// Name and version of the gateway, sent if the client does not identify itself.
    pub ourselves: (String, String),
    /// The client capabilities that are declared to a legacy server.
    pub declare: DeclaredCapabilities,
    /// Whether each request has its own response stream (HTTP). A modern request is then cancelled
    /// by closing its stream; otherwise a notification cancels it.
    pub streams: bool,
    /// The source of `requestState` values.
    pub tokens: TokenGenerator,
    /// Limits on what the bridge stores.
    pub limits: Limits,
}

/// The client capabilities that are declared to a legacy server. They are declared once per
/// session, although modern clients declare capabilities with each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclaredCapabilities {
    /// Declare the capabilities in the request that opened the session. This is used for a session
    /// of one client.
    FirstRequest,
    /// Declare all capabilities that can be bridged. This is used for a session that many clients
    /// share. A question that a client cannot answer is then refused.
    Everything,
}

/// Generates texts that cannot be guessed, with at least 128 random bits each. A client that
/// presents such a text may answer the question that belongs to it.
pub struct TokenGenerator(Box<dyn FnMut() -> String + Send>);

impl TokenGenerator {
    /// Creates a generator that takes its texts from this source.
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

/// Limits of a bridge. A message that exceeds one is refused with an error that names the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of client requests without an answer, including requests that wait for the
    /// handshake or for the client's input.
    pub calls: usize,
    /// Maximum number of question rounds that clients have not answered yet.
    pub states: usize,
    /// Maximum number of questions per call in one round or waiting for the next round. Also the
    /// maximum number of questions that belong to no call.
    pub questions: usize,
    /// Maximum number of `subscriptions/listen` streams.
    pub listens: usize,
    /// Maximum number of subscribed resources over all streams.
    pub resources: usize,
    /// Maximum total size, in bytes, of results that wait while their clients are being asked
    /// questions.
    pub held_bytes: usize,
    /// Maximum number of question rounds for one call. The official SDKs also stop after 10 rounds.
    pub rounds: usize,
    /// How long a client may take to return with its answers.
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

/// The number of a client's connection or stateless request. It marks the client's messages and the
/// events for the client. In a bridge for one client's session, it is always the same number.
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
