//! Builds the replacement of an oversized result.
//!
//! Everything that a model may see of the replacement stays below [`MOST_SHOWN`] bytes, regardless
//! of the part that the client shows.

use std::borrow::Cow;

use serde_json::json;
use spillgate_artifact::Handle;
use spillgate_mcp::{ByteEdits, span_in};
use spillgate_offload::Presentation;
use spillgate_redact::Redactor;

use crate::resources::uri::Uri;
use crate::results::binary::Moved;
use crate::results::found::{Block, Form, Found, Kind, MOST_OTHERS, Place};

/// Maximum size, in bytes, that every client passes on completely
/// (docs/spec/limits.md, "What clients take").
const MOST_SHOWN: u64 = 10_000;

/// Bytes of [`MOST_SHOWN`] that are reserved for names and braces around the content.
const FRAME: u64 = 600;

/// The replacement of a text that is neither shown nor stored.
const LOST: &str = "[spillgate] left out: it could not be stored";

/// What is known of a result after the attempt to store it.
#[derive(Debug)]
pub(crate) struct Stored<'a> {
    pub(crate) tool: &'a str,
    /// The handle of the stored result; `None` if it could not be stored.
    pub(crate) handle: Option<Handle>,
    /// The preview of the result's text; `None` if the text fits.
    pub(crate) preview: Option<&'a Presentation>,
    /// The indexes of the binary blocks to replace.
    pub(crate) bulky: &'a [usize],
    /// Whether the client supports `resource_link` blocks.
    pub(crate) links: bool,
    /// Finds secrets in the blocks beside the preview; `None` if redaction is off.
    pub(crate) redactor: Option<&'a Redactor>,
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
pub(crate) fn blocks(found: &Found<'_>, stored: &Stored<'_>) -> String {
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
pub(crate) fn preview_room(found: &Found<'_>) -> u64 {
    let copies = if found.structured.is_some() { 2 } else { 1 };
    (MOST_SHOWN - MOST_OTHERS - FRAME) / copies
}

#[cfg(test)]
mod tests;
