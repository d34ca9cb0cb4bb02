//! `spillgate ui`: a page in the browser that shows what is stored and what it saved.

use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;
use serde_json::json;
use spillgate_artifact::SystemClock;
use spillgate_gateway::{Hub, ServerState, own_tools};
use spillgate_http_api::{Api, ApiLimits, Turns};
use spillgate_http_server::{Health, HttpServer, HttpServerSettings};
use spillgate_llm::Target;
use spillgate_offload::NoLedger;
use spillgate_page::{Door, GatewayWatch, PREFIX, Page, PageParts, WatchedServer, WatchedSetting};
use spillgate_retrieval::{RetrievalTools, audience};
use spillgate_transport::Transport;
use tempfile::NamedTempFile;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

use crate::args::{Common, LimitArgs};
use crate::cmd::browser;
use crate::cmd::mcp::http::{listen, until_signal};
use crate::failure::Failure;
use crate::logs::{log_and_trace, tail};
use crate::models;
use crate::output::Output;
use crate::server_args::{Mcp, Ui};
use crate::settings::Settings;
use crate::wiring::App;

/// Well-known models whose prices the meter offers, beside those of the configuration. The first one
/// is the default.
const PRICED: [&str; 4] = [
    "anthropic/claude-sonnet-4-6",
    "anthropic/claude-opus-4-6",
    "openai/gpt-5.4",
    "gemini/gemini-2.5-pro",
];

/// Who looks at the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Viewer {
    /// The user who started `spillgate ui`.
    Owner,
    /// Somebody at a gateway.
    Client,
}

pub(crate) fn ui(common: &Common, ui: &Ui, out: &Output) -> Result<u8, Failure> {
    let exporting = log_and_trace("warn")?;
    let app = App::for_looking(common)?;
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        let listener = listener(&app, ui.port).await?;
        let bound = listener.local_addr()?;
        let door = Arc::new(Door::new(Arc::new(SystemClock), false));
        let page = page(&app, Viewer::Owner, door, turns(), None)?;
        let path = page.link().unwrap_or_default();
        let link = format!("http://{bound}{path}");
        match out.json {
            true => out.object(&json!({ "link": link }))?,
            false => out.text(&format!("{link}\n"))?,
        }
        out.note("the link opens the page; Ctrl-C ends it");
        let way = ui.open.then(|| way_to(&link));
        match &way {
            Some(Ok(way)) => browser::open(&way.path().to_string_lossy()),
            // The link was printed.
            Some(Err(error)) => out.note(&format!("the browser was not opened: {error}")),
            None => {}
        }
        let settings = HttpServerSettings {
            listen: bound,
            ..HttpServerSettings::default()
        };
        let front = HttpServer::without_mcp(settings).health(|| Health {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Health::default()
        });
        let front = front.page(PREFIX, page.router());
        until_signal(front, listener, &|| std::future::ready(()).boxed()).await
    });
    // A look-up that nobody waits for must not keep the process alive.
    runtime.shutdown_background();
    drop(exporting);
    code
}

/// Returns a file that leads a browser to the link. It is removed when it is dropped.
///
/// The link itself would be an argument of the browser's command, which every user of the machine can
/// read. Nobody can guess the name of the file, and only its owner can read it.
fn way_to(link: &str) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix("spillgate-ui-")
        .suffix(".html")
        .tempfile()?;
    writeln!(
        file,
        "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=\"0;url={link}\">"
    )?;
    Ok(file)
}

/// Listens on the port that the user names. If the user names none and another program uses the
/// usual one, listens on a free one.
async fn listener(app: &App, port: Option<u16>) -> Result<TcpListener, Failure> {
    let at = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    if let Some(port) = port {
        return listen(at(port)).await;
    }
    match TcpListener::bind(at(app.settings.ui.port)).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == ErrorKind::AddrInUse => listen(at(0)).await,
        Err(_) => listen(at(app.settings.ui.port)).await,
    }
}

/// Returns how many requests of pages may compute at the same time.
pub(crate) fn turns() -> Turns {
    let turns = std::thread::available_parallelism().map_or(2, NonZero::get);
    Turns::new(4 * turns, 1)
}

