//! The results of MCP servers in Cursor. Cursor lets a hook replace no other results.
//!
//! <https://cursor.com/docs/agent/hooks> describes `postToolUse`: `tool_output` is JSON in a string,
//! and `updated_mcp_tool_output` replaces what the model sees of a tool of a server.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::found::{Found, joined, text_of, with_text};
use super::{Event, wrong};
use crate::failure::Failure;

/// The member of a result that may say the same as the text, or something else.
const STRUCTURED: &str = "structuredContent";

/// That member as the server wrote it: its numbers may be more precise than ours.
#[derive(Deserialize)]
struct Structured<'r> {
    #[serde(borrow, default, rename = "structuredContent")]
    value: Option<&'r RawValue>,
}

/// Returns the result of an event after a call.
pub(super) fn read(event: &Event<'_>) -> Result<Option<Found>, Failure> {
    if !event.tool_name.starts_with("MCP:") {
        return Ok(None);
    }
    let Value::String(output) = event.response()? else {
        return Ok(None);
    };
    let mut result: Value =
        serde_json::from_str(&output).map_err(|error| wrong(&error.to_string()))?;
    let Some(mut text) = joined(&result["content"]) else {
        return Ok(None);
    };
    if !repeats(&result[STRUCTURED], &result["content"]) {
        let structured: Structured<'_> =
            serde_json::from_str(&output).map_err(|error| wrong(&error.to_string()))?;
        if let Some(value) = structured.value {
            text.push('\n');
            text.push_str(value.get());
        }
    }
    Ok(Some(Found::new(text.into(), move |preview| {
        result["content"] = with_text(&result["content"], preview);
        // Otherwise the large result could be read there.
        if let Some(members) = result.as_object_mut() {
            members.remove(STRUCTURED);
        }
        json!({"updated_mcp_tool_output": result})
    })))
}

/// Returns whether the structured content says nothing that the texts do not say: it, or its only
/// member, is the text, the JSON in the text, or the list of the texts.
fn repeats(structured: &Value, content: &Value) -> bool {
    let texts = content.as_array().into_iter().flatten().filter_map(text_of);
    let texts: Vec<&str> = texts.collect();
    let says = |text: &str, value: &Value| {
        value == text || serde_json::from_str::<Value>(text).is_ok_and(|said| said == *value)
    };
    let only = structured.as_object().filter(|members| members.len() == 1);
    let only = only.and_then(|members| members.values().next());
    let mut values = std::iter::once(structured).chain(only);
    structured.is_null()
        || values.any(|value| match (&*texts, value) {
            ([text], value) if says(text, value) => true,
            (texts, Value::Array(list)) => {
                let mut pairs = texts.iter().zip(list);
                texts.len() == list.len() && pairs.all(|(text, value)| says(text, value))
            }
            _ => false,
        })
}
