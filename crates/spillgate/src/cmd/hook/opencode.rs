//! The results of opencode's tools, as our plugin passes them on. The plugin puts the members of the
//! answer in place of those of the result.
//!
//! Measured with version 1.18.33. The hook `tool.execute.after` is described in
//! <https://opencode.ai/docs/plugins>.

use std::path::Path;

use etcetera::BaseStrategy;
use serde_json::json;

use super::Event;
use super::found::{Found, Text, complete, exited, joined, kept_file, with_text};
use crate::failure::Failure;
use crate::settings::directories;

/// What the client says about a command after its output.
const ASIDE: [&str; 2] = ["<shell_metadata>", "</shell_metadata>"];

/// The notice before the end of a large output; the path of the file follows.
const NOTICE: &str = "Full output saved to: ";

/// Maximum size of such a remark, in bytes.
const LARGEST_ASIDE: usize = 2000;

/// Returns the result of an event after a call.
pub(super) fn read(event: &Event<'_>) -> Result<Option<Found>, Failure> {
    let tool = event.tool_name.as_str();
    let response = event.response()?;
    // The result of a server.
    if response["content"].is_array() {
        let content = response["content"].clone();
        return Ok(joined(&content).map(|text| {
            let answer = move |preview: &str| json!({"content": with_text(&content, preview)});
            Found::new(text.into(), answer)
        }));
    }
    let is_covered = ["bash", "webfetch", "websearch", "grep", "task"].contains(&tool);
    let Some(output) = response["output"].as_str().filter(|_| is_covered) else {
        return Ok(None);
    };
    let metadata = &response["metadata"];
    let (mut text, mut after) = (Text::from(output.to_owned()), None);
    if let Some(path) = metadata["outputPath"].as_str() {
        let directory = directories()?.data_dir().join("opencode/tool-output");
        let Some((file, _)) = kept_file(Path::new(path), &directory)? else {
            return Ok(None);
        };
        after = aside(output);
        // opencode goes on before it has written all of the file.
        let end = match tool == "bash" && after.is_none() {
            true => end(output),
            false => "",
        };
        let Some(bytes) = complete(&file, end)? else {
            return Ok(None);
        };
        text = Text::of_file((file, bytes));
    }
    let code = metadata["exit"].as_i64().filter(|_| tool == "bash");
    let code = code.and_then(|code| i32::try_from(code).ok());
    Ok(Some(Found {
        ending: code.map(exited),
        after,
        ..Found::new(text, |preview| json!({"output": preview}))
    }))
}

/// Maximum bytes of the end of an output that must also be at the end of the file.
const LONGEST_END: usize = 4000;

/// Returns the end of a command's output as the client shows it, as far as it is valid text.
fn end(output: &str) -> &str {
    let shown = output.split_once(NOTICE).map_or(output, |(_, rest)| rest);
    let shown = shown.split_once('\n').map_or("", |(_, rest)| rest);
    let from = shown.floor_char_boundary(shown.len().saturating_sub(LONGEST_END));
    let end = shown[from..].rsplit(char::REPLACEMENT_CHARACTER).next();
    end.unwrap_or_default().trim_start_matches('\n')
}

/// Returns what the client says about a command after its output.
fn aside(output: &str) -> Option<String> {
    let output = output.trim_end();
    let at = output.rfind(ASIDE[0])?;
    let aside = &output[at..];
    (aside.ends_with(ASIDE[1]) && aside.len() <= LARGEST_ASIDE).then(|| aside.to_owned())
}
