//! The HTTP client for requests to the web.

use std::time::Duration;

use reqwest::ClientBuilder;
use spillgate_http_client::{Certificates, ClientError};

/// Bytes of all headers of a response over HTTP/2. Over HTTP/1 the client has its own limits
/// (100 headers).
const MOST_HEADER_BYTES: u32 = 64 << 10;

/// A client without redirects, proxies, cookies and referrers. If the machine has no root
/// certificates, only `http:` URLs can be fetched, and `https:` ones fail with an error that
/// says that no one is trusted.
pub(crate) fn builder(connect_timeout: Duration) -> Result<ClientBuilder, ClientError> {
    Ok(spillgate_http_client::builder(Certificates::MachineOrNone)?
        .no_proxy()
        .referer(false)
        .connect_timeout(connect_timeout)
        .http2_max_header_list_size(MOST_HEADER_BYTES))
}

/// The innermost cause of an error: the system's message. It does not contain the URL.
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

/// The cause of type `E`, if there is one.
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
