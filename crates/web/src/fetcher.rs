//! Requests pages and follows redirects.

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

/// Settings of all fetches. For the defaults see docs/spec/limits.md, "Guarded tools".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchSettings {
    /// The default for the total time limit of a page: 30 s.
    pub timeout: Duration,
    /// The maximum time limit that a call may set: 120 s.
    pub longest_timeout: Duration,
    /// The time limit for connecting.
    pub connect_timeout: Duration,
    /// Maximum size of a page that is shown, in bytes after decoding: 5 MiB.
    pub most_page_bytes: u64,
    /// Maximum size of a page that is saved to a file, in bytes after decoding: 100 MiB.
    pub most_file_bytes: u64,
    /// Maximum number of redirects that are followed: 5.
    pub most_redirects: usize,
    /// Hosts that may be fetched although they are not on the public internet, such as servers
    /// under development. Each has the form `host:port`, and the port is required:
    /// `example.local:80`.
    pub allowed: Vec<String>,
    /// Whether `robots.txt` is obeyed (RFC 9309). Off by default, because usually a person asks the
    /// model for the page.
    pub robots: bool,
    /// Host names with their addresses. They are used instead of the system's name resolution.
    /// Addresses outside the public internet are refused here, too.
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

/// Fetches pages of the public web. Cheap to clone. Creates its HTTP clients when the first page is
/// fetched.
#[derive(Debug, Clone, Default)]
pub struct Fetcher(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    settings: FetchSettings,
    clients: OnceLock<Result<Clients, String>>,
    robots: Robots,
}

/// Two separate clients, so that a connection or a name of an allowed host is never used for a
/// request to a host that is not allowed.
#[derive(Debug)]
struct Clients {
    /// Connects only to public addresses.
    public: Client,
    /// Connects to any address. Used only for hosts that the settings allow.
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

/// The point in time at which a fetch must end, and the durations that its error mentions.
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
    /// Creates a fetcher with these settings.
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

    /// Checks by its text alone whether a URL may be requested. Addresses are checked later, when
    /// the host is resolved.
    pub fn check(&self, url: &str) -> Result<(), FetchError> {
        checked(&parsed(url)?, &self.0.settings.allowed).map(drop)
    }

    /// Requests `url` and follows redirects. Returns the response, whatever its status, when its
    /// head has arrived. The time limit includes the body. It is `timeout`, or the default, but at
    /// most the maximum of the settings.
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

    /// Requests `url` and follows redirects. Obeys each server's `robots.txt` if requested.
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

    /// Checks whether the server's `robots.txt` allows a page.
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

    /// Fetches the rules of a page's server. A server without rules allows everything; a server
    /// whose rules cannot be fetched allows nothing (RFC 9309, 2.3.1).
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
            // A request for the page itself would fail with the same error.
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

/// Returns the error's message without its advice, because the advice would be about another URL.
fn short(error: &FetchError) -> String {
    let text = error.to_string();
    let end = text.find(". ").unwrap_or(text.trim_end_matches('.').len());
    text[..end].to_owned()
}

/// Returns a URL's host for error messages. The path is left out, because it may contain secrets.
pub(crate) fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// The target of a redirect; `None` if the response is not one.
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

/// Translates an error that occurred before a response arrived.
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
