//! The results of MCP servers in Cursor. Cursor lets a hook replace no other results.
//!
//! <https://cursor.com/docs/agent/hooks> describes `postToolUse`: `tool_output` is JSON in a string,
//! and `updated_mcp_tool_output` replaces what the model sees of a tool of a server.

use serde_json::{Value, json};

use super::found::{Found, is_ours, joined, with_text};
use super::{Event, wrong};
use crate::failure::Failure;

/// Returns the result of an event after a call.
pub(super) fn read(event: &Event<'_>) -> Result<Option<Found>, Failure> {
    let tool = event.tool_name.as_str();
    if !tool.starts_with("MCP:") || is_ours(tool) {
        return Ok(None);
    }
    let Value::String(output) = event.response()? else {
        return Ok(None);
    };
    let mut result: Value =
        serde_json::from_str(&output).map_err(|error| wrong(&error.to_string()))?;
    let Some(text) = joined(&result["content"]) else {
        return Ok(None);
    };
    Ok(Some(Found::new(text.into(), move |preview| {
        result["content"] = with_text(&result["content"], preview);
        // Otherwise the large result could be read there.
        if let Some(members) = result.as_object_mut() {
            members.remove("structuredContent");
        }
        json!({"updated_mcp_tool_output": result})
    })))
}
