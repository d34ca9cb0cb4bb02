//! What of the front can be set, and to what if nothing is said?

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{HttpServerError, auth, guard};

/// Settings of the HTTP front (`[http]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
// `expecting` keeps the text of the error about a value that is no table.
#[serde(default, deny_unknown_fields, expecting = "struct FrontSettings")]
pub struct HttpServerSettings {
    /// Where clients connect, such as `127.0.0.1:8700`; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The endpoint's path.
    pub path: String,
    /// Names that `Host` may have besides `localhost` and the address that is
    /// listened on: `mcp.example.org`, or with a port `mcp.example.org:8443`.
    pub allow_hosts: Vec<String>,
    /// Origins that browsers may send besides those on loopback, such as
    /// `https://app.example.org`.
    pub allow_origins: Vec<String>,
    /// Serves an address that others can reach to anyone who comes.
    pub insecure_no_auth: bool,
    /// Who may come.
    pub auth: Auth,
    /// `GET /metrics` needs no token. It names servers and tools.
    pub open_metrics: bool,
    /// Bytes of a request's body at most; a larger one is answered with 413.
    pub max_body_bytes: usize,
    /// Sessions at most; one more is answered with 503. By default 1024, or 32 where
    /// anyone may come ([`Auth::None`]): each may start servers of its own.
    pub max_sessions: Option<usize>,
    /// Processes of servers at most, of all clients together; what would start one
    /// more is answered with an error. By default as many as needed, or 32 where anyone
    /// may come.
    pub max_processes: Option<usize>,
    /// Requests of one session that may be under way; one more is answered with
    /// 429. Stateless requests of one client (its token, or its address) count
    /// as those of a session.
    pub max_requests_per_session: usize,
    /// Connections at most; one more waits until another ends.
    pub max_connections: usize,
    /// Seconds after which a session that has no open stream is forgotten.
    pub session_idle_seconds: u64,
    /// Seconds between the comments that keep a quiet stream open.
    pub keep_alive_seconds: u64,
    /// Seconds that a client has to send the head of a request, and each part of
    /// its body.
    pub read_seconds: u64,
    /// Seconds after which a client that takes nothing of what was sent, or that
    /// is no longer there, is given up.
    pub stall_seconds: u64,
    /// Seconds that requests under way have to finish after the signal to stop.
    pub shutdown_seconds: u64,
    /// Messages of no request that are kept for a session while its client has
    /// no stream open for them; the oldest goes first.
    pub kept_messages: usize,
    /// Requests that may come in a time; without it, any number.
    pub rate: Option<Rate>,
}

/// How often a client may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Requests a second.
    pub per_second: u32,
    /// Requests at once on top of it; `per_second` if it is not said.
    #[serde(default)]
    pub burst: Option<u32>,
    /// What counts as one client.
    #[serde(default)]
    pub by: RateBy,
}

/// What a rate is counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateBy {
    /// The session; requests without one count by their address.
    #[default]
    Session,
    /// The address that the connection came from: behind another server, that
    /// server's.
    Ip,
}

/// Who may come.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Auth {
    /// Anyone who can connect.
    #[default]
    None,
    /// Who has one of some tokens.
    Bearer {
        /// Files with tokens, one a line; lines that begin with `#` are none.
        #[serde(default)]
        token_files: Vec<String>,
        /// Variables of the environment that hold a token each.
        #[serde(default)]
        token_env: Vec<String>,
    },
    /// Who has an access token of an authorization server (OAuth 2.1).
    Oauth(OAuth),
}

/// An OAuth resource server: this front.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OAuth {
    /// The authorization server, as tokens name it in `iss`.
    pub issuer: String,
    /// The address that clients know the endpoint by, such as
    /// `https://mcp.example.org/mcp`: what tokens name in `aud`.
    pub resource: String,
    /// Where the issuer's keys are; without it, where the issuer's metadata says.
    #[serde(default)]
    pub jwks_url: Option<String>,
    /// Scopes that a token must have.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Signatures that count; all that are safe if none is named.
    #[serde(default = "algorithms")]
    pub algorithms: Vec<Algorithm>,
    /// Seconds that clocks may differ.
    #[serde(default = "leeway")]
    pub leeway_seconds: u64,
}

/// A way to sign. None with a shared secret, and not `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "they are what RFC 7518 calls them")]
pub enum Algorithm {
    RS256,
    RS384,
    RS512,
    PS256,
    PS384,
    PS512,
    ES256,
    ES384,
    EdDSA,
}

fn algorithms() -> Vec<Algorithm> {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    vec![
        RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA,
    ]
}

/// Sessions, and processes of servers, where anyone who can connect is let in: a
/// person's clients need a few, and a program that opens one after the other fills no
/// memory.
const MOST_OF_ANYONE: usize = 32;

