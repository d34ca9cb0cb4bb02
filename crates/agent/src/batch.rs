//! Reads a batch of calls (`agent__batch`) and writes its result.
//!
//! Each call within a batch is processed like any other call, so each result may get a handle of
//! its own. A batch cannot contain another batch or the report.

use serde_json::{Value, json};
use spillgate_llm::ToolCall;

use crate::event::CallId;
use crate::internal::{BATCH, FINAL_REPORT};
use crate::texts;

/// The error code, taken from ai-agent, of a call that failed or was not made.
const EXECUTION_ERROR: &str = "EXECUTION_ERROR";

/// A call of a batch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inner {
    /// The model's name for the call within the batch.
    pub(crate) id: String,
    /// The call, or why it must not be made.
    pub(crate) call: Result<ToolCall, Refusal>,
    /// The tool that the call names.
    pub(crate) tool: String,
}

/// Why a call of a batch is not made, with one of ai-agent's error codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// The result of an inner call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer<'a> {
    pub(crate) text: &'a str,
    pub(crate) is_error: bool,
}

/// Reads the calls of a batch. Models write `name` instead of `tool` and `arguments` instead of
/// `parameters`, omit ids, use an id twice, or pass the list as a JSON string; all of this is
/// accepted. The error is written for the model.
pub(crate) fn calls(batch: &ToolCall) -> Result<Vec<Inner>, String> {
    let arguments: Value = serde_json::from_str(&batch.arguments)
        .map_err(|error| format!("The arguments are not JSON: {error}."))?;
    let listed = match &arguments["calls"] {
        Value::String(text) => serde_json::from_str(text)
            .map_err(|error| format!("`calls` is a text that is no JSON list: {error}."))?,
        other => other.clone(),
    };
    let Value::Array(listed) = listed else {
        return Err(
            "`calls` must be a list of calls: {\"id\", \"tool\", \"parameters\"}.".to_owned(),
        );
    };
    if listed.is_empty() {
        return Err("`calls` is empty.".to_owned());
    }
    let mut all: Vec<Inner> = Vec::new();
    for (at, call) in listed.iter().enumerate() {
        let mut inner = inner(batch, at, call);
        while all.iter().any(|other| other.id == inner.id) {
            inner.id.push('_');
        }
        if let Ok(call) = &mut inner.call {
            CallId::within(batch, &inner.id)
                .as_str()
                .clone_into(&mut call.id);
        }
        all.push(inner);
    }
    Ok(all)
}

fn inner(batch: &ToolCall, at: usize, call: &Value) -> Inner {
    let either = |one: &str, other: &str| call.get(one).or_else(|| call.get(other)).cloned();
    let id = call.get("id").and_then(|id| match id {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    });
    let id = id.unwrap_or_else(|| format!("call_{}", at + 1));
    let tool = either("tool", "name").and_then(|tool| tool.as_str().map(str::to_owned));
    let refused = |code, message: &str| {
        Err(Refusal {
            code,
            message: message.to_owned(),
        })
    };
    let Some(tool) = tool else {
        return Inner {
            id,
            call: refused(EXECUTION_ERROR, "The call names no tool."),
            tool: String::new(),
        };
    };
    let arguments = match either("parameters", "arguments") {
        None | Some(Value::Null) => "{}".to_owned(),
        // Some models pass the arguments as a string, as in the outer call.
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
    };
    let call = match tool.as_str() {
        BATCH | FINAL_REPORT => refused(
            "INTERNAL_NOT_ALLOWED",
            "It cannot be called within a batch.",
        ),
        _ => Ok(ToolCall {
            id: CallId::within(batch, &id).as_str().to_owned(),
            name: tool.clone(),
            arguments,
        }),
    };
    Inner { id, call, tool }
}