/// Returns the page. What a person reads on it is not recorded in the ledger.
pub(crate) fn page(
    app: &App,
    viewer: Viewer,
    door: Arc<Door>,
    turns: Turns,
    watch: Option<Arc<Watch>>,
) -> Result<Arc<Page>, Failure> {
    let unrecorded = app.offloader.clone().with_ledger(Arc::new(NoLedger));
    let tools = audience::tools(&own_tools(app.offloader.policy(), None));
    let offloader = unrecorded
        .for_audience(tools)
        .with_lookup_timeout(app.settings.lookup_timeout());
    let tools = RetrievalTools {
        offloader,
        page: app.gateway_page(),
        engine: crate::cmd::query::engine()?,
        extractor: None,
        session: None,
    };
    // The page only reads, so it uses none of these.
    let limits = ApiLimits {
        body_bytes: 0,
        upload_bytes: Some(0),
        part_time: Duration::ZERO,
        upload_time: Duration::ZERO,
        uploads: 1,
    };
    let api = Api::new(tools, app.store.names()?, limits, 1).sharing(turns);
    Ok(Page::new(PageParts {
        api,
        shell: unrecorded,
        store: Arc::clone(app.offloader.store()),
        place: app.store.place(),
        ledger: Arc::clone(&app.ledger),
        prices: prices(app),
        traces: app.settings.ui.traces.clone(),
        gateway: watch.map(|watch| watch as Arc<dyn GatewayWatch>),
        is_owner: viewer == Viewer::Owner || app.settings.secrets.raw_anywhere,
        door,
        version: env!("CARGO_PKG_VERSION"),
    }))
}

/// A gateway as its page looks at it.
#[derive(Debug)]
pub(crate) struct Watch {
    hub: Arc<Hub>,
    common: Common,
    limits: LimitArgs,
    /// The last settings that were valid.
    settings: Mutex<Vec<WatchedSetting>>,
}

impl Watch {
    pub(crate) fn new(hub: Arc<Hub>, common: &Common, mcp: &Mcp) -> Arc<Self> {
        Arc::new(Self {
            hub,
            common: common.clone(),
            limits: mcp.limits(),
            settings: Mutex::default(),
        })
    }
}

impl GatewayWatch for Watch {
    fn metrics(&self) -> String {
        self.hub.metrics().text()
    }

    fn servers(&self) -> Vec<WatchedServer> {
        let seen = self.hub.servers_seen().into_iter();
        let watched = seen.map(|server| WatchedServer {
            name: server.spec.name,
            state: match server.state {
                ServerState::Up => "up",
                ServerState::Idle => "idle",
                ServerState::Resting => "resting",
            },
            reached: match &server.spec.transport {
                Transport::Command(command) => command.program.clone(),
                Transport::Http(server) | Transport::Sse(server) => origin(&server.url),
            },
            tools: server.tools,
        });
        watched.collect()
    }

    fn clients(&self) -> Vec<Option<String>> {
        self.hub.clients_seen()
    }

    /// A gateway uses a changed file within two seconds, if it is valid.
    fn settings(&self) -> Vec<WatchedSetting> {
        let mut last = self.settings.lock();
        if let Ok(settings) = Settings::load(&self.common, &self.limits) {
            let in_force = settings.in_force_apart().into_iter();
            let watched = in_force.map(|one| WatchedSetting {
                key: one.key,
                value: one.value.to_string(),
                source: one.from,
            });
            *last = watched.collect();
        }
        last.clone()
    }

    fn log(&self) -> Vec<String> {
        tail::lines()
    }
}

/// Returns an address without its path, which may have a key.
fn origin(url: &str) -> String {
    let parsed = url.parse::<reqwest::Url>();
    parsed.map_or_else(
        |_| "an address".to_owned(),
        |url| url.origin().ascii_serialization(),
    )
}

/// Returns the prices of prompts: those of models in the configuration, and of some that are known.
fn prices(app: &App) -> Vec<(String, f64)> {
    let configured = app.settings.models.keys().map(String::as_str);
    let names = configured.chain(PRICED);
    let catalogue = models::catalogue(&app.settings);
    let priced = names.filter_map(|name| {
        let target: Target = name.parse().ok()?;
        let (_, prices, _) = catalogue.limits(&target);
        Some((name.to_owned(), prices?.input))
    });
    priced.collect()
}
