//! `spillgate mcp --http` and `spillgate serve`: serve many clients at the same time.

use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::Url;
#[cfg(feature = "ui")]
use spillgate_artifact::Principal;
use spillgate_artifact::{Handle, SystemClock, Word};
use spillgate_gateway::{Hub, Signals};
use spillgate_http_api::{Api, ApiLimits, PREFIX};
use spillgate_http_server::{
    Auth, Health, HttpServer, HttpServerError, HttpServerSettings, NotReady, ValidTokens,
};
#[cfg(feature = "ui")]
use spillgate_page::Door;
use spillgate_store::{ArtifactStore, StoreError};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::tokens::{self, TokenSources};
use crate::args::Common;
#[cfg(feature = "ui")]
use crate::cmd::ui::{Viewer, Watch, page, turns};
use crate::failure::{Failure, Fault};
use crate::net;
use crate::server_args::Mcp;
use crate::tenants::{ByPrincipal, Tenants};
use crate::tool_output::nearest;
use crate::wiring::App;

/// Maximum number of results that the API receives at the same time: each takes a thread.
const UPLOADS: usize = 32;

/// The exit code after SIGTERM.
const TERMINATED: u8 = 128 + 15;

/// How long the end after a second signal waits for servers that are programs.
const LAST: Duration = Duration::from_secs(1);

/// Serves until a signal arrives; returns the exit code of the process.
pub(super) async fn serve(
    served: &Served,
    (common, mcp): (&Common, &Mcp),
    address: SocketAddr,
    api: Option<Api>,
) -> Result<u8, Failure> {
    let Served { app, hub, tenants } = served;
    let settings = settings(app, mcp, address);
    settings.check(address).map_err(|error| failure(&error))?;
    if let (Some(hub), Some(most)) = (hub, settings.processes()) {
        hub.bound_processes(most);
    }
    let endpoint = hub.is_some().then_some(settings.path.as_str());
    let paths = api.is_some().then_some(PREFIX).into_iter().chain(endpoint);
    if let Some(hub) = hub {
        check_required(hub, &settings)?;
    }
    let store = app.store.artifacts();
    let tokens = ValidTokens::default();
    let front =
        front(hub.clone(), &settings, &tokens, tenants.is_some())?.ready(move || answers(&*store));
    let front = match api {
        Some(api) => front.api(api),
        None => front,
    };
    let front = match tenants {
        Some(tenants) if settings.auth == Auth::None => {
            tenants.close().await;
            return Err(without_principals());
        }
        Some(tenants) => front.tenants(Arc::new(ByPrincipal(Arc::clone(tenants)))),
        None => front,
    };
    let listener = listen(address).await?;
    let bound = listener.local_addr()?;
    for path in paths {
        say(&format!("listening on http://{bound}{path}"));
    }
    #[cfg(feature = "ui")]
    let front = match app.settings.ui.enabled {
        true => {
            let watch = hub.clone().map(|hub| Watch::new(hub, common, mcp));
            with_page(served, front, &settings, (&tokens, bound), watch)?
        }
        false => front,
    };
    #[cfg(not(feature = "ui"))]
    let _ = common;
    let (hub, tenants) = (hub.clone(), tenants.clone());
    let close = move || {
        let (hub, tenants) = (hub.clone(), tenants.clone());
        async move {
            let own = async {
                if let Some(hub) = &hub {
                    hub.close(true).await;
                }
            };
            let of_tenants = async {
                if let Some(tenants) = &tenants {
                    tenants.close().await;
                }
            };
            tokio::join!(own, of_tenants);
        }
        .boxed()
    };
    until_signal(front, listener, &close).await
}

/// What is served.
pub(super) struct Served {
    pub(super) app: Arc<App>,
    pub(super) hub: Option<Arc<Hub>>,
    pub(super) tenants: Option<Arc<Tenants>>,
}