/// Returns the text of the batch: each result under its id, in the order of the calls.
///
/// If there is little room (`is_tight`), failures follow the results: each error text appears once,
/// with the ids of the calls that failed with it.
pub(crate) fn envelope<'a>(
    inner: &'a [Inner],
    is_tight: bool,
    answer: impl Fn(&Inner) -> Answer<'a>,
) -> String {
    let (mut results, mut failed) = (Vec::new(), Vec::<(&str, &str, Vec<&str>)>::new());
    for one in inner {
        let (id, tool) = (&one.id, &one.tool);
        let (code, message) = match &one.call {
            Err(refusal) => (refusal.code, refusal.message.as_str()),
            Ok(_) => match answer(one) {
                Answer { text, is_error } if is_error => (EXECUTION_ERROR, text),
                Answer { text, .. } => {
                    results.push(json!({"id": id, "tool": tool, "ok": true, "output": text}));
                    continue;
                }
            },
        };
        let alike = failed.iter_mut();
        let mut alike = alike.filter(|(of, text, _)| (*of, *text) == (code, message));
        match (is_tight, alike.next()) {
            (false, _) => {
                let error = json!({"code": code, "message": message});
                results.push(json!({"id": id, "tool": tool, "ok": false, "error": error}));
            }
            (true, Some((.., ids))) => ids.push(id),
            (true, None) => failed.push((code, message, vec![id])),
        }
    }
    let failed = failed.into_iter();
    let failed: Vec<Value> = failed
        .map(|(code, message, ids)| json!({"code": code, "message": message, "ids": ids}))
        .collect();
    match failed.is_empty() {
        true => json!({"results": results}).to_string(),
        false => json!({"results": results, "failed": failed}).to_string(),
    }
}

/// Allows the first `left` of the calls that `is_counted` selects, and refuses the others of them.
/// Calls that were already refused do not count. Returns how many more calls are allowed.
pub(crate) fn limited(
    inner: &mut [Inner],
    is_counted: impl Fn(&ToolCall) -> bool,
    mut left: u32,
    limit: u32,
) -> u32 {
    for one in inner {
        if !one.call.as_ref().is_ok_and(&is_counted) {
            continue;
        }
        match left.checked_sub(1) {
            Some(less) => left = less,
            None => {
                one.call = Err(Refusal {
                    code: EXECUTION_ERROR,
                    message: texts::too_many(limit),
                });
            }
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn batch(arguments: &str) -> ToolCall {
        ToolCall {
            id: "b".into(),
            name: BATCH.into(),
            arguments: arguments.into(),
        }
    }

    #[test]
    fn what_is_meant_is_taken() {
        let written = [
            r#"{"calls":[{"id":"1","tool":"a","parameters":{"x":1}}]}"#,
            r#"{"calls":[{"name":"a","arguments":"{\"x\":1}"},{"id":7,"tool":"b"}]}"#,
            r#"{"calls":"[{\"id\":\"1\",\"tool\":\"a\"},{\"id\":\"1\",\"tool\":\"b\"}]"}"#,
            r#"{"calls":[{"id":"1","tool":"agent__batch"},{"tool":"agent__final_report"},{}]}"#,
            r#"{"calls":[]}"#,
            r#"{"calls":{"id":1}}"#,
            r#"{"calls":[{"id":"1","#,
        ];
        let told = written.map(|arguments| match calls(&batch(arguments)) {
            Err(error) => error,
            Ok(calls) => calls
                .iter()
                .map(|one| match &one.call {
                    Ok(call) => format!("{}: {} {}", call.id, call.name, call.arguments),
                    Err(refusal) => format!("{}: {} {}", one.id, refusal.code, refusal.message),
                })
                .collect::<Vec<_>>()
                .join("; "),
        });
        assert_snapshot!(told.join("\n"), @r#"
        b/1: a {"x":1}
        b/call_1: a {"x":1}; b/7: b {}
        b/1: a {}; b/1_: b {}
        1: INTERNAL_NOT_ALLOWED It cannot be called within a batch.; call_2: INTERNAL_NOT_ALLOWED It cannot be called within a batch.; call_3: EXECUTION_ERROR The call names no tool.
        `calls` is empty.
        `calls` must be a list of calls: {"id", "tool", "parameters"}.
        The arguments are not JSON: EOF while parsing a value at line 1 column 20.
        "#);
    }
}
