//! Replaces an oversized result on its way to the client.
//!
//! A result that fits passes unchanged. An oversized result is stored completely, as the bytes that
//! the server sent. Its text is replaced by a preview in `content`. The preview also replaces
//! `structuredContent`, because some clients show this part to the model instead (Claude Code and
//! Codex do). Binary blocks above their limits become links. All other blocks stay in their places.
//!
//! Everything that a model may see of the replacement stays below [`MOST_SHOWN`] bytes, regardless
//! of the part that the client shows. For a program, `structuredContent` or the whole result passes
//! unchanged instead ([`ResultMode`]).

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;
use spillgate_artifact::{ByteSource, Handle, Origin, Reason, TextPart};
use spillgate_mcp::{ByteEdits, span_in};
use spillgate_offload::{
    Choice, History, JsonResult, Limits, Offloader, Outcome, PendingResult, Presentation,
    ResultMode, StoredSecrets, Unstored,
};
use spillgate_redact::Redactor;
use spillgate_retrieval::RETRIEVAL_MARK;
use spillgate_store::{Draft, Receipt, SpooledBytes, StoreError};
use spillgate_transport::{Filled, Skeleton, StandIn};

use crate::resources::uri::Uri;
use crate::results::asking;
use crate::results::binary::Moved;
use crate::results::client_view::ShownPart;
use crate::results::found::{Block, Form, Found, Kind, MOST_OTHERS, Place};
use crate::results::holes;
use crate::results::program;
use crate::rewrite::output_schema;

/// The member of our `structuredContent` that contains the preview. The module `output_schema`
/// changes each `outputSchema` so that it also allows an object with only this member.
pub(crate) const ENVELOPE_KEY: &str = "spillgate";

/// Maximum size, in bytes, of a result with the retrieval mark, from another Spillgate behind this
/// one, that passes unchanged. A larger one is treated like any other result.
const MOST_RETRIEVED: u64 = 64 << 10;

/// The kind of a result, its client and its limits.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    /// The kind of result.
    pub(crate) form: Form,
    /// Whether the client supports `resource_link` blocks (MCP 2025-06-18 and later).
    pub(crate) links: bool,
    /// The part of the result that the client shows to its model.
    pub(crate) shown_part: ShownPart,
    /// The call or request that produced the result.
    pub(crate) origin: Origin,
    /// The limits for the result.
    pub(crate) limits: Limits,
    /// What was already shown in the client's session; `None` for stateless clients.
    pub(crate) history: Option<Arc<History>>,
}

impl Case {
    /// Returns the part of the result that the client shows. For a failed result this is unknown,
    /// because it was not measured, so either part may be shown.
    pub(crate) fn shown_part_of(&self, found: &Found<'_>) -> ShownPart {
        match found.is_error() {
            _ if found.keeps_structured => ShownPart::Text,
            true => ShownPart::Either,
            false => self.shown_part,
        }
    }
}

/// A result in a frame.
pub(crate) struct Incoming<'a> {
    /// The frame. For a message that is too large for memory, the reduced frame.
    pub(crate) frame: &'a Bytes,
    /// The result in the frame.
    pub(crate) json: &'a str,
    /// The reduced frame of which `frame` and `json` are parts, and the large value that it leaves
    /// out.
    pub(crate) large: Option<(&'a StandIn, LargeValue)>,
}

/// The value that a reduced frame leaves out.
#[derive(Debug)]
pub(crate) enum LargeValue {
    /// In memory.
    Memory(Bytes),
    /// In a draft of the store.
    Spooled(SpooledBytes),
}

impl LargeValue {
    /// Returns a reader of the value; `None` if it is lost.
    fn source(&self) -> Result<Option<Arc<dyn ByteSource>>, StoreError> {
        match self {
            Self::Memory(bytes) => Ok(Some(Arc::new(bytes.clone()))),
            Self::Spooled(spooled) => spooled.source(),
        }
    }

    /// Returns the state of the value after a result that is not changed.
    fn untouched(self) -> Left {
        match self {
            Self::Memory(_) => Left::Untouched(None),
            Self::Spooled(spooled) => Left::Untouched(Some(spooled)),
        }
    }
}

