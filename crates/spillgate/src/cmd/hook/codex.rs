//! The results of Codex's tools. Codex shows its model the reason of a refusal in place of a result.
//!
//! Measured with version 0.169.0. The schemas of the events are in `codex-rs/hooks/schema/generated`
//! of github.com/openai/codex.

use serde_json::{Value, json};

use super::Event;
use super::found::{Found, are_texts, joined};
use crate::failure::Failure;

/// Beginning of an output whose middle Codex has already cut out.
const CUT: &str = "Warning: truncated output (original token count: ";

/// Returns the result of an event after a call.
pub(super) fn read(event: &Event<'_>) -> Result<Option<Found>, Failure> {
    let tool = event.tool_name.as_str();
    let is_mcp = tool.starts_with("mcp__");
    if tool != "Bash" && !is_mcp {
        return Ok(None);
    }
    let response = event.response()?;
    let text = match is_mcp {
        false => response.as_str().map(str::to_owned),
        true => of_server(&response),
    };
    let Some(text) = text else { return Ok(None) };
    let after = (!is_mcp && text.starts_with(CUT)).then(|| {
        "Codex cut the middle out of this output before: only the rest is stored. Direct large outputs to a file to keep all of them.".to_owned()
    });
    let answer = |preview: &str| json!({"decision": "block", "reason": preview});
    Ok(Some(Found {
        after,
        ..Found::new(text.into(), answer)
    }))
}

/// Returns what Codex would show of a server's result: the structured content if there is one.
/// `None` if there is anything but texts, which a refusal would drop.
fn of_server(response: &Value) -> Option<String> {
    let content = &response["content"];
    match &response["structuredContent"] {
        _ if !are_texts(content) => None,
        Value::Null => joined(content),
        structured => Some(structured.to_string()),
    }
}
