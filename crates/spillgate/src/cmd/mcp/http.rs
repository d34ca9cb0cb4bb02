//! `spillgate mcp --http`: many clients at once.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::Url;
use spillgate_artifact::SystemClock;
use spillgate_front::{Auth, Front, FrontError, FrontSettings, Token};
use spillgate_gateway::{Hub, Signals};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::args::Mcp;
use crate::failure::{Failure, Fault};
use crate::net;
use crate::wiring::House;

/// Serves until a signal comes; gives the exit code for the process.
pub(super) async fn serve(
    house: &House,
    mcp: &Mcp,
    address: SocketAddr,
    hub: Arc<Hub>,
) -> Result<u8, Failure> {
    let settings = settings(house, mcp, address);
    let mut signals = Signals::new()?;
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let what = format!("{address} cannot be listened on: {error}");
        Failure::new("listen", Fault::Caller, what).hint("choose another address for --http")
    })?;
    let bound = listener.local_addr()?;
    let front = front(Arc::clone(&hub), &settings)?;
    settings.check(bound).map_err(|error| failure(&error))?;
    // Whoever waits for it may have gone; that is no reason not to serve.
    drop(writeln!(
        std::io::stderr(),
        "spillgate: listening on http://{bound}{}",
        settings.path
    ));
    let (stop, stopped) = oneshot::channel::<()>();
    let served = front.serve(listener, async {
        drop(stopped.await);
    });
    tokio::pin!(served);
    let code = tokio::select! {
        code = signals.next() => code,
        ended = &mut served => {
            ended.map_err(|error| failure(&error))?;
            return Ok(0);
        }
    };
    drop(stop);
    // What is under way may finish, unless a second signal comes.
    tokio::select! {
        ended = &mut served => ended.map_err(|error| failure(&error))?,
        _ = signals.next() => {}
    }
    hub.close(true).await;
    // Asked to stop, it did.
    Ok(if code == 128 + 15 { 0 } else { code })
}

fn settings(house: &House, mcp: &Mcp, address: SocketAddr) -> FrontSettings {
    let mut settings = house.settings.http.clone();
    settings.listen = address;
    settings.allow_hosts.extend(mcp.allow_host.iter().cloned());
    settings
        .allow_origins
        .extend(mcp.allow_origin.iter().cloned());
    settings.insecure_no_auth |= mcp.insecure_no_auth;
    if !mcp.token_file.is_empty() {
        settings.auth = Auth::Bearer {
            token_files: mcp.token_file.clone(),
            token_env: Vec::new(),
        };
    }
    settings
}

fn front(hub: Arc<Hub>, settings: &FrontSettings) -> Result<Front, Failure> {
    let front = Front::new(hub, settings.clone());
    Ok(match &settings.auth {
        Auth::None => front,
        Auth::Bearer {
            token_files,
            token_env,
        } => front.tokens(tokens(token_files, token_env)?),
        Auth::Oauth(oauth) => {
            let issuer = Url::parse(&oauth.issuer).map_err(|error| {
                let what = format!("`http.auth.issuer` is no URL: {error}");
                Failure::new("config", Fault::Caller, what)
            })?;
            front.oauth(net::client(&issuer)?, Arc::new(SystemClock))
        }
    })
}

fn tokens(files: &[String], variables: &[String]) -> Result<Vec<Token>, Failure> {
    let failed = |what: String| {
        let hint = "a file has a token a line; a variable is one";
        Failure::new("config", Fault::Caller, what).hint(hint)
    };
    let mut tokens = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file);
        let text = text.map_err(|error| failed(format!("tokens in {file}: {error}")))?;
        tokens.extend(Token::in_file(&text));
    }
    for variable in variables {
        let value = std::env::var(variable);
        let value = value.map_err(|_| failed(format!("the variable `{variable}` is not set")))?;
        tokens.extend(Token::new(&value));
    }
    match tokens.is_empty() {
        false => Ok(tokens),
        true => Err(failed(
            "there is no token that a client could send".to_owned(),
        )),
    }
}

fn failure(error: &FrontError) -> Failure {
    let hint = "docs/http.md tells what the front needs";
    Failure::new("http", Fault::Caller, error.to_string()).hint(hint)
}
