//! Replaces oversized results in frames that are too large for memory.
//!
//! A result is handled like a result in memory ([`intercept`]), except that its skeleton (a copy
//! without the large parts) is used instead of its bytes. Its text and its large parts stay in a
//! draft of the store and are read from there.

use bytes::Bytes;
use spillgate_mcp::{ByteEdits, Envelope, messages, span_in};
use spillgate_offload::Offloader;
use spillgate_store::{Part, StoreError};
use spillgate_transport::{Filled, Pieces, Spooled, StandIn};

use crate::results::intercept::{Case, Incoming, LargeValue, Left, intercept};

/// Returns the frame for the client, and whether one of its results was stored. For each envelope,
/// `case` returns the [`Case`] of its result if the result may be replaced. `links` returns the
/// edits that are then applied to the small parts of the frame. An error means that the frame is
/// lost.
pub(crate) fn intercept_spooled(
    offloader: &Offloader,
    spooled: Spooled,
    case: &dyn Fn(&Envelope<'_>) -> Option<Case>,
    links: &dyn Fn(&[u8]) -> ByteEdits,
) -> Result<(Pieces, bool), StoreError> {
    if !spooled.is_sound() {
        return Ok((spooled.into_pieces()?, false));
    }
    let (value, stand_in) = spooled.into_value();
    let mut left = Left::Untouched(Some(value));
    let mut splice = ByteEdits::default();
    let mut stored = false;
    for envelope in messages(&stand_in.frame) {
        let (Some(result), Some(case)) = (envelope.result, case(&envelope)) else {
            continue;
        };
        let is_large = span_in(&stand_in.frame, result.get()) == stand_in.span;
        let (large, others) = match left {
            Left::Untouched(Some(value)) if is_large => {
                (Some((&stand_in, LargeValue::Spooled(value))), None)
            }
            left => (None, Some(left)),
        };
        let incoming = Incoming {
            frame: &stand_in.frame,
            json: result.get(),
            large,
        };
        let (edits, became) = intercept(offloader, case, incoming)?;
        splice.merge(edits);
        stored |= became.is_stored();
        left = others.unwrap_or(became);
    }
    let is_answer = messages(&stand_in.frame).iter().any(Envelope::is_response);
    let made = with_first(&stand_in, splice).apply(&stand_in.frame);
    let made = links(&made).apply(&made);
    let pieces = fill(offloader, left, &stand_in, made)?;
    Ok(match is_answer {
        true => (pieces, stored),
        false => (pieces.aside(), stored),
    })
}

/// Adds the members that a bridge inserts before the members of the value. Does nothing if the
/// value was replaced or is a single placeholder.
fn with_first(stand_in: &StandIn, splice: ByteEdits) -> ByteEdits {
    let span = &stand_in.span;
    let is_gone = splice.covers(span);
    if stand_in.first.is_empty() || is_gone || is_whole_hole(stand_in) {
        return splice;
    }
    let mut whole = ByteEdits::default();
    let at = span.start + 1;
    whole.replace(at..at, format!("{},", stand_in.first));
    whole.merge(splice);
    whole
}

/// Whether the whole value is a placeholder, so that its structure is unknown.
fn is_whole_hole(stand_in: &StandIn) -> bool {
    let json = std::str::from_utf8(stand_in.skeleton.json());
    json.is_ok_and(|json| stand_in.skeleton.is_hole(json))
}

/// Returns the frame with its remaining placeholders replaced by the large parts.
fn fill(
    offloader: &Offloader,
    left: Left,
    stand_in: &StandIn,
    made: Vec<u8>,
) -> Result<Pieces, StoreError> {
    let (source, draft) = match left {
        Left::Untouched(Some(value)) => {
            let draft = value.kept.map_err(|lost| lost.error)?;
            (Some(draft.read(Part::Raw)?), Some(draft))
        }
        Left::Draft(draft) => (Some(draft.read(Part::Raw)?), Some(draft)),
        Left::Stored(handle) => (Some(offloader.store().open(handle)?.raw), None),
        Left::Untouched(None) | Left::Lost => (None, None),
    };
    let made = Bytes::from(made);
    let mut pieces = Pieces::default();
    for part in stand_in.skeleton.fill(&made) {
        match (part, &source) {
            (Filled::Raw(range), Some(source))
                if range.start == 0 && !stand_in.first.is_empty() =>
            {
                pieces.push(format!("{{{},", stand_in.first));
                pieces.push_source(source, 1..range.end);
            }
            (Filled::Bytes(range), _) => pieces.push(made.slice(range)),
            (Filled::Raw(range), Some(source)) => pieces.push_source(source, range),
            // The blocks no longer contain placeholders, but another member may contain one.
            (Filled::Raw(_), None) => pieces.push(Bytes::from_static(b"null")),
        }
    }
    Ok(match draft {
        Some(draft) => pieces.holding(draft),
        None => pieces,
    })
}

#[cfg(test)]
mod tests;
