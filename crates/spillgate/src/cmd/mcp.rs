//! `spillgate mcp`: between an MCP client and a server.

use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;

use spillgate_artifact::{Clock, SystemClock};
use spillgate_extract::Extractor;
use spillgate_gateway::{Gateway, Server, own_tools};
use spillgate_offload::{Door, Offloader};
use spillgate_wire::{ServerCommand, ServerSpec, Via};

use crate::args::Mcp;
use crate::failure::Failure;
use crate::wiring::{House, SWEEP_EVERY, log_to_stderr};

/// Programs that only start another one, whose name says more.
const LAUNCHERS: [&str; 12] = [
    "npx", "bunx", "uvx", "uv", "node", "deno", "bun", "python", "python3", "pipx", "env", "sh",
];

pub(crate) fn mcp(house: &House, mcp: &Mcp) -> Result<u8, Failure> {
    log_to_stderr("warn");
    let (program, arguments) = mcp.command.split_first().expect("clap requires a command");
    let extractor = extractor(house)?;
    let gateway = Gateway {
        offloader: behind_the_gateway(house, extractor.as_ref())?,
        extractor,
        servers: vec![Server::new(ServerSpec {
            name: mcp.name.clone().unwrap_or_else(|| name_of(&mcp.command)),
            via: Via::Command(ServerCommand {
                program: program.clone(),
                arguments: arguments.to_vec(),
                ..ServerCommand::default()
            }),
        })],
        page: house.gateway_page(),
        list_tools: house.settings.list_tools,
        engine: super::query::engine()?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let code = std::thread::scope(|scope| {
        let (ended, wait) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            while wait.recv_timeout(SWEEP_EVERY) == Err(RecvTimeoutError::Timeout) {
                house.tidy(None);
            }
        });
        let code = runtime.block_on(spillgate_gateway::run(gateway));
        drop(ended);
        code
    });
    // A look-up that nobody waits for any more must not keep the process.
    runtime.shutdown_background();
    house.ledger.flush_inline(SystemClock.now());
    house.tidy(None);
    Ok(code?)
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
