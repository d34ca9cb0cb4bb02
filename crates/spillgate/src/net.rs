//! Builds the HTTP clients and the logins for MCP servers.

use std::sync::Arc;

use reqwest::{Client, Url};
#[cfg(feature = "login")]
use spillgate_auth::{TokenKeeper, Vault};
use spillgate_http_client::{Certificates, is_loopback};
#[cfg(feature = "login")]
use spillgate_transport::Authority;
use spillgate_transport::{Access, AccessTo, HttpServer, http_client};

use crate::failure::{Failure, Fault};
#[cfg(feature = "login")]
use crate::settings::login_directory;

/// Returns a client for the server at `url`. It uses the machine's certificates and the proxy that
/// the environment names, but no proxy for servers on this machine.
pub(crate) fn client(url: &Url) -> Result<Client, Failure> {
    // A server at an http: URL may have an authorization server at an https: URL.
    let certificates = match url.scheme() {
        "http" => Certificates::MachineOrNone,
        _ => Certificates::Machine,
    };
    let builder = spillgate_http_client::builder(certificates);
    let mut builder = http_client(builder.map_err(|error| failure(&error.to_string()))?);
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| failure(&error.to_string()))
}

fn failure(what: &str) -> Failure {
    Failure::new("http", Fault::Us, what)
}

#[cfg(feature = "login")]
/// Returns the command to log in at a server. If its URL has a query, which may be secret, the
/// command has a placeholder for the server's name instead of the URL.
fn login_command(url: &Url) -> String {
    let server = match url.query() {
        None => spillgate_auth::origin_of(url.as_str()),
        Some(_) => "NAME_OF_THE_SERVER".to_owned(),
    };
    format!("spillgate auth {server}")
}

/// Returns the function that prepares the access to a server: an HTTP client, and the login that
/// `spillgate auth` has stored.
pub(crate) fn access() -> Result<AccessTo, Failure> {
    #[cfg(feature = "login")]
    let logins = login_directory()?;
    Ok(Arc::new(move |server: &HttpServer| {
        let url = Url::parse(&server.url).map_err(|error| format!("its url is wrong: {error}"))?;
        let client = client(&url).map_err(|failure| failure.text().to_owned())?;
        #[cfg(feature = "login")]
        let authority: Option<Arc<dyn Authority>> = {
            let command = login_command(&url);
            let vault = Vault::new(&logins);
            let keeper = TokenKeeper::new(vault, &server.url, &command, client.clone());
            Some(Arc::new(keeper))
        };
        #[cfg(not(feature = "login"))]
        let authority = None;
        Ok(Access { client, authority })
    }))
}
