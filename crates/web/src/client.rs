//! The HTTP client for requests to the web.

use std::time::Duration;

use reqwest::ClientBuilder;
use spillgate_http_client::{Certificates, ClientError};

/// Maximum bytes of all headers of a response over HTTP/2. For HTTP/1 the client has its own limits
/// (100 headers).
const MOST_HEADER_BYTES: u32 = 64 << 10;

/// Returns a builder for a client without redirects, proxies, cookies and referrers. If the machine
/// has no root certificates, only `http:` URLs can be fetched; `https:` URLs fail with an error
/// that says that no certificate is trusted.
pub(crate) fn builder(connect_timeout: Duration) -> Result<ClientBuilder, ClientError> {
    Ok(spillgate_http_client::builder(Certificates::MachineOrNone)?
        .no_proxy()
        .referer(false)
        .connect_timeout(connect_timeout)
        .http2_max_header_list_size(MOST_HEADER_BYTES))
}

/// Returns the innermost cause of an error: the system's message, which does not contain the URL.
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

/// Returns the cause of type `E`, if the error has one.
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
