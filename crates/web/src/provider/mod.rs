//! The services that are asked for searches.

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

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a search may take in all (docs/spec/limits.md, "Guarded tools").
const TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of an answer: twenty results have some tens of thousands.
const MOST_BYTES: usize = 4 << 20;

/// Characters of what a service says about an error.
const LONGEST_SAID: usize = 300;

/// A service, by its protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// A `SearXNG` server, anybody's own; its `json` format has to be switched on.
    Searxng,
    /// Brave Search API.
    Brave,
    /// Tavily.
    Tavily,
}

impl Service {
    /// All of them, by their names in the configuration.
    pub const NAMES: [(&'static str, Self); 3] = [
        ("searxng", Self::Searxng),
        ("brave", Self::Brave),
        ("tavily", Self::Tavily),
    ];

    /// Its name, for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Searxng => "SearXNG",
            Self::Brave => "Brave Search",
            Self::Tavily => "Tavily",
        }
    }

    /// Where it is asked unless the configuration says otherwise; `SearXNG` is nowhere.
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

/// A secret. It is in no log, no error and no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Without the space around it.
    #[must_use]
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// The text without the key.
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

/// A search service is not configured as it must be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// It has no address of its own.
    #[error("{0} needs the address of a server (`url`)")]
    NoUrl(&'static str),
    /// Its address is none.
    #[error("the `url` of {title} is wrong: {error}")]
    WrongUrl {
        /// The service.
        title: &'static str,
        /// Why.
        error: String,
    },
    /// Its address is of another scheme.
    #[error("the `url` of {0} must be an http or https URL")]
    NoHttp(&'static str),
    /// It lets nobody in without one.
    #[error("{0} needs an API key (`api_key_env`)")]
    NoKey(&'static str),
}

/// A service that searches the web, as a person configured it: its address may be one
/// of a private network.
#[derive(Debug, Clone)]
pub struct Provider {
    service: Service,
    url: Url,
    key: Option<Key>,
    timeout: Duration,
    client: Arc<OnceLock<Result<Client, String>>>,
}

impl Provider {
    /// The service at `url`, or where it usually is. For `SearXNG` that is the server's
    /// address, for the others all but the query.
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

    /// The same, with a time after which an answer is no longer waited for.
    #[must_use]
    pub fn within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// The service.
    #[must_use]
    pub fn service(&self) -> Service {
        self.service
    }

    /// The first `most` results for `query`.
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
            // 432 and 433 are Tavily's: a plan's or a key's limit.
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

    /// What a body says, behind a colon, without the key.
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

/// Seconds that a service asks to be left alone, up to an hour; a date is not read.
fn retry_after(response: &Response) -> Option<Duration> {
    let value = response.headers().get(reqwest::header::RETRY_AFTER)?;
    let seconds: u64 = value.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.min(3600)))
}
