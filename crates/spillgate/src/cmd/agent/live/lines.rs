//! The lines of the live view.
//!
//! Every text in these lines that a tool or a model wrote has passed through [`one_line`].

use spillgate_agent::{Decided, Op, Status};
use spillgate_artifact::Reason;
use spillgate_llm::{Reply, ToolCall, Usage};

use crate::cmd::agent::words::{bytes, count, number, one_line, time, usage};
use crate::marks::redacted;

/// Maximum length of the shown arguments of a call, in characters: by default, and with
/// `--verbose`.
const ARGUMENTS: usize = 160;
const ALL_ARGUMENTS: usize = 2000;
/// Maximum length of a name, in characters.
const NAME: usize = 64;
/// Maximum length of an error or a status, in characters.
const WORDS: usize = 200;

/// Says that the model replied.
pub(super) fn replied(turn: u32, reply: &Reply) -> String {
    let target = one_line(&reply.target.to_string(), NAME);
    format!("turn {turn}: {target}, {}", usage(&reply.usage))
}

/// Says that the model gave no reply.
pub(super) fn unanswered(turn: u32, why: &str) -> String {
    format!("turn {turn}: no reply: {}", one_line(&redacted(why), WORDS))
}

/// Says that the model requested a tool call.
pub(super) fn called(call: &ToolCall, is_verbose: bool) -> String {
    let most = if is_verbose { ALL_ARGUMENTS } else { ARGUMENTS };
    let name = one_line(&call.name, NAME);
    // Marked before it is cut, so that no part of a secret is left.
    format!("→ {name} {}", one_line(&redacted(&call.arguments), most))
}

/// Names a running call, followed by the operations that run within it, down to the innermost.
pub(super) fn under_way(op: &Op) -> String {
    let mut text = one_line(&op.name, NAME);
    let mut within = op;
    while let Some(inner) = within.children.iter().rev().find(|op| op.unfinished) {
        text.push_str(": ");
        text.push_str(&one_line(&inner.name, NAME));
        within = inner;
    }
    text
}

/// Says that a call has returned, and what was decided about its result.
pub(super) fn came(op: &Op) -> String {
    let size = op.response_bytes.map(|size| format!("{}, ", bytes(size)));
    let cached = if op.cached { "from the cache, " } else { "" };
    format!(
        "← {}: {}{cached}{}, {}",
        one_line(&op.name, NAME),
        size.unwrap_or_default(),
        decided(op),
        time(op.took_ms)
    )
}

/// Describes what happened to a tool's result. Also used by the view of a trace.
pub(in crate::cmd::agent) fn decided(op: &Op) -> String {
    let why = op
        .error
        .as_deref()
        .map(|why| one_line(&redacted(why), WORDS));
    let tokens = op.tokens_shown.map(|shown| count(shown, "token", "tokens"));
    let tokens = tokens
        .map(|tokens| format!(" ({tokens})"))
        .unwrap_or_default();
    match &op.decided {
        Some(Decided::Shown) => match fell_back(op) {
            Some(how) => format!("{how}{tokens}"),
            None => format!("shown{tokens}"),
        },
        Some(Decided::Stored { handle, reason }) => {
            format!("stored as {handle} ({})", because(*reason))
        }
        Some(Decided::NotStored { .. }) => {
            "could not be stored: its beginning and end are shown".to_owned()
        }
        Some(Decided::Cut) => format!("shown without its middle{tokens}"),
        Some(Decided::Dropped) => "dropped: no room for it".to_owned(),
        Some(Decided::NotMade) => "not made".to_owned(),
        Some(Decided::Refused) => match why {
            Some(why) => format!("refused: {why}"),
            None => "refused".to_owned(),
        },
        Some(Decided::Failed) => match why {
            Some(why) => format!("failed: {why}"),
            None => "failed".to_owned(),
        },
        None if op.unfinished => "not finished".to_owned(),
        None => "done".to_owned(),
    }
}

/// Returns the strategy that an extraction fell back to, and why; `None` if it did not.
fn fell_back(op: &Op) -> Option<String> {
    let made = op.children.iter().find_map(|op| op.made.as_ref())?;
    let why = one_line(made.fell_back.as_deref()?, WORDS);
    Some(format!("fell back to {}: {why}", made.strategy.name()))
}

/// Says why a result is not shown.
fn because(reason: Reason) -> &'static str {
    match reason {
        Reason::SizeCap => "over the size cap",
        Reason::TokenBudget => "over the token budget",
        Reason::ReserveFailed => "another result used up the budget",
        Reason::Secrets => "it has secrets",
    }
}

/// Formats a status that the model reported.
pub(super) fn status(status: &Status) -> String {
    let part = |name: &str, text: &str| match one_line(text, WORDS) {
        text if text.is_empty() => String::new(),
        text => format!("; {name}: {text}"),
    };
    format!(
        "status {}: {}{}{}",
        one_line(&status.status, NAME),
        one_line(&status.now, WORDS),
        part("done", &status.done),
        part("pending", &status.pending),
    )
}

/// Says how full the window is, and what the run has cost so far.
pub(super) fn state(turn: u32, tokens: u64, limit: u64, used: &Usage) -> String {
    let percent = tokens.saturating_mul(100).checked_div(limit).unwrap_or(100);
    let cost = used.cost.map(|cost| format!(", {cost}"));
    format!(
        "turn {turn}: {} of {} tokens ({percent} %){}",
        number(tokens),
        number(limit),
        cost.unwrap_or_default()
    )
}
