//! Authentication: checks static tokens and OAuth access tokens, and says to whom a request belongs.

mod jwt;
mod keys;
mod signature;
mod tokens;

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use spillgate_artifact::{Clock, Principal};
use spillgate_http_api::StillValid;

pub(crate) use jwt::{Verifier, WELL_KNOWN};
pub(crate) use keys::checked;
pub use tokens::ValidTokens;

use crate::problem::Problem;
use crate::settings::Auth;
use crate::{HttpServerError, HttpServerSettings};

/// The owner of a session. Two owners are equal if they used the same static token, or if they are
/// the same subject of the issuer with the same client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionOwner {
    /// A client without authentication.
    Anyone,
    /// The holder of a static token, and the principal that the token has in the settings.
    Token {
        hash: [u8; 32],
        name: Option<Principal>,
    },
    /// A subject of the issuer, and the client that it uses.
    Subject { subject: String, client: String },
}

/// The sender of a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestIdentity {
    pub(crate) owner: SessionOwner,
    pub(crate) ip: IpAddr,
}

impl RequestIdentity {
    /// Returns the key under which the sender's requests are counted.
    pub(crate) fn name(&self) -> String {
        match &self.owner {
            SessionOwner::Anyone => self.ip.to_string(),
            SessionOwner::Token { hash, .. } => format!("token {}", BASE64_STANDARD.encode(hash)),
            SessionOwner::Subject { subject, client } => format!("{subject} by {client}"),
        }
    }
}

impl SessionOwner {
    /// Whether both are the same principal: tokens with the same name, or clients of the same subject.
    pub(crate) fn is_same_principal(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Token {
                    name: Some(own), ..
                },
                Self::Token {
                    name: Some(other), ..
                },
            ) => own == other,
            (Self::Subject { subject: own, .. }, Self::Subject { subject: other, .. }) => {
                own == other
            }
            _ => self == other,
        }
    }

    /// Returns the principal: the name of the token, or the subject. A subject may use several clients.
    pub(crate) fn principal(&self) -> Result<Principal, Problem> {
        let named = match self {
            Self::Token { name, .. } => name.clone(),
            Self::Subject { subject, .. } => subject.parse().ok(),
            Self::Anyone => None,
        };
        named.ok_or_else(|| {
            let what = "Forbidden: the token has no name, or a subject that cannot be one";
            Problem::http(StatusCode::FORBIDDEN, what)
        })
    }
}

/// Authenticates the senders of requests.
#[derive(Debug)]
pub(crate) enum Authenticator {
    /// Accepts requests without authentication.
    None,
    /// Compares tokens with the SHA-256 hashes of static tokens, in constant time.
    Bearer(ValidTokens),
    /// Verifies OAuth access tokens.
    Oauth(Box<Verifier>),
}

/// The parts that the caller must supply for OAuth.
#[derive(Debug)]
pub(crate) struct OAuthParts {
    pub(crate) http: reqwest::Client,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The challenge for static tokens.
const REALM: &str = "Bearer realm=\"spillgate\"";

impl Authenticator {
    pub(crate) fn new(
        settings: &HttpServerSettings,
        tokens: ValidTokens,
        oauth_parts: Option<OAuthParts>,
    ) -> Result<Self, HttpServerError> {
        let wrong = |what: &str| Err(HttpServerError::Settings(what.to_owned()));
        match &settings.auth {
            Auth::None => Ok(Self::None),
            Auth::Bearer { .. } if tokens.is_empty() => {
                wrong("`auth` is `bearer`, but no token was found in its files and variables")
            }
            Auth::Bearer { .. } => Ok(Self::Bearer(tokens)),
            Auth::Oauth(oauth) => match oauth_parts {
                Some(oauth_parts) => Ok(Self::Oauth(Box::new(Verifier::new(oauth, oauth_parts)?))),
                None => wrong("`auth` is `oauth`, which needs an HTTP client and a clock"),
            },
        }
    }

    /// Returns a name of a sender that stays the same when the server starts again.
    pub(crate) fn name_of(owner: &SessionOwner) -> String {
        match owner {
            SessionOwner::Token { hash, .. } => format!("token {}", BASE64_STANDARD.encode(hash)),
            SessionOwner::Subject { subject, client } => {
                format!("subject {} {subject} {client}", subject.len())
            }
            SessionOwner::Anyone => "anyone".to_owned(),
        }
    }

    /// Whether the owner of a session could come in still: a token may have been taken out of its file.
    pub(crate) fn still_knows(&self, owner: &SessionOwner) -> bool {
        self.validity(owner).0()
    }

    /// Returns what tells whether an owner could come in still.
    pub(crate) fn validity(&self, owner: &SessionOwner) -> StillValid {
        match (self, owner) {
            (Self::Bearer(tokens), SessionOwner::Token { hash, name }) => {
                let (tokens, hash, name) = (tokens.clone(), *hash, name.clone());
                StillValid(Arc::new(move || tokens.has(&hash, name.as_ref())))
            }
            _ => StillValid(Arc::new(|| true)),
        }
    }

    /// Authenticates a request and returns its sender.
    pub(crate) async fn ask(&self, headers: &HeaderMap) -> Result<SessionOwner, Problem> {
        match self {
            Self::None => Ok(SessionOwner::Anyone),
            Self::Bearer(tokens) => {
                let found = bearer(headers).and_then(|token| tokens.find(token));
                found.ok_or_else(|| unauthorized(REALM))
            }
            Self::Oauth(verifier) => verifier.ask(bearer(headers)).await,
        }
    }
}

fn unauthorized(challenge: &str) -> Problem {
    let what = "Unauthorized: a valid token is needed in the Authorization header";
    Problem::http(StatusCode::UNAUTHORIZED, what).challenge(challenge)
}

/// Returns the token of the `Authorization` header, if there is exactly one such header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer") && values.next().is_none();
    is_bearer.then(|| token.trim())
}
