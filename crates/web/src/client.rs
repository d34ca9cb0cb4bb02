//! What asks servers?

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, ClientBuilder};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;

/// Bytes of all headers of a response over HTTP/2; over HTTP/1 the client has limits of
/// its own (100 headers).
const MOST_HEADER_BYTES: u32 = 64 << 10;

/// A client without redirects, proxies, cookies and referrers.
pub(crate) fn builder(connect_timeout: Duration) -> Result<ClientBuilder, String> {
    Ok(Client::builder()
        .tls_backend_preconfigured(tls()?)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .connect_timeout(connect_timeout)
        .http2_max_header_list_size(MOST_HEADER_BYTES)
        .user_agent(concat!("spillgate/", env!("CARGO_PKG_VERSION"))))
}

/// The machine's certificates. Where there are none, only `http:` URLs can be fetched,
/// and https ones say that nobody is trusted.
fn tls() -> Result<ClientConfig, String> {
    let versions = || {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())
    };
    let verified = match versions()?.with_platform_verifier() {
        Ok(verified) => verified,
        Err(_) => versions()?.with_root_certificates(rustls::RootCertStore::empty()),
    };
    let mut config = verified.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
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
