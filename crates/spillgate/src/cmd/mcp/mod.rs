//! `spillgate mcp`: between an MCP client and its servers.

mod http;
mod reload;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;

use spillgate_artifact::{Clock, SystemClock};
use spillgate_extract::Extractor;
use spillgate_gateway::{Gateway, Hub, Server, own_tools};
use spillgate_offload::{Door, Offloader};
use spillgate_wire::{HttpServer, Intake, ServerCommand, ServerSpec, Via, Ways};
use tokio::runtime::{Builder, Runtime};

use crate::args::{Common, Mcp};
use crate::failure::{Failure, Fault};
use crate::logs::log_and_trace;
use crate::traces::Joined;
use crate::wiring::{House, SWEEP_EVERY};
use crate::{net, servers};

/// Programs that only start another one, whose name says more.
const LAUNCHERS: [&str; 12] = [
    "npx", "bunx", "uvx", "uv", "node", "deno", "bun", "python", "python3", "pipx", "env", "sh",
];

pub(crate) fn mcp(common: &Common, mcp: &Mcp) -> Result<u8, Failure> {
    let exporting = log_and_trace("warn")?;
    let house = House::for_offloading(common, &mcp.limits)?;
    let gateway = gateway(&house, mcp)?;
    let runtime = runtime(mcp)?;
    let code = std::thread::scope(|scope| {
        let (ended, wait) = std::sync::mpsc::channel::<()>();
        let house = &house;
        scope.spawn(move || {
            house.clear_leftovers();
            while wait.recv_timeout(SWEEP_EVERY) == Err(RecvTimeoutError::Timeout) {
                house.tidy(None);
            }
        });
        let code = runtime.block_on(async {
            let hub = Hub::new(gateway);
            if exporting.is_some() {
                hub.trace_by(Arc::new(Joined::default()));
            }
            let watched =
                reload::watch(Arc::clone(&hub), house.files(), common.clone(), mcp.clone());
            tokio::spawn(watched);
            match mcp.http {
                Some(address) => http::serve(house, mcp, address, hub).await,
                None => Ok(spillgate_gateway::run(hub).await?),
            }
        });
        drop(ended);
        code
    });
    // A look-up that nobody waits for any more must not keep the process.
    runtime.shutdown_background();
    house.ledger.flush_inline(SystemClock.now());
    house.tidy(None);
    drop(exporting); // sends what is left
    code
}

/// One client is served by one thread, which saves hand-overs; many by all.
fn runtime(mcp: &Mcp) -> std::io::Result<Runtime> {
    let mut builder = match mcp.http {
        Some(_) => Builder::new_multi_thread(),
        None => Builder::new_current_thread(),
    };
    builder.enable_all().build()
}

/// The gateway by the configuration as it is now.
fn load(common: &Common, mcp: &Mcp) -> Result<Gateway, Failure> {
    let house = House::for_offloading(common, &mcp.limits)?;
    gateway(&house, mcp)
}

fn gateway(house: &House, mcp: &Mcp) -> Result<Gateway, Failure> {
    let servers = servers(house, mcp)?;
    // A client by HTTP takes up its streams itself, where they are one server's.
    let resume = mcp.http.is_none() || servers.len() > 1;
    let extractor = extractor(house)?;
    Ok(Gateway {
        offloader: behind_the_gateway(house, extractor.as_ref())?,
        extractor,
        ways: Arc::new(Ways::new(
            Intake::new(house.offloader.store().clone()),
            net::access()?,
            resume,
        )),
        servers,
        page: house.gateway_page(),
        list_tools: house.settings.list_tools,
        engine: super::query::engine()?,
    })
}

/// The servers that were asked for: one by its command or its URL, or those of
/// the configuration.
fn servers(house: &House, mcp: &Mcp) -> Result<Vec<Server>, Failure> {
    let via = match (&mcp.url, mcp.command.split_first()) {
        (Some(url), _) => {
            let server = HttpServer {
                url: url.clone(),
                headers: headers(mcp)?,
            };
            if mcp.sse {
                Via::Sse(server)
            } else {
                Via::Http(server)
            }
        }
        (None, Some((program, arguments))) => Via::Command(ServerCommand {
            program: program.clone(),
            arguments: arguments.to_vec(),
            ..ServerCommand::default()
        }),
        (None, None) => return of_configuration(house, mcp),
    };
    let of_url = || mcp.url.as_deref().map(host_of);
    let name = mcp.name.clone().or_else(of_url);
    let name = name.unwrap_or_else(|| name_of(&mcp.command));
    Ok(vec![servers::named(
        &house.settings,
        ServerSpec { name, via },
    )?])
}

fn of_configuration(house: &House, mcp: &Mcp) -> Result<Vec<Server>, Failure> {
    let mut settings = house.settings.clone();
    if let Some(file) = house.client_file() {
        servers::add_client_file(&mut settings, &file)?;
    }
    let servers = servers::configured(&settings, &mcp.servers).map_err(|failure| {
        // What stands in a client's file has no place in ours.
        match house.client_file() {
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
    let what = "there is no server to put the gateway in front of";
    let hint = "give its command after `--`, its address with --url, a client's list with --config \
                .mcp.json, or [servers.NAME] with a `command` or a `url` in spillgate.toml";
    Err(Failure::new("usage", Fault::Caller, what.to_owned())
        .hint(hint)
        .code(2))
}

/// The headers of the options.
fn headers(mcp: &Mcp) -> Result<BTreeMap<String, String>, Failure> {
    let wrong = |what: String| {
        let hint = "write --header 'Name: value' or --header-env 'Name=VARIABLE'";
        Failure::new("usage", Fault::Caller, what)
            .hint(hint)
            .code(2)
    };
    let mut headers = BTreeMap::new();
    for header in &mcp.header {
        // Its value may be a secret, so it is not repeated.
        let (name, value) = header
            .split_once(':')
            .ok_or_else(|| wrong("a --header has no `:`".to_owned()))?;
        headers.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    for header in &mcp.header_env {
        let (name, variable) = header
            .split_once('=')
            .ok_or_else(|| wrong(format!("--header-env {header:?} has no `=`")))?;
        let value = std::env::var(variable.trim())
            .map_err(|_| wrong(format!("the variable `{variable}` is not set")))?;
        headers.insert(name.trim().to_owned(), value);
    }
    Ok(headers)
}

/// What answers `tool_output`, unless it is switched off.
fn extractor(house: &House) -> Result<Option<Extractor>, Failure> {
    let settings = &house.settings.tool_output;
    if !settings.enabled {
        return Ok(None);
    }
    let model = house.model(&settings.models)?;
    let offloader = house.offloader.clone();
    let extraction = settings.extraction.clone();
    Ok(Some(Extractor::new(offloader, model, extraction)))
}

fn behind_the_gateway(house: &House, extractor: Option<&Extractor>) -> Result<Offloader, Failure> {
    let offloader = &house.offloader;
    let policy = house.policy()?;
    let tools = own_tools(&policy, extractor);
    Ok(Offloader::new(
        offloader.store().clone(),
        policy,
        offloader.counter().clone(),
        Door::Gateway { tools },
        offloader.clock().clone(),
        offloader.ledger().clone(),
    )
    .with_short_ids(house.settings.continuation.short_ids))
}

/// What a server behind HTTP is called: its host.
fn host_of(url: &str) -> String {
    let after = url.split_once("://").map_or(url, |(_, after)| after);
    let authority = after.split(['/', '?', '#']).next().unwrap_or(after);
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    host.to_owned()
}

/// What a server is called: its program, or what a launcher was told to start.
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
        // A script after `sh -c` is no name.
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
