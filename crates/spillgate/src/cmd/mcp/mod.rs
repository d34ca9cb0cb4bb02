//! `spillgate mcp`: the gateway between an MCP client and its servers.

#[cfg(feature = "serve")]
pub(crate) mod http;
mod lookups;
mod reload;
mod remote;
#[cfg(feature = "serve")]
mod tokens;

pub(crate) use self::lookups::LookupsIn;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use futures_util::FutureExt;
#[cfg(feature = "serve")]
use futures_util::future::BoxFuture;
use spillgate_artifact::{Clock, SystemClock};
use spillgate_extract::Extractor;
use spillgate_gateway::{Gateway, Hub, own_tools};
#[cfg(feature = "serve")]
use spillgate_http_api::Api;
use spillgate_offload::{Audience, FileLedger, Offloader};
use spillgate_retrieval::RetrievalTools;
use spillgate_retrieval::audience;
use spillgate_transport::{HttpServer, ServerCommand, ServerSpec, StandardConnector, Transport};
use spillgate_upstream::Server;
use tokio::runtime::{Builder, Runtime};

use crate::args::Common;
use crate::audit::count_losses_in;
use crate::clients::{is_program, on_path};
use crate::failure::{Failure, Fault};
use crate::logs::log_and_trace;
#[cfg(feature = "telemetry")]
use crate::otlp_metrics::Pushing;
#[cfg(feature = "serve")]
use crate::server_args::Listen;
use crate::server_args::Mcp;
use crate::settings::SWEEP_EVERY;
#[cfg(feature = "serve")]
use crate::tenants::Tenants;
#[cfg(feature = "telemetry")]
use crate::traces::Joined;
use crate::wiring::App;
use crate::{net, servers};

/// Programs that only start another program, whose name describes the server better.
const LAUNCHERS: [&str; 12] = [
    "npx", "bunx", "uvx", "uv", "node", "deno", "bun", "python", "python3", "pipx", "env", "sh",
];

pub(crate) fn mcp(common: &Common, mcp: &Mcp) -> Result<u8, Failure> {
    serve(common, mcp, For::Clients)
}

/// Whom a server is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// MCP clients.
    Clients,
    /// Programs that use the HTTP API, and MCP clients if there are servers for them.
    Programs,
}

/// Serves until the client has disconnected or a signal arrives; returns the exit code.
pub(crate) fn serve(common: &Common, mcp: &Mcp, whom: For) -> Result<u8, Failure> {
    crate::memory::keep_little()?;
    let exporting = log_and_trace("warn")?;
    let app = Arc::new(App::for_gateway(common, &mcp.limits())?);
    if whom == For::Clients && lookups::are_all(&app, mcp)? {
        greet_a_person(mcp);
        return lookups::serve(&app);
    }
    let gateway = match whom == For::Programs && !has_servers(&app, mcp)? {
        true => None,
        false => Some(gateway(&app, mcp)?),
    };
    #[cfg(not(feature = "serve"))]
    if mcp.http.is_some() {
        return Err(crate::left_out::failure("mcp --http", "serve"));
    }
    #[cfg(feature = "serve")]
    let api = match whom {
        For::Clients => None,
        For::Programs => Some(http::api(&app)?),
    };
    let runtime = runtime(mcp)?;
    greet_a_person(mcp);
    // A missing program is reported here only if there are several clients or servers. With one
    // client and one server, the server starts immediately, and the client gets its error.
    if let Some(gateway) = &gateway
        && (mcp.http.is_some() || gateway.servers.len() > 1)
    {
        tell_what_is_missing(&gateway.servers);
    }
    let hub = gateway.map(Hub::new);
    let hub = hub.inspect(|hub| count_losses_in(hub.metrics()));
    #[cfg(feature = "telemetry")]
    let pushing = pushing(&app, hub.as_ref())?;
    #[cfg(feature = "serve")]
    let tenants = {
        let _in_runtime = runtime.enter();
        tenants(&app, mcp, hub.as_ref(), api.as_ref())?
    };
    let tidied = Arc::clone(&app);
    #[cfg(feature = "serve")]
    let all = tenants.clone();
    let tidying = Tidying::begin(move |wait| {
        tidied.clear_leftovers();
        while wait.recv_timeout(SWEEP_EVERY) == Err(RecvTimeoutError::Timeout) {
            tidied.tidy_in_background();
            #[cfg(feature = "serve")]
            if let Some(tenants) = &all {
                tenants.tidy();
            }
        }
    });
    let code = runtime.block_on(async {
        if let Some(hub) = &hub {
            #[cfg(feature = "telemetry")]
            if exporting.is_some() {
                hub.trace_by(Arc::new(Joined::default()));
            }
            #[cfg(not(feature = "serve"))]
            let then = |_: App| std::future::ready(()).boxed();
            #[cfg(feature = "serve")]
            let then = reloading(tenants.clone());
            let asked = (common.clone(), mcp.clone(), Arc::clone(&app.ledger));
            tokio::spawn(reload::watch(Arc::clone(hub), app.files(), asked, then));
        }
        match (mcp.http, hub) {
            (None, Some(hub)) => Ok(spillgate_gateway::run(hub).await?),
            #[cfg(not(feature = "serve"))]
            _ => unreachable!(
                "invariant: only `serve` and `--http` have no gateway on standard streams"
            ),
            #[cfg(feature = "serve")]
            (listen, hub) => {
                let address = match listen {
                    Some(Listen::At(address)) => address,
                    _ => app.settings.http.listen,
                };
                let served = http::Served {
                    app: Arc::clone(&app),
                    hub,
                    tenants: tenants.clone(),
                };
                http::serve(&served, (common, mcp), address, api).await
            }
        }
    });
    #[cfg(feature = "serve")]
    if let Some(tenants) = &tenants {
        tenants.end_tidying();
    }
    tidying.end(TIDIES);
    #[cfg(feature = "serve")]
    if let Some(tenants) = &tenants {
        tenants.flush();
    }
    // A look-up whose client has disconnected must not keep the process alive.
    runtime.shutdown_background();
    app.ledger.flush_inline(SystemClock.now());
    app.tidy_quickly(None);
    #[cfg(feature = "telemetry")]
    drop(pushing);
    drop(exporting); // exports the remaining telemetry
    code
}

