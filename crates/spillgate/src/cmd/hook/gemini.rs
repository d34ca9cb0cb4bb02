//! The results of Gemini CLI's tools. Gemini CLI shows its model the reason of a refusal in place of
//! a result.
//!
//! Measured with version 0.61.0, which ignores `hookSpecificOutput.tool_output`. The events are
//! described in <https://geminicli.com/docs/hooks/reference>.

use serde_json::{Value, json};
use spillgate_artifact::Ending;

use super::Event;
use super::found::{Found, exited};
use crate::failure::Failure;

/// The client sends a refusal to the model as an error.
const NO_ERROR: &str = "This is no error: the tool ran, and this is its result, shortened. Gemini CLI passes text on \
     without the line ends at its end.";

/// What the client puts around results.
const AROUND: [&str; 2] = ["<untrusted_context>\n", "\n</untrusted_context>"];

/// Returns the result of an event after a call.
pub(super) fn read(event: &Event<'_>) -> Result<Option<Found>, Failure> {
    let tool = event.tool_name.as_str();
    let is_shell = tool == "run_shell_command";
    let is_covered = is_shell
        || ["web_fetch", "google_web_search", "grep_search"].contains(&tool)
        || tool.starts_with("mcp_");
    if !is_covered {
        return Ok(None);
    }
    let response = event.response()?;
    let Some(whole) = text(&response["llmContent"]) else {
        return Ok(None);
    };
    let inner = whole.strip_prefix(AROUND[0]);
    let inner = inner.and_then(|rest| rest.strip_suffix(AROUND[1]));
    let text = inner.unwrap_or(&whole);
    let display = response["returnDisplay"].as_str();
    let parts = display.filter(|_| is_shell).and_then(|output| {
        let rest = text.strip_prefix("Output: ")?.strip_prefix(output)?;
        Some((output, Rest::of(rest)))
    });
    let answer = |preview: &str| json!({"decision": "deny", "reason": preview});
    let found = match parts {
        Some((output, rest)) => Found {
            ending: Some(rest.ending),
            after: (!rest.others.is_empty()).then_some(rest.others),
            ..Found::new(output.to_owned().into(), answer)
        },
        None => Found::new(text.to_owned().into(), answer),
    };
    Ok(Some(Found {
        before: Some(NO_ERROR),
        ..found
    }))
}

/// Returns the text of a result; `None` if there is anything but texts, which a refusal would drop.
fn text(content: &Value) -> Option<String> {
    let of_part = |part: &Value| match part.as_object()?.len() {
        1 => part["text"].as_str().map(str::to_owned),
        _ => None,
    };
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) if !parts.is_empty() => {
            let texts: Option<Vec<String>> = parts.iter().map(of_part).collect();
            texts.map(|texts| texts.join("\n"))
        }
        part => of_part(part),
    }
}

/// What the client says about a command after its output.
struct Rest {
    ending: Ending,
    /// The lines about anything but the exit code and the processes that have ended.
    others: String,
}

impl Rest {
    fn of(rest: &str) -> Self {
        let mut ending = exited(0);
        let mut others = Vec::new();
        for line in rest.lines().filter(|line| !line.is_empty()) {
            let number = |label: &str| line.strip_prefix(label)?.trim().parse::<i32>().ok();
            if let Some(code) = number("Exit Code: ") {
                ending.exit_code = Some(code);
            } else if let Some(signal) = number("Signal: ") {
                (ending.exit_code, ending.signal) = (None, Some(signal));
            } else if number("Process Group PGID: ").is_none() {
                others.push(line);
            }
        }
        let others = others.join("\n");
        Self { ending, others }
    }
}
