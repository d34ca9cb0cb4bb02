//! Verifies access tokens: their issuer, audience, expiry and scopes.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use axum::http::StatusCode;
use jsonwebtoken::{Header, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Value, json};
use spillgate_artifact::Clock;

use super::keys::{Keys, KeysError, checked};
use super::{OAuthParts, SessionOwner, signature, unauthorized};
use crate::HttpServerError;
use crate::problem::Problem;
use crate::settings::{Algorithm, OAuth};

/// Maximum length of a token, in bytes. Typical reverse proxies do not accept longer headers
/// either.
const LONGEST: usize = 16 << 10;

/// Verifies access tokens (RFC 9068, as far as issuers comply with it).
#[derive(Debug)]
pub(crate) struct Verifier {
    oauth: OAuth,
    keys: Keys,
    clock: Arc<dyn Clock>,
    /// The URL at which [`Verifier::metadata`] is served.
    metadata_url: String,
}

#[derive(Deserialize)]
struct Claims {
    exp: f64,
    nbf: Option<f64>,
    sub: Option<String>,
    /// Scopes separated by spaces; some issuers send a list.
    scope: Option<Scopes>,
    /// The scopes, from issuers that call this member `scp`.
    scp: Option<Scopes>,
    client_id: Option<String>,
    azp: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scopes {
    Text(String),
    List(Vec<String>),
}

impl Scopes {
    fn has(&self, scope: &str) -> bool {
        match self {
            Self::Text(text) => text.split(' ').any(|own| own == scope),
            Self::List(list) => list.iter().any(|own| own == scope),
        }
    }
}

/// Why a token is refused.
enum TokenError {
    /// The token is invalid or has expired.
    Invalid(&'static str),
    /// The token is valid, but a required scope is missing.
    Scope,
    /// The token cannot be verified, because the issuer's keys are not available.
    Unknown(KeysError),
}

impl Verifier {
    pub(crate) fn new(oauth: &OAuth, oauth_parts: OAuthParts) -> Result<Self, HttpServerError> {
        let resource = checked(&oauth.resource).map_err(HttpServerError::Settings)?;
        if oauth.algorithms.is_empty() {
            let what = "`auth.algorithms` is empty: no token could be valid";
            return Err(HttpServerError::Settings(what.to_owned()));
        }
        signature::install();
        let keys = Keys::new(&oauth.issuer, oauth.jwks_url.as_deref(), oauth_parts.http);
        let path = resource.path().trim_end_matches('/');
        let metadata = format!("{WELL_KNOWN}{path}");
        let metadata_url = resource.join(&metadata).map_err(|error| {
            HttpServerError::Settings(format!("`auth.resource` is not a URL: {error}"))
        })?;
        Ok(Self {
            oauth: oauth.clone(),
            keys: keys.map_err(HttpServerError::Settings)?,
            clock: oauth_parts.clock,
            metadata_url: metadata_url.into(),
        })
    }

    /// Returns the metadata that tells clients where to request a token (RFC 9728).
    pub(crate) fn metadata(&self) -> Value {
        json!({
            "resource": self.oauth.resource,
            "authorization_servers": [self.oauth.issuer],
            "scopes_supported": self.oauth.scopes,
            "bearer_methods_supported": ["header"],
        })
    }

    /// Verifies a token and returns its owner.
    pub(crate) async fn ask(&self, token: Option<&str>) -> Result<SessionOwner, Problem> {
        let Some(token) = token else {
            return Err(unauthorized(&self.challenge(None)));
        };
        self.verify(token).await.map_err(|denial| match denial {
            TokenError::Invalid(why) => {
                tracing::info!(why, "a token was refused");
                unauthorized(&self.challenge(Some("invalid_token")))
            }
            TokenError::Scope => {
                let what = "Forbidden: the token lacks a scope";
                let challenge = self.challenge(Some("insufficient_scope"));
                Problem::http(StatusCode::FORBIDDEN, what).challenge(&challenge)
            }
            TokenError::Unknown(error) => {
                tracing::error!(%error, "tokens cannot be verified: the keys of the issuer could not be fetched");
                let what = "the keys of the authorization server are not available; try again later";
                Problem::http(StatusCode::SERVICE_UNAVAILABLE, what).again_in(60)
            }
        })
    }

