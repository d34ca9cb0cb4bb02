//! Prints what `put` and `run` did with a result: the result itself, or the message that replaces
//! it.

use serde_json::{Value, json};
use spillgate_artifact::{Handle, Stats};
use spillgate_offload::{ObservationSummary, Outcome, Profile, RetrieveError, Unstored};
use spillgate_store::Receipt;

use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::App;

/// Returns the object that `put --json` and `run --json` print for a result.
pub(super) fn to_json(app: &App, outcome: &Outcome) -> Result<Value, Failure> {
    let mut object = match outcome {
        Outcome::Inline(fits) => {
            let mut raw = Vec::new();
            fits.write_raw(&mut raw)?;
            let reason = fits.is_never_worse().then_some("never_worse");
            let text = String::from_utf8_lossy(&raw);
            object(None, &fits.stats(), Some(fits.sha256()), reason, &text)
        }
        Outcome::Offloaded(offloaded) => {
            let facts = &offloaded.receipt.manifest().facts;
            let reason = serde_json::to_value(facts.reason).unwrap_or_default();
            let text = offloaded.shown.text();
            let handle = Some(offloaded.receipt.handle());
            let sha256 = Some(facts.sha256.as_str());
            object(handle, &facts.stats, sha256, reason.as_str(), text)
        }
        Outcome::NotStored(lost) => {
            let text = lost.shown.text();
            let reason = match lost.error {
                Unstored::Failed(_) => "store_failed",
                Unstored::Secrets { .. } => "secrets",
            };
            object(
                None,
                &lost.stats,
                lost.sha256.as_deref(),
                Some(reason),
                text,
            )
        }
    };
    tool_result(app, outcome, &mut object)?;
    Ok(object)
}

/// If the funnel profile applies, adds the `ToolResult` of its specification (docs/spec/texts.md,
/// "Funnel profile").
fn tool_result(app: &App, outcome: &Outcome, object: &mut Value) -> Result<(), Failure> {
    let (origin, handle) = match outcome {
        Outcome::Inline(fits) => (fits.origin(), None),
        Outcome::Offloaded(stored) => {
            let origin = &stored.receipt.manifest().facts.origin;
            (origin, Some(stored.receipt.handle()))
        }
        Outcome::NotStored(lost) => (&lost.origin, None),
    };
    if app.offloader.limits(origin).profile == Profile::Funnel {
        let summary = handle.map(|handle| summary(app, handle)).transpose()?;
        object["status"] = json!("success");
        object["output"] = object["text"].clone();
        object["error"] = Value::Null;
        object["cost"] = Value::Null;
        object["duration_ms"] = Value::Null;
        object["summary"] = json!(summary);
    }
    Ok(())
}

/// Returns the receipt of a stored output; `None` if its secrets keep it from being shown.
fn summary(app: &App, handle: Handle) -> Result<Option<ObservationSummary>, Failure> {
    let artifact = match app.offloader.artifact(handle) {
        Ok(artifact) => artifact,
        Err(error) if error.hides_secrets() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let summary = ObservationSummary::of(&artifact).map_err(RetrieveError::from)?;
    Ok(Some(summary))
}

/// Marks the `ToolResult` as failed for the reason `how`. Its summary was made before the failure
/// was known.
pub(super) fn failed(object: &mut Value, how: &str) {
    object["status"] = json!("failure");
    object["error"] = json!(how);
    if object["summary"].is_object() {
        object["summary"]["status_flag"] = json!("failure");
    }
}

fn object(
    handle: Option<Handle>,
    stats: &Stats,
    sha256: Option<&str>,
    reason: Option<&str>,
    text: &str,
) -> Value {
    json!({
        "offloaded": handle.is_some(),
        "handle": handle,
        "bytes": stats.bytes,
        "lines": stats.lines,
        "chars": stats.chars,
        "tokens": stats.tokens.count,
        "tokens_exact": stats.tokens.exact,
        "kind": stats.kind,
        "sha256": sha256,
        "reason": reason,
        "text": text,
    })
}

/// Prints what a model sees: the result itself, byte for byte, or the message that replaces it.
pub(super) fn print(outcome: &Outcome, out: &Output) -> Result<(), Failure> {
    match outcome {
        Outcome::Inline(fits) => out.with(|to| fits.write_raw(to))?,
        Outcome::Offloaded(offloaded) => out.ended(offloaded.shown.text())?,
        Outcome::NotStored(lost) => out.ended(lost.shown.text())?,
    }
    Ok(())
}

/// Returns the receipt of a result that was stored.
pub(crate) fn receipt(outcome: &Outcome) -> Option<&Receipt> {
    match outcome {
        Outcome::Offloaded(offloaded) => Some(&offloaded.receipt),
        _ => None,
    }
}

/// Returns why a result was not stored although it should have been.
pub(crate) fn failure(outcome: Outcome) -> Option<Failure> {
    match outcome {
        Outcome::NotStored(lost) => Some(lost.error.into()),
        _ => None,
    }
}
