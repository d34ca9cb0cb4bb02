//! `spillgate hook`: answers the hooks of a coding agent, so that large outputs of the agent's own
//! tools are stored and replaced by previews.
//!
//! A hook fails open: on any error it prints nothing on standard output and exits with 0, and the
//! client goes on as if there were no hook. docs/hooks.md describes the behaviour.

mod background;
mod claude;
mod codex;
mod copilot;
mod cursor;
mod found;
mod gemini;
mod opencode;
mod ours;
mod session;
mod shell;

use std::io::{self, IsTerminal, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use spillgate_artifact::Origin;
use spillgate_clients::{Client, Lookups, lookups, places};
use spillgate_offload::{Choice, Limits, NotStored, Offloader, Outcome, Unstored};
use spillgate_retrieval::audience;

use self::found::Found;
use super::outcome;
use crate::args::{Common, LimitArgs};
use crate::client_args::Hook;
use crate::clients::surroundings;
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::settings::Settings;
use crate::wiring::{App, GATEWAY_PAGE};

/// Maximum size of an event, in bytes. A larger event is read to its end and passes.
const LARGEST_EVENT: u64 = 64 << 20;

/// Maximum tokens of the pages of look-ups that a client's model calls by commands.
const PAGE: u64 = GATEWAY_PAGE;

/// Variable that is set if the editor Cursor runs the hooks of Claude Code. Cursor does not have
/// the tools of Claude Code.
const CURSOR: &str = "CURSOR_VERSION";

/// Variable that says, with the value 1, that the client has the look-up tools although its
/// configuration does not list them: a program gives them to it.
const LOOKUPS: &str = "SPILLGATE_HOOK_LOOKUPS";

/// What a client says about a call of a tool, or about its session. The names of the members differ
/// between clients.
#[derive(Debug, Deserialize)]
struct Event<'e> {
    #[serde(default)]
    hook_event_name: String,
    #[serde(default, alias = "sessionId")]
    session_id: String,
    #[serde(default)]
    transcript_path: String,
    #[serde(default, alias = "toolName")]
    tool_name: String,
    #[serde(default)]
    tool_use_id: Option<String>,
    #[serde(borrow, default, alias = "toolArgs")]
    tool_input: Option<&'e RawValue>,
    #[serde(borrow, default, alias = "toolResult", alias = "tool_output")]
    tool_response: Option<&'e RawValue>,
}

impl Event<'_> {
    /// Returns the result of the call; null if there is none.
    fn response(&self) -> Result<Value, Failure> {
        let Some(response) = self.tool_response else {
            return Ok(Value::Null);
        };
        serde_json::from_str(response.get()).map_err(|error| wrong(&error.to_string()))
    }
}

/// Reads the result of a tool in the event of a client; `None` if it passes.
type Reader = fn(&Event<'_>) -> Result<Option<Found>, Failure>;

/// Returns the name of the client's event after a call, and the reader of its results. `None` if the
/// client has no hooks.
fn after_call(client: Client) -> Option<(&'static str, Reader)> {
    Some(match client {
        Client::ClaudeCode => ("PostToolUse", claude::read),
        Client::Codex => ("PostToolUse", codex::read),
        Client::Gemini => ("AfterTool", gemini::read),
        Client::Cursor => ("postToolUse", cursor::read),
        Client::Opencode => ("tool.execute.after", opencode::read),
        // Its events have no name.
        Client::Copilot => ("", copilot::read),
        _ => return None,
    })
}

/// Answers a hook. Always returns 0: a client takes some other codes as a refusal of the call.
#[expect(
    clippy::unnecessary_wraps,
    reason = "all commands have the same signature"
)]
pub(crate) fn hook(common: &Common, hook: &Hook, out: &Output) -> Result<u8, Failure> {
    // Cursor also runs the hooks of Claude Code.
    if hook.client == Client::ClaudeCode && std::env::var_os(CURSOR).is_some() {
        return Ok(0);
    }
    let answered = catch_unwind(AssertUnwindSafe(|| match hook.shell_end {
        Some(code) => shell::end(common, code),
        None => answer(common, hook.client, out),
    }));
    // A panic has printed its message. Its exit code would refuse the call in some clients.
    if let Ok(Err(failure)) = answered {
        out.note(&format!("spillgate hook: {}", failure.text()));
    }
    Ok(0)
}

