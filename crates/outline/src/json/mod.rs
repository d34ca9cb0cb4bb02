//! Outlines a JSON document by its keys, their types and examples of their values.
//!
//! The elements of an array are merged into one shape. Therefore memory depends on the number of
//! different places (paths without array indices), not on the size of the document.

mod render;
mod shape;
mod walk;

use std::io::{self, Read};

use serde::de::IgnoredAny;
use spillgate_artifact::{ByteSource, Layout, ReadRange};
use spillgate_text::{JsonLayout, View, ViewSink};

use crate::leads::{RECORD_BYTES, outermost, record_in};
use crate::parts::{MOST_BYTES, SamplePlan, counted, grouped, lines};
use crate::{EntryKind, OutlineEntry, aside};
use walk::{Indent, UnexpectedLayout, Walker};

/// The indentation of JSON that Spillgate has laid out.
const TWO_SPACES: Indent = Indent {
    byte: b' ',
    count: 2,
};

/// Maximum size, in bytes, of a record that is shown as an example. It includes the indentation and
/// the line above the record.
const RECORD_WINDOW: u64 = 4 * RECORD_BYTES as u64;
/// Bytes that are kept of JSON that is laid out for the outline only. The first record is read from
/// them.
const LAID_OUT_HEAD: usize = 256 << 10;

/// Returns the key tree of the document that begins at byte `start`.
pub(crate) fn outline(view: &View, start: u64) -> io::Result<Vec<OutlineEntry>> {
    let source = view.source();
    let plan = SamplePlan::first(source, start)?;
    let head = source.bytes(start, start + HEAD)?;
    let indent = match view.layout() {
        Layout::Json => Some(TWO_SPACES),
        _ => indent_of(&head),
    };
    let walker = match indent {
        Some(indent) => walked(source, &plan, indent)?,
        None => Err(UnexpectedLayout),
    };
    // `made` is the text to which the walker's offsets refer, if this text is not the view.
    let (walker, is_whole, made) = if let Ok(walker) = walker {
        (walker, true, None)
    } else {
        let (walker, is_whole, head) = laid_out(source, start)?;
        (walker, is_whole, Some(head))
    };
    let (tree, ended) = walker.finish();
    let begins = made.as_ref().map_or(start, |_| 0);
    let mut shown = render::render(tree, "", Some(begins));
    if let Some(at) = outermost(&shown)
        && let Some(above) = shown[at].records
    {
        let text = match made {
            Some(made) => made.bytes(above, u64::MAX)?,
            None => source.bytes(above, above + RECORD_WINDOW)?,
        };
        shown[at].first = record_in(&text, &shown, at).map(Box::new);
    }
    if plan.is_partial() {
        shown.insert(0, aside(format!("({})", plan.description())));
    } else if !(ended && is_whole) {
        let text = "(as far as it can be read)".to_owned();
        shown.insert(0, OutlineEntry::new(2, 0, EntryKind::Cut, text));
    }
    Ok(shown)
}

/// Returns the key tree of many documents, one per line. Lines that are not JSON are counted.
pub(crate) fn outline_of_lines(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let found = plan.look(view.source(), |text, start| {
        let mut walker = Walker::new(TWO_SPACES);
        let mut others = 0u64;
        let mut laid_out = BoundedText::default();
        for (at, line) in lines(text) {
            if !line.trim_ascii().is_empty()
                && document(&mut walker, &mut laid_out, line, start + at as u64).is_err()
            {
                others += 1;
            }
        }
        (walker, others)
    })?;
    let mut all = Walker::new(TWO_SPACES);
    let mut others = 0;
    for (walker, more) in found {
        others += more;
        if all.join(walker).is_err() {
            others += 1;
        }
    }
    let documents = plan.scaled(all.documents);
    let others = match others {
        0 => String::new(),
        1 => " (and 1 line that is none)".to_owned(),
        n => format!(" (and {} lines that are none)", grouped(n)),
    };
    let (tree, _) = all.finish();
    Ok(render::render(
        tree,
        &format!("{}{others}, each ", counted(&documents, "document")),
        None,
    ))
}

