//! `spillgate put`: passes standard input through and stores it if it is too large.

use std::io;

use spillgate_artifact::Origin;

use super::outcome;
use crate::args::Put;
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::progress::CaptureProgress;
use crate::wiring::App;

pub(crate) fn put(app: &App, put: &Put, out: &Output) -> Result<u8, Failure> {
    let mut progress = CaptureProgress::new();
    let origin = Origin {
        call_id: put.call_id.clone(),
        ..Origin::tool(&put.tool)
    };
    let outcome = app
        .offloader
        .stream(origin, &mut io::stdin().lock(), &mut |bytes| {
            progress.at(bytes);
        })
        .map_err(|error| {
            Failure::new("input", Fault::Caller, format!("standard input: {error}"))
        })?;
    drop(progress);
    if !out.json {
        outcome::print(&outcome, out)?;
    }
    let mut object = match out.json {
        true => outcome::to_json(app, &outcome)?,
        false => serde_json::Value::Null,
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
