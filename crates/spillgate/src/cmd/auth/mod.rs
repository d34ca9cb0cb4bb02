//! `spillgate auth`: logs in at a server behind HTTP.

mod named;

use reqwest::Url;
use serde_json::json;
use spillgate_auth::{Callback, LoginAttempt, LoginError, LoginRequest, Vault, origin_of};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::args::{Common, LimitArgs};
use crate::cmd::browser;
use crate::failure::{Failure, Fault};
use crate::logs::log_to_stderr;
use crate::net;
use crate::output::Output;
use crate::server_args::Auth;
use crate::settings::{Settings, login_directory};

/// Environment variable with the secret of a client that is already registered. There is no option
/// for the secret, because every user of the machine can read command lines.
const CLIENT_SECRET: &str = "SPILLGATE_CLIENT_SECRET";

pub(crate) fn auth(common: &Common, auth: &Auth, out: &Output) -> Result<u8, Failure> {
    log_to_stderr("warn");
    Settings::load(common, &LimitArgs::default())?;
    let vault = Vault::new(login_directory()?);
    let server = auth.server.as_deref();
    let server = server
        .map(|server| named::url(common, server))
        .transpose()?;
    match server {
        None => list(&vault, out),
        Some(url) if auth.status => status(&vault, &url, out),
        Some(url) if auth.logout => log_out(&vault, &url, out),
        Some(url) => log_in(&vault, &url, auth, out),
    }
}

fn list(vault: &Vault, out: &Output) -> Result<u8, Failure> {
    let servers = vault.servers()?;
    if servers.is_empty() && !out.json {
        out.note("logged in at no server");
    }
    for url in servers {
        match out.json {
            true => out.object(&json!({"server": origin_of(&url), "logged_in": true}))?,
            false => out.text(&format!("{}\n", origin_of(&url)))?,
        }
    }
    Ok(0)
}

fn status(vault: &Vault, url: &Url, out: &Output) -> Result<u8, Failure> {
    let is_in = vault.has(url.as_str())?;
    let server = origin_of(url.as_str());
    let text = match is_in {
        true => format!("logged in at {server}\n"),
        false => format!("not logged in at {server}\n"),
    };
    match out.json {
        true => out.object(&json!({"server": server, "logged_in": is_in}))?,
        false => out.text(&text)?,
    }
    Ok(u8::from(!is_in))
}

fn log_out(vault: &Vault, url: &Url, out: &Output) -> Result<u8, Failure> {
    let was_in = vault.remove(url.as_str())?;
    let server = origin_of(url.as_str());
    match out.json {
        true => {
            out.object(&json!({"server": server, "logged_in": false, "was_logged_in": was_in}))?;
        }
        false if was_in => out.note(&format!("logged out at {server}")),
        false => out.note(&format!("nobody was logged in at {server}")),
    }
    Ok(0)
}

fn log_in(vault: &Vault, url: &Url, auth: &Auth, out: &Output) -> Result<u8, Failure> {
    let client = net::client(url)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let done = runtime.block_on(async {
        let callback = Callback::listen().await?;
        let secret = std::env::var(CLIENT_SECRET).ok();
        let request = LoginRequest {
            url: url.as_str().to_owned(),
            redirect: callback.url(),
            scopes: auth.scopes.clone(),
            registered: auth.client_id.clone().map(|id| (id, secret)),
        };
        let attempt = LoginAttempt::begin(request, client).await?;
        out.note(&format!("To log in, open this page:\n\n{}\n", attempt.page()));
        if auth.no_browser {
            out.note(
                "Waiting for the browser. If it is on another machine, paste the URL at which it ends:",
            );
        } else {
            browser::open(attempt.page());
        }
        let answer = tokio::select! {
            answer = callback.wait() => answer?,
            pasted = pasted(), if auth.no_browser => pasted?,
        };
        attempt.finish(&answer, vault).await?;
        Ok::<_, Failure>(())
    });
    // The reader of standard input may still wait for a line that never comes.
    runtime.shutdown_background();
    done?;
    let server = origin_of(url.as_str());
    match out.json {
        true => out.object(&json!({"server": server, "logged_in": true}))?,
        false => out.note(&format!("logged in at {server}")),
    }
    Ok(0)
}

/// Reads the URL that the user copies from the browser. If the input ends without a URL, waits
/// forever.
async fn pasted() -> std::io::Result<String> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        if !line.trim().is_empty() {
            return Ok(line.trim().to_owned());
        }
    }
    std::future::pending().await
}

impl From<LoginError> for Failure {
    fn from(error: LoginError) -> Self {
        let (fault, hint) = match &error {
            LoginError::Url(_) => (Fault::Caller, "name it as in the configuration"),
            LoginError::Denied(_) | LoginError::Again(_) => {
                (Fault::Caller, "run the same command again to try once more")
            }
            LoginError::Vault { .. } => (
                Fault::Us,
                "check that you own the file and that its disk is not full",
            ),
            _ => (
                Fault::Upstream,
                "some servers accept only registered clients (--client-id), others expect a key in a header",
            ),
        };
        Self::new("login", fault, error.to_string()).hint(hint)
    }
}
