//! What happens to a result on its way back that is too large for the memory?
//!
//! The same as to any other (see `intercept`). Its skeleton is looked at instead
//! of its bytes; its text and its large parts stay where they are, in a draft of
//! the store, and are read from there.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;
use serde_json::value::RawValue;
use spillgate_artifact::{ByteSource, TextPart};
use spillgate_mcp::{ByteEdits, Envelope, messages, span_in};
use spillgate_offload::{Choice, Limits, LostRaw, Offloader, Outcome, SpooledRaw};
use spillgate_store::{Draft, Part, Receipt, StoreError};
use spillgate_view::Decoded;
use spillgate_wire::{Filled, LostValue, Pieces, Spooled, SpooledValue, StandIn};

use crate::blocks::{Base64, Binary, Form, Kind, is_image};
use crate::duplicate_text::{Twin, twin};
use crate::intercept::{Case, changes, intercept, is_retrieval, log};
use crate::place::Place;
use crate::results::{Found, MOST_OTHERS, Parts};
use crate::shown::{self, Stored};

/// Bytes read at a time.
const BLOCK: u64 = 256 << 10;

/// The frame as the client gets it, and whether one of its results was stored.
/// `case` says what result an envelope brings, for those that may be replaced;
/// `links` what changes in the small parts of the frame after that. An error means
/// that the frame can only be said to be lost.
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
    let mut large = Large::Waits(value);
    let mut splice = ByteEdits::default();
    let mut stored = false;
    for envelope in messages(&stand_in.frame) {
        let (Some(result), Some(case)) = (envelope.result, case(&envelope)) else {
            continue;
        };
        let is_large = span_in(&stand_in.frame, result.get()) == stand_in.span;
        let (edits, is_stored) = match large {
            Large::Waits(value) if is_large => {
                let (edits, settled) = settle(offloader, case, value, &stand_in, result)?;
                large = settled;
                (edits, matches!(large, Large::Stored(_)))
            }
            _ => intercept(offloader, case, &stand_in.frame, result.get()),
        };
        splice.merge(edits);
        stored |= is_stored;
    }
    let is_answer = messages(&stand_in.frame).iter().any(Envelope::is_response);
    let made = with_first(&stand_in, splice).apply(&stand_in.frame);
    let made = links(&made).apply(&made);
    let pieces = large.fill(&stand_in, made)?;
    Ok(match is_answer {
        true => (pieces, stored),
        false => (pieces.aside(), stored),
    })
}

/// The changes with the members that a bridge puts before those of the value,
/// unless it is no longer there, or all of it is a placeholder.
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

/// Whether nothing is known of the value.
fn is_whole_hole(stand_in: &StandIn) -> bool {
    let json = std::str::from_utf8(stand_in.skeleton.json());
    json.is_ok_and(|json| stand_in.skeleton.is_hole(json))
}

/// The large value of a frame.
enum Large {
    /// Nothing was done with it.
    Waits(SpooledValue),
    /// It fits, or is nobody's to replace.
    Draft(Box<dyn Draft>),
    /// It is stored.
    Stored(Arc<dyn ByteSource>),
    /// It is lost.
    Lost,
}

impl Large {
    /// The frame with the large parts that are still in it.
    fn fill(self, stand_in: &StandIn, made: Vec<u8>) -> Result<Pieces, StoreError> {
        let (source, draft) = match self {
            Self::Waits(value) => {
                let draft = value.kept.map_err(|lost| lost.error)?;
                (Some(draft.read(Part::Raw)?), Some(draft))
            }
            Self::Draft(draft) => (Some(draft.read(Part::Raw)?), Some(draft)),
            Self::Stored(source) => (Some(source), None),
            Self::Lost => (None, None),
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
                // No block is left that has one; another member may.
                (Filled::Raw(_), None) => pieces.push(Bytes::from_static(b"null")),
            }
        }
        Ok(match draft {
            Some(draft) => pieces.holding(draft),
            None => pieces,
        })
    }
}

