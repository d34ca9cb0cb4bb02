//! The settings of the HTTP server and their defaults.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spillgate_artifact::{Principal, PrincipalError};

use crate::{HttpServerError, auth, guard};

/// Settings of the HTTP server (`[http]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct HttpServerSettings {
    /// The address to listen on, such as `127.0.0.1:8700`. With port 0, the system chooses a free
    /// port.
    pub listen: SocketAddr,
    /// The endpoint's path.
    pub path: String,
    /// Host names accepted in `Host`, in addition to `localhost` and the address that the server
    /// listens on. Examples: `mcp.example.org`, or with a port `mcp.example.org:8443`.
    pub allow_hosts: Vec<String>,
    /// Origins accepted from browsers, in addition to origins on loopback. The API for programs
    /// without authentication accepts only these. Example: `https://app.example.org`.
    pub allow_origins: Vec<String>,
    /// Allows an address that other machines can reach without authentication.
    pub insecure_no_auth: bool,
    /// How clients authenticate.
    pub auth: Auth,
    /// Whether `GET /metrics` needs no token. The metrics name servers and tools.
    pub open_metrics: bool,
    /// Maximum size of a request's body, in bytes. A larger body gets status 413.
    pub max_body_bytes: usize,
    /// Maximum number of sessions. Another session gets status 503. The default is 1024, or 32
    /// without authentication ([`Auth::None`]), because each session may start its own servers.
    pub max_sessions: Option<usize>,
    /// Maximum number of server processes for all clients together. Starting another process is an
    /// error. The default is no limit, or 32 without authentication.
    pub max_processes: Option<usize>,
    /// Maximum number of requests in flight per session. Another request gets status 429. The limit
    /// also applies to the stateless requests of one client, identified by its token or its
    /// address.
    pub max_requests_per_session: usize,
    /// Maximum number of connections. Another connection waits until one ends.
    pub max_connections: usize,
    /// A session without an open stream ends after this many seconds without a request.
    pub session_idle_seconds: u64,
    /// Interval, in seconds, between the comments that keep a quiet stream open.
    pub keep_alive_seconds: u64,
    /// Time limit, in seconds, for a client to send the head of a request, and for each part of its
    /// body.
    pub read_seconds: u64,
    /// A client that does not read what was sent, or has disappeared, is given up after this many
    /// seconds.
    pub stall_seconds: u64,
    /// Time, in seconds, for requests in flight to finish after the signal to stop.
    pub shutdown_seconds: u64,
    /// Time, in seconds, between SIGTERM and the end of accepting connections. `GET /readyz` answers
    /// 503 meanwhile, so that a load balancer sends its requests to others.
    pub drain_seconds: u64,
    /// The name of this process among those behind a load balancer. The ids of its sessions begin with
    /// it and a `.`, so that the load balancer can send the requests of a session to this process.
    pub replica: Option<String>,
    /// Names of the servers without which `GET /readyz` answers 503.
    pub required_servers: Vec<String>,
    /// Maximum number of messages that are kept for a session while its client has no stream open
    /// for messages that belong to no request. The oldest message is dropped first.
    pub kept_messages: usize,
    /// The rate limit; `None` means no limit.
    pub rate: Option<Rate>,
}

/// A limit on the rate of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Requests per second.
    pub per_second: u32,
    /// Maximum number of requests in one burst; the default is `per_second`.
    #[serde(default)]
    pub burst: Option<u32>,
    /// What counts as one client.
    #[serde(default)]
    pub by: RateBy,
}

/// How the requests of one client are recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateBy {
    /// Requests are counted by their session. Requests without a session are counted by their
    /// address.
    #[default]
    Session,
    /// Requests are counted by the address that the connection came from. Behind a proxy, this is
    /// the proxy's address.
    Ip,
}

/// How clients authenticate.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Auth {
    /// No authentication: anyone who can connect may use the server.
    #[default]
    None,
    /// Clients send one of the static tokens.
    Bearer {
        /// Files with tokens, one token per line. Lines that begin with `#` are comments.
        #[serde(default)]
        token_files: Vec<String>,
        /// Names of environment variables that each contain one token.
        #[serde(default)]
        token_env: Vec<String>,
    },
    /// Clients send an access token of an authorization server (OAuth 2.1).
    Oauth(OAuth),
}

/// The settings of this server as an OAuth resource server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OAuth {
    /// The authorization server, exactly as tokens name it in `iss`.
    pub issuer: String,
    /// The URL under which clients know the endpoint, such as `https://mcp.example.org/mcp`. Tokens
    /// must name it in `aud`.
    pub resource: String,
    /// The URL of the issuer's keys. The default is the URL in the issuer's metadata.
    #[serde(default)]
    pub jwks_url: Option<String>,
    /// Scopes that every token must contain.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Accepted signature algorithms. The default is all of [`Algorithm`].
    #[serde(default = "algorithms")]
    pub algorithms: Vec<Algorithm>,
    /// Maximum difference between the clocks, in seconds.
    #[serde(default = "leeway")]
    pub leeway_seconds: u64,
}

/// A signature algorithm. Algorithms with a shared secret and `none` are not supported.
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