impl From<LargeValue> for JsonResult {
    fn from(value: LargeValue) -> Self {
        match value {
            LargeValue::Memory(bytes) => bytes.into(),
            LargeValue::Spooled(spooled) => Self::Spooled(spooled),
        }
    }
}

/// What happened to the large parts of a result.
#[derive(Debug)]
pub(crate) enum Left {
    /// The large parts are unchanged; `None` if there are none.
    Untouched(Option<SpooledBytes>),
    /// The result fits, so the large parts are still in the draft.
    Draft(Box<dyn Draft>),
    /// The result is stored.
    Stored(Handle),
    /// The large parts are lost, because storing failed.
    Lost,
}

impl Left {
    pub(crate) fn is_stored(&self) -> bool {
        matches!(self, Self::Stored(_))
    }
}

/// Size, in bytes, from which on a result in memory is read through its skeleton. A parser passes
/// over all bytes of a value again for each level of it (the result, its list, each block), which
/// takes longer than a millisecond for 1 MB. The skeleton is made in one pass, and then only the
/// skeleton is parsed.
const LARGE: usize = 64 << 10;

/// Returns the edits that replace an oversized result in a frame in memory, like [`intercept`].
pub(crate) fn intercept_in_memory(
    offloader: &Offloader,
    case: Case,
    frame: &Bytes,
    result: &str,
) -> Result<(ByteEdits, Left), StoreError> {
    intercept_from(LARGE, offloader, case, frame, result)
}

/// Like [`intercept_in_memory`], but reads results of at least `large` bytes through their skeleton.
pub(crate) fn intercept_from(
    large: usize,
    offloader: &Offloader,
    case: Case,
    frame: &Bytes,
    result: &str,
) -> Result<(ByteEdits, Left), StoreError> {
    let value = frame.slice_ref(result.as_bytes());
    let stand_in = Some(&value)
        .filter(|value| value.len() >= large)
        .and_then(|value| stand_in(value));
    let reduced = stand_in.as_ref().and_then(|stand_in| {
        let json = std::str::from_utf8(&stand_in.frame).ok()?;
        Some((stand_in, json))
    });
    let Some((stand_in, json)) = reduced else {
        let incoming = Incoming {
            frame,
            json: result,
            large: None,
        };
        return intercept(offloader, case, incoming);
    };
    let incoming = Incoming {
        frame: &stand_in.frame,
        json,
        large: Some((stand_in, LargeValue::Memory(value.clone()))),
    };
    let (edits, left) = intercept(offloader, case, incoming)?;
    let mut whole = ByteEdits::default();
    if !edits.is_empty() {
        let made = filled(&stand_in.skeleton, &edits.apply(&stand_in.frame), &value);
        whole.replace(span_in(frame, result), made);
    }
    Ok((whole, left))
}

/// Returns the result in reduced form; `None` if it is not a JSON value.
fn stand_in(value: &[u8]) -> Option<StandIn> {
    let skeleton = Skeleton::of_bytes(value)?;
    Some(StandIn {
        frame: Bytes::copy_from_slice(skeleton.json()),
        span: 0..skeleton.json().len(),
        skeleton,
        first: String::new(),
    })
}

/// Returns `made`, which was derived from the skeleton of `value`, with its placeholders replaced by
/// the parts of `value`.
fn filled(skeleton: &Skeleton, made: &[u8], value: &[u8]) -> Vec<u8> {
    let at = |position: u64| usize::try_from(position).unwrap_or(usize::MAX);
    let mut whole = Vec::with_capacity(made.len());
    for part in skeleton.fill(made) {
        whole.extend_from_slice(match part {
            Filled::Bytes(range) => &made[range],
            Filled::Raw(range) => &value[at(range.start)..at(range.end)],
        });
    }
    whole
}

