//! Checks that a request is meant for this server and does not come from an unknown web page.
//!
//! A web page can make its own host name resolve to this machine (DNS rebinding) and then read our
//! responses. Its requests contain that name in `Host`. An IP address in `Host` cannot be the
//! result of rebinding, so the address at which the connection arrived is always accepted.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri};

use crate::problem::Problem;
use crate::{Auth, HttpServerSettings};

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The API for programs.
    Api,
    /// The page for a person's browser.
    Page,
    /// Everything else.
    Other,
}

/// The allowed hosts and origins.
#[derive(Debug)]
pub(crate) struct Guard {
    hosts: Vec<(String, Option<u16>)>,
    origins: Vec<Origin>,
    /// Whether requests need no token.
    is_open: bool,
}

/// The origin of a page (RFC 6454).
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    /// An origin that the browser does not reveal, such as a file or a sandbox.
    Opaque,
    From(String, String, Option<u16>),
}

impl Guard {
    /// Parses the settings. The error names the setting and what is wrong with it.
    pub(crate) fn new(settings: &HttpServerSettings) -> Result<Self, (&'static str, String)> {
        let host = |text: &String| {
            let wrong = || ("allow_hosts", format!("`{text}` is no host"));
            let authority: Authority = text.parse().map_err(|_| wrong())?;
            if authority.as_str().contains('@') {
                return Err(wrong());
            }
            Ok((name(authority.host()), authority.port_u16()))
        };
        let origin = |text: &String| {
            let wrong = format!("`{text}` is no origin (https://host)");
            origin(text).ok_or(("allow_origins", wrong))
        };
        let hosts = settings.allow_hosts.iter().map(host);
        let origins = settings.allow_origins.iter().map(origin);
        Ok(Self {
            hosts: hosts.collect::<Result<_, _>>()?,
            origins: origins.collect::<Result<_, _>>()?,
            is_open: settings.auth == Auth::None,
        })
    }

    /// Checks whether a request that arrived at the address `local` is allowed.
    pub(crate) fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        local: SocketAddr,
        part: Part,
    ) -> Result<(), Problem> {
        let forbidden = |what: &str| Problem::http(StatusCode::FORBIDDEN, what);
        let mut asked = 0;
        let named = headers.get_all(HOST).iter();
        let named = named.map(|host| host.to_str().unwrap_or_default());
        for host in named.chain(uri.authority().map(Authority::as_str)) {
            asked += 1;
            if !self.is_host(host, local.ip()) {
                return Err(forbidden(
                    "the Host header names another server; allow it with --allow-host if it is this one",
                ));
            }
        }
        if asked == 0 || headers.get_all(HOST).iter().count() > 1 {
            return Err(Problem::http(
                StatusCode::BAD_REQUEST,
                "a request needs one Host header",
            ));
        }
        for origin in headers.get_all(ORIGIN) {
            let allows = |origin: &str| match part {
                Part::Page => is_own(origin, headers),
                _ => self.is_origin_allowed(origin, part),
            };
            if !origin.to_str().is_ok_and(allows) {
                return Err(forbidden(
                    "pages of that Origin may not use this server; allow it with --allow-origin",
                ));
            }
        }
        Ok(())
    }

    fn is_host(&self, host: &str, local: IpAddr) -> bool {
        let Ok(authority) = host.parse::<Authority>() else {
            return false;
        };
        if authority.as_str().contains('@') {
            return false;
        }
        let host = name(authority.host());
        if host == "localhost" {
            return true;
        }
        if let Ok(ip) = host.parse::<IpAddr>() {
            return ip.is_loopback() || ip == local.to_canonical() || self.lists(&authority);
        }
        self.lists(&authority)
    }

    fn lists(&self, authority: &Authority) -> bool {
        let host = name(authority.host());
        let mut hosts = self.hosts.iter();
        hosts.any(|(allowed, port)| {
            *allowed == host && port.is_none_or(|port| authority.port_u16() == Some(port))
        })
    }

    /// Whether pages of this origin may use a part of the server. Pages of servers on loopback may
    /// use the MCP endpoint. If the API needs no token, they may not use it: any page that the user
    /// opens from a server on this machine could list, read and remove all stored results.
    ///
    /// The page for a person is read by no other page, whatever the settings say.
    pub(crate) fn is_origin_allowed(&self, text: &str, part: Part) -> bool {
        if part == Part::Page {
            return false;
        }
        let Some(origin) = origin(text) else {
            return false;
        };
        let is_local = match &origin {
            Origin::From(_, host, _) => {
                host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
            }
            Origin::Opaque => false,
        };
        let needs_listing = part == Part::Api && self.is_open;
        is_local && !needs_listing || self.origins.contains(&origin)
    }
}

