//! Fetches and caches the keys of an issuer.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, Header};
use parking_lot::RwLock;
use reqwest::Url;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use spillgate_http_client::is_loopback;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

/// How long keys are used before they are fetched again. A key that the issuer has revoked is
/// accepted until then, and longer if fetching fails.
const FRESH: Duration = Duration::from_secs(60 * 60);

/// Minimum time between two fetches, even if tokens name unknown keys.
const PAUSE: Duration = Duration::from_secs(60);

/// Time limit for a response from the issuer.
const WAIT: Duration = Duration::from_secs(10);

/// Maximum size of a response, in bytes.
const MOST: usize = 1 << 20;

/// Why the issuer's keys are not available.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum KeysError {
    #[error("{url}: {why}")]
    Fetch { url: String, why: String },
    #[error("the metadata of {0} has no `jwks_uri`")]
    NoMetadata(String),
    #[error("fetching the keys has just failed; the next attempt is made in a minute")]
    Waiting,
}

/// An issuer's keys, which are fetched when needed.
#[derive(Debug)]
pub(super) struct Keys {
    http: reqwest::Client,
    issuer: Url,
    /// The issuer exactly as tokens name it.
    issuer_name: String,
    jwks: Option<Url>,
    cached: RwLock<CachedKeys>,
    /// The time of the last attempt to fetch. Locked during a fetch.
    fetching: Mutex<Option<Instant>>,
}

#[derive(Debug, Default, Clone)]
struct CachedKeys {
    keys: Option<Arc<Vec<Jwk>>>,
    since: Option<Instant>,
}

/// Parses a URL whose server is authenticated: an `https` URL, or an `http` URL on loopback.
pub(crate) fn checked(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("`{text}` is not a URL: {error}"))?;
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        _ => Err(format!("`{text}` must begin with https://")),
    }
}

impl Keys {
    pub(super) fn new(
        issuer: &str,
        jwks: Option<&str>,
        http: reqwest::Client,
    ) -> Result<Self, String> {
        Ok(Self {
            http,
            issuer: checked(issuer)?,
            issuer_name: issuer.to_owned(),
            jwks: jwks.map(checked).transpose()?,
            cached: RwLock::default(),
            fetching: Mutex::new(None),
        })
    }

    fn cached(&self) -> CachedKeys {
        let cached = self.cached.read();
        cached.clone()
    }

    /// Returns the key that the token was signed with; `None` if the issuer does not offer it.
    pub(super) async fn find(&self, header: &Header) -> Result<Option<DecodingKey>, KeysError> {
        let cached = self.cached();
        let is_fresh = cached.since.is_some_and(|since| since.elapsed() < FRESH);
        if let Some(key) = pick(cached.keys.as_deref(), header)
            && is_fresh
        {
            return Ok(Some(key));
        }
        let mut tried = self.fetching.lock().await;
        // Another request may have fetched the keys in the meantime.
        let now_known = self.cached();
        let is_newer = now_known.since != cached.since;
        let is_early = tried.is_some_and(|tried| tried.elapsed() < PAUSE);
        if !is_newer && !is_early {
            *tried = Some(Instant::now());
            match self.fetch().await {
                Ok(keys) => {
                    let mut cached = self.cached.write();
                    cached.keys = Some(Arc::new(keys));
                    cached.since = Some(Instant::now());
                }
                Err(error) if cached.keys.is_none() => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, "the issuer's keys could not be renewed; the old keys stay in use");
                }
            }
        }
        drop(tried);
        let keys = self.cached().keys.ok_or(KeysError::Waiting)?;
        Ok(pick(Some(&keys), header))
    }

    async fn fetch(&self) -> Result<Vec<Jwk>, KeysError> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Value>,
        }
        let url = match &self.jwks {
            Some(url) => url.clone(),
            None => self.discover().await?,
        };
        let set: Set = self.load(url).await?;
        // Keys of unknown types are ignored.
        let keys = set.keys.into_iter();
        Ok(keys
            .filter_map(|key| serde_json::from_value(key).ok())
            .collect())
    }

    /// Finds the URL of the keys in the issuer's metadata (RFC 8414, or `OpenID` Connect
    /// Discovery).
    async fn discover(&self) -> Result<Url, KeysError> {
        #[derive(Deserialize)]
        struct Metadata {
            issuer: String,
            jwks_uri: String,
        }
        let path = self.issuer.path().trim_end_matches('/').to_owned();
        for place in [
            format!("/.well-known/oauth-authorization-server{path}"),
            format!("/.well-known/openid-configuration{path}"),
            format!("{path}/.well-known/openid-configuration"),
        ] {
            let Ok(url) = self.issuer.join(&place) else {
                continue;
            };
            match self.load::<Metadata>(url).await {
                Ok(metadata) if metadata.issuer == self.issuer_name => {
                    let failed = |why| KeysError::Fetch { url: place, why };
                    return checked(&metadata.jwks_uri).map_err(failed);
                }
                Ok(_) => tracing::warn!(
                    place,
                    "the metadata at this URL belongs to another issuer; it is ignored"
                ),
                Err(error) => tracing::debug!(%error, "no issuer metadata at this URL"),
            }
        }
        Err(KeysError::NoMetadata(self.issuer_name.clone()))
    }

    async fn load<T: DeserializeOwned>(&self, url: Url) -> Result<T, KeysError> {
        let failed = |why: String| KeysError::Fetch {
            url: url.to_string(),
            why,
        };
        let loading = async {
            let response = self.http.get(url.clone()).send().await;
            let response = response.and_then(reqwest::Response::error_for_status);
            let response = response.map_err(|error| failed(error.without_url().to_string()))?;
            let mut body = Vec::new();
            let mut parts = response.bytes_stream();
            while let Some(part) = parts.next().await {
                let part = part.map_err(|error| failed(error.without_url().to_string()))?;
                body.extend_from_slice(&part);
                if body.len() > MOST {
                    return Err(failed("the answer is too large".to_owned()));
                }
            }
            serde_json::from_slice(&body).map_err(|error| failed(error.to_string()))
        };
        let late = |_| failed("it did not answer in time".to_owned());
        timeout(WAIT, loading).await.map_err(late)?
    }
}

/// Returns the key that the token names. If it names none, returns the only key that fits.
fn pick(keys: Option<&Vec<Jwk>>, header: &Header) -> Option<DecodingKey> {
    let fits = |key: &&Jwk| fits(key, header.alg);
    let mut fitting = keys?.iter().filter(fits);
    let key = if let Some(kid) = &header.kid {
        fitting.find(|key| key.common.key_id.as_ref() == Some(kid))?
    } else {
        let only = fitting.next()?;
        fitting.next().is_none().then_some(only)?
    };
    DecodingKey::from_jwk(key).ok()
}

/// Whether the key can sign with this algorithm.
fn fits(key: &Jwk, algorithm: Algorithm) -> bool {
    let is_for_signing = match &key.common.public_key_use {
        None | Some(PublicKeyUse::Signature) => true,
        Some(_) => false,
    };
    let named = key.common.key_algorithm;
    let is_named = named.is_none_or(|named| named.to_string() == format!("{algorithm:?}"));
    let family = match &key.algorithm {
        AlgorithmParameters::RSA(_) => AlgorithmFamily::Rsa,
        AlgorithmParameters::EllipticCurve(_) => AlgorithmFamily::Ec,
        AlgorithmParameters::OctetKeyPair(_) => AlgorithmFamily::Ed,
        AlgorithmParameters::OctetKey(_) => return false,
    };
    let is_kind = family.algorithms().contains(&algorithm);
    is_for_signing && is_named && is_kind
}
