//! Decides which tool calls of a model's reply are made, and assigns each result to its call.

use std::collections::HashSet;

use serde_json::Value;
use spillgate_llm::{ToolCall, ToolReply, ToolSpec};

use crate::texts;

/// The calls of one reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calls {
    /// Calls to make. They may be made at the same time.
    pub make: Vec<ToolCall>,
    /// Calls that cannot be made, with their answers.
    pub refused: Vec<(ToolCall, ToolReply)>,
}

/// The calls in the model's order, with the replies that are already known.
#[derive(Debug, Clone)]
pub struct Sorted {
    calls: Vec<ToolCall>,
    /// One entry per call: the reply to a call that cannot be made, or `None`.
    refusals: Vec<Option<ToolReply>>,
}

impl Sorted {
    /// Decides which of `calls` can be made with `tools`, up to `limit`. Changes ids where needed,
    /// so that each reply can be assigned to its call.
    #[must_use]
    pub fn of(mut calls: Vec<ToolCall>, tools: &[ToolSpec], limit: u32) -> (Calls, Self) {
        mend(&mut calls, tools);
        let (mut sorted, mut refusals) = (
            Calls {
                make: Vec::new(),
                refused: Vec::new(),
            },
            Vec::new(),
        );
        for call in &calls {
            let is_full = sorted.make.len() as u64 >= u64::from(limit);
            let refusal = refusal(call, tools, is_full.then_some(limit));
            match &refusal {
                Some(reply) => sorted.refused.push((call.clone(), reply.clone())),
                None => sorted.make.push(call.clone()),
            }
            refusals.push(refusal);
        }
        (sorted, Self { calls, refusals })
    }

    /// Returns the calls, corrected where needed.
    #[must_use]
    pub fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// Returns one entry per call: the reply if the call cannot be made, or `None`.
    #[must_use]
    pub fn refusals(&self) -> &[Option<ToolReply>] {
        &self.refusals
    }

    /// Returns one reply per call, in the order of the calls. `made` contains the replies to the
    /// calls that were made.
    pub(crate) fn with(self, made: Vec<ToolReply>) -> Vec<ToolReply> {
        let mut made = made.into_iter();
        let replies = self.calls.iter().zip(self.refusals);
        replies
            .map(|(call, refusal)| {
                let reply = refusal.or_else(|| made.next());
                ToolReply {
                    call_id: call.id.clone(),
                    ..reply.unwrap_or_else(|| error(call, texts::NO_REPLY.to_owned()))
                }
            })
            .collect()
    }
}

/// Maximum length, in characters, of a tool's name that providers accept.
const NAME_CHARS: usize = 64;

/// Corrects calls so that providers accept them. Each call gets a unique id. In the name of an
/// unknown tool, all characters except letters, digits, `_` and `-` are replaced. Missing arguments
/// become an empty object.
fn mend(calls: &mut [ToolCall], tools: &[ToolSpec]) {
    let mut ids = HashSet::new();
    for (at, call) in calls.iter_mut().enumerate() {
        if call.id.is_empty() || ids.contains(&call.id) {
            call.id = format!("{}_{}", call.id, at + 1);
        }
        while !ids.insert(call.id.clone()) {
            call.id.push('_');
        }
        if !is_known(&call.name, tools) {
            call.name = plain(&call.name);
        }
        if matches!(call.arguments.trim(), "" | "null") {
            "{}".clone_into(&mut call.arguments);
        }
    }
}

fn is_known(name: &str, tools: &[ToolSpec]) -> bool {
    tools.iter().any(|tool| tool.name == name)
}

fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let name = name.chars().take(NAME_CHARS);
    let name: String = name.map(|c| if is_plain(c) { c } else { '_' }).collect();
    match name.is_empty() {
        true => "_".to_owned(),
        false => name,
    }
}

/// Returns the reply that says why a call is not made; `None` if the call can be made. `limit` is
/// set if the reply already has as many calls as are allowed.
fn refusal(call: &ToolCall, tools: &[ToolSpec], limit: Option<u32>) -> Option<ToolReply> {
    let why = if let Some(limit) = limit {
        texts::too_many(limit)
    } else if !is_known(&call.name, tools) {
        texts::unknown_tool(&call.name, tools)
    } else {
        match serde_json::from_str::<Value>(&call.arguments) {
            Ok(Value::Object(_)) => return None,
            Ok(_) => texts::bad_arguments("they are another value"),
            Err(error) => texts::bad_arguments(&error.to_string()),
        }
    };
    Some(error(call, why))
}

fn error(call: &ToolCall, text: String) -> ToolReply {
    ToolReply {
        call_id: call.id.clone(),
        text,
        is_error: true,
    }
}