/// Returns the edits that replace an oversized result in a frame. There are no edits if the result
/// fits. Fails if the large parts of the result cannot be read.
pub(crate) fn intercept(
    offloader: &Offloader,
    case: Case,
    incoming: Incoming<'_>,
) -> Result<(ByteEdits, Left), StoreError> {
    let Incoming { frame, json, large } = incoming;
    let is_reduced = large.is_some();
    let is_in_memory = !matches!(large, Some((_, LargeValue::Spooled(_))));
    let (place, value) = if let Some((stand_in, value)) = large {
        (Place::large(stand_in), value)
    } else {
        let bytes = frame.slice_ref(json.as_bytes());
        (Place::memory(json.as_bytes()), LargeValue::Memory(bytes))
    };
    let Some(mut found) = Found::parse(case.form, json, place) else {
        return Ok((ByteEdits::default(), value.untouched()));
    };
    if found.asks() {
        let edits = asking::marked(offloader, &case.limits, frame, json)?;
        return Ok((edits, value.untouched()));
    }
    if is_reduced {
        holes::complete(&mut found, value.source()?.as_ref())?;
    }
    let source = || value.source();
    let mut limits = case.limits.clone();
    limits.results = program::mode(offloader, &limits, &found, source)?;
    found.keeps_structured = limits.results == ResultMode::Structured;
    let shown_part = case.shown_part_of(&found);
    let for_program = program::account(offloader, &case.origin, &limits, &found, shown_part);
    let bulky = found.bulky(&limits);
    let bytes = found.wire_bytes(shown_part);
    let is_ours = is_retrieval(&found, bytes) && !limits.redaction.covers_small();
    let fits = bulky.is_empty() && (limits.admit_any(bytes) || is_ours);
    if fits || limits.results == ResultMode::Whole {
        if !for_program {
            let server = case.origin.server.as_deref();
            offloader.ledger().inline_of(server, bytes);
        }
        return Ok((ByteEdits::default(), value.untouched()));
    }
    let _store = tracing::info_span!("store", bytes).entered();
    let raw = JsonResult::from(value);
    let tool = case.origin.tool.clone();
    // What goes beside the text of such a result is stored even if the text fits.
    let is_scanned = limits.redaction.covers_small()
        || !bulky.is_empty() && limits.stored_secrets == StoredSecrets::Refused;
    let (pending, choice) = submit(
        offloader,
        case.origin,
        &found,
        (shown_part, is_scanned),
        &limits,
        raw,
    )?;
    let pending = pending.shown_in(case.history);
    let (stored, preview) = match pending.settle(choice) {
        Outcome::Inline(fits) if bulky.is_empty() => {
            let left = fits.into_draft().map_or(Left::Untouched(None), Left::Draft);
            return Ok((ByteEdits::default(), left));
        }
        Outcome::Inline(fits) => (fits.store(), None),
        Outcome::Offloaded(stored) => (Ok(stored.receipt), Some(stored.shown)),
        Outcome::NotStored(lost) => (Err(lost.error), Some(lost.shown)),
    };
    log(&stored);
    let handle = stored.as_ref().ok().map(Receipt::handle);
    if handle.is_none() && !is_in_memory {
        found.place = place.lost();
    }
    let shown = Stored {
        tool: &tool,
        handle,
        preview: preview.as_ref(),
        bulky: &bulky,
        links: case.links,
        redactor: limits.hides_secrets().then(|| &**offloader.redactor()),
    };
    let splice = match place.is_hole(json) {
        true => instead(frame, json, &found, &shown),
        false => changes(frame, json, &found, &shown, &limits),
    };
    Ok((splice, handle.map_or(Left::Lost, Left::Stored)))
}

/// Passes a result to the pipeline, and returns the information that decides whether it is
/// replaced.
fn submit(
    offloader: &Offloader,
    origin: Origin,
    found: &Found<'_>,
    (shown_part, is_scanned): (ShownPart, bool),
    limits: &Limits,
    raw: JsonResult,
) -> Result<(PendingResult, Choice), StoreError> {
    let source = raw.source()?;
    let parts = found.parts(source.as_ref()).map_err(|e| damaged(&e))?;
    let is_over = is_over(offloader, limits, &raw, parts.shown(shown_part))?;
    let scanned = source.as_deref().filter(|_| is_scanned);
    let choice = match has_secrets(offloader, scanned)? {
        true => Choice::Store(Reason::Secrets),
        false => Choice::Limits { is_over },
    };
    let captured = offloader.capture_json(origin, found.is_error(), raw, parts.stored());
    let pending = offloader.submit(captured, limits.clone());
    let room = preview_room(found);
    Ok((pending.shown_within(room), choice))
}

