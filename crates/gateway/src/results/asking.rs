//! Keeps secrets out of results that ask the client for input.
//!
//! Such a result is never stored or replaced, because the client must answer it. If results that fit
//! are scanned, too (`redact` is `all` or `block`), marks take the place of the secrets in its
//! texts. The server's `requestState` stays as it is: the client returns it and shows it to nobody.

use std::io;
use std::sync::Arc;

use spillgate_artifact::ByteSource;
use spillgate_mcp::{ByteEdits, ObjectView, span_in};
use spillgate_offload::{Limits, Offloader};
use spillgate_store::StoreError;

use super::intercept::damaged;

/// Returns the edits that put marks in place of the secrets of a result. `json` is a part of
/// `frame`.
///
/// # Errors
///
/// Fails if the result would no longer be JSON.
pub(crate) fn marked(
    offloader: &Offloader,
    limits: &Limits,
    frame: &[u8],
    json: &str,
) -> Result<ByteEdits, StoreError> {
    let mut edits = ByteEdits::default();
    if !limits.redaction.covers_small() {
        return Ok(edits);
    }
    let (redactor, text) = (offloader.redactor(), Arc::new(json.as_bytes().to_vec()));
    let findings = redactor.find(&*text).map_err(|error| damaged(&error))?;
    if findings.is_empty() {
        return Ok(edits);
    }
    let findings = Arc::new(findings);
    let source = redactor.source(text, Arc::clone(&findings));
    let source = source.map_err(|error| damaged(&error))?;
    let state = ObjectView::of_text(json).and_then(|members| members.get("requestState"));
    let state = state.map_or(0..0, |state| span_in(json.as_bytes(), state.get()));
    let from = span_in(frame, json).start;
    for span in findings.spans() {
        let place =
            |at: u64| usize::try_from(at).map_err(|error| damaged(&io::Error::other(error)));
        let (start, end) = (place(span.start)?, place(span.end)?);
        if state.start < end && start < state.end {
            continue;
        }
        let mark = (
            source.to_redacted(span.start),
            source.to_redacted_end(span.end),
        );
        let mark = source
            .bytes(mark.0, mark.1)
            .map_err(|error| damaged(&error))?;
        edits.replace(from + start..from + end, mark);
    }
    let edited = edits.clone().apply(frame);
    match serde_json::from_slice::<serde::de::IgnoredAny>(&edited) {
        Ok(_) => Ok(edits),
        Err(error) => Err(damaged(&io::Error::other(error))),
    }
}
