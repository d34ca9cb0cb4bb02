//! The results of Copilot CLI's tools.
//!
//! Measured with version 1.0.102. The events are described in
//! <https://docs.github.com/en/copilot/reference/hooks-configuration>, and `modifiedResult` in
//! <https://docs.github.com/en/copilot/how-tos/copilot-sdk/use-hooks/post-tool-use>.

use std::path::Path;

use serde_json::json;
use spillgate_artifact::Ending;

use super::Event;
use super::found::{Found, Text, exited, kept_file};
use crate::failure::Failure;

/// Beginning of the notice that stands for a large output.
const KEPT: &str = "Output too large to read at once (";

/// Part of the name of the file with all of such an output.
const KEPT_NAME: &str = "-copilot-tool-output-";

/// Returns the result of an event after a call.
pub(super) fn read(event: &Event<'_>) -> Result<Option<Found>, Failure> {
    let tool = event.tool_name.as_str();
    // Tools of servers are called SERVER-TOOL. No tool of the client has a hyphen.
    let is_covered = tool.contains('-') || ["bash", "web_fetch", "grep", "task"].contains(&tool);
    if !is_covered {
        return Ok(None);
    }
    let mut result = event.response()?;
    let Some(shown) = result["textResultForLlm"].as_str().map(str::to_owned) else {
        return Ok(None);
    };
    let (output, status) = match tool {
        "bash" => split(&shown),
        _ => (shown.as_str(), None),
    };
    let text = match output.starts_with(KEPT) {
        false => Text::from(output.to_owned()),
        true => match kept(output)? {
            Some(text) => text,
            None => return Ok(None),
        },
    };
    let (ending, after) = status.map(|(code, line)| (exited(code), line)).unzip();
    let answer = move |preview: &str| {
        result["textResultForLlm"] = json!(preview);
        json!({"modifiedResult": result})
    };
    let ending: Option<Ending> = ending;
    Ok(Some(Found {
        ending,
        after,
        ..Found::new(text, answer)
    }))
}

/// Splits what the client shows of a command into its output, and the exit code with the line that
/// tells it: `<shellId: 1 completed with exit code 3>`.
fn split(shown: &str) -> (&str, Option<(i32, String)>) {
    let code = |line: &str| {
        let rest = line.strip_prefix("<shellId: ")?.strip_suffix('>')?;
        let (_, code) = rest.split_once(" completed with exit code ")?;
        code.parse().ok()
    };
    match shown.rsplit_once('\n') {
        Some((output, line)) => match code(line) {
            Some(code) => (output, Some((code, line.to_owned()))),
            None => (shown, None),
        },
        None => (shown, None),
    }
}

/// Opens the file that a notice names; `None` if it is not a file of the client.
fn kept(notice: &str) -> Result<Option<Text>, Failure> {
    let first = notice.lines().next().unwrap_or_default();
    let Some((_, path)) = first.split_once("Saved to: ") else {
        return Ok(None);
    };
    let path = Path::new(path);
    let name = path.file_name().and_then(|name| name.to_str());
    if !name.is_some_and(|name| name.contains(KEPT_NAME)) {
        return Ok(None);
    }
    let file = kept_file(path, &std::env::temp_dir())?;
    Ok(file.map(Text::of_file))
}