/// Returns whether any part of a result that is to be scanned has a secret: also a blob or a member
/// that is no text.
fn has_secrets(offloader: &Offloader, raw: Option<&dyn ByteSource>) -> Result<bool, StoreError> {
    let Some(raw) = raw else {
        return Ok(false);
    };
    let found = offloader.redactor().find(raw).map_err(|e| damaged(&e))?;
    Ok(!found.is_empty())
}

/// Whether one of the texts that a client may show exceeds the limits. `None` if there is only one
/// text or if the bytes are lost.
fn is_over(
    offloader: &Offloader,
    limits: &Limits,
    raw: &JsonResult,
    texts: Option<Vec<Vec<TextPart>>>,
) -> Result<Option<bool>, StoreError> {
    for parts in texts.iter().flatten() {
        match raw.text(parts)? {
            Some(text) if offloader.admits(limits, &*text) => {}
            Some(_) => return Ok(Some(true)),
            None => return Ok(None),
        }
    }
    Ok(texts.map(|_| false))
}

/// Returns the edits that replace a result of which nothing is known except that it is an object.
fn instead(frame: &[u8], json: &str, found: &Found<'_>, shown: &Stored<'_>) -> ByteEdits {
    let mut splice = ByteEdits::default();
    let (list, blocks) = (found.form.list(), blocks(found, shown));
    let first = found.place.first();
    let comma = if first.is_empty() { "" } else { "," };
    let made = format!("{{{first}{comma}\"{list}\":{blocks}}}");
    splice.replace(span_in(frame, json), made);
    splice
}

/// Returns the error for a draft that could not be read.
pub(crate) fn damaged(error: &io::Error) -> StoreError {
    StoreError::Damaged {
        path: "the draft".into(),
        what: error.to_string(),
    }
}

/// Logs in the same words as the program ai-agent, for tools that read the logs of ai-agent.
fn log(stored: &Result<Receipt, Unstored>) {
    let receipt = match stored {
        Ok(receipt) => receipt,
        Err(error) => {
            tracing::warn!(%error, "an oversized result could not be stored");
            return;
        }
    };
    let facts = &receipt.manifest().facts;
    let tool = facts.origin.tool.escape_debug();
    let (reason, bytes) = (json!(facts.reason), facts.raw_bytes);
    let reason = reason.as_str().unwrap_or_default();
    let handle = receipt.handle();
    tracing::info!(%handle, "Tool '{tool}' output stored for tool_output ({reason}, {bytes} bytes).");
}

/// Returns the edits to the list of blocks and to `structuredContent`. For a result that is
/// refused, also returns the edit to `isError`.
fn changes(
    frame: &[u8],
    result: &str,
    found: &Found<'_>,
    stored: &Stored<'_>,
    limits: &Limits,
) -> ByteEdits {
    let mut splice = ByteEdits::default();
    let mut members = String::new();
    let blocks = blocks(found, stored);
    match found.list {
        Some(list) => splice.replace(span_in(frame, list.get()), blocks),
        // There is no `content`. Add it for clients that show only this part.
        None => members.push_str(&format!("\"{}\":{blocks},", found.form.list())),
    }
    if let (Some(structured), Some(preview)) = (found.replaced_structured(), stored.preview) {
        let instead = output_schema::instead(preview.text(), found.meta);
        splice.replace(span_in(frame, structured.get()), instead);
    }
    let is_refused = limits.profile.is_refusal() && stored.preview.is_some();
    if is_refused && found.form == Form::Call && !found.is_error() {
        // A refusal is an error, so that the model does not take a part of the result for the
        // whole.
        match found.is_error {
            Some(flag) => splice.replace(span_in(frame, flag.get()), "true"),
            None => members.push_str("\"isError\":true,"),
        }
    }
    insert_members(&mut splice, frame, result, members);
    splice
}