fn answer(common: &Common, client: Client, out: &Output) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    if io::stdin().is_terminal() {
        out.note("reading an event from the terminal; Ctrl-D ends it. A client runs this command, not you");
    }
    let mut stdin = io::stdin().lock();
    (&mut stdin).take(LARGEST_EVENT).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == LARGEST_EVENT {
        // The client may wait until all of the event is read.
        io::copy(&mut stdin, &mut io::sink())?;
        return Err(wrong("the event is too large"));
    }
    let event: Event<'_> =
        serde_json::from_slice(&bytes).map_err(|error| not_an_event(&bytes, &error))?;
    let Some((after_call, read)) = after_call(client) else {
        return Ok(());
    };
    match event.hook_event_name.as_str() {
        name if name == after_call => {
            if ours::is_ours(client, &event.tool_name) {
                return Ok(());
            }
            let found = read(&event)?;
            let answer = found.map(|found| replacement(common, client, &event, found));
            match answer.transpose()?.flatten() {
                Some(answer) => Ok(out.object(&answer)?),
                None => Ok(()),
            }
        }
        "SessionStart" if client == Client::ClaudeCode => session::start(common),
        "" => Err(wrong("it has no name")),
        _ => Ok(()),
    }
}

/// Returns the error for an input that is no event. Most likely a person runs the hook.
fn not_an_event(bytes: &[u8], error: &serde_json::Error) -> Failure {
    let what = match bytes.trim_ascii().is_empty() {
        true => "it is empty".to_owned(),
        false => error.to_string(),
    };
    wrong(&format!(
        "{what}. The client runs this command, with an event as JSON on standard input; `spillgate wrap CLIENT --hooks` sets it up"
    ))
}

fn wrong(what: &str) -> Failure {
    Failure::new("event", Fault::Caller, format!("the event: {what}"))
}

/// Returns the answer with a preview in place of the text; `None` if the result passes.
fn replacement(
    common: &Common,
    client: Client,
    event: &Event<'_>,
    mut found: Found,
) -> Result<Option<Value>, Failure> {
    if limits(common, &event.tool_name)?.admit_any(found.text.bytes) {
        return Ok(None);
    }
    let app = App::for_offloading(common, &LimitArgs::default())?;
    let origin = Origin {
        arguments: event.tool_input.map(|input| arguments(input.get())),
        call_id: None,
        ..Origin::tool(&event.tool_name)
    };
    tracing::debug!(call = event.tool_use_id, "a result may be too large");
    let reader = &mut found.text.reader;
    let mut pending = offloader(&app, client).submit_stream(origin, false, reader, &mut |_| {})?;
    if let Some(ending) = found.ending {
        pending = pending.ended(ending);
    }
    let outcome = pending.settle(Choice::Limits { is_over: None });
    app.tidy_quickly(outcome::receipt(&outcome));
    match outcome {
        Outcome::Offloaded(offloaded) => Ok(Some(found.answered(offloaded.shown.text()))),
        Outcome::Inline(_) => Ok(None),
        Outcome::NotStored(lost) => match refusal(&lost) {
            // What the client says besides may be a part of the output.
            Some(text) => Ok(Some((found.answer)(text))),
            // The client's own handling loses less than our notice about the loss would.
            None => Err(lost.error.into()),
        },
    }
}

/// Returns the message that takes the place of a result which must be neither stored nor shown;
/// `None` if the store failed.
fn refusal(lost: &NotStored) -> Option<&str> {
    match lost.error {
        Unstored::Secrets { .. } => Some(lost.shown.text()),
        Unstored::Failed(_) => None,
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
fn offloader(app: &App, client: Client) -> Offloader {
    let audience = match client {
        _ if has_lookup_tools(client) => audience::usual_tools(),
        // There, the start of the session has set the size of pages for all commands.
        Client::ClaudeCode => return app.offloader.clone(),
        // A larger page would be replaced in turn.
        _ => audience::command_line(&format!("{} --max-tokens {PAGE}", app.store_option())),
    };
    app.offloader.for_audience(audience)
}

fn has_lookup_tools(client: Client) -> bool {
    if std::env::var_os(LOOKUPS).is_some_and(|value| value == "1") {
        return true;
    }
    let Ok(around) = surroundings() else {
        return false;
    };
    let places = places(client, &around);
    let mut files = crate::clients::files(&places).into_iter();
    files.any(|file| matches!(lookups(client, &file, &places), Ok(Lookups::Offered(_))))
}
