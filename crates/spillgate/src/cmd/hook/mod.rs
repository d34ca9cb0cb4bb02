//! `spillgate hook`: answers the hooks of a coding agent, so that large outputs of the agent's own
//! tools are stored and replaced by previews.
//!
//! A hook fails open: on any error it prints nothing on standard output and exits with 0, and the
//! client goes on as if there were no hook. docs/hooks.md describes the behaviour.

mod background;
mod session;
mod shapes;
mod shell;

use std::io::{self, Read};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use spillgate_artifact::Origin;
use spillgate_clients::{Client, Lookups, lookups, places};
use spillgate_offload::{Choice, Limits, Offloader, Outcome};
use spillgate_retrieval::audience;

use self::shapes::Shaped;
use super::outcome;
use crate::args::{Common, LimitArgs};
use crate::client_args::Hook;
use crate::clients::surroundings;
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::settings::Settings;
use crate::wiring::App;

/// Maximum size of an event, in bytes. A larger event is read to its end and passes.
const LARGEST_EVENT: u64 = 64 << 20;

/// Variable that is set if the editor Cursor runs the hooks of Claude Code. Cursor does not have
/// the tools of Claude Code.
const CURSOR: &str = "CURSOR_VERSION";

/// Variable that says, with the value 1, that the client has the look-up tools although its
/// configuration does not list them: a program gives them to it.
const LOOKUPS: &str = "SPILLGATE_HOOK_LOOKUPS";

/// What a client says about a call of a tool, or about its session.
#[derive(Debug, Deserialize)]
struct Event<'e> {
    hook_event_name: String,
    #[serde(default)]
    session_id: String,
    #[serde(default)]
    transcript_path: String,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    tool_use_id: Option<String>,
    #[serde(borrow, default)]
    tool_input: Option<&'e RawValue>,
    #[serde(borrow, default)]
    tool_response: Option<&'e RawValue>,
}

/// Answers a hook. Always returns 0: a client takes some other codes as a refusal of the call.
#[expect(
    clippy::unnecessary_wraps,
    reason = "all commands have the same signature"
)]
pub(crate) fn hook(common: &Common, hook: &Hook, out: &Output) -> Result<u8, Failure> {
    if std::env::var_os(CURSOR).is_some() {
        return Ok(0);
    }
    let answered = match hook.shell_end {
        Some(code) => shell::end(common, code),
        None => answer(common, out),
    };
    if let Err(failure) = answered {
        out.note(&format!("spillgate hook: {}", failure.text()));
    }
    Ok(0)
}

fn answer(common: &Common, out: &Output) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    let mut stdin = io::stdin().lock();
    (&mut stdin).take(LARGEST_EVENT).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == LARGEST_EVENT {
        // The client may wait until all of the event is read.
        io::copy(&mut stdin, &mut io::sink())?;
        return Err(wrong("the event is too large"));
    }
    let event: Event<'_> =
        serde_json::from_slice(&bytes).map_err(|error| wrong(&error.to_string()))?;
    match event.hook_event_name.as_str() {
        "SessionStart" => session::start(common),
        "PostToolUse" => match replacement(common, &event)? {
            Some(updated) => Ok(out.object(&json!({"hookSpecificOutput": {
                "hookEventName": "PostToolUse",
                "updatedToolOutput": updated,
            }}))?),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn wrong(what: &str) -> Failure {
    Failure::new("event", Fault::Caller, format!("the event: {what}"))
}

/// Returns the response with a preview in place of its text; `None` if the response passes.
fn replacement(common: &Common, event: &Event<'_>) -> Result<Option<Value>, Failure> {
    let Some(response) = event.tool_response else {
        return Ok(None);
    };
    if shapes::is_ours(&event.tool_name) {
        return Ok(None);
    }
    let shape = shapes::of(&event.tool_name);
    let Some(shape) = shape else { return Ok(None) };
    let is_shell = event.tool_name == shapes::SHELL;
    let limits = limits(common, &event.tool_name)?;
    let response: Value =
        serde_json::from_str(response.get()).map_err(|error| wrong(&error.to_string()))?;
    if is_shell && let Some(task) = response["backgroundTaskId"].as_str() {
        background::note(&event.session_id, task)?;
        return Ok(None);
    }
    let Some(mut shaped) = Shaped::read(shape, response) else {
        return Ok(None);
    };
    let Some(mut text) = shaped.open(&event.transcript_path)? else {
        return Ok(None);
    };
    if limits.admit_any(text.bytes) {
        return Ok(None);
    }
    let app = App::for_offloading(common, &LimitArgs::default())?;
    let origin = Origin {
        arguments: event.tool_input.map(|input| arguments(input.get())),
        call_id: None,
        ..Origin::tool(&event.tool_name)
    };
    tracing::debug!(call = event.tool_use_id, "a result may be too large");
    let pending = offloader(&app).submit_stream(origin, false, &mut text.reader, &mut |_| {})?;
    let outcome = pending.settle(Choice::Limits { is_over: None });
    app.tidy(outcome::receipt(&outcome));
    match outcome {
        Outcome::Offloaded(offloaded) => {
            shaped.replace(offloaded.shown.text());
            Ok(Some(shaped.response))
        }
        Outcome::Inline(_) => Ok(None),
        // The client's own handling loses less than our notice about the loss would.
        Outcome::NotStored(lost) => Err(lost.error.into()),
    }
}

/// Returns the arguments as the manifest shows them: the command of a shell, or the JSON.
fn arguments(input: &str) -> String {
    let command = serde_json::from_str::<Value>(input).ok();
    let command = command.as_ref().and_then(|input| input["command"].as_str());
    command.unwrap_or(input).to_owned()
}

/// Returns the limits for a tool. This opens no store and loads no vocabulary.
fn limits(common: &Common, tool: &str) -> Result<Limits, Failure> {
    let flags = LimitArgs::default();
    let policy = Settings::load(common, &flags)?.policy(&flags)?;
    Ok(policy.limits(&Origin::tool(tool)))
}

/// Returns the pipeline, with messages that name the look-ups which the client's model can call:
/// the tools if the client has the entry for them, otherwise commands.
fn offloader(app: &App) -> Offloader {
    match has_lookup_tools() {
        true => app.offloader.for_audience(audience::usual_tools()),
        false => app.offloader.clone(),
    }
}

fn has_lookup_tools() -> bool {
    if std::env::var_os(LOOKUPS).is_some_and(|value| value == "1") {
        return true;
    }
    let Ok(around) = surroundings() else {
        return false;
    };
    let client = Client::ClaudeCode;
    let places = places(client, &around);
    let mut files = crate::clients::files(&places).into_iter();
    files.any(|file| matches!(lookups(client, &file, &places), Ok(Lookups::Offered(_))))
}