/// Inserts members, each followed by a comma, at the start of an object.
pub(crate) fn insert_members(
    splice: &mut ByteEdits,
    frame: &[u8],
    object: &str,
    mut members: String,
) {
    let Some(brace) = object.find('{').filter(|_| !members.is_empty()) else {
        return;
    };
    if object[brace + 1..].trim_ascii_start().starts_with('}') {
        members.pop(); // the object is empty, so no comma is needed
    }
    let at = span_in(frame, object).start + brace + 1;
    splice.replace(at..at, members);
}

fn is_retrieval(found: &Found<'_>, bytes: u64) -> bool {
    let marked = found
        .meta
        .is_some_and(|meta| meta.get().contains(RETRIEVAL_MARK));
    marked && bytes <= MOST_RETRIEVED
}

/// Maximum size, in bytes, that every client passes on completely
/// (docs/spec/limits.md, "What clients take").
const MOST_SHOWN: u64 = 10_000;

/// Bytes of [`MOST_SHOWN`] that are reserved for names and braces around the content.
const FRAME: u64 = 600;

/// The replacement of a text that is neither shown nor stored.
const LOST: &str = "[spillgate] left out: it could not be stored";

/// What is known of a result after the attempt to store it.
#[derive(Debug)]
struct Stored<'a> {
    tool: &'a str,
    /// The handle of the stored result; `None` if it could not be stored.
    handle: Option<Handle>,
    /// The preview of the result's text; `None` if the text fits.
    preview: Option<&'a Presentation>,
    /// The indexes of the binary blocks to replace.
    bulky: &'a [usize],
    /// Whether the client supports `resource_link` blocks.
    links: bool,
    /// Finds secrets in the blocks beside the preview; `None` if redaction is off.
    redactor: Option<&'a Redactor>,
}

impl Stored<'_> {
    /// Returns whether a block must not stand beside the preview, because it has a secret.
    fn hides(&self, block: &Block<'_>) -> bool {
        let redactor = self.redactor.filter(|_| self.preview.is_some());
        redactor.is_some_and(|redactor| matches!(redactor.text(block.raw.get()), Cow::Owned(_)))
    }
}

/// The list of blocks during rewriting.
struct Rewritten<'a> {
    place: Place<'a>,
    /// The new elements.
    elements: Vec<String>,
    /// Bytes that remain for links and other blocks.
    room: u64,
    /// Number of blocks that did not fit.
    dropped: usize,
}

/// Returns the list of blocks that the client receives.
fn blocks(found: &Found<'_>, stored: &Stored<'_>) -> String {
    let mut list = Rewritten {
        place: found.place,
        elements: Vec::new(),
        room: MOST_OTHERS,
        dropped: 0,
    };
    let place = preview_place(found);
    if let (Some(preview), None) = (stored.preview, place) {
        list.elements
            .extend(new_text(found.form, stored, preview.text()));
    }
    for (at, block) in found.blocks.iter().enumerate() {
        let is_lost = found.place.is_lost(block.raw.get());
        match &block.kind {
            Kind::Text(_) | Kind::Document(_) => match stored.preview {
                Some(preview) if place == Some(at) => {
                    list.elements.push(with_text(block, preview.text()));
                }
                Some(_) => list.other_text(found.form, block, stored.hides(block)),
                None if is_lost => list.elements.push(with_text(block, LOST)),
                None => list.elements.push(block.raw.get().to_owned()),
            },
            Kind::Binary(binary) if is_lost || stored.bulky.contains(&at) => {
                let moved = Moved {
                    form: found.form,
                    tool: stored.tool,
                    at,
                    block,
                    binary,
                    handle: stored.handle,
                    links: stored.links,
                };
                list.add(in_place(block, &moved.replacement()));
            }
            _ if is_lost || stored.hides(block) => list.dropped += 1,
            Kind::Binary(_) => list.elements.push(block.raw.get().to_owned()),
            Kind::Other => list.add(block.raw.get().to_owned()),
        }
    }
    list.finish(found.form, stored)
}

