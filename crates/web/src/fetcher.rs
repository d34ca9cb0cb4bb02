//! Fetches pages.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, LOCATION};
use reqwest::{Client, Response, Url};
use tokio::time::{Instant, timeout_at};

use crate::address::{checked, parsed};
use crate::client::{builder, cause, caused_by};
use crate::resolver::{NoSuchName, PrivateAddress, Resolver};
use crate::robots::{self, Robots};
use crate::{FetchError, FetchResponse};

/// What holds for every page; the defaults: docs/spec/limits.md, "Guarded tools".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchSettings {
    /// How long a page may take in all, unless a call says otherwise: 30 s.
    pub timeout: Duration,
    /// The longest that a call may ask for: 120 s.
    pub longest_timeout: Duration,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// Bytes of a page, decoded, that are read to be shown: 5 MiB.
    pub most_page_bytes: u64,
    /// Bytes, decoded, that are saved to a file.
    pub most_file_bytes: u64,
    /// Redirects that are followed: 5.
    pub most_redirects: usize,
    /// `host:port` that are asked although they are not of the public internet: servers
    /// under development. The port is always there, `example.local:80`.
    pub allowed: Vec<String>,
    /// Whether `robots.txt` is obeyed (RFC 9309). Not by default: who asks for a page is
    /// mostly a person, by way of a model.
    pub robots: bool,
    /// Names with their addresses, looked up before the system is asked. Addresses that
    /// are not of the public internet are refused here as anywhere.
    pub names: BTreeMap<String, Vec<IpAddr>>,
}

impl Default for FetchSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            longest_timeout: Duration::from_secs(120),
            connect_timeout: Duration::from_secs(10),
            most_page_bytes: 5 << 20,
            most_file_bytes: 100 << 20,
            most_redirects: 5,
            allowed: Vec::new(),
            robots: false,
            names: BTreeMap::new(),
        }
    }
}

/// Fetches pages of the public web. Cheap to clone; nothing is set up before the first
/// page.
#[derive(Debug, Clone, Default)]
pub struct Fetcher(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    settings: FetchSettings,
    clients: OnceLock<Result<Clients, String>>,
    robots: Robots,
}

/// Two clients, so that no connection and no name that was allowed once serves what is
/// not allowed.
#[derive(Debug)]
struct Clients {
    /// Connects to public addresses only.
    public: Client,
    /// Connects to any: only for hosts that the settings allow.
    open: Client,
}

impl Clients {
    fn new(settings: &FetchSettings) -> Result<Self, String> {
        let names = Arc::new(settings.names.clone());
        let client = |is_open| {
            let names = Arc::clone(&names);
            let resolver = Arc::new(Resolver { names, is_open });
            builder(settings.connect_timeout)
                .map_err(|error| error.to_string())?
                .dns_resolver(resolver)
                .build()
                .map_err(|error| cause(&error))
        };
        Ok(Self {
            public: client(false)?,
            open: client(true)?,
        })
    }
}

/// Until when, and how long that is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    pub(crate) at: Instant,
    pub(crate) after: Duration,
    pub(crate) most: Duration,
}

impl Deadline {
    pub(crate) fn late(&self, host: &str) -> FetchError {
        FetchError::Late {
            host: host.to_owned(),
            after: self.after,
            most: self.most,
        }
    }
}

impl Fetcher {
    /// With these settings.
    #[must_use]
    pub fn new(settings: FetchSettings) -> Self {
        Self(Arc::new(Inner {
            settings,
            clients: OnceLock::new(),
            robots: Robots::default(),
        }))
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &FetchSettings {
        &self.0.settings
    }

    /// Whether a URL may be asked, as far as it says by itself: its host's addresses are
    /// looked at when they are known.
    pub fn check(&self, url: &str) -> Result<(), FetchError> {
        checked(&parsed(url)?, &self.0.settings.allowed).map(drop)
    }

    /// Asks for `url`, follows redirects, and gives the response when its head has come,
    /// whatever its status is. All of it, the body too, has `timeout`, at most the
    /// longest that the settings allow.
    pub async fn open(
        &self,
        url: &str,
        timeout: Option<Duration>,
    ) -> Result<FetchResponse, FetchError> {
        let settings = &self.0.settings;
        let after = timeout.unwrap_or(settings.timeout);
        let after = after.min(settings.longest_timeout);
        let deadline = Deadline {
            at: Instant::now() + after,
            after,
            most: settings.longest_timeout,
        };
        self.follow(parsed(url)?, deadline, settings.robots).await
    }

    /// Asks for `url` and follows redirects; with the rules of each server asked, or
    /// without them.
    async fn follow(
        &self,
        mut url: Url,
        deadline: Deadline,
        with_robots: bool,
    ) -> Result<FetchResponse, FetchError> {
        let settings = &self.0.settings;
        let first = host(&url);
        let mut from: Option<String> = None;
        for _ in 0..=settings.most_redirects {
            let behind = |why| match &from {
                None => why,
                Some(from) => FetchError::Redirect {
                    from: from.clone(),
                    why: Box::new(why),
                },
            };
            let is_allowed = checked(&url, &settings.allowed).map_err(behind)?;
            let asked = match with_robots {
                true => self.obey(&url, deadline).await,
                false => Ok(()),
            };
            let asked = match asked {
                Ok(()) => self.ask(&url, is_allowed, deadline).await,
                Err(error) => Err(error),
            };
            let response = asked.map_err(|error| match error {
                FetchError::Private { .. } | FetchError::Robots { .. } => behind(error),
                error => error,
            })?;
            match redirected(&url, &response)? {
                None => return Ok(FetchResponse::new(url, response, deadline)),
                Some(next) => {
                    from = Some(host(&url));
                    url = next;
                }
            }
        }
        Err(FetchError::Redirects {
            host: first,
            most: settings.most_redirects,
        })
    }

    /// Whether the rules of its server allow a page.
    async fn obey(&self, page: &Url, deadline: Deadline) -> Result<(), FetchError> {
        let host = host(page);
        let origin = page.origin().ascii_serialization();
        let known = self.0.robots.cached(&origin);
        let rules = if let Some(rules) = known {
            rules
        } else {
            let rules = self.rules(page, deadline).await?;
            self.0.robots.store(origin, Arc::clone(&rules));
            rules
        };
        match robots::allows(rules, page).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(FetchError::Robots { host }),
            Err(why) => Err(FetchError::NoRobots {
                host,
                why: why.to_owned(),
            }),
        }
    }

