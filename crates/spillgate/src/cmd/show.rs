//! `spillgate show`: prints the manifest of a stored output.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::args::Show;
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::wiring::App;

pub(crate) fn show(app: &App, show: &Show, out: &Output) -> Result<u8, Failure> {
    let handle = app.handle(&show.handle)?;
    let manifest = app.store.manifest(handle)?;
    let mut object = serde_json::to_value(&manifest).unwrap_or_default();
    if let Some(line) = show.line {
        let artifact = app.offloader.artifact(handle)?;
        let range = artifact.raw_range(line)?.ok_or_else(|| {
            let message = format!(
                "line {line} is past the end: there are {} lines",
                artifact.view().lines()
            );
            Failure::new("past_end", Fault::Caller, message).hint("ask for a line before the end")
        })?;
        object["line"] = json!({"number": line, "raw_bytes": [range.0, range.1]});
    }
    // The arguments of a call can contain secrets.
    let text = match out.json {
        true => format!("{object}\n"),
        false => plain(&object, 0),
    };
    out.raw(app.offloader.redacted(&text).as_bytes())?;
    Ok(0)
}

/// Formats `key: value` lines, nested ones indented.
fn plain(object: &Value, depth: usize) -> String {
    let mut text = String::new();
    for (key, value) in object.as_object().into_iter().flatten() {
        let indent = "  ".repeat(depth);
        let written = match value {
            Value::Object(_) => write!(text, "{indent}{key}:\n{}", plain(value, depth + 1)),
            Value::String(string) => writeln!(text, "{indent}{key}: {}", string.escape_debug()),
            other => writeln!(text, "{indent}{key}: {other}"),
        };
        written.expect("writing to a string");
    }
    text
}
