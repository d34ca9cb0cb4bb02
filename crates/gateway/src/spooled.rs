//! What happens to a result on its way back that is too large for the memory?
//!
//! The same as to any other (see `intercept`). Its skeleton is looked at instead
//! of its bytes; its text and its large parts stay where they are, in a draft of
//! the store, and are read from there.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use spillgate_artifact::{ByteSource, TextPart};
use spillgate_offload::{Limits, LostRaw, Offloader, Outcome, SpooledRaw};
use spillgate_store::{Draft, Part, Receipt, StoreError};
use spillgate_wire::{
    Envelope, Filled, LostValue, Pieces, Splice, Spooled, SpooledValue, StandIn, messages, span_in,
};

use crate::blocks::{Block, Kind};
use crate::intercept::{Case, changes, intercept, is_retrieval, log};
use crate::results::Found;
use crate::shown::{self, Stored};
use crate::twins::is_twin;

/// The frame as the client gets it, and whether one of its results was stored.
/// `case` says what result an envelope brings, for those that may be replaced. An
/// error means that the frame can only be said to be lost.
pub(crate) fn intercept_spooled(
    offloader: &Offloader,
    spooled: Spooled,
    case: &dyn Fn(&Envelope<'_>) -> Option<Case>,
) -> Result<(Pieces, bool), StoreError> {
    if !spooled.is_sound() {
        return Ok((spooled.into_pieces()?, false));
    }
    let (value, stand_in) = spooled.into_value();
    let mut large = Large::Waits(value);
    let mut splice = Splice::default();
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
            _ => intercept(offloader, case, &stand_in.frame, result),
        };
        splice.merge(edits);
        stored |= is_stored;
    }
    let made = splice.apply(&stand_in.frame);
    Ok((large.fill(&stand_in, made)?, stored))
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
) -> Result<(Splice, Large), StoreError> {
    let unchanged = |value| Ok((Splice::default(), Large::Waits(value)));
    let found = Found::parse(case.form, result).filter(|found| !found.asks());
    let Some(found) = found else {
        return unchanged(value);
    };
    let mut large = LargeResult::new(stand_in, result, found);
    let bytes = large.wire_bytes();
    let limits = offloader.limits(&case.origin);
    let bulky = large.found.bulky(&limits);
    if bulky.is_empty() && (limits.admit_any(bytes) || is_retrieval(&large.found, bytes)) {
        let server = case.origin.server.as_deref();
        offloader.ledger().inline_of(server, bytes);
        return unchanged(value);
    }
    let parts = match &value.kept {
        Ok(draft) => large.parts(&draft.read(Part::Raw)?)?,
        Err(_) => large.texts(),
    };
    let (tool, is_error) = (case.origin.tool.clone(), large.found.is_error());
    let _store = tracing::info_span!("store", bytes).entered();
    let (stored, preview) =
        match offloader.spooled_result(case.origin, is_error, raw_of(value), parts) {
            Outcome::Inline(fits) if bulky.is_empty() => {
                let draft = fits.into_draft().map_or(Large::Lost, Large::Draft);
                return Ok((Splice::default(), draft));
            }
            Outcome::Inline(fits) => (offloader.keep(fits), None),
            Outcome::Offloaded(stored) => (Ok(stored.receipt), Some(stored.shown)),
            Outcome::NotStored(lost) => (Err(lost.error), Some(lost.shown)),
        };
    log(&stored);
    let handle = stored.as_ref().ok().map(Receipt::handle);
    let settled = match handle {
        Some(handle) => Large::Stored(offloader.store().open(handle)?.raw),
        None => Large::Lost,
    };
    if matches!(settled, Large::Lost) {
        large.forget_holes();
    }
    let profile = &limits.profile;
    let preview = preview.map(|shown| shown::within(shown.text(), &large.found, profile));
    let shown = Stored {
        tool: &tool,
        handle,
        preview: preview.as_deref(),
        bulky: &bulky,
        links: case.links,
    };
    Ok((large.changes(&stand_in.frame, &shown, &limits), settled))
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

/// A result of which only the skeleton is in memory.
struct LargeResult<'a> {
    stand_in: &'a StandIn,
    result: &'a RawValue,
    found: Found<'a>,
    /// Blocks, or other members, so many that not even the skeleton has them:
    /// they are text as they stand.
    crowd: Option<&'a RawValue>,
}

