//! The HTTP client for pages and searches.

use std::time::Duration;

use reqwest::ClientBuilder;
use spillgate_http_client::{Certificates, ClientError};

/// Bytes of all headers of a response over HTTP/2; over HTTP/1 the client has limits of
/// its own (100 headers).
const MOST_HEADER_BYTES: u32 = 64 << 10;

/// A client without redirects, proxies, cookies and referrers. Where the machine has no
/// certificates, only `http:` URLs can be fetched, and https ones say that nobody is trusted.
pub(crate) fn builder(connect_timeout: Duration) -> Result<ClientBuilder, ClientError> {
    Ok(spillgate_http_client::builder(Certificates::MachineOrNone)?
        .no_proxy()
        .referer(false)
        .connect_timeout(connect_timeout)
        .http2_max_header_list_size(MOST_HEADER_BYTES))
}

/// The deepest cause of an error: what the system says. The URL is not in it.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    match std::ptr::addr_eq(cause, std::ptr::from_ref(error)) {
        true => "it does not answer as a web server does".to_owned(),
        false => cause.to_string(),
    }
}

/// The cause of a kind, if there is one.
pub(crate) fn caused_by<E: std::error::Error + 'static>(error: &reqwest::Error) -> Option<&E> {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}