fn without_principals() -> Failure {
    let what =
        "`tenants.enabled` gives each principal a store of its own, but clients send no token";
    Failure::new("config", Fault::Caller, what)
        .hint("set [http.auth], or pass --token-file FILE; docs/tenants.md has an example")
}

/// Adds the page for a browser, and says where it is.
#[cfg(feature = "ui")]
fn with_page(
    served: &Served,
    front: HttpServer,
    settings: &HttpServerSettings,
    (tokens, bound): (&ValidTokens, SocketAddr),
    watch: Option<Arc<Watch>>,
) -> Result<HttpServer, Failure> {
    let has_tokens = settings.auth != Auth::None;
    let prefix = spillgate_page::PREFIX;
    let (path, router) = if let Some(tenants) = &served.tenants {
        let is_bearer = matches!(settings.auth, Auth::Bearer { .. });
        let tokens = tokens.clone();
        let may = move |principal: &Principal| !is_bearer || tokens.are_of(principal);
        (None, crate::tenants::pages(tenants, may))
    } else {
        let door = Arc::new(Door::new(Arc::new(SystemClock), has_tokens));
        let page = page(&served.app, Viewer::Client, door, turns(), watch)?;
        (page.link(), page.router())
    };
    let path = path.unwrap_or_else(|| format!("{prefix}/"));
    say(&format!("the page is at http://{bound}{path}"));
    Ok(front.page(prefix, router))
}

/// Checks that the servers of `required_servers` exist: one that does not would never be up.
fn check_required(hub: &Hub, settings: &HttpServerSettings) -> Result<(), Failure> {
    let states = hub.health();
    let is_unknown = |name: &&String| !states.contains_key(*name);
    let Some(name) = settings.required_servers.iter().find(is_unknown) else {
        return Ok(());
    };
    let what = format!("`http.required_servers` names {name:?}, and there is no such server");
    let hint = nearest(name, states.keys().map(String::as_str));
    Err(Failure::new("config", Fault::Caller, what).hint(hint))
}

/// Whether a store answers: it looks for an output that does not exist. The error is its kind only,
/// because addresses of buckets are nobody's business.
fn answers(store: &dyn ArtifactStore) -> Result<(), NotReady> {
    match store.manifest(Handle::Short(Word::random())) {
        Ok(_) | Err(StoreError::Absent { .. }) => Ok(()),
        Err(error) => {
            tracing::debug!(%error, "the store does not answer");
            Err(NotReady(format!("the store: {}", error.kind())))
        }
    }
}

/// Prints a line for the person who started the server.
fn say(line: &str) {
    // A failure is ignored: standard error may be closed, and the server can work without it.
    drop(writeln!(std::io::stderr(), "spillgate: {line}"));
}

/// Listens on an address.
pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| not_listening(address, &error))
}

