//! `spillgate tools`: serves the guarded tools over MCP, or calls one of them from the command
//! line.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use spillgate_artifact::{Handle, Interrupt, Origin};
use spillgate_extract::NoWatch;
use spillgate_offload::{History, Offloader};
use spillgate_retrieval::{Extraction, RetrievalTools, TOOL_OUTPUT, definitions};
use spillgate_tool_server::{LookupTools, offloaded, serve_guarded};
use spillgate_workspace_tools::{Body, OnOverflow, ToolResult, Workspace, WorkspaceTools};
use tokio::runtime::Builder;

use super::mcp;
use crate::args::{Common, LimitArgs};
use crate::failure::{Failure, Fault};
use crate::guarded_settings::{GuardedSettings, Places};
use crate::logs::log_to_stderr;
use crate::output::Output;
use crate::tools_args::Tools;
use crate::wiring::App;

pub(crate) fn tools(common: &Common, tools: &Tools, out: &Output) -> Result<u8, Failure> {
    log_to_stderr("warn");
    let app = App::for_gateway(common, &LimitArgs::default())?;
    if tools.lookups {
        return lookups(&app, tools, out);
    }
    let settings = over(app.settings.guarded.clone(), tools);
    let guarded = WorkspaceTools::new(
        workspace(tools.root.as_deref().unwrap_or(Path::new(".")))?,
        settings.rules(&app.settings.places)?,
    );
    if tools.by_hand.list {
        let all = guarded.definitions().into_iter().map(|tool| {
            json!({"name": tool.name, "description": tool.description, "inputSchema": tool.schema})
        });
        return list(all, out);
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        match &tools.by_hand.call {
            Some(tool) => {
                let arguments = object(&tools.by_hand.arguments)?;
                // The messages of this offloader name the look-up commands of the command line.
                let offloader = &app.offloader;
                let (text, is_error) = answer(&guarded, offloader, tool, arguments).await?;
                print(&text, is_error, out)
            }
            None => serve(&app, &settings, guarded).await,
        }
    });
    // A call whose client has disconnected must not keep the process alive.
    runtime.shutdown_background();
    app.tidy(None);
    code
}

async fn serve(
    app: &App,
    settings: &GuardedSettings,
    guarded: WorkspaceTools,
) -> Result<u8, Failure> {
    let offloading = match settings.on_overflow {
        OnOverflow::Reject => None,
        OnOverflow::Offload => {
            // The store and the look-up tools are those of the gateway.
            let (tools, listed) = mcp::retrieval(app)?;
            // This process serves one client.
            let session = Some(Arc::default());
            let tools = RetrievalTools { session, ..tools };
            Some(LookupTools::new(tools, listed))
        }
    };
    let served = serve_guarded(guarded, settings.max_tokens, offloading).await;
    served.map_err(|error| Failure::new("stdio", Fault::Us, error.to_string()))?;
    Ok(0)
}

/// Lists the look-up tools, or calls one of them.
fn lookups(app: &App, asked: &Tools, out: &Output) -> Result<u8, Failure> {
    let (mut tools, listed) = mcp::retrieval(app)?;
    let Some(tool) = &asked.by_hand.call else {
        return list(definitions(&listed, Extraction::Ours), out);
    };
    if !listed.contains(&tool.as_str()) {
        let what = format!(
            "no look-up tool is called {tool}; there are {}",
            listed.join(", ")
        );
        return Err(Failure::new("usage", Fault::Caller, what).code(2));
    }
    if !asked.session.is_empty() {
        tools.session = Some(Arc::new(session(app, &asked.session)));
    }
    let arguments = object(&asked.by_hand.arguments)?;
    let arguments = to_raw_value(&arguments).map_err(io::Error::from)?;
    let result = match tool.as_str() {
        TOOL_OUTPUT => {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(tools.tool_output(Some(&arguments), &NoWatch))
        }
        name => tools.call(name, Some(&arguments), &Interrupt::default()),
    };
    let result: Value = serde_json::from_str(&result).map_err(io::Error::from)?;
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    print(text, result["isError"] == true, out)
}