/// Returns the tenants of a server over HTTP, if there are any. Must be called in a runtime.
#[cfg(feature = "serve")]
fn tenants(
    app: &Arc<App>,
    mcp: &Mcp,
    hub: Option<&Arc<Hub>>,
    api: Option<&Api>,
) -> Result<Option<Arc<Tenants>>, Failure> {
    if mcp.http.is_none() || !app.settings.tenants.enabled {
        return Ok(None);
    }
    let turns = api.map(Api::turns);
    Tenants::new(Arc::clone(app), mcp, hub.cloned(), turns).map(Some)
}

/// Begins to send the metrics of a gateway to a collector, if the settings say so.
#[cfg(feature = "telemetry")]
fn pushing(app: &App, hub: Option<&Arc<Hub>>) -> Result<Option<Pushing>, Failure> {
    let every = app.settings.telemetry.metrics_interval.time;
    let (Some(every), Some(hub)) = (every, hub) else {
        return Ok(None);
    };
    let metrics = Arc::clone(hub.metrics());
    Pushing::begin(every, move || metrics.text()).map(Some)
}

/// Returns what applies a new configuration to the tenants.
#[cfg(feature = "serve")]
fn reloading(tenants: Option<Arc<Tenants>>) -> impl Fn(App) -> BoxFuture<'static, ()> {
    move |app: App| {
        let tenants = tenants.clone();
        async move {
            if let Some(tenants) = tenants {
                tenants.reload(Arc::new(app)).await;
            }
        }
        .boxed()
    }
}

/// How long the end of the process waits for the tidying of a store. A sweep of a bucket can take much
/// longer; if it is broken off, a later one does the rest.
const TIDIES: Duration = Duration::from_secs(2);

/// A thread that tidies stores while a server runs.
struct Tidying {
    /// The thread should end when this is dropped.
    ended: Sender<()>,
    /// Is disconnected when the thread has ended.
    done: Receiver<()>,
}

impl Tidying {
    fn begin(work: impl FnOnce(Receiver<()>) + Send + 'static) -> Self {
        let (ended, wait) = channel();
        let (working, done) = channel::<()>();
        std::thread::spawn(move || {
            let _working = working;
            work(wait);
        });
        Self { ended, done }
    }

    /// Ends the thread, but waits for it only so long.
    fn end(self, patience: Duration) {
        drop(self.ended);
        let _ = self.done.recv_timeout(patience);
    }
}

/// Whether there is a server to put the gateway in front of.
fn has_servers(app: &App, mcp: &Mcp) -> Result<bool, Failure> {
    if !app.settings.serve.mcp {
        return Ok(false);
    }
    let is_named = !mcp.servers.is_empty() || app.client_file().is_some();
    Ok(is_named || !servers::configured(&app.settings, &[])?.is_empty())
}

