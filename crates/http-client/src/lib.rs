//! The set-up that all HTTP clients have in common: certificates, no redirects, who asks.
//!
//! Time-outs, proxies and limits differ between a model, an MCP server and a page of the web;
//! they are the caller's.

use std::sync::Arc;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

/// By which certificates servers are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificates {
    /// Those of the machine; it is an error if there are none.
    Machine,
    /// The same, but without any, no server is trusted.
    MachineOrNone,
    /// None: all requests go to `http:` URLs. Reading those of the machine takes time.
    None,
}

/// A client could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The machine has no certificates.
    #[error("no certificates to check servers by: {0}")]
    NoCertificates(#[source] rustls::Error),
    /// TLS itself could not be set up.
    #[error(transparent)]
    Tls(rustls::Error),
}

/// A client that checks servers by these certificates and follows no redirect by itself: a key
/// must not go where a server points to.
pub fn builder(certificates: Certificates) -> Result<ClientBuilder, ClientError> {
    Ok(Client::builder()
        .tls_backend_preconfigured(tls(certificates)?)
        .redirect(Policy::none())
        .user_agent(concat!("spillgate/", env!("CARGO_PKG_VERSION"))))
}

/// The provider is named here so that nothing global has to be installed.
fn tls(certificates: Certificates) -> Result<ClientConfig, ClientError> {
    let versions = || {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(ClientError::Tls)
    };
    let none = || Ok(versions()?.with_root_certificates(RootCertStore::empty()));
    let verified = match certificates {
        Certificates::None => none()?,
        Certificates::Machine | Certificates::MachineOrNone => {
            match versions()?.with_platform_verifier() {
                Ok(verified) => verified,
                Err(_) if certificates == Certificates::MachineOrNone => none()?,
                Err(error) => return Err(ClientError::NoCertificates(error)),
            }
        }
    };
    let mut config = verified.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Whether a URL leads to this machine, which is never asked through a proxy.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_several_names() {
        for (url, is_here) in [
            ("http://localhost:1/", true),
            ("http://127.3.2.1/", true),
            ("http://[::1]:8080/a", true),
            ("http://localhost.example.org/", false),
            ("https://10.0.0.1/", false),
            ("http://[2001:db8::1]/", false),
        ] {
            assert_eq!(is_loopback(&url.parse().unwrap()), is_here, "{url}");
        }
    }
}
