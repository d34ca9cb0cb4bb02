//! How do requests to MCP servers leave this machine?

use std::sync::Arc;

use reqwest::{Client, Url};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use spillgate_auth::{Keeper, Vault};
use spillgate_wire::{Access, AccessTo, HttpServer, http_client};

use crate::failure::{Failure, Fault};
use crate::settings::login_directory;

/// A client for the server at `url`: with the proxy that the environment names,
/// but for servers on this machine, and the machine's certificates.
pub(crate) fn client(url: &Url) -> Result<Client, Failure> {
    let mut builder = http_client(Client::builder()).tls_backend_preconfigured(tls(url)?);
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| failure(&error.to_string()))
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The provider is named here so that nothing global has to be installed.
fn tls(url: &Url) -> Result<ClientConfig, Failure> {
    let versions = || {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let versions = builder.with_safe_default_protocol_versions();
        versions.map_err(|error| failure(&error.to_string()))
    };
    let verified = match versions()?.with_platform_verifier() {
        Ok(verified) => verified,
        // Not needed, where no certificates are.
        Err(_) if url.scheme() == "http" => {
            versions()?.with_root_certificates(rustls::RootCertStore::empty())
        }
        Err(error) => {
            return Err(failure(&format!(
                "no certificates to check servers by: {error}"
            )));
        }
    };
    let mut config = verified.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn failure(what: &str) -> Failure {
    Failure::new("http", Fault::Us, what)
}

/// What a person runs to log in. What stands behind `?` belongs to the address,
/// but may be secret: then the server's name leads to it.
fn login_command(url: &Url) -> String {
    let server = match url.query() {
        None => spillgate_auth::origin_of(url.as_str()),
        Some(_) => "NAME_OF_THE_SERVER".to_owned(),
    };
    format!("spillgate auth {server}")
}

/// How servers are reached: a client, and the login that `spillgate auth` keeps.
pub(crate) fn access() -> Result<AccessTo, Failure> {
    let logins = login_directory()?;
    Ok(Arc::new(move |server: &HttpServer| {
        let url = Url::parse(&server.url).map_err(|error| format!("its url is wrong: {error}"))?;
        let client = client(&url).map_err(|failure| failure.text().to_owned())?;
        let command = login_command(&url);
        let keeper = Keeper::new(Vault::new(&logins), &server.url, &command, client.clone());
        Ok(Access {
            client,
            authority: Some(Arc::new(keeper)),
        })
    }))
}
