//! Decides what of an oversized result passes to a program.

use std::sync::Arc;

use spillgate_artifact::{ByteSource, Origin};
use spillgate_offload::{Limits, Offloader, ResultMode};
use spillgate_store::StoreError;

use crate::results::client_view::ShownPart;
use crate::results::found::Found;
use crate::results::intercept::damaged;

/// Returns what the client receives of a result. It is a preview if the result has secrets that the
/// rules keep out of programs, too, or if it has no `structuredContent` that could stay whole.
/// `source` returns the bytes of the result; `None` if they are lost.
pub(crate) fn mode(
    offloader: &Offloader,
    limits: &Limits,
    found: &Found<'_>,
    source: impl FnOnce() -> Result<Option<Arc<dyn ByteSource>>, StoreError>,
) -> Result<ResultMode, StoreError> {
    match limits.results {
        ResultMode::Preview => return Ok(ResultMode::Preview),
        ResultMode::Structured if found.structured.is_none() => return Ok(ResultMode::Preview),
        ResultMode::Structured | ResultMode::Whole => {}
    }
    if !limits.guard_programs() {
        return Ok(limits.results);
    }
    let Some(source) = source()? else {
        return Ok(ResultMode::Preview);
    };
    let secrets = offloader.redactor().find(&*source).map_err(|e| damaged(&e));
    Ok(match secrets?.is_empty() {
        true => limits.results,
        false => ResultMode::Preview,
    })
}

/// Records the part of a result that passes to a program. Returns whether there is one: whether the
/// part would exceed the limits. Its tokens are estimated, so that a program does not wait for a
/// count.
pub(crate) fn account(
    offloader: &Offloader,
    origin: &Origin,
    limits: &Limits,
    found: &Found<'_>,
    shown_part: ShownPart,
) -> bool {
    let bytes = match limits.results {
        ResultMode::Preview => return false,
        ResultMode::Structured => found
            .structured
            .map_or(0, |structured| found.place.bytes(structured.get())),
        ResultMode::Whole => found.wire_bytes(shown_part),
    };
    let exceeds = |limit: Option<u64>, size: u64| limit.is_some_and(|limit| size > limit);
    let is_large = exceeds(limits.tokens, bytes.div_ceil(4))
        || exceeds(limits.bytes, bytes)
        || exceeds(limits.chars, bytes);
    if is_large {
        offloader.passed_to_program(origin, bytes);
    }
    is_large
}