/// The default limit on sessions, and on server processes, without authentication. One person's
/// clients need only a few, and the limit keeps a program that opens one session after another from
/// filling the memory.
const MOST_OF_ANYONE: usize = 32;

/// Maximum characters of [`HttpServerSettings::replica`]: names of pods have 63.
const LONGEST_NAME: usize = 64;

/// The default difference between the clocks, in seconds: one minute, which most validators of
/// tokens allow.
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
            drain_seconds: 0,
            replica: None,
            required_servers: Vec::new(),
            kept_messages: 256,
            rate: None,
        }
    }
}

impl HttpServerSettings {
    /// Checks that the server can use these settings on the address `bound`, and that they do not
    /// expose it by mistake.
    pub fn check(&self, bound: SocketAddr) -> Result<(), HttpServerError> {
        if !bound.ip().is_loopback() && self.auth == Auth::None && !self.insecure_no_auth {
            return Err(HttpServerError::Exposed(bound));
        }
        self.wrong()
            .map_or(Ok(()), |wrong| Err(HttpServerError::setting(wrong)))
    }

    /// Returns the first setting with an invalid value, and what is wrong with it.
    #[must_use]
    pub fn wrong(&self) -> Option<(&'static str, String)> {
        let taken = ["/healthz", "/metrics", "/readyz"].contains(&self.path.as_str())
            || self.path.starts_with("/.well-known/");
        if !self.path.starts_with('/') || self.path.contains(['{', '}', '?', '#']) {
            return Some(("path", "must begin with `/` and be a plain path".to_owned()));
        }
        if taken {
            return Some(("path", "is used by the HTTP server itself".to_owned()));
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
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if let Some(name) = &self.replica
            && (!(1..=LONGEST_NAME).contains(&name.len()) || !name.chars().all(is_plain))
        {
            let what = format!("must be 1 to {LONGEST_NAME} letters, digits, `-` or `_`");
            return Some(("replica", what));
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

    /// Returns the limit on sessions.
    #[must_use]
    pub fn sessions(&self) -> usize {
        let most = match self.auth {
            Auth::None => MOST_OF_ANYONE,
            Auth::Bearer { .. } | Auth::Oauth(_) => 1024,
        };
        self.max_sessions.unwrap_or(most)
    }

    /// Returns the limit on server processes; `None` means no limit.
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

/// What is wrong with the tokens of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// A line has a name, but no token.
    #[error("line {line} has a name, but no token")]
    Missing {
        /// The number of the line, from 1.
        line: usize,
    },
    /// Two principals have the same token.
    #[error("the same token belongs to {first} and to {other}")]
    Shared {
        /// The name of the first.
        first: String,
        /// The name of the other.
        other: String,
    },
}

/// A client's static token. `Debug` does not print it.
#[derive(Clone)]
pub struct Token {
    secret: String,
    principal: Option<Principal>,
}

impl Token {
    /// Parses a token, `TOKEN` or `NAME: TOKEN`, without surrounding whitespace; `None` if it is empty. A
    /// name that is reserved counts as none.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        // A token of RFC 6750 has neither a colon nor white space.
        let named = text
            .split_once(": ")
            .and_then(|(name, token)| match name.trim().parse() {
                Ok(principal) => Some((Some(principal), token.trim())),
                Err(PrincipalError::Reserved) => Some((None, token.trim())),
                Err(_) => None,
            });
        let (principal, secret) = named.unwrap_or((None, text));
        (!secret.is_empty()).then(|| Self {
            secret: secret.to_owned(),
            principal,
        })
    }

    /// Parses the tokens of a file, one per line. A `#` at the start of a line or after white space
    /// begins a comment.
    ///
    /// # Errors
    ///
    /// Fails if there is a name without a token: without the check, the name would be the token.
    pub fn in_file(text: &str) -> Result<Vec<Self>, TokenError> {
        let mut tokens = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let mut before = ' ';
            let comment = line.find(|c: char| {
                let begins = c == '#' && before.is_whitespace();
                before = c;
                begins
            });
            let line = line[..comment.unwrap_or(line.len())].trim();
            if line.ends_with(':') {
                return Err(TokenError::Missing { line: number });
            }
            tokens.extend(Self::new(line));
        }
        Ok(tokens)
    }

    /// Checks that no token belongs to two principals.
    ///
    /// # Errors
    ///
    /// Fails if one does. The error has the names, and not the token.
    pub fn check_owners(tokens: &[Self]) -> Result<(), TokenError> {
        let mut owners: HashMap<&str, Option<&Principal>> = HashMap::new();
        for token in tokens {
            let owner = token.principal();
            let first = *owners.entry(&token.secret).or_insert(owner);
            if first != owner {
                let name = |owner: Option<&Principal>| match owner {
                    Some(principal) => principal.to_string(),
                    None => "a line without a name".to_owned(),
                };
                return Err(TokenError::Shared {
                    first: name(first),
                    other: name(owner),
                });
            }
        }
        Ok(())
    }

    /// Returns whose token it is; `None` if it has no name.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.principal.as_ref()
    }

    pub(crate) fn reveal(&self) -> &[u8] {
        self.secret.as_bytes()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}
