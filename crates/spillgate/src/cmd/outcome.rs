//! What came of a result, as `put` and `run` print it.

use serde_json::{Value, json};
use spillgate_artifact::{Handle, Stats};
use spillgate_offload::Outcome;
use spillgate_store::Receipt;

use crate::failure::Failure;
use crate::output::Output;

/// The members that `put --json` and `run --json` print for a result.
pub(super) fn to_json(outcome: &Outcome) -> Result<Value, Failure> {
    Ok(match outcome {
        Outcome::Inline(fits) => {
            let mut raw = Vec::new();
            fits.write_raw(&mut raw)?;
            let reason = fits.is_never_worse().then_some("never_worse");
            let text = String::from_utf8_lossy(&raw);
            object(None, &fits.stats(), fits.sha256(), reason, &text)
        }
        Outcome::Offloaded(offloaded) => {
            let facts = &offloaded.receipt.manifest().facts;
            let reason = serde_json::to_value(facts.reason).unwrap_or_default();
            let text = offloaded.shown.text();
            let handle = Some(offloaded.receipt.handle());
            object(handle, &facts.stats, &facts.sha256, reason.as_str(), text)
        }
        Outcome::NotStored(lost) => {
            let text = lost.shown.text();
            object(None, &lost.stats, &lost.sha256, Some("store_failed"), text)
        }
    })
}

fn object(
    handle: Option<Handle>,
    stats: &Stats,
    sha256: &str,
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

/// Prints what a model sees: the result itself, byte for byte, or the message in
/// its place.
pub(super) fn print(outcome: &Outcome, out: &Output) -> Result<(), Failure> {
    match outcome {
        Outcome::Inline(fits) => out.with(|to| fits.write_raw(to))?,
        Outcome::Offloaded(offloaded) => out.text(offloaded.shown.text())?,
        Outcome::NotStored(lost) => out.text(lost.shown.text())?,
    }
    Ok(())
}

/// Proof that a result is stored, if it is.
pub(super) fn receipt(outcome: &Outcome) -> Option<&Receipt> {
    match outcome {
        Outcome::Offloaded(offloaded) => Some(&offloaded.receipt),
        _ => None,
    }
}

/// Why a result was not stored although it should have been.
pub(super) fn failure(outcome: Outcome) -> Option<Failure> {
    match outcome {
        Outcome::NotStored(lost) => Some(lost.error.into()),
        _ => None,
    }
}