/// Decides about the large result.
fn settle(
    offloader: &Offloader,
    case: Case,
    value: SpooledValue,
    stand_in: &StandIn,
    result: &RawValue,
) -> Result<(ByteEdits, Large), StoreError> {
    let unchanged = |value| Ok((ByteEdits::default(), Large::Waits(value)));
    let draft = value.kept.as_ref().ok();
    let source = draft.map(|draft| draft.read(Part::Raw)).transpose()?;
    let Some(mut found) = found(case.form, result, stand_in, source.as_ref())? else {
        return unchanged(value);
    };
    let (shows, limits) = (case.shows_of(&found), case.limits);
    let bytes = found.wire_bytes(shows);
    let bulky = found.bulky(&limits);
    if bulky.is_empty() && (limits.admit_any(bytes) || is_retrieval(&found, bytes)) {
        let server = case.origin.server.as_deref();
        offloader.ledger().inline_of(server, bytes);
        return unchanged(value);
    }
    let parts = parts(&found, source.as_ref())?;
    let is_over = is_over(offloader, &limits, source.as_ref(), parts.shown(shows));
    let (is_over, parts) = (is_over.map_err(|e| damaged(&e))?, parts.stored());
    let (tool, is_error) = (case.origin.tool.clone(), found.is_error());
    let _store = tracing::info_span!("store", bytes).entered();
    let captured = offloader.capture_spooled(case.origin, is_error, raw_of(value), parts);
    let pending = offloader.submit(captured, limits.clone());
    let pending = pending.shown_within(shown::preview_room(&found));
    let (stored, preview) = match pending.settle(Choice::Limits { is_over }) {
        Outcome::Inline(fits) if bulky.is_empty() => {
            let draft = fits.into_draft().map_or(Large::Lost, Large::Draft);
            return Ok((ByteEdits::default(), draft));
        }
        Outcome::Inline(fits) => (fits.store(), None),
        Outcome::Offloaded(stored) => (Ok(stored.receipt), Some(stored.shown)),
        Outcome::NotStored(lost) => (Err(lost.error), Some(lost.shown)),
    };
    log(&stored);
    let handle = stored.as_ref().ok().map(Receipt::handle);
    let settled = match handle {
        Some(handle) => Large::Stored(offloader.store().open(handle)?.raw),
        None => Large::Lost,
    };
    let is_lost = handle.is_none();
    found.place = Place::Large { stand_in, is_lost };
    let shown = Stored {
        tool: &tool,
        handle,
        preview: preview.as_ref(),
        bulky: &bulky,
        links: case.links,
    };
    let splice = match stand_in.skeleton.is_hole(result.get()) {
        true => instead(stand_in, &found, &shown),
        false => changes(&stand_in.frame, result.get(), &found, &shown, &limits),
    };
    Ok((splice, settled))
}

/// Where the text of the result lies.
fn parts(found: &Found<'_>, source: Option<&Arc<dyn ByteSource>>) -> Result<Parts, StoreError> {
    found.parts(|structured, strings, texts| match source {
        Some(source) => twin(source, structured, strings, texts).map_err(|e| damaged(&e)),
        None => Ok(Twin::Text), // whose ends would not be known
    })
}

/// Whether one of the texts in the source that a client may show is over the limits;
/// `None` where there is only one.
fn is_over(
    offloader: &Offloader,
    limits: &Limits,
    source: Option<&Arc<dyn ByteSource>>,
    texts: Option<Vec<Vec<TextPart>>>,
) -> io::Result<Option<bool>> {
    let (Some(source), Some(texts)) = (source, texts) else {
        return Ok(None);
    };
    for parts in texts {
        let text = Decoded::new(Arc::clone(source), &parts, &mut |_| {})?;
        if !offloader.admits(limits, &text) {
            return Ok(Some(true));
        }
    }
    Ok(Some(false))
}