impl<'a> LargeResult<'a> {
    fn new(stand_in: &'a StandIn, result: &'a RawValue, mut found: Found<'a>) -> Self {
        let is_crowd = |json: &&RawValue| stand_in.skeleton.is_hole(json.get());
        let crowd = Some(result).filter(is_crowd);
        let list = found.list.filter(|list| list.get().starts_with('['));
        let crowd = crowd.or(list.filter(is_crowd));
        if crowd.is_some() {
            found.blocks.clear();
        }
        let mut large = Self {
            stand_in,
            result,
            found,
            crowd,
        };
        large.measure_holes();
        large
    }

    /// Bytes in a block are as many as the base64 that is not in the skeleton
    /// stands for.
    fn measure_holes(&mut self) {
        let skeleton = &self.stand_in.skeleton;
        let sizes: Vec<Option<u64>> = self
            .found
            .blocks
            .iter()
            .map(|block| {
                let data = block.binary()?.data;
                let span = skeleton.is_hole(data.get()).then(|| self.span(data))?;
                Some((span.end - span.start) * 3 / 4)
            })
            .collect();
        for (block, size) in self.found.blocks.iter_mut().zip(sizes) {
            if let (Kind::Binary(binary), Some(size)) = (&mut block.kind, size) {
                binary.bytes = size;
            }
        }
    }

    /// Where in the large value a part of its skeleton lies.
    fn span(&self, part: &RawValue) -> Range<u64> {
        let in_frame = span_in(&self.stand_in.frame, part.get());
        let start = self.stand_in.span.start;
        let skeleton = &self.stand_in.skeleton;
        skeleton.raw_span(in_frame.start - start..in_frame.end - start)
    }

    /// No text of the result is longer than so many bytes.
    fn wire_bytes(&self) -> u64 {
        let texts = self.found.blocks.iter().filter_map(Block::text);
        let parts = texts.chain(self.found.structured).chain(self.crowd);
        let lengths = parts.map(|part| self.span(part));
        lengths.map(|span| span.end - span.start).sum()
    }

    /// Where its text lies, without what `structuredContent` may say again.
    fn texts(&self) -> Vec<TextPart> {
        let strings = self.found.blocks.iter().filter_map(Block::text);
        // Without their quotes.
        let strings = strings.map(|text| {
            let span = self.span(text);
            (span.start + 1..span.end - 1, true)
        });
        let crowd = self.crowd.map(|crowd| (self.span(crowd), false));
        let part = |(span, is_string): (Range<u64>, bool)| TextPart {
            start: span.start,
            end: span.end,
            is_string,
        };
        strings.chain(crowd).map(part).collect()
    }

    /// Where its text lies.
    fn parts(&self, source: &Arc<dyn ByteSource>) -> Result<Vec<TextPart>, StoreError> {
        let mut parts = self.texts();
        if let Some(structured) = self.found.structured {
            let span = self.span(structured);
            let is_twin = is_twin(source, &span, &parts);
            let is_twin = is_twin.map_err(|error| StoreError::Damaged {
                path: "the draft".into(),
                what: error.to_string(),
            })?;
            if !is_twin {
                parts.push(TextPart {
                    start: span.start,
                    end: span.end,
                    is_string: false,
                });
            }
        }
        Ok(parts)
    }

    /// Leaves out the blocks that are not whole in the skeleton.
    fn forget_holes(&mut self) {
        let skeleton = &self.stand_in.skeleton;
        let is_whole = |block: &Block<'_>| {
            let parts = skeleton.fill(block.raw.get().as_bytes());
            block.text().is_some() || !parts.iter().any(|part| matches!(part, Filled::Raw(_)))
        };
        self.found.blocks.retain(is_whole);
    }

    /// The changes that show it as `shown`.
    fn changes(&self, frame: &[u8], shown: &Stored<'_>, limits: &Limits) -> Splice {
        if self.stand_in.skeleton.is_hole(self.result.get()) {
            // Nothing is known of it but that it is an object.
            let text = shown.preview.unwrap_or_default();
            let block = serde_json::json!({"content": [{"type": "text", "text": text}]});
            let mut splice = Splice::default();
            splice.replace(self.stand_in.span.clone(), block.to_string());
            return splice;
        }
        changes(frame, self.result, &self.found, shown, limits)
    }
}

#[cfg(test)]
mod tests;
