//! Search services: their configuration, requests and errors.

mod request;
mod results;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::{Client, Response, Url};
use tokio::time::timeout;

use crate::SearchError;
use crate::client::{builder, cause};
use spillgate_untrusted::line;

pub use results::SearchResult;

/// The time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The total time limit of a search (docs/spec/limits.md, "Guarded tools").
const TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum bytes of an answer. Twenty results take less than 100,000 bytes.
const MOST_BYTES: usize = 4 << 20;

/// Maximum characters of a service's error message that are kept.
const LONGEST_SAID: usize = 300;

/// A search service. Each variant stands for one protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// A `SearXNG` server, self-hosted; its `json` format must be enabled.
    Searxng,
    /// Brave Search API.
    Brave,
    /// Tavily.
    Tavily,
}

impl Service {
    /// All services, by their names in the configuration.
    pub const NAMES: [(&'static str, Self); 3] = [
        ("searxng", Self::Searxng),
        ("brave", Self::Brave),
        ("tavily", Self::Tavily),
    ];

    /// The display name.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Searxng => "SearXNG",
            Self::Brave => "Brave Search",
            Self::Tavily => "Tavily",
        }
    }

    /// The default URL; `SearXNG` has none.
    #[must_use]
    pub fn url(self) -> Option<&'static str> {
        match self {
            Self::Searxng => None,
            Self::Brave => Some("https://api.search.brave.com/res/v1/web/search"),
            Self::Tavily => Some("https://api.tavily.com/search"),
        }
    }

    fn needs_key(self) -> bool {
        !matches!(self, Self::Searxng)
    }
}

/// A secret. It appears in no log, no error and no `Debug` output.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Creates a key, without the spaces around it.
    #[must_use]
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// Replaces the key in a text.
    fn hidden_in(&self, text: &str) -> String {
        match self.0.is_empty() {
            true => text.to_owned(),
            false => text.replace(&self.0, "[key]"),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Why the configuration of a search service is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The service has no default URL, and none is configured.
    #[error("{0} needs the address of a server (`url`)")]
    NoUrl(&'static str),
    /// The URL is invalid.
    #[error("the `url` of {title} is wrong: {error}")]
    WrongUrl {
        /// The service.
        title: &'static str,
        /// The reason.
        error: String,
    },
    /// The scheme of the URL is not http or https.
    #[error("the `url` of {0} must be an http or https URL")]
    NoHttp(&'static str),
    /// The service requires a key.
    #[error("{0} needs an API key (`api_key_env`)")]
    NoKey(&'static str),
}

/// A search service that a person has configured. Its address may be in a private network.
#[derive(Debug, Clone)]
pub struct Provider {
    service: Service,
    url: Url,
    key: Option<Key>,
    timeout: Duration,
    client: Arc<OnceLock<Result<Client, String>>>,
}

impl Provider {
    /// Creates a provider at `url`, or at the service's default URL. For `SearXNG`, `url` is the
    /// server's address; for the other services it is the whole URL without the query.
    pub fn new(
        service: Service,
        url: Option<&str>,
        key: Option<Key>,
    ) -> Result<Self, ProviderError> {
        let title = service.title();
        let url = url.filter(|url| !url.trim().is_empty()).or(service.url());
        let url = url.ok_or(ProviderError::NoUrl(title))?;
        let url = Url::parse(url.trim());
        let url = url.map_err(|error| ProviderError::WrongUrl {
            title,
            error: error.to_string(),
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(ProviderError::NoHttp(title));
        }
        let key = key.filter(|key| !key.0.is_empty());
        if key.is_none() && service.needs_key() {
            return Err(ProviderError::NoKey(title));
        }
        Ok(Self {
            service,
            url,
            key,
            timeout: TIMEOUT,
            client: Arc::default(),
        })
    }

    /// Sets the time limit of a search.
    #[must_use]
    pub fn within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// The service.
    #[must_use]
    pub fn service(&self) -> Service {
        self.service
    }

    /// Returns the first `most` results for `query`.
    pub async fn search(&self, query: &str, most: usize) -> Result<Vec<SearchResult>, SearchError> {
        let searched = timeout(self.timeout, self.answer(query, most)).await;
        let body = searched.map_err(|_| SearchError::Late {
            service: self.service.title(),
            after: self.timeout,
        })??;
        let found = results::parse_results(self.service, &body);
        let mut found = found.map_err(|why| self.nonsense(&why))?;
        found.truncate(most);
        Ok(found)
    }

    async fn answer(&self, query: &str, most: usize) -> Result<Vec<u8>, SearchError> {
        let client = self.client.get_or_init(|| {
            let built = builder(CONNECT_TIMEOUT)
                .map_err(|error| error.to_string())?
                .build();
            built.map_err(|error| cause(&error))
        });
        let client = client
            .as_ref()
            .map_err(|why| SearchError::Us(why.clone()))?;
        let request = request::request(self, client, query, most);
        let response = request.send().await;
        let mut response = response.map_err(|error| self.unreachable(&error))?;
        let body = self.body(&mut response).await?;
        match response.status().is_success() {
            true => Ok(body),
            false => Err(self.refused(&response, &body)),
        }
    }

    async fn body(&self, response: &mut Response) -> Result<Vec<u8>, SearchError> {
        let mut body = Vec::new();
        while let Some(bytes) = response
            .chunk()
            .await
            .map_err(|error| self.unreachable(&error))?
        {
            body.extend_from_slice(&bytes);
            if body.len() > MOST_BYTES {
                return Err(self.nonsense(&format!("it is larger than {MOST_BYTES} bytes")));
            }
        }
        Ok(body)
    }

    fn refused(&self, response: &Response, body: &[u8]) -> SearchError {
        let service = self.service.title();
        let status = response.status().as_u16();
        match status {
            // Tavily uses 432 and 433 if the limit of a plan or of a key is reached.
            401 | 402 | 403 | 432 | 433 if self.key.is_some() => {
                SearchError::Key { service, status }
            }
            403 if self.service == Service::Searxng => self.nonsense(
                "it refuses the format json (HTTP 403), which its settings.yml must list in search.formats",
            ),
            429 => SearchError::TooMany {
                service,
                after: retry_after(response),
            },
            _ => SearchError::Status {
                service,
                status,
                said: self.error_message(body),
            },
        }
    }

    /// Returns the error message in a body after a colon, with the key removed. Empty if the body
    /// is HTML.
    fn error_message(&self, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        if text.trim_start().starts_with('<') {
            return String::new();
        }
        let text = match &self.key {
            Some(key) => key.hidden_in(&text),
            None => text.into_owned(),
        };
        match line(&text, LONGEST_SAID) {
            empty if empty.is_empty() => empty,
            said => format!(": {said}"),
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> SearchError {
        SearchError::Unreachable {
            service: self.service.title(),
            cause: cause(error),
        }
    }

    fn nonsense(&self, why: &str) -> SearchError {
        SearchError::Nonsense {
            service: self.service.title(),
            why: why.to_owned(),
        }
    }
}

/// The seconds that a service asks to wait, up to an hour. A date is ignored.
fn retry_after(response: &Response) -> Option<Duration> {
    let value = response.headers().get(reqwest::header::RETRY_AFTER)?;
    let seconds: u64 = value.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.min(3600)))
}
