//! What does a client get in the place of an oversized result?
//!
//! All that a model may see of it, whichever part its client hands over, stays
//! below [`MOST_SHOWN`] bytes.

use serde_json::json;
use spillgate_artifact::Handle;
use spillgate_offload::{Profile, middle_cut};
use spillgate_wire::{Splice, span_in};

use crate::binary::Moved;
use crate::blocks::{Block, Form, Kind};
use crate::place::Place;
use crate::results::{Found, MOST_OTHERS};
use crate::uri::Uri;

/// Codex cuts the middle of results beyond this (deps.md).
const MOST_SHOWN: u64 = 10_000;

/// Of that, for names and braces around what is shown.
const FRAME: u64 = 600;

/// Stands for a text that is neither shown nor stored.
const LOST: &str = "[spillgate] left out: it could not be stored";

/// What is known of a result once it is stored, or could not be.
#[derive(Debug)]
pub(crate) struct Stored<'a> {
    pub(crate) tool: &'a str,
    /// `None` if it could not be.
    pub(crate) handle: Option<Handle>,
    /// The preview of its text; `None` if that fits.
    pub(crate) preview: Option<&'a str>,
    /// The places of the binary blocks that do not stay.
    pub(crate) bulky: &'a [usize],
    /// Whether the client knows links.
    pub(crate) links: bool,
}

/// The list of blocks, rewritten.
struct Rewritten<'a> {
    place: Place<'a>,
    /// What stands in it now.
    elements: Vec<String>,
    /// Bytes that links and others may still take.
    room: u64,
    /// Blocks that found no room.
    dropped: usize,
}

/// The blocks as the client gets them.
pub(crate) fn blocks(found: &Found<'_>, stored: &Stored<'_>) -> String {
    let mut list = Rewritten {
        place: found.place,
        elements: Vec::new(),
        room: MOST_OTHERS,
        dropped: 0,
    };
    let place = preview_place(found);
    if let (Some(preview), None) = (stored.preview, place) {
        list.elements.extend(new_text(found.form, stored, preview));
    }
    for (at, block) in found.blocks.iter().enumerate() {
        let is_lost = found.place.is_lost(block.raw.get());
        match &block.kind {
            Kind::Text(_) | Kind::Document(_) => match stored.preview {
                Some(preview) if place == Some(at) => {
                    list.elements.push(with_text(block, preview));
                }
                Some(_) => list.other_text(found.form, block),
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
            Kind::Binary(_) => list.elements.push(block.raw.get().to_owned()),
            Kind::Other if is_lost => list.dropped += 1,
            Kind::Other => list.add(block.raw.get().to_owned()),
        }
    }
    list.finish(found.form, stored)
}

impl Rewritten<'_> {
    /// Adds an element if there is room.
    fn add(&mut self, element: String) {
        // With its comma.
        match self.room.checked_sub(self.place.bytes(&element) + 1) {
            Some(room) => {
                self.room = room;
                self.elements.push(element);
            }
            None => self.dropped += 1,
        }
    }

    /// A text that the preview is of, too. A tool's is gone; what has a name or
    /// is a message stays, with its text if there is room.
    fn other_text(&mut self, form: Form, block: &Block<'_>) {
        const ELSEWHERE: &str = "[spillgate] stored with the rest";
        match (form, &block.kind) {
            (Form::Call, Kind::Text(_)) => {}
            (Form::Call, _) => self.add(with_text(block, ELSEWHERE)),
            _ if self.place.bytes(block.raw.get()) <= self.room => {
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

/// Which block the preview stands in: a tool's first text; of messages and
/// contents the largest, for the others may stay.
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

/// The element with another text; its other members, such as annotations, stay.
fn with_text(block: &Block<'_>, text: &str) -> String {
    let raw = block.raw.get();
    let mut edit = Splice::default();
    if let Some(old) = block.text() {
        let span = span_in(raw.as_bytes(), old.get());
        edit.replace(span, json!(text).to_string());
    }
    String::from_utf8_lossy(&edit.apply(raw.as_bytes())).into_owned()
}

/// The element with another inner part.
fn in_place(block: &Block<'_>, inner: &str) -> String {
    let raw = block.raw.get();
    let mut edit = Splice::default();
    edit.replace(span_in(raw.as_bytes(), block.inner.get()), inner);
    String::from_utf8_lossy(&edit.apply(raw.as_bytes())).into_owned()
}

/// An element of our own. What is read from a resource needs a name, which there
/// is only for what is stored.
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

/// The preview, with fewer lines of the result if it would be more than a client
/// hands on: it stands in `content` and again in `structuredContent`.
pub(crate) fn within(preview: &str, found: &Found<'_>, profile: &Profile) -> String {
    if !profile.is_budgeted() {
        return preview.to_owned(); // the user asked for exactly this
    }
    let copies = if found.structured.is_some() { 2 } else { 1 };
    let room = (MOST_SHOWN - MOST_OTHERS - FRAME) / copies;
    let fits = |text: &str| json!(text).to_string().len() as u64 <= room;
    if let Some(ends) = cut_further(preview, &fits) {
        return ends;
    }
    let mut lines: Vec<&str> = preview.split('\n').collect();
    let is_way = |line: &&str| line.starts_with("next: ");
    while !fits(&lines.join("\n")) {
        let ways = lines.iter().rev().take_while(|line| is_way(line)).count();
        // The last line before the ways on; the first line always stands.
        let last = lines.len().checked_sub(ways + 1);
        let Some(last) = last.filter(|&last| last > 0) else {
            break;
        };
        lines.remove(last);
    }
    lines.join("\n")
}

/// The two ends of a text that could not be stored, with more of the middle cut
/// out until it fits.
fn cut_further(preview: &str, fits: &dyn Fn(&str) -> bool) -> Option<String> {
    let (notice, rest) = preview.split_once("[TRUNCATED IN THE MIDDLE BY ~")?;
    let (bytes, rest) = rest.split_once(" BYTES]\n")?;
    let gap = format!("[···TRUNCATED {bytes} bytes···]\n");
    let (mut head, mut tail) = rest.split_once(&gap)?;
    let mut bytes: u64 = bytes.parse().ok()?;
    loop {
        let text = format!("{notice}{}", middle_cut(head, tail, bytes));
        let kept = head.len() + tail.len();
        if kept == 0 || fits(&text) {
            return Some(text);
        }
        match head.len() > tail.len() {
            true => head = &head[..head.floor_char_boundary(head.len() * 7 / 8)],
            false => tail = &tail[tail.ceil_char_boundary(tail.len().div_ceil(8))..],
        }
        bytes += (kept - head.len() - tail.len()) as u64;
    }
}

#[cfg(test)]
mod tests;
