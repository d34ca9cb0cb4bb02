//! Authentication: checks static tokens and OAuth access tokens, and identifies their principals.

mod jwt;
mod keys;
mod signature;

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::digest::{SHA256, digest};
use spillgate_artifact::Clock;
use subtle::{Choice, ConstantTimeEq};

pub(crate) use jwt::{Verifier, WELL_KNOWN};
pub(crate) use keys::checked;

use crate::problem::Problem;
use crate::settings::{Auth, Token};
use crate::{HttpServerError, HttpServerSettings};

/// The owner of a session. Two owners are equal if they used the same static token, or if they are
/// the same subject of the issuer with the same client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Principal {
    /// A client without authentication.
    Anyone,
    /// The holder of the static token with this number.
    Token(usize),
    /// A subject of the issuer, and the client that it uses.
    Subject { subject: String, client: String },
}

/// The sender of a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestIdentity {
    pub(crate) principal: Principal,
    pub(crate) ip: IpAddr,
}

impl RequestIdentity {
    /// Returns the key under which the sender's requests are counted.
    pub(crate) fn name(&self) -> String {
        match &self.principal {
            Principal::Anyone => self.ip.to_string(),
            Principal::Token(number) => format!("token {number}"),
            Principal::Subject { subject, client } => format!("{subject} by {client}"),
        }
    }
}

/// Authenticates the senders of requests.
#[derive(Debug)]
pub(crate) enum Authenticator {
    /// Accepts requests without authentication.
    None,
    /// Compares tokens with the SHA-256 hashes of static tokens, in constant time.
    Bearer(Vec<[u8; 32]>),
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
        tokens: &[Token],
        oauth_parts: Option<OAuthParts>,
    ) -> Result<Self, HttpServerError> {
        let wrong = |what: &str| Err(HttpServerError::Settings(what.to_owned()));
        match &settings.auth {
            Auth::None => Ok(Self::None),
            Auth::Bearer { .. } if tokens.is_empty() => {
                wrong("`auth` is `bearer`, but no token was found in its files and variables")
            }
            Auth::Bearer { .. } => Ok(Self::Bearer(
                tokens.iter().map(|token| hash(token.reveal())).collect(),
            )),
            Auth::Oauth(oauth) => match oauth_parts {
                Some(oauth_parts) => Ok(Self::Oauth(Box::new(Verifier::new(oauth, oauth_parts)?))),
                None => wrong("`auth` is `oauth`, which needs an HTTP client and a clock"),
            },
        }
    }

    /// Returns a name of a sender that stays the same when the server starts again.
    pub(crate) fn name_of(&self, principal: &Principal) -> String {
        match (principal, self) {
            (Principal::Token(number), Self::Bearer(hashes)) => {
                let hash = hashes.get(*number).copied().unwrap_or_default();
                format!("token {}", BASE64_STANDARD.encode(hash))
            }
            (Principal::Subject { subject, client }, _) => {
                format!("subject {} {subject} {client}", subject.len())
            }
            (Principal::Anyone | Principal::Token(_), _) => "anyone".to_owned(),
        }
    }

    /// Authenticates a request and returns its sender.
    pub(crate) async fn ask(&self, headers: &HeaderMap) -> Result<Principal, Problem> {
        match self {
            Self::None => Ok(Principal::Anyone),
            Self::Bearer(hashes) => {
                let number = bearer(headers).and_then(|token| find(hashes, token));
                let refused = || unauthorized(REALM);
                number.map(Principal::Token).ok_or_else(refused)
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

fn hash(token: &[u8]) -> [u8; 32] {
    let digest = digest(&SHA256, token);
    digest
        .as_ref()
        .try_into()
        .expect("invariant: SHA-256 has 32 bytes")
}

/// Returns the number of a token. The time depends only on the number of configured tokens.
fn find(hashes: &[[u8; 32]], token: &str) -> Option<usize> {
    let own = hash(token.as_bytes());
    let mut found = None;
    for (number, hash) in hashes.iter().enumerate() {
        let is_same: Choice = own.ct_eq(hash);
        if bool::from(is_same) {
            found = Some(number);
        }
    }
    found
}
