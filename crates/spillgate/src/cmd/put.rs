//! `spillgate put`: passes files or standard input through and stores what is too large.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use spillgate_artifact::Origin;
use spillgate_offload::{Choice, Outcome};

use super::{mcp, outcome};
use crate::args::Put;
use crate::failure::{Failure, Fault};
use crate::output::{Output, Paint};
use crate::progress::CaptureProgress;
use crate::wiring::App;

pub(crate) fn put(app: &App, put: &Put, out: &Output) -> Result<u8, Failure> {
    let [first, others @ ..] = &*put.files else {
        return one(app, put, Path::new("-"), out);
    };
    if others.is_empty() {
        return one(app, put, first, out);
    }
    let mut code = 0;
    for (at, file) in put.files.iter().enumerate() {
        if !out.json && !put.if_large {
            let gap = if at > 0 { "\n" } else { "" };
            let title = format!("==> {} <==", file.display());
            let title = out
                .painter
                .paint(Paint::Strong, &spillgate_untrusted::line(&title, 200));
            out.raw(format!("{gap}{title}\n").as_bytes())?;
        }
        // One file that cannot be read does not keep the others from being stored.
        code = code.max(match one(app, put, file, out) {
            Ok(code) => code,
            Err(failure) => failure.report(out),
        });
    }
    Ok(code)
}

/// Passes one file or standard input through, or stores it.
fn one(app: &App, put: &Put, file: &Path, out: &Output) -> Result<u8, Failure> {
    let outcome = settle(app, put, file, out)?;
    let is_shown = !put.if_large || !matches!(outcome, Outcome::Inline(_));
    if !out.json && is_shown {
        outcome::print(&outcome, out)?;
        if out.terminal && matches!(outcome, Outcome::Inline(_)) {
            let line = "[the output fits and was not stored]";
            out.note(&out.note_painter().paint(Paint::Faint, line));
        }
    }
    let mut object = match (out.json, is_shown) {
        (true, true) => outcome::to_json(app, &outcome)?,
        // Counting the tokens of a text that fits would take longer than all the rest.
        (true, false) => json!({"offloaded": false, "handle": null, "reason": null}),
        (false, _) => Value::Null,
    };
    if out.json && put.files.len() > 1 {
        object["file"] = json!(file);
    }
    app.tidy(outcome::receipt(&outcome));
    match outcome::failure(outcome) {
        None if out.json => out.object(&object)?,
        None => {}
        Some(failure) if out.json => {
            object["error"] = failure.to_json();
            out.object(&object)?;
            return Ok(failure.code);
        }
        Some(failure) => return Err(failure),
    }
    Ok(0)
}

/// Reads a file or standard input, and stores it if it is too large.
fn settle(app: &App, put: &Put, file: &Path, out: &Output) -> Result<Outcome, Failure> {
    let is_input = file == Path::new("-");
    let name = match is_input {
        true => "stdin".into(),
        false => file
            .file_name()
            .unwrap_or(file.as_os_str())
            .to_string_lossy(),
    };
    let mut origin = Origin {
        arguments: put.arguments_env.as_deref().map(arguments).transpose()?,
        call_id: put.call_id.clone(),
        ..Origin::tool(put.tool.as_deref().unwrap_or(&name))
    };
    if !is_input && origin.arguments.is_none() {
        origin.arguments = Some(file.display().to_string());
    }
    let offloader = match put.lookups {
        true => mcp::retrieval(app)?.0.offloader,
        false => app.offloader.clone(),
    };
    let unreadable = |error: &io::Error| {
        let name = if is_input {
            "standard input".into()
        } else {
            file.to_string_lossy()
        };
        let hint = match error.kind() {
            io::ErrorKind::IsADirectory => {
                "name the files in it; `spillgate run -- ls -R DIR` stores a list"
            }
            io::ErrorKind::NotFound => {
                "check the path; `spillgate run -- COMMAND` stores what a command prints"
            }
            _ => "name a file that you may read",
        };
        Failure::new("input", Fault::Caller, format!("{name}: {error}")).hint(hint)
    };
    let mut input: Box<dyn Read> = match is_input {
        true => Box::new(io::stdin().lock()),
        false => Box::new(opened(file.to_owned()).map_err(|error| unreadable(&error))?),
    };
    if is_input && !out.json && io::stdin().is_terminal() {
        out.note("reading from the terminal; Ctrl-D ends the text");
    }
    let mut progress = CaptureProgress::new();
    let pending = offloader.submit_stream(origin, put.failed, &mut input, &mut |bytes| {
        progress.at(bytes);
    });
    let pending = pending.map_err(|error| unreadable(&error))?;
    Ok(pending.settle(Choice::Limits { is_over: None }))
}

fn opened(file: PathBuf) -> io::Result<File> {
    let opened = File::open(file)?;
    match opened.metadata()?.is_dir() {
        true => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        false => Ok(opened),
    }
}

/// Returns the value of the variable that holds the arguments of the call.
fn arguments(variable: &str) -> Result<String, Failure> {
    std::env::var(variable).map_err(|_| {
        let what = format!("--arguments-env: the variable {variable} is not set, or no text");
        Failure::new("usage", Fault::Caller, what).code(2)
    })
}
