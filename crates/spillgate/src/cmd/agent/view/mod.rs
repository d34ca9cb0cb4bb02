//! `spillgate agent view`: shows what a run did, from its trace.

mod accounts;
mod table;
#[cfg(test)]
mod tests;
mod tree;

use spillgate_untrusted::marked;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use spillgate_agent::{Ending, TRACE_VERSION, Trace};

use super::words::{bytes, count, number, one_line, time};
use crate::agent_args::{AgentView, TracePart};
use crate::failure::{Failure, Fault};
use crate::output::Output;

/// Maximum length of a task or a reason, in characters.
const WORDS: usize = 300;

pub(super) fn view(view: &AgentView, out: &Output) -> Result<u8, Failure> {
    let text = fs::read_to_string(&view.trace)
        .map_err(|error| wrong(&view.trace, &format!("cannot be read: {error}")))?;
    let trace = parsed(&text).map_err(|what| wrong(&view.trace, &what))?;
    match out.json {
        true => out.object(&part_of(&trace, view.part))?,
        false => out.text(&shown(&trace, view.part))?,
    }
    Ok(0)
}

/// Parses a trace, and refuses one that only newer versions can read. An error text is the rest of
/// a sentence that begins with the file's name.
fn parsed(text: &str) -> Result<Trace, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("is no JSON: {error}"))?;
    let version = value["version"].as_u64();
    let version = version.ok_or("is no trace of an agent: it has no version")?;
    if version > u64::from(TRACE_VERSION) {
        return Err(format!(
            "is a trace of version {version}; this program reads up to {TRACE_VERSION}: it was written by a newer one"
        ));
    }
    // The trace is parsed from the text and not from the value, because only then errors have line
    // numbers.
    serde_json::from_str(text).map_err(|error| format!("is no trace of an agent: {error}"))
}

fn wrong(path: &Path, what: &str) -> Failure {
    let message = format!("{} {what}", path.display());
    Failure::new("trace", Fault::Caller, message)
        .hint("`spillgate agent FILE TASK --trace TRACE` writes a trace")
}

fn part_of(trace: &Trace, part: Option<TracePart>) -> Value {
    match part {
        None => json!(trace),
        Some(TracePart::Tree) => json!(trace.root),
        Some(TracePart::Accounting) => json!(trace.accounting),
        Some(TracePart::Report) => json!(trace.report),
    }
}

/// Formats a trace, or one part of it, for a person.
fn shown(trace: &Trace, part: Option<TracePart>) -> String {
    let report = || trace.report.as_ref().map(|report| report.content.clone());
    match part {
        Some(TracePart::Tree) => tree::tree(&trace.root),
        Some(TracePart::Accounting) => accounts::accounts(&trace.accounting),
        Some(TracePart::Report) => report().map_or_else(String::new, |text| harmless(&text) + "\n"),
        None => format!(
            "{}\n{}\n{}",
            head(trace),
            tree::tree(&trace.root),
            accounts::accounts(&trace.accounting)
        ),
    }
}

/// Makes the control characters in a text of several lines visible, because they could move a
/// terminal's cursor.
pub(super) fn harmless(text: &str) -> String {
    marked(&text.replace("\r\n", "\n")).into_owned()
}

fn head(trace: &Trace) -> String {
    let setup = &trace.setup;
    let models: Vec<String> = setup
        .models
        .iter()
        .map(|target| one_line(&target.to_string(), 80))
        .collect();
    let window = &setup.window;
    let ended = trace.ended.map(|at| format!(", ended {at}"));
    let task = one_line(&trace.task, WORDS);
    let more = match (trace.task.len() as u64) < trace.task_bytes || task.ends_with('…') {
        true => format!(" ({})", bytes(trace.task_bytes)),
        false => String::new(),
    };
    format!(
        "{}: {}, {}\ntask: {task}{more}\nstarted {}{}\nmodels: {}; {} tokens for the conversation \
         (window {} − buffer {} − reply {})\nat most {}, {} a turn; {}; report: {}\n",
        one_line(&trace.agent, 80),
        ending(trace.ending.as_ref()),
        time(trace.root.took_ms),
        trace.started,
        ended.unwrap_or_default(),
        models.join(", "),
        number(window.limit()),
        number(window.window),
        number(window.buffer),
        number(window.max_output),
        count(u64::from(setup.max_turns), "turn", "turns"),
        count(u64::from(setup.calls_per_turn), "call", "calls"),
        count(setup.tools as u64, "tool", "tools"),
        one_line(&setup.format, 20),
    )
}

/// Describes how a run ended.
pub(super) fn ending(ending: Option<&Ending>) -> String {
    match ending {
        None => "not finished: under way, or killed".to_owned(),
        Some(Ending::Success) => "a report".to_owned(),
        Some(Ending::Failed(why) | Ending::UsedUp(why)) => {
            format!("no report: {}", one_line(why, WORDS))
        }
        Some(Ending::Cancelled) => "cancelled".to_owned(),
        Some(Ending::TimedOut) => "its time was over".to_owned(),
    }
}
