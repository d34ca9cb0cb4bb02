//! What a bridge is told about its surroundings: capabilities, limits, the caller.

use std::fmt;
use std::time::{Duration, Instant};

use bytes::Bytes;

/// What a bridge needs to know.
#[derive(Debug)]
pub struct Config {
    /// The server's name, for messages.
    pub server: String,
    /// Who the gateway says it is where the client does not say who it is: a
    /// name and a version.
    pub ourselves: (String, String),
    /// What a legacy server is told that the client can do.
    pub declare: DeclaredCapabilities,
    /// Whether each request has a response stream of its own (HTTP). A modern
    /// request is then cancelled by closing it, else by a notification.
    pub streams: bool,
    /// Where `requestState`s come from.
    pub tokens: TokenGenerator,
    /// How much it keeps.
    pub limits: Limits,
}

/// Capabilities towards a legacy server, which are declared once for a session
/// though modern clients declare theirs with each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclaredCapabilities {
    /// Those of the request that opened the session: for one client.
    FirstRequest,
    /// All that can be bridged: for a session that many clients share. What a
    /// client cannot do is then refused question by question.
    Everything,
}

/// Makes unguessable texts, at least 128 random bits each: whoever has one may
/// answer the question that it stands for.
pub struct TokenGenerator(Box<dyn FnMut() -> String + Send>);

impl TokenGenerator {
    /// From this source.
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

/// Bounds. What goes over one is refused with an error that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests of clients that wait for an answer, those that wait for the
    /// handshake and for a client's input included.
    pub calls: usize,
    /// Rounds of questions of which a client has not come back yet.
    pub states: usize,
    /// Questions that wait for the round after, for one call; and questions that
    /// belong to no call.
    pub questions: usize,
    /// `subscriptions/listen` streams.
    pub listens: usize,
    /// Resources that are subscribed to, over all streams.
    pub resources: usize,
    /// Bytes of results that came while their client was being asked.
    pub held_bytes: usize,
    /// How often one call may ask for input. The SDKs stop at 10 too.
    pub rounds: usize,
    /// How long a client may take to come back with its answers.
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

/// A connection or an exchange of a client: what it sends comes under this
/// number, and what it gets goes to it. A bridge of one client's session always
/// uses the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Caller(pub u64);

/// A frame from a client.
#[derive(Debug, Clone, Copy)]
pub struct ClientFrame<'a> {
    /// From whom.
    pub from: Caller,
    /// One message, or a batch.
    pub frame: &'a Bytes,
    /// Headers of its HTTP request, names in lower case; none on stdio.
    pub headers: &'a [(String, String)],
    /// When.
    pub now: Instant,
}