/// Returns the history of a caller that was shown messages for these outputs. Outputs that are gone
/// are left out.
fn session(app: &App, handles: &[Handle]) -> History {
    let history = History::default();
    for &handle in handles {
        if let Ok(artifact) = app.offloader.artifact(handle) {
            history.note(artifact.manifest(), false);
        }
    }
    history
}

/// Applies command-line options to the settings.
fn over(mut settings: GuardedSettings, tools: &Tools) -> GuardedSettings {
    if !tools.only.is_empty() {
        settings.tools = Some(tools.only.clone());
    }
    let Tools {
        sizes, shell, web, ..
    } = tools;
    settings.max_tokens = sizes.max_tokens.unwrap_or(settings.max_tokens);
    settings.on_overflow = sizes.on_overflow.unwrap_or(settings.on_overflow);
    settings.detailed_recovery |= sizes.detailed_recovery;
    if web.read_only {
        settings.writable = Places::All(false);
    } else if !web.writable.is_empty() {
        settings.writable = Places::Some(web.writable.clone());
    }
    settings.web.allow.extend(web.allow.iter().cloned());
    settings.shell.timeout_seconds = shell.timeout.unwrap_or(settings.shell.timeout_seconds);
    settings.shell.env.extend(shell.env.iter().cloned());
    settings.shell.sandbox |= shell.sandbox;
    settings.shell.network &= !shell.no_network;
    settings
}

fn workspace(root: &Path) -> Result<Workspace, Failure> {
    Workspace::open(root).map_err(|error| {
        let message = format!("{}: {error}", root.display());
        Failure::new("root", Fault::Caller, message).hint("name a directory with --root DIR")
    })
}

/// Returns the text of a call's answer, and whether the call failed.
async fn answer(
    guarded: &WorkspaceTools,
    offloader: &Offloader,
    tool: &str,
    arguments: Map<String, Value>,
) -> Result<(String, bool), Failure> {
    let origin = Origin {
        arguments: Some(Value::Object(arguments.clone()).to_string()),
        ..Origin::tool(tool)
    };
    let ToolResult { body, is_error } = guarded.call(tool, arguments).await;
    let text = match body {
        Body::Text(text) => text,
        Body::Oversized(all) => offloaded(offloader, None, origin, all, is_error).await?,
    };
    Ok((text, is_error))
}

/// Maximum bytes of the arguments on standard input.
const LARGEST_ARGUMENTS: u64 = 64 << 20;

/// Parses the arguments of a call; `-` stands for standard input.
fn object(arguments: &str) -> Result<Map<String, Value>, Failure> {
    let mut read = String::new();
    let arguments = match arguments {
        "-" => {
            let stdin = io::stdin().lock();
            stdin.take(LARGEST_ARGUMENTS).read_to_string(&mut read)?;
            &read
        }
        typed => typed,
    };
    serde_json::from_str(arguments).map_err(|error| {
        let message = format!("the arguments are no JSON object: {error}");
        Failure::new("arguments", Fault::Caller, message)
            .hint("write them as '{\"file_path\": \"README.md\"}'; --list shows the tools")
    })
}

/// Prints an answer. A refusal is printed like any answer, but the exit code is 1.
fn print(text: &str, is_error: bool, out: &Output) -> Result<u8, Failure> {
    match out.json {
        true => out.object(&json!({"text": text, "is_error": is_error}))?,
        false => out.text(text)?,
    }
    Ok(u8::from(is_error))
}

/// Lists definitions of tools: with `--json` as they are, otherwise as text.
fn list(tools: impl IntoIterator<Item = Value>, out: &Output) -> Result<u8, Failure> {
    for tool in tools {
        if out.json {
            out.object(&tool)?;
            continue;
        }
        let text = |member: &str| tool[member].as_str().unwrap_or_default();
        out.text(&format!("{}: {}\n", text("name"), text("description")))?;
        let schema = &tool["inputSchema"];
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let members = schema["properties"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        for (name, property) in members {
            let what = property["description"].as_str().unwrap_or_default();
            let must = if required.iter().any(|one| *one == *name) {
                " (required)"
            } else {
                ""
            };
            out.text(&format!("    {name}{must}: {what}\n"))?;
        }
    }
    Ok(0)
}