/// What stands in the place of a result of which nothing is known but that it is
/// an object.
fn instead(stand_in: &StandIn, found: &Found<'_>, shown: &Stored<'_>) -> ByteEdits {
    let mut splice = ByteEdits::default();
    let (list, blocks) = (found.form.list(), shown::blocks(found, shown));
    let comma = if stand_in.first.is_empty() { "" } else { "," };
    let first = &stand_in.first;
    let made = format!("{{{first}{comma}\"{list}\":{blocks}}}");
    splice.replace(stand_in.span.clone(), made);
    splice
}

/// What is in the large result, if it may be replaced.
fn found<'a>(
    form: Form,
    result: &'a RawValue,
    stand_in: &'a StandIn,
    source: Option<&Arc<dyn ByteSource>>,
) -> Result<Option<Found<'a>>, StoreError> {
    let place = Place::Large {
        stand_in,
        is_lost: false,
    };
    let found = Found::parse_in(form, result, place).filter(|found| !found.asks());
    let Some(mut found) = found else {
        return Ok(None);
    };
    for block in &mut found.blocks {
        if let Kind::Binary(binary) = &mut block.kind {
            complete(binary, place, source).map_err(|error| damaged(&error))?;
        }
    }
    Ok(Some(found))
}

/// Learns of a binary block what is not in the skeleton: how large it is, and
/// what it says of itself.
fn complete(
    binary: &mut Binary<'_>,
    place: Place<'_>,
    source: Option<&Arc<dyn ByteSource>>,
) -> io::Result<()> {
    if place.is_hole(binary.data.get()) {
        let span = place.span(binary.data.get());
        let inside = span.start + 1..span.end - 1;
        binary.bytes = match source {
            Some(source) => decoded_bytes(&**source, inside)?,
            None => (inside.end - inside.start) * 3 / 4,
        };
    }
    for word in [&mut binary.mime, &mut binary.uri] {
        let json = word.as_ref().map(|json| json.get());
        if let Some(json) = json.filter(|json| place.is_hole(json)) {
            *word = match source {
                Some(source) => Some(Cow::Owned(long_word(source, place.span(json))?)),
                None => None,
            };
        }
    }
    if let (Some(Cow::Owned(mime)), true) = (&binary.mime, binary.is_told_by_mime) {
        binary.is_image |= is_image(mime);
    }
    Ok(())
}

/// The bytes that base64 in the source stands for.
fn decoded_bytes(source: &dyn ByteSource, range: Range<u64>) -> io::Result<u64> {
    let (mut base64, mut at) = (Base64::default(), range.start);
    while at < range.end {
        let block = source.bytes(at, range.end.min(at + BLOCK))?;
        if block.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        at += block.len() as u64;
        base64.feed(&block);
    }
    Ok(base64.bytes())
}

/// A JSON string that is far too long for what it is; of the longest only so much
/// that it does not fit in any place either.
fn long_word(source: &Arc<dyn ByteSource>, span: Range<u64>) -> io::Result<Box<RawValue>> {
    /// Each character takes up to 12 bytes, escaped.
    const LONGEST: u64 = 12 * 2 * MOST_OTHERS;
    if span.end - span.start <= LONGEST {
        let json = String::from_utf8(source.bytes(span.start, span.end)?);
        return Ok(RawValue::from_string(json.map_err(io::Error::other)?)?);
    }
    let inside = TextPart {
        start: span.start + 1,
        end: span.end - 1,
        is_string: true,
    };
    let text = Decoded::new(Arc::clone(source), &[inside], &mut |_| {})?;
    let start = text.bytes(0, 2 * MOST_OTHERS)?;
    let start = String::from_utf8_lossy(&start);
    Ok(RawValue::from_string(json!(start).to_string())?)
}

/// What could not be read again.
fn damaged(error: &io::Error) -> StoreError {
    StoreError::Damaged {
        path: "the draft".into(),
        what: error.to_string(),
    }
}

fn raw_of(value: SpooledValue) -> SpooledRaw {
    let lost = |lost: LostValue| LostRaw {
        head: lost.head,
        tail: lost.tail,
        error: lost.error,
    };
    SpooledRaw {
        kept: value.kept.map_err(lost),
        bytes: value.bytes,
        sha256: value.sha256,
    }
}

#[cfg(test)]
mod tests;
