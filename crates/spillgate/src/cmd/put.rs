//! `spillgate put`: passes standard input through and stores it if it is too large.

use std::io;

use serde_json::{Value, json};
use spillgate_artifact::Origin;
use spillgate_offload::{Choice, Outcome};

use super::{mcp, outcome};
use crate::args::Put;
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::progress::CaptureProgress;
use crate::wiring::App;

pub(crate) fn put(app: &App, put: &Put, out: &Output) -> Result<u8, Failure> {
    let outcome = settle(app, put)?;
    let is_shown = !put.if_large || !matches!(outcome, Outcome::Inline(_));
    if !out.json && is_shown {
        outcome::print(&outcome, out)?;
    }
    let mut object = match (out.json, is_shown) {
        (true, true) => outcome::to_json(app, &outcome)?,
        // Counting the tokens of a text that fits would take longer than all the rest.
        (true, false) => json!({"offloaded": false, "handle": null, "reason": null}),
        (false, _) => Value::Null,
    };
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

/// Reads standard input, and stores it if it is too large.
fn settle(app: &App, put: &Put) -> Result<Outcome, Failure> {
    let origin = Origin {
        arguments: put.arguments_env.as_deref().map(arguments).transpose()?,
        call_id: put.call_id.clone(),
        ..Origin::tool(&put.tool)
    };
    let offloader = match put.lookups {
        true => mcp::retrieval(app)?.0.offloader,
        false => app.offloader.clone(),
    };
    let mut progress = CaptureProgress::new();
    let pending =
        offloader.submit_stream(origin, put.failed, &mut io::stdin().lock(), &mut |bytes| {
            progress.at(bytes);
        });
    let pending = pending.map_err(|error| {
        Failure::new("input", Fault::Caller, format!("standard input: {error}"))
    })?;
    Ok(pending.settle(Choice::Limits { is_over: None }))
}

/// Returns the value of the variable that holds the arguments of the call.
fn arguments(variable: &str) -> Result<String, Failure> {
    std::env::var(variable).map_err(|_| {
        let what = format!("--arguments-env: the variable {variable} is not set, or no text");
        Failure::new("usage", Fault::Caller, what).code(2)
    })
}