    /// The rules of a page's server. One that has none allows all; one that cannot say
    /// allows nothing (RFC 9309, 2.3.1).
    async fn rules(
        &self,
        page: &Url,
        deadline: Deadline,
    ) -> Result<robots::RobotsText, FetchError> {
        let host = host(page);
        let unknown = |why: String| FetchError::NoRobots {
            host: host.clone(),
            why,
        };
        let soon = Deadline {
            at: deadline.at.min(Instant::now() + robots::PATIENCE),
            after: deadline.after.min(robots::PATIENCE),
            ..deadline
        };
        let opened = Box::pin(self.follow(robots::place(page), soon, false)).await;
        let mut opened = match opened {
            Ok(opened) => opened,
            Err(FetchError::Redirects { .. }) => return Ok(robots::text(Vec::new())),
            // So would be the page's.
            Err(
                error @ (FetchError::Private { .. } | FetchError::Name { .. } | FetchError::Us(_)),
            ) => return Err(error),
            Err(error) => return Err(unknown(short(&error))),
        };
        match opened.status() {
            200..300 => {}
            400..500 => return Ok(robots::text(Vec::new())),
            _ => return Err(unknown(format!("HTTP {}", opened.status_text()))),
        }
        let mut text = Vec::new();
        while text.len() <= robots::MOST_BYTES {
            match opened
                .next()
                .await
                .map_err(|error| unknown(short(&error)))?
            {
                Some(bytes) => text.extend(bytes),
                None => break,
            }
        }
        Ok(robots::text(text))
    }

    async fn ask(
        &self,
        url: &Url,
        is_allowed: bool,
        deadline: Deadline,
    ) -> Result<Response, FetchError> {
        let clients = self.0.clients.get_or_init(|| Clients::new(self.settings()));
        let clients = clients
            .as_ref()
            .map_err(|why| FetchError::Us(why.clone()))?;
        let client = match is_allowed {
            true => &clients.open,
            false => &clients.public,
        };
        let mut url = url.clone();
        url.set_fragment(None);
        let host = host(&url);
        let request = client
            .get(url)
            .header(
                ACCEPT,
                "text/html,application/xhtml+xml,text/markdown,text/plain,application/json;q=0.9,*/*;q=0.8",
            )
            .header(ACCEPT_ENCODING, "gzip, deflate");
        let response = timeout_at(deadline.at, request.send()).await;
        let response = response.map_err(|_| deadline.late(&host))?;
        response.map_err(|error| fetch_error(host, &error, deadline))
    }
}

/// What happened, without what to do: it is said of another URL.
fn short(error: &FetchError) -> String {
    let text = error.to_string();
    let end = text.find(". ").unwrap_or(text.trim_end_matches('.').len());
    text[..end].to_owned()
}

/// A URL's host, as errors name it. Its path may have secrets in it.
pub(crate) fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// Where a response leads to, if it does.
fn redirected(url: &Url, response: &Response) -> Result<Option<Url>, FetchError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(location.as_bytes());
    let next = url.join(&text).map_err(|error| FetchError::Redirect {
        from: host(url),
        why: Box::new(FetchError::Url(error.to_string())),
    })?;
    Ok(Some(next))
}

/// What went wrong before there was a response.
fn fetch_error(host: String, error: &reqwest::Error, deadline: Deadline) -> FetchError {
    if let Some(PrivateAddress(what)) = caused_by(error) {
        return FetchError::Private { host, what };
    }
    if caused_by::<NoSuchName>(error).is_some() {
        return FetchError::Name { host };
    }
    if error.is_timeout() && !error.is_connect() {
        return deadline.late(&host);
    }
    let cause = cause(error);
    match error.is_connect() {
        true => FetchError::Unreachable { host, cause },
        false => FetchError::Broken { host, cause },
    }
}
