//! The setup that all HTTP clients share: certificates, no redirects, the user agent.
//!
//! Timeouts, proxies and limits differ between a model, an MCP server and a web page, so the caller
//! sets them.

use std::sync::Arc;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

/// The root certificates used to verify servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificates {
    /// The machine's certificates. If there are none, setting up the client fails.
    Machine,
    /// The machine's certificates. If there are none, no server is trusted.
    MachineOrNone,
    /// No certificates, because all requests go to `http:` URLs. This saves the time to read the
    /// machine's certificates.
    None,
}

/// A client could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The machine has no certificates.
    #[error("the machine has no root certificates to verify servers with: {0}")]
    NoCertificates(#[source] rustls::Error),
    /// TLS itself could not be set up.
    #[error(transparent)]
    Tls(rustls::Error),
}

/// Returns a builder for a client that verifies servers with these certificates. The client follows
/// no redirects, because a key must not be sent to a place that a server chooses.
pub fn builder(certificates: Certificates) -> Result<ClientBuilder, ClientError> {
    Ok(Client::builder()
        .tls_backend_preconfigured(tls(certificates)?)
        .redirect(Policy::none())
        .user_agent(concat!("spillgate/", env!("CARGO_PKG_VERSION"))))
}

/// Returns the TLS configuration. It names its crypto provider, so no global provider has to be
/// installed.
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

/// Returns whether a URL leads to this machine, which is never reached through a proxy.
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