impl Rewritten<'_> {
    /// Adds an element if there is room.
    fn add(&mut self, element: String) {
        // One byte is for the comma.
        match self.room.checked_sub(self.place.bytes(&element) + 1) {
            Some(room) => {
                self.room = room;
                self.elements.push(element);
            }
            None => self.dropped += 1,
        }
    }

    /// Handles a text whose content is also in the preview. The text of a tool is dropped. A
    /// document or a message is kept, with its own text if there is room and if it `is_hidden` for no
    /// secret.
    fn other_text(&mut self, form: Form, block: &Block<'_>, is_hidden: bool) {
        const ELSEWHERE: &str = "[spillgate] stored with the rest";
        match (form, &block.kind) {
            (Form::Call, Kind::Text(_)) => {}
            (Form::Call, _) => self.add(with_text(block, ELSEWHERE)),
            _ if !is_hidden && self.place.bytes(block.raw.get()) <= self.room => {
                self.add(block.raw.get().to_owned());
            }
            _ => self.add(with_text(block, ELSEWHERE)),
        }
    }

    fn finish(mut self, form: Form, stored: &Stored<'_>) -> String {
        if self.dropped > 0 {
            let n = self.dropped;
            let text = match stored.handle {
                Some(handle) => {
                    let block = Some((form, 0));
                    let first = Uri { handle, block };
                    format!(
                        "[spillgate] {n} more blocks are stored with this result; \
                         resources/read gives each by its place, the first as {first}"
                    )
                }
                None => format!("[spillgate] {n} more blocks left out: they could not be stored"),
            };
            self.elements.extend(new_text(form, stored, &text));
        }
        format!("[{}]", self.elements.join(","))
    }
}

/// Returns the index of the block that contains the preview. In a tool's result this is the first
/// text. Among messages and contents it is the largest text, because the others may be kept.
fn preview_place(found: &Found<'_>) -> Option<usize> {
    let texts = found.blocks.iter().enumerate();
    let mut texts =
        texts.filter_map(|(at, block)| Some((at, found.place.bytes(block.text()?.get()))));
    match found.form {
        Form::Call => texts.next(),
        Form::Prompt | Form::Read => {
            texts.max_by_key(|&(at, bytes)| (bytes, std::cmp::Reverse(at)))
        }
    }
    .map(|(at, _)| at)
}

/// Returns the element with its text replaced. Its other members, such as annotations, are kept.
fn with_text(block: &Block<'_>, text: &str) -> String {
    let raw = block.raw.get();
    let mut edit = ByteEdits::default();
    if let Some(old) = block.text() {
        let span = span_in(raw.as_bytes(), old.get());
        edit.replace(span, json!(text).to_string());
    }
    String::from_utf8_lossy(&edit.apply(raw.as_bytes())).into_owned()
}

/// Returns the element with its inner part replaced.
fn in_place(block: &Block<'_>, inner: &str) -> String {
    let raw = block.raw.get();
    let mut edit = ByteEdits::default();
    edit.replace(span_in(raw.as_bytes(), block.inner.get()), inner);
    String::from_utf8_lossy(&edit.apply(raw.as_bytes())).into_owned()
}

/// Returns a new text element. In a resource's contents, an element needs a URI, so the result is
/// `None` there unless the original was stored.
fn new_text(form: Form, stored: &Stored<'_>, text: &str) -> Option<String> {
    let block = json!({"type": "text", "text": text});
    Some(match form {
        Form::Call => block.to_string(),
        Form::Prompt => json!({"role": "user", "content": block}).to_string(),
        Form::Read => {
            let block = None;
            let uri = stored.handle.map(|handle| Uri { handle, block })?;
            json!({"uri": uri.to_string(), "mimeType": "text/plain", "text": text}).to_string()
        }
    })
}

/// Returns the maximum size of the preview as a JSON string, in bytes. If there is
/// `structuredContent`, the preview appears twice, and clients pass on only a limited size.
fn preview_room(found: &Found<'_>) -> u64 {
    let copies = if found.replaced_structured().is_some() {
        2
    } else {
        1
    };
    (MOST_SHOWN - MOST_OTHERS - FRAME) / copies
}

#[cfg(test)]
mod tests;