/// Serves until a signal arrives; returns the exit code of the process. `close` ends servers that are
/// programs.
pub(crate) async fn until_signal(
    front: HttpServer,
    listener: TcpListener,
    close: &(dyn Fn() -> BoxFuture<'static, ()> + Send + Sync),
) -> Result<u8, Failure> {
    let mut signals = Signals::new()?;
    let (readiness, drain) = (front.readiness(), front.drain_time());
    let (stop, stopped) = oneshot::channel::<()>();
    let served = front.serve(listener, async {
        drop(stopped.await);
    });
    tokio::pin!(served);
    let code = tokio::select! {
        code = signals.next() => code,
        ended = &mut served => {
            close().await;
            ended.map_err(|error| failure(&error))?;
            return Ok(0);
        }
    };
    readiness.drain();
    // A person who presses Ctrl-C does not wait for load balancers.
    if code == TERMINATED && !drain.is_zero() {
        tracing::warn!("draining: no new connections in {} s", drain.as_secs());
        tokio::select! {
            () = sleep(drain) => {}
            ended = &mut served => {
                close().await;
                ended.map_err(|error| failure(&error))?;
                return Ok(0);
            }
            code = signals.next() => end_at_once(close, code).await,
        }
    }
    drop(stop);
    // Requests under way may finish, unless a second signal arrives.
    tokio::select! {
        ended = &mut served => {
            close().await;
            ended.map_err(|error| failure(&error))?;
        }
        code = signals.next() => end_at_once(close, code).await,
    }
    // SIGTERM asked for a stop, so stopping is a success.
    Ok(if code == TERMINATED { 0 } else { code })
}

/// Ends the process after a second signal, without waiting for anything that is under way.
async fn end_at_once(close: &(dyn Fn() -> BoxFuture<'static, ()> + Send + Sync), code: u8) -> ! {
    // Servers that are programs would otherwise go on.
    drop(timeout(LAST, close()).await);
    std::process::exit(code.into());
}

fn settings(app: &App, mcp: &Mcp, address: SocketAddr) -> HttpServerSettings {
    let mut settings = app.settings.http.clone();
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

/// Returns the API for programs.
pub(crate) fn api(app: &App) -> Result<Api, Failure> {
    let (tools, _) = super::retrieval(app)?;
    let limits = ApiLimits {
        body_bytes: app.settings.http.max_body_bytes,
        upload_bytes: app.settings.serve.max_upload.bytes,
        part_time: Duration::from_secs(app.settings.http.read_seconds),
        upload_time: Duration::from_secs(app.settings.serve.upload_seconds.get().into()),
        uploads: UPLOADS,
    };
    let turns = std::thread::available_parallelism().map_or(2, NonZero::get);
    let shows_secrets = app.settings.secrets.raw_anywhere;
    let names = app.store.names()?;
    Ok(Api::new(tools, names, limits, 2 * turns).showing_secrets(shows_secrets))
}

fn front(
    hub: Option<Arc<Hub>>,
    settings: &HttpServerSettings,
    valid: &ValidTokens,
    has_tenants: bool,
) -> Result<HttpServer, Failure> {
    let front = match hub {
        Some(hub) => HttpServer::new(hub, settings.clone()),
        None => HttpServer::without_mcp(settings.clone()).health(|| Health {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Health::default()
        }),
    };
    Ok(match &settings.auth {
        Auth::None => front,
        Auth::Bearer {
            token_files,
            token_env,
        } => {
            let sources = TokenSources {
                files: token_files.clone(),
                variables: token_env.clone(),
                names: has_tenants,
            };
            valid.replace(&sources.read()?);
            tokio::spawn(tokens::watch(sources, valid.clone()));
            front.changing_tokens(valid.clone())
        }
        Auth::Oauth(oauth) => {
            let issuer = Url::parse(&oauth.issuer).map_err(|error| {
                let what = format!("`http.auth.issuer` is no URL: {error}");
                Failure::new("config", Fault::Caller, what)
            })?;
            front.oauth(net::client(&issuer)?, Arc::new(SystemClock))
        }
    })
}

fn not_listening(address: SocketAddr, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => {
            "another program listens there, perhaps another gateway: end it, or choose another port; port 0 takes a free one"
        }
        ErrorKind::AddrNotAvailable => {
            "this machine does not have that address: use 127.0.0.1 for local clients only, or 0.0.0.0 for all addresses of this machine"
        }
        ErrorKind::PermissionDenied => {
            "ports below 1024 are the system's: choose a higher one and put a server with TLS in front"
        }
        _ => "choose another address for --http, --listen or `http.listen`",
    };
    let what = format!("{address} cannot be listened on: {error}");
    Failure::new("listen", Fault::Caller, what).hint(hint)
}

fn failure(error: &HttpServerError) -> Failure {
    let hint = match error {
        HttpServerError::Exposed(_) => {
            "have clients send a token (--token-file FILE, or [http.auth]), or listen on 127.0.0.1 and put a server with TLS in front; --insecure-no-auth lets everybody in"
        }
        _ => "correct it in the configuration; docs/http.md lists the settings",
    };
    Failure::new("http", Fault::Caller, error.to_string()).hint(hint)
}