/// A minute, as most validators allow.
const fn leeway() -> u64 {
    60
}

impl Default for HttpServerSettings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8700),
            path: "/mcp".to_owned(),
            allow_hosts: Vec::new(),
            allow_origins: Vec::new(),
            insecure_no_auth: false,
            auth: Auth::None,
            open_metrics: false,
            max_body_bytes: 16 << 20,
            max_sessions: None,
            max_processes: None,
            max_requests_per_session: 128,
            max_connections: 4096,
            session_idle_seconds: 60 * 60,
            keep_alive_seconds: 15,
            read_seconds: 30,
            stall_seconds: 300,
            shutdown_seconds: 10,
            kept_messages: 256,
            rate: None,
        }
    }
}

impl HttpServerSettings {
    /// Whether these settings can be served on `bound`, and nobody is let in by
    /// mistake.
    pub fn check(&self, bound: SocketAddr) -> Result<(), HttpServerError> {
        if !bound.ip().is_loopback() && self.auth == Auth::None && !self.insecure_no_auth {
            return Err(HttpServerError::Exposed(bound));
        }
        self.wrong()
            .map_or(Ok(()), |wrong| Err(HttpServerError::setting(wrong)))
    }

    /// The first setting that has a value which cannot be served, and what is wrong with it.
    #[must_use]
    pub fn wrong(&self) -> Option<(&'static str, String)> {
        let taken = ["/healthz", "/metrics"].contains(&self.path.as_str())
            || self.path.starts_with("/.well-known/");
        if !self.path.starts_with('/') || self.path.contains(['{', '}', '?', '#']) {
            return Some(("path", "must begin with `/` and be a plain path".to_owned()));
        }
        if taken {
            return Some(("path", "is taken by the front itself".to_owned()));
        }
        let seconds = |seconds: u64| usize::try_from(seconds).unwrap_or(usize::MAX);
        let counts = [
            ("max_body_bytes", self.max_body_bytes),
            ("max_sessions", self.sessions()),
            ("max_processes", self.processes().unwrap_or(1)),
            ("max_requests_per_session", self.max_requests_per_session),
            ("max_connections", self.max_connections),
            ("session_idle_seconds", seconds(self.session_idle_seconds)),
            ("keep_alive_seconds", seconds(self.keep_alive_seconds)),
            ("read_seconds", seconds(self.read_seconds)),
            ("stall_seconds", seconds(self.stall_seconds)),
        ];
        if let Some((key, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Some((key, "0 would let nothing through".to_owned()));
        }
        if self.rate.is_some_and(|rate| rate.per_second == 0) {
            return Some((
                "rate",
                "`per_second` of 0 would let nothing through".to_owned(),
            ));
        }
        let wrong = |key| move |what| (key, what);
        let Auth::Oauth(oauth) = &self.auth else {
            return guard::Guard::new(self).err();
        };
        let addresses = [
            Some(&oauth.issuer),
            Some(&oauth.resource),
            oauth.jwks_url.as_ref(),
        ];
        let mut addresses = addresses.into_iter().flatten();
        let unsafe_address = addresses.find_map(|address| auth::checked(address).err());
        unsafe_address
            .map(wrong("auth"))
            .or_else(|| guard::Guard::new(self).err())
    }

    /// Sessions at most.
    #[must_use]
    pub fn sessions(&self) -> usize {
        let most = match self.auth {
            Auth::None => MOST_OF_ANYONE,
            Auth::Bearer { .. } | Auth::Oauth(_) => 1024,
        };
        self.max_sessions.unwrap_or(most)
    }

    /// Processes of servers at most; `None` is any number.
    #[must_use]
    pub fn processes(&self) -> Option<usize> {
        let is_open = self.auth == Auth::None;
        self.max_processes.or(is_open.then_some(MOST_OF_ANYONE))
    }

    pub(crate) fn keep_alive(&self) -> Duration {
        Duration::from_secs(self.keep_alive_seconds)
    }

    pub(crate) fn read_time(&self) -> Duration {
        Duration::from_secs(self.read_seconds)
    }
}

/// A token of a client. It shows itself to nobody.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A token, without the white space around it; `None` for an empty one.
    #[must_use]
    pub fn new(token: &str) -> Option<Self> {
        let token = token.trim();
        (!token.is_empty()).then(|| Self(token.to_owned()))
    }

    /// Those of a file: one a line; `#` at its beginning or after a space begins a
    /// comment.
    #[must_use]
    pub fn in_file(text: &str) -> Vec<Self> {
        let lines = text.lines().filter_map(|line| line.split(" #").next());
        let tokens = lines.filter(|line| !line.trim().starts_with('#'));
        tokens.filter_map(Self::new).collect()
    }

    pub(crate) fn reveal(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}