/// Returns whether an origin is the server that the `Host` header names, so that the request comes
/// from one of its own pages.
fn is_own(text: &str, headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let Some(host) = host.and_then(|host| host.parse::<Authority>().ok()) else {
        return false;
    };
    let Some(Origin::From(scheme, from, port)) = origin(text) else {
        return false;
    };
    let named = host.port_u16().or_else(|| usual_port(&scheme));
    from == name(host.host()) && port == named
}

/// Returns a host in lower case, without the brackets of an IPv6 address.
fn name(host: &str) -> String {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    bare.unwrap_or(host).to_ascii_lowercase()
}

fn origin(text: &str) -> Option<Origin> {
    if text == "null" {
        return Some(Origin::Opaque);
    }
    let (scheme, authority) = text.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let authority: Authority = authority.parse().ok()?;
    if authority.as_str().contains('@') {
        return None;
    }
    let port = authority.port_u16().or_else(|| usual_port(&scheme));
    Some(Origin::From(scheme, name(authority.host()), port))
}

fn usual_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_pages_may_use_the_api_only_with_a_token() {
        let guard = |auth: &Auth| {
            let settings = HttpServerSettings {
                allow_origins: vec!["http://localhost:3000".to_owned()],
                auth: auth.clone(),
                ..HttpServerSettings::default()
            };
            Guard::new(&settings).unwrap()
        };
        let open = guard(&Auth::None);
        let closed = guard(&Auth::Bearer {
            token_files: Vec::new(),
            token_env: Vec::new(),
        });
        let listed = "http://localhost:3000";
        for (guard, part, origin, status) in [
            (&open, Part::Api, None, None),
            (&open, Part::Api, Some(listed), None),
            (&open, Part::Api, Some("http://localhost:5173"), Some(403)),
            (&open, Part::Api, Some("http://127.0.0.1:8700"), Some(403)),
            (&open, Part::Api, Some("null"), Some(403)),
            (&open, Part::Other, Some("http://localhost:5173"), None),
            (&closed, Part::Api, Some("http://localhost:5173"), None),
            (&closed, Part::Api, Some("https://a.example"), Some(403)),
            (&open, Part::Page, None, None),
            (&open, Part::Page, Some("http://localhost:8700"), None),
            (&open, Part::Page, Some("http://LOCALHOST:8700"), None),
            (&open, Part::Page, Some("http://127.0.0.1:8700"), Some(403)),
            (&open, Part::Page, Some("http://localhost:5173"), Some(403)),
            (&open, Part::Page, Some("http://localhost"), Some(403)),
            (&open, Part::Page, Some(listed), Some(403)),
            (&closed, Part::Page, Some(listed), Some(403)),
            (&closed, Part::Page, Some("null"), Some(403)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "localhost:8700".parse().unwrap());
            headers.extend(origin.map(|origin| (ORIGIN, origin.parse().unwrap())));
            let local = SocketAddr::from(([127, 0, 0, 1], 8700));
            let checked = guard.check(&Uri::from_static("/"), &headers, local, part);
            let got = checked.map_err(|problem| problem.into_details().status().as_u16());
            assert_eq!(got.err(), status, "{part:?} {origin:?}");
        }
    }
}
