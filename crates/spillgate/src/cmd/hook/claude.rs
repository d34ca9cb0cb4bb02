//! The results of Claude Code's tools: where the text is, and how a preview takes its place.
//!
//! The client ignores a result whose shape is not the tool's own, so everything but the text stays
//! as it is.

use std::path::Path;

use serde_json::{Value, json};

use super::found::{Found, Text, joined, kept_file, with_text};
use super::{Event, background};
use crate::failure::Failure;

/// The name of the client's shell.
pub(super) const SHELL: &str = "Bash";

/// Beginning of the names of tools of MCP servers.
const MCP: &str = "mcp__";

/// The member of the shell's response that holds its output.
const STDOUT: &str = "stdout";

/// The members of the shell's response that name the file with all of its output.
const KEPT_IN: &str = "persistedOutputPath";
const KEPT_SIZE: &str = "persistedOutputSize";

/// The shape of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// The response of the shell.
    Shell,
    /// A text in this member of the response.
    Member(&'static str),
    /// Content blocks in this member of the response.
    Content(&'static str),
    /// The result of an MCP server: a text, or content blocks.
    Mcp,
}

/// Returns the shape of the responses of a tool; `None` if they pass. Files pass, because a model
/// must quote a file exactly to edit it.
fn shape(tool: &str) -> Option<Shape> {
    match tool {
        SHELL => Some(Shape::Shell),
        "WebFetch" => Some(Shape::Member("result")),
        "Grep" => Some(Shape::Member("content")),
        "Agent" | "Task" => Some(Shape::Content("content")),
        tool if tool.starts_with(MCP) => Some(Shape::Mcp),
        _ => None,
    }
}

/// Returns the result of an event after a call.
pub(super) fn read(event: &Event<'_>) -> Result<Option<Found>, Failure> {
    let Some(shape) = shape(&event.tool_name) else {
        return Ok(None);
    };
    let response = event.response()?;
    if shape == Shape::Shell
        && let Some(task) = response["backgroundTaskId"].as_str()
    {
        background::note(&event.session_id, task)?;
        return Ok(None);
    }
    let Some(text) = text(shape, &response, &event.transcript_path)? else {
        return Ok(None);
    };
    Ok(Some(Found::new(text, move |preview| {
        json!({"hookSpecificOutput": {
            "hookEventName": "PostToolUse",
            "updatedToolOutput": replaced(shape, response, preview),
        }})
    })))
}

/// Returns the whole text of a response; `None` if the response has another shape or only a part of
/// the text can be read.
fn text(shape: Shape, response: &Value, transcript: &str) -> Result<Option<Text>, Failure> {
    let is = |member: &str| response[member] == true;
    if shape == Shape::Shell && (is("interrupted") || is("isImage")) {
        return Ok(None);
    }
    let text = match shape {
        Shape::Shell => response[STDOUT].as_str().map(str::to_owned),
        Shape::Member(member) => response[member].as_str().map(str::to_owned),
        Shape::Content(member) => joined(&response[member]),
        Shape::Mcp => match response {
            Value::String(text) => Some(text.clone()),
            _ => joined(response),
        },
    };
    let kept = match shape {
        Shape::Shell => response[KEPT_IN].as_str().map(Path::new),
        Shape::Mcp => response.as_str().and_then(kept_in),
        _ => None,
    };
    match (text, kept) {
        (None, _) => Ok(None),
        (Some(text), None) => Ok(Some(text.into())),
        (Some(_), Some(path)) => {
            // The session's own directory of results.
            let of_session = Path::new(transcript).with_extension("");
            let file = kept_file(path, &of_session.join("tool-results"))?;
            Ok(file.filter(|_| !transcript.is_empty()).map(Text::of_file))
        }
    }
}

/// Returns the response with the preview in place of the text. Blocks that are no text stay.
fn replaced(shape: Shape, mut response: Value, preview: &str) -> Value {
    match shape {
        Shape::Shell => {
            response[STDOUT] = json!(preview);
            if let Some(members) = response.as_object_mut() {
                // Otherwise the client would show the file in place of the preview.
                members.remove(KEPT_IN);
                members.remove(KEPT_SIZE);
            }
        }
        Shape::Member(member) => response[member] = json!(preview),
        Shape::Content(member) => response[member] = with_text(&response[member], preview),
        Shape::Mcp if response.is_string() => response = json!(preview),
        Shape::Mcp => response = with_text(&response, preview),
    }
    response
}

/// Returns the file that holds the result of an MCP server which the client finds too large. The
/// client puts a notice in place of such a result.
fn kept_in(notice: &str) -> Option<&Path> {
    let rest = notice.strip_prefix("Error: result (")?;
    let (first, _) = rest.split_once('\n')?;
    let (_, path) = first.split_once("Output has been saved to ")?;
    Some(Path::new(path.trim_end_matches('.')))
}