    fn challenge(&self, error: Option<&str>) -> String {
        let mut challenge = String::from("Bearer ");
        if let Some(error) = error {
            challenge.push_str(&format!("error=\"{error}\", "));
        }
        if !self.oauth.scopes.is_empty() {
            challenge.push_str(&format!("scope=\"{}\", ", self.oauth.scopes.join(" ")));
        }
        challenge.push_str(&format!("resource_metadata=\"{}\"", self.metadata_url));
        challenge
    }

    async fn verify(&self, token: &str) -> Result<SessionOwner, TokenError> {
        if token.len() > LONGEST {
            return Err(TokenError::Invalid("it is too long"));
        }
        // The algorithm `none` and unknown algorithms fail here.
        let header = decode_header(token).map_err(|_| TokenError::Invalid("it is no JWT"))?;
        self.check_header(&header)?;
        let key = self.keys.find(&header).await.map_err(TokenError::Unknown)?;
        let key = key.ok_or(TokenError::Invalid("nobody has the key that it names"))?;
        let mut validation = Validation::new(header.alg);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.set_issuer(&[&self.oauth.issuer]);
        validation.set_audience(&[&self.oauth.resource]);
        // Expiry is checked below, with our own clock.
        validation.validate_exp = false;
        let token = decode::<Claims>(token, &key, &validation);
        let claims = token.map_err(|_| TokenError::Invalid("its signature, issuer or audience"))?;
        self.check_claims(claims.claims)
    }

    fn check_header(&self, header: &Header) -> Result<(), TokenError> {
        let mut allowed = self.oauth.algorithms.iter();
        if !allowed.any(|&algorithm| to_jsonwebtoken(algorithm) == header.alg) {
            return Err(TokenError::Invalid("its algorithm is not allowed"));
        }
        if header.crit.is_some() {
            return Err(TokenError::Invalid(
                "it has extensions that this server does not know",
            ));
        }
        let typ = header.typ.as_deref().unwrap_or("JWT").to_ascii_lowercase();
        match typ.strip_prefix("application/").unwrap_or(&typ) {
            "jwt" | "at+jwt" => Ok(()),
            _ => Err(TokenError::Invalid("it is another kind of token")),
        }
    }

    fn check_claims(&self, claims: Claims) -> Result<SessionOwner, TokenError> {
        let now = self.clock.now().system_time();
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = now.as_secs_f64();
        let leeway = self.oauth.leeway_seconds as f64;
        if claims.exp + leeway <= now {
            return Err(TokenError::Invalid("it has expired"));
        }
        if claims.nbf.is_some_and(|nbf| nbf - leeway > now) {
            return Err(TokenError::Invalid("it is not valid yet"));
        }
        let has = |scope: &String| {
            let mut own = claims.scope.iter().chain(&claims.scp);
            own.any(|scopes| scopes.has(scope))
        };
        if !self.oauth.scopes.iter().all(has) {
            return Err(TokenError::Scope);
        }
        let client = claims.client_id.or(claims.azp).unwrap_or_default();
        let subject = claims.sub.unwrap_or_default();
        if subject.is_empty() && client.is_empty() {
            return Err(TokenError::Invalid("it says for nobody that it is"));
        }
        Ok(SessionOwner::Subject { subject, client })
    }
}

/// The prefix of the path of a resource's metadata. The resource's own path follows (RFC 9728).
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

fn to_jsonwebtoken(algorithm: Algorithm) -> jsonwebtoken::Algorithm {
    match algorithm {
        Algorithm::RS256 => jsonwebtoken::Algorithm::RS256,
        Algorithm::RS384 => jsonwebtoken::Algorithm::RS384,
        Algorithm::RS512 => jsonwebtoken::Algorithm::RS512,
        Algorithm::PS256 => jsonwebtoken::Algorithm::PS256,
        Algorithm::PS384 => jsonwebtoken::Algorithm::PS384,
        Algorithm::PS512 => jsonwebtoken::Algorithm::PS512,
        Algorithm::ES256 => jsonwebtoken::Algorithm::ES256,
        Algorithm::ES384 => jsonwebtoken::Algorithm::ES384,
        Algorithm::EdDSA => jsonwebtoken::Algorithm::EdDSA,
    }
}
