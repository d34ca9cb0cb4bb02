//! What happens to a tool's result on its way back?
//!
//! A result that fits passes as it is. An oversized one is stored whole, as the
//! bytes that the server sent; its text becomes a preview in `content` and, for
//! clients that show the model `structuredContent` instead (Claude Code and
//! Codex do), there too. Images and every other block stay where they are.

use serde_json::json;
use serde_json::value::RawValue;
use spillgate_artifact::Origin;
use spillgate_offload::{Offloader, Outcome};

use crate::frame::span_in;
use crate::results::{Block, CallResult};
use crate::splice::Splice;
use crate::tools::RETRIEVAL_MARK;

/// The member of our `structuredContent` that holds the preview; `listing`
/// widens each `outputSchema` by an object with just this member.
pub(crate) const ENVELOPE_KEY: &str = "spillgate";

/// A marked retrieval of another Spillgate behind this one is passed on up to
/// this size; beyond, the mark is not believed.
const MOST_RETRIEVED: u64 = 64 << 10;

/// The changes to `frame` that replace an oversized `result` in it; none if it
/// fits.
pub(crate) fn intercept(
    offloader: &Offloader,
    origin: Origin,
    frame: &[u8],
    result: &RawValue,
) -> Splice {
    let mut splice = Splice::default();
    let Some(call) = CallResult::parse(result) else {
        return splice;
    };
    let blocks = call.blocks();
    let bytes = call.wire_bytes(&blocks);
    let limits = offloader.limits(&origin);
    if limits.admit_any(bytes) || is_retrieval(&call, bytes) {
        offloader.ledger().inline(bytes);
        return splice;
    }
    let whole = result.get().as_bytes();
    let text = call.text(whole, &blocks);
    let raw = whole.to_vec();
    let outcome = offloader.json_result(origin, call.is_error(), raw, text.parts, text.text);
    let shown = match &outcome {
        Outcome::Inline(_) => return splice,
        Outcome::Offloaded(offloaded) => offloaded.shown.text(),
        Outcome::NotStored(lost) => {
            tracing::warn!(error = %lost.error, "an oversized result could not be stored");
            lost.shown.text()
        }
    };
    replace(&mut splice, frame, &call, &blocks, shown);
    if let (None, Some(place)) = (call.content, whole.iter().position(|&b| b == b'{')) {
        // No content at all: clients that show nothing else get some.
        let at = span_in(frame, result.get()).start + place + 1;
        let comma = if whole[place + 1..].trim_ascii_start().starts_with(b"}") {
            ""
        } else {
            ","
        };
        splice.replace(
            at..at,
            format!("\"content\":[{}]{comma}", text_block(shown)),
        );
    }
    splice
}

fn is_retrieval(call: &CallResult<'_>, bytes: u64) -> bool {
    let marked = call
        .meta
        .is_some_and(|meta| meta.get().contains(RETRIEVAL_MARK));
    marked && bytes <= MOST_RETRIEVED
}

/// Puts `shown` in the place of the text blocks and of `structuredContent`.
fn replace(
    splice: &mut Splice,
    frame: &[u8],
    call: &CallResult<'_>,
    blocks: &[Block<'_>],
    shown: &str,
) {
    if let Some(content) = call.content {
        let first = blocks.iter().position(|block| block.text.is_some());
        let mut kept: Vec<Vec<u8>> = Vec::new();
        if first.is_none() {
            kept.push(text_block(shown).into_bytes());
        }
        for (at, block) in blocks.iter().enumerate() {
            match block.text {
                None => kept.push(block.raw.get().into()),
                // Its other members, such as annotations, stay.
                Some(text) if Some(at) == first => {
                    let mut edit = Splice::default();
                    let bytes = block.raw.get().as_bytes();
                    edit.replace(span_in(bytes, text.get()), json!(shown).to_string());
                    kept.push(edit.apply(bytes));
                }
                Some(_) => {}
            }
        }
        let content_span = span_in(frame, content.get());
        splice.replace(content_span, [b"[", &*kept.join(&b","[..]), b"]"].concat());
    }
    if let Some(structured) = call.structured.filter(|value| value.get() != "null") {
        let envelope = json!({ENVELOPE_KEY: shown}).to_string();
        splice.replace(span_in(frame, structured.get()), envelope);
    }
}

fn text_block(text: &str) -> String {
    json!({"type": "text", "text": text}).to_string()
}
