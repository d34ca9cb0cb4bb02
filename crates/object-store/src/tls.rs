//! Makes sure that nothing is sent without TLS, except on this machine and to the addresses at which
//! clouds give their machines credentials.

use async_trait::async_trait;
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService};
use reqwest::Url;
use spillgate_http_client::is_loopback;

/// Names of the service that gives the machines of a cloud their credentials. Its packets do not
/// leave the cloud's own network.
const METADATA: [&str; 2] = ["metadata.google.internal", "metadata"];

/// An address was asked for without TLS.
#[derive(Debug, thiserror::Error)]
#[error("{0} is reached without TLS")]
pub(crate) struct PlainError(String);

/// An HTTP client that refuses requests without TLS.
#[derive(Debug, Clone)]
pub(crate) struct Guarded {
    pub(crate) client: reqwest::Client,
    /// Whether the user allows requests without TLS.
    pub(crate) may_be_plain: bool,
}

#[async_trait]
impl HttpService for Guarded {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if !self.may_be_plain {
            let url = request.uri().to_string().parse::<Url>();
            let is_safe = url.as_ref().is_ok_and(|url| !is_exposed(url));
            if !is_safe {
                let server = url.map_or_else(|_| "a server".to_owned(), |url| server_of(&url));
                return Err(HttpError::new(HttpErrorKind::Unknown, PlainError(server)));
            }
        }
        self.client.call(request).await
    }
}

/// Whether others could listen to requests to this address.
pub(crate) fn is_exposed(url: &Url) -> bool {
    url.scheme() == "http" && !is_loopback(url) && !is_metadata(url)
}

/// Whether this is an address of a cloud's service for the machine itself. Such addresses are local to
/// the link.
fn is_metadata(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    if let Ok(address) = host.parse::<std::net::Ipv4Addr>() {
        return address.is_link_local();
    }
    let address = host.trim_matches(['[', ']']).parse::<std::net::Ipv6Addr>();
    match address {
        Ok(address) => address.segments()[..2] == [0xfd00, 0x0ec2],
        Err(_) => METADATA.contains(&host),
    }
}

/// Returns the scheme, the name and the port of a server, without credentials, path and query.
pub(crate) fn server_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_and_metadata_are_reached_without_tls() {
        for (url, exposed) in [
            ("https://example.com", false),
            ("http://example.com", true),
            ("HTTP://example.com:9000/a", true),
            ("http://user:password@example.com", true),
            ("http://10.0.0.1:9000", true),
            ("http://localhost:9000", false),
            ("http://127.0.0.1", false),
            ("http://[::1]:80", false),
            ("http://localhost.example.com", true),
            ("http://169.254.169.254/latest", false),
            ("http://169.254.170.2/v2", false),
            ("http://[fd00:ec2::254]/latest", false),
            ("http://[fd00::1]", true),
            ("http://metadata.google.internal/computeMetadata", false),
            ("http://metadata.google.internal.example.com", true),
        ] {
            let parsed: Url = url.parse().unwrap();
            assert_eq!(is_exposed(&parsed), exposed, "{url}");
            assert!(!server_of(&parsed).contains("password"), "{url}");
        }
    }
}