/// Returns the runtime. A single client is served by one thread, which saves hand-overs between
/// threads; many clients are served by one thread per core.
fn runtime(mcp: &Mcp) -> std::io::Result<Runtime> {
    let mut builder = match mcp.http {
        Some(_) => Builder::new_multi_thread(),
        None => Builder::new_current_thread(),
    };
    builder.enable_all().build()
}

/// Builds the gateway from the current configuration. It records in the ledger that is used already.
fn load(common: &Common, mcp: &Mcp, ledger: &Arc<FileLedger>) -> Result<(App, Gateway), Failure> {
    let app = App::for_gateway(common, &mcp.limits())?.recording_in(ledger);
    let gateway = gateway(&app, mcp)?;
    Ok((app, gateway))
}

pub(crate) fn gateway(app: &App, mcp: &Mcp) -> Result<Gateway, Failure> {
    let servers = servers(app, mcp)?;
    // With a single server, an HTTP client resumes the server's streams by itself.
    let resume = mcp.http.is_none() || servers.len() > 1;
    let extractor = extractor(app)?;
    let (list_tools, elsewhere) = lookups::listed(app, mcp);
    let offloader = behind_the_gateway(app, extractor.as_ref(), elsewhere);
    // Short ids can be guessed, so they are for a single client.
    let short_ids = app.settings.short_ids() && mcp.http.is_none();
    Ok(Gateway {
        offloader: offloader.with_short_ids(short_ids),
        extractor,
        connector: Arc::new(StandardConnector::new(
            app.settings.frame_reader(app.offloader.store()),
            net::access()?,
            resume,
        )),
        servers,
        page: app.gateway_page(),
        list_tools,
        engine: super::query::engine()?,
        several: app.settings.several()?,
        tool_search: app.settings.tool_search(mcp.tool_list)?,
    })
}

/// Returns the servers to use: the one given by a command or a URL, or those of the configuration.
fn servers(app: &App, mcp: &Mcp) -> Result<Vec<Server>, Failure> {
    let url = remote::url(mcp)?;
    let transport = match (&url, mcp.command.split_first()) {
        (Some(url), _) => {
            let server = HttpServer {
                url: url.clone(),
                headers: remote::headers(mcp)?,
            };
            if mcp.sse {
                Transport::Sse(server)
            } else {
                Transport::Http(server)
            }
        }
        (None, Some((program, arguments))) => Transport::Command(ServerCommand {
            program: program.clone(),
            arguments: arguments.to_vec(),
            ..ServerCommand::default()
        }),
        (None, None) => return of_configuration(app, mcp),
    };
    let of_url = || url.as_deref().map(remote::host_of);
    let name = mcp.name.clone().or_else(of_url);
    let name = name.unwrap_or_else(|| name_of(&mcp.command));
    Ok(vec![servers::named(
        &app.settings,
        ServerSpec { name, transport },
    )?])
}

fn of_configuration(app: &App, mcp: &Mcp) -> Result<Vec<Server>, Failure> {
    let mut settings = app.settings.clone();
    if let Some(file) = app.client_file() {
        servers::add_client_file(&mut settings, &file)?;
    }
    let servers = servers::configured(&settings, &mcp.servers).map_err(|failure| {
        // If the servers come from a client's file, the error names this file, because the keys of
        // our configuration do not exist there.
        match app.client_file() {
            Some(file) if failure.text().starts_with('`') => {
                let what = format!("{}: {}", file.display(), failure.text());
                failure.message(&what)
            }
            _ => failure,
        }
    })?;
    if !servers.is_empty() {
        return Ok(servers);
    }
    let (what, hint) = match app.client_file() {
        Some(file) => (
            format!(
                "{}: every server in it is disabled, or has neither a `command` nor a `url`",
                file.display()
            ),
            "give one of them a `command` or a `url`; --server NAME also starts a disabled server",
        ),
        None => (
            "there is no server to put the gateway in front of".to_owned(),
            WAYS,
        ),
    };
    Err(Failure::new("usage", Fault::Caller, what)
        .hint(hint)
        .code(2))
}

/// Hint for a user who named no server.
const WAYS: &str = "say which, in one of these ways:
  spillgate mcp -- npx -y @modelcontextprotocol/server-filesystem /some/dir   a program
  spillgate mcp --url https://mcp.example.com/mcp                             one behind HTTP
  spillgate mcp --config .mcp.json                                            those of a client's list
  [servers.NAME] with a `command` or a `url` in spillgate.toml                those of the configuration