/// Lays out a document of a single line and passes it to the walker.
fn document(
    walker: &mut Walker,
    laid_out: &mut BoundedText,
    line: &[u8],
    offset: u64,
) -> Result<(), UnexpectedLayout> {
    // The line is checked first, because the walker would keep the keys of half a document.
    serde_json::from_slice::<IgnoredAny>(line).map_err(|_| UnexpectedLayout)?;
    laid_out.begin(line.len());
    JsonLayout::default()
        .feed(line, laid_out)
        .map_err(|_| UnexpectedLayout)?;
    for (_, line) in lines(&laid_out.text) {
        walker.line(line, offset)?;
    }
    Ok(())
}

/// Walks the lines of a laid-out document, part by part.
fn walked(
    source: &dyn ByteSource,
    plan: &SamplePlan,
    indent: Indent,
) -> io::Result<Result<Walker, UnexpectedLayout>> {
    let parts = plan.look(source, |text, start| {
        let mut walker = Walker::new(indent);
        for (at, line) in lines(text) {
            walker.line(line, start + at as u64)?;
        }
        Ok(walker)
    })?;
    let mut all = Walker::new(indent);
    for part in parts {
        if part.and_then(|part| all.join(part)).is_err() {
            return Ok(Err(UnexpectedLayout));
        }
    }
    Ok(Ok(all))
}

/// Bytes at the start of a document in which its indentation is looked for.
const HEAD: u64 = 4 << 10;

/// Returns the indentation of the second line of a document.
fn indent_of(head: &[u8]) -> Option<Indent> {
    let mut lines = lines(head);
    let first = lines.next()?.1.trim_ascii_end();
    let second = lines.next()?.1;
    let byte = *second.first()?;
    let count = second.iter().take_while(|&&one| one == byte).count();
    (matches!(first, b"{" | b"[") && matches!(byte, b' ' | b'\t')).then_some(Indent { byte, count })
}

/// Walks a document that is not laid out, and lays it out meanwhile. Keeps the shape that was found
/// before an error. Returns the walker, whether there was no error, and the beginning of the
/// laid-out text, to which the walker's offsets refer.
fn laid_out(source: &dyn ByteSource, start: u64) -> io::Result<(Walker, bool, Vec<u8>)> {
    const BLOCK: usize = 64 << 10;
    let end = start.saturating_add(MOST_BYTES);
    let mut reader = ReadRange::new(source, start, end);
    let mut layout = JsonLayout::default();
    let mut walker = Walker::new(TWO_SPACES);
    let mut made = BoundedText::default();
    let mut block = vec![0; BLOCK];
    let mut head = Vec::new();
    let mut at = 0;
    loop {
        let read = reader.read(&mut block)?;
        made.room(read);
        let fits = layout.feed(&block[..read], &mut made).is_ok();
        let is_end = read == 0 || !fits;
        let whole = match is_end {
            true => made.text.len(),
            false => memchr::memrchr(b'\n', &made.text).map_or(0, |newline| newline + 1),
        };
        let room = LAID_OUT_HEAD.saturating_sub(head.len());
        head.extend_from_slice(&made.text[..whole.min(room)]);
        for (offset, line) in lines(&made.text[..whole]) {
            if walker.line(line, at + offset as u64).is_err() {
                return Ok((walker, false, head));
            }
        }
        at += whole as u64;
        made.text.drain(..whole);
        if is_end {
            return Ok((walker, fits, head));
        }
    }
}

/// Laid-out text of bounded size. Without a bound, indentation could make deeply nested documents
/// huge.
#[derive(Debug, Default)]
struct BoundedText {
    text: Vec<u8>,
    room: usize,
}

impl BoundedText {
    /// A text may grow by this factor when it is laid out, plus `FREE` bytes. Views have the same
    /// bound.
    const GROWTH: usize = 8;
    const FREE: usize = 64 << 10;
    /// Maximum number of bytes that are held of a token whose end has not arrived.
    const MOST: usize = 64 << 20;

    fn begin(&mut self, length: usize) {
        self.text.clear();
        self.room(length);
    }

    fn room(&mut self, length: usize) {
        self.room = self
            .text
            .len()
            .saturating_add(length.saturating_mul(Self::GROWTH) + Self::FREE)
            .min(Self::MOST);
    }
}

impl ViewSink for BoundedText {
    fn text(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.text.len() + bytes.len() > self.room {
            return Err(io::Error::other("laid out, it grows out of proportion"));
        }
        self.text.extend_from_slice(bytes);
        Ok(())
    }

    fn line(&mut self, _: u64) {}
}

#[cfg(test)]
mod tests;
