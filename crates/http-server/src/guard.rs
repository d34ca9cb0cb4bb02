//! Checks that a request is meant for this server and does not come from an unknown web page.
//!
//! A web page can make its own host name resolve to this machine (DNS rebinding) and then read our
//! responses. Its requests contain that name in `Host`. An IP address in `Host` cannot be the
//! result of rebinding, so the address at which the connection arrived is always accepted.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri};

use crate::HttpServerSettings;
use crate::problem::Problem;

/// The allowed hosts and origins.
#[derive(Debug)]
pub(crate) struct Guard {
    hosts: Vec<(String, Option<u16>)>,
    origins: Vec<Origin>,
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
        })
    }

    /// Checks whether a request that arrived at the address `local` is allowed.
    pub(crate) fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        local: SocketAddr,
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
            if !origin
                .to_str()
                .is_ok_and(|origin| self.is_origin_allowed(origin))
            {
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

    /// Whether pages of this origin may use the server.
    pub(crate) fn is_origin_allowed(&self, text: &str) -> bool {
        let Some(origin) = origin(text) else {
            return false;
        };
        let is_local = match &origin {
            Origin::From(_, host, _) => {
                host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
            }
            Origin::Opaque => false,
        };
        is_local || self.origins.contains(&origin)
    }
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
    let usual = match scheme.as_str() {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    };
    let port = authority.port_u16().or(usual);
    Some(Origin::From(scheme, name(authority.host()), port))
}