`spillgate wrap CLIENT` puts the gateway before the servers that a client has already";

/// Tells a user at a terminal that this command waits for an MCP client.
fn greet_a_person(mcp: &Mcp) {
    if mcp.http.is_none() && std::io::stdin().is_terminal() {
        tracing::warn!(
            "waiting for an MCP client on standard input. MCP clients start this command themselves; `spillgate wrap CLIENT` sets one up. Ctrl-C ends it"
        );
    }
}

/// Warns about servers' programs that do not exist, already at the start and not only when a client
/// connects.
fn tell_what_is_missing(servers: &[Server]) {
    for server in servers {
        let Transport::Command(command) = &server.spec.transport else {
            continue;
        };
        let program = Path::new(&command.program);
        let is_there = match program.components().count() {
            1 => on_path(&command.program).is_some(),
            _ => command.directory.is_some() || is_program(program),
        };
        if !is_there {
            tracing::warn!(
                server = server.spec.name,
                program = command.program,
                "the server's program does not exist or is not executable: correct its command, or the PATH that the gateway starts with"
            );
        }
    }
}

/// Returns the extractor behind `tool_output`, or `None` if it is switched off.
fn extractor(app: &App) -> Result<Option<Extractor>, Failure> {
    let settings = &app.settings.tool_output;
    if !settings.enabled {
        return Ok(None);
    }
    let model = app.model(&settings.models)?;
    let offloader = app.offloader.clone();
    let extraction = settings.extraction.clone();
    let extractor = Extractor::new(offloader, model, extraction);
    Ok(Some(extractor.with_keeper(app.settings.ui.keeper())))
}

/// Returns the look-up tools of a server that stores results, and the names of the tools that it
/// lists.
pub(crate) fn retrieval(app: &App) -> Result<(RetrievalTools, Vec<&'static str>), Failure> {
    let extractor = extractor(app)?;
    let listed = own_tools(app.offloader.policy(), extractor.as_ref());
    let tools = RetrievalTools {
        offloader: behind_the_gateway(app, extractor.as_ref(), None),
        page: app.gateway_page(),
        engine: crate::cmd::query::engine()?,
        extractor,
        session: None,
    };
    Ok((tools, listed))
}

/// Returns the offloader of the gateway. `elsewhere` describes where the look-up tools are reached
/// if this server does not list them.
fn behind_the_gateway(
    app: &App,
    extractor: Option<&Extractor>,
    elsewhere: Option<Audience>,
) -> Offloader {
    let here = || audience::tools(&own_tools(app.offloader.policy(), extractor));
    app.offloader
        .for_audience(elsewhere.unwrap_or_else(here))
        .with_lookup_timeout(app.settings.lookup_timeout())
}

/// Returns a server's name: the name of its program, or of the program that a launcher starts.
fn name_of(command: &[String]) -> String {
    let stem = |path: &str| {
        let name = Path::new(path)
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        name.unwrap_or_else(|| path.to_owned())
    };
    let program = stem(command.first().map_or("", String::as_str));
    let is_launcher = LAUNCHERS.iter().any(|known| program.starts_with(known));
    let started = command
        .iter()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    match started {
        // A script after `sh -c` is not a name.
        Some(started) if is_launcher && !started.contains(char::is_whitespace) => {
            stem(started.trim_end_matches("@latest"))
        }
        _ => program,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_does_not_wait_for_a_long_sweep() {
        let begun = std::time::Instant::now();
        let long = Tidying::begin(|_| std::thread::sleep(Duration::from_secs(60)));
        long.end(Duration::from_millis(50));
        assert!(begun.elapsed() < Duration::from_secs(30));
        // A thread that waits ends at once.
        let short = Tidying::begin(|wait| assert!(wait.recv().is_err()));
        short.end(Duration::from_secs(60));
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn servers_are_named_by_what_runs() {
        for (command, name) in [
            ("server-thing --flag", "server-thing"),
            (
                "npx -y @modelcontextprotocol/server-everything",
                "server-everything",
            ),
            ("/usr/bin/python3 tools/my_server.py", "my_server"),
            ("uvx mcp-server-git@latest", "mcp-server-git"),
            ("npx", "npx"),
            ("sh -c read\tline", "sh"),
        ] {
            let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(name_of(&command), name);
        }
    }
}
