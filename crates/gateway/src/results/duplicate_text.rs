//! Determines whether the `structuredContent` of a result only repeats its text.
//!
//! Both are read in parallel, block by block, because they may be too large for memory. They are then
//! in a file that the store has not finished yet.

use std::fmt;
use std::io::{self, BufReader};
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;
use spillgate_artifact::{ByteSource, ReadRange, TextPart};
use spillgate_mcp::span_in;
use spillgate_text::JsonText;
use spillgate_transport::Skeleton;

use crate::results::canonical::{Canonical, List};

/// Maximum number of bytes compared in one block.
const BLOCK: u64 = 256 << 10;

/// The start of a text may occur at many places. At most this many of them are compared with the
/// whole text, because comparing more would cost more than counting the text twice.
const MOST_PLACES: usize = 64;

/// Maximum size, in bytes, of a list of blocks that was not parsed and is now read block by block.
/// A single block may fill the whole list and is held in memory.
const MOST_CROWD: u64 = 64 << 20;

/// How `structuredContent` repeats the texts of a result, if it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Twin {
    /// `structuredContent` differs from the texts.
    No,
    /// `structuredContent` repeats the texts.
    Text,
    /// The texts are the elements of the list at this range, one text per element.
    List(Range<u64>),
}

/// Returns whether the JSON at `structured` repeats the texts. `strings` are the ranges of the
/// blocks' JSON strings, with their quotes. Returns an error if a read fails.
pub fn is_twin(
    source: &Arc<dyn ByteSource>,
    structured: &Range<u64>,
    strings: &[Range<u64>],
    texts: &[TextPart],
) -> io::Result<bool> {
    twin(source, structured, strings, texts).map(|twin| twin != Twin::No)
}

/// Returns how `structuredContent` repeats the texts:
///
/// - It contains the texts as strings (server-filesystem).
/// - The text is the same JSON (the SDKs), or the JSON of its only member (`FastMCP`).
/// - The texts are the elements of a list that is its only member (Python SDK 1.30).
///
/// If there were too many blocks to be parsed, they count as one text that is not a string.
pub(crate) fn twin(
    source: &Arc<dyn ByteSource>,
    structured: &Range<u64>,
    strings: &[Range<u64>],
    texts: &[TextPart],
) -> io::Result<Twin> {
    let members = members(&**source, structured)?;
    let only = match &*members {
        [only] => Some(only.clone()),
        _ => None,
    };
    match (texts, strings) {
        ([], _) => return Ok(Twin::No),
        ([text], [string, ..]) => {
            if is_member(&**source, &members, string)? {
                return Ok(Twin::Text);
            }
            for json in [Some(structured), only.as_ref()].into_iter().flatten() {
                if is_same_json(source, json, text)? {
                    return Ok(Twin::Text);
                }
            }
        }
        (_, []) => {}
        _ if all_in_order(&**source, structured, strings)? => return Ok(Twin::Text),
        _ => {}
    }
    let Some(only) = only.filter(|only| length(only) > 1) else {
        return Ok(Twin::No);
    };
    if source.bytes(only.start, only.start + 1)? != b"[" {
        return Ok(Twin::No);
    }
    let elements = match (texts, strings) {
        ([crowd], []) if !crowd.is_string => elements_of(&**source, crowd),
        (_, []) => return Ok(Twin::No),
        _ => Some(elements(source, texts)?),
    };
    Ok(match elements {
        Some(elements) if elements == canonical(&**source, only.clone())? => Twin::List(only),
        _ => Twin::No,
    })
}

/// Returns the ranges of the values of an object's members.
fn members(source: &dyn ByteSource, object: &Range<u64>) -> io::Result<Vec<Range<u64>>> {
    let Some(skeleton) = Skeleton::of(source, object.clone())? else {
        return Ok(Vec::new());
    };
    let members: std::collections::HashMap<String, &RawValue> =
        serde_json::from_slice(skeleton.json()).unwrap_or_default();
    let span = |value: &&RawValue| {
        let raw = skeleton.raw_span(span_in(skeleton.json(), value.get()));
        object.start + raw.start..object.start + raw.end
    };
    Ok(members.values().map(span).collect())
}

/// Returns whether a member of the object equals the string and makes up more than half of the bytes
/// of the object's values.
fn is_member(
    source: &dyn ByteSource,
    members: &[Range<u64>],
    string: &Range<u64>,
) -> io::Result<bool> {
    let of_all: u64 = members.iter().map(length).sum();
    if of_all >= length(string) * 2 {
        return Ok(false);
    }
    for span in members {
        if length(span) == length(string) && is_same(source, span.start, string)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn length(span: &Range<u64>) -> u64 {
    span.end - span.start
}

/// Whether the bytes starting at `at` equal the bytes of `span`.
fn is_same(source: &dyn ByteSource, at: u64, span: &Range<u64>) -> io::Result<bool> {
    let mut done = 0;
    while done < length(span) {
        let step = BLOCK.min(length(span) - done);
        let one = source.bytes(at + done, at + done + step)?;
        if one != source.bytes(span.start + done, span.start + done + step)? {
            return Ok(false);
        }
        done += step;
    }
    Ok(true)
}

/// Whether all strings occur in `whole`, in order.
fn all_in_order(
    source: &dyn ByteSource,
    whole: &Range<u64>,
    strings: &[Range<u64>],
) -> io::Result<bool> {
    let mut at = whole.start;
    for string in strings {
        match find(source, at..whole.end, string)? {
            Some(found) => at = found + length(string),
            None => return Ok(false),
        }
    }
    Ok(true)
}

/// Returns the first place in `range` where the bytes of `string` occur.
fn find(
    source: &dyn ByteSource,
    range: Range<u64>,
    string: &Range<u64>,
) -> io::Result<Option<u64>> {
    /// Number of bytes of the string that are searched for before the whole string is compared.
    const START: u64 = 256;
    let start = source.bytes(string.start, string.end.min(string.start + START))?;
    let finder = memmem::Finder::new(&start);
    let (mut at, mut places) = (range.start, 0);
    while at + length(string) <= range.end {
        let end = range.end.min(at + BLOCK);
        let window = source.bytes(at, end)?;
        let Some(found) = finder.find(&window) else {
            if end == range.end {
                break;
            }
            at = end - (start.len() as u64 - 1);
            continue;
        };
        let place = at + found as u64;
        if place + length(string) <= range.end && is_same(source, place, string)? {
            return Ok(Some(place));
        }
        places += 1;
        if places == MOST_PLACES {
            break;
        }
        at = place + 1;
    }
    Ok(None)
}

/// Whether the text is the same JSON as that at `json`, except for layout and escapes.
fn is_same_json(
    source: &Arc<dyn ByteSource>,
    json: &Range<u64>,
    text: &TextPart,
) -> io::Result<bool> {
    // Escapes make the text longer than the JSON, but hardly by more than this factor. A longer
    // text counts as different.
    if (text.end - text.start) > length(json) * 16 {
        return Ok(false);
    }
    if !may_be_json(&**source, text)? {
        return Ok(false);
    }
    let mut canonical_text = Canonical::default();
    let part = std::slice::from_ref(text);
    JsonText::new(Arc::clone(source), part, &mut |block| {
        canonical_text.feed(block);
    })?;
    Ok(canonical_text.finish() == canonical(&**source, json.clone())?)
}

/// Whether the text begins like a JSON object or list. This check does not decode the text.
fn may_be_json(source: &dyn ByteSource, text: &TextPart) -> io::Result<bool> {
    /// Maximum amount of whitespace before JSON, in bytes.
    const LOOK: u64 = 4096;
    let start = source.bytes(text.start, text.end.min(text.start + LOOK))?;
    let mut rest = &*start;
    loop {
        rest = match rest {
            [b'\\', b'n' | b'r' | b't', rest @ ..] if text.is_string => rest,
            [b' ' | b'\n' | b'\r' | b'\t', rest @ ..] => rest,
            // An escape may stand for any character, including a bracket.
            [b'{' | b'[', ..] | [b'\\', b'u', ..] => return Ok(true),
            _ => return Ok(false),
        };
    }
}

/// Returns the canonical hash of the JSON at `range`.
fn canonical(source: &dyn ByteSource, range: Range<u64>) -> io::Result<Vec<u8>> {
    let mut canonical = Canonical::default();
    let (mut at, mut buffer) = (range.start, Vec::new());
    while at < range.end {
        let block = source.window(at, range.end.min(at + BLOCK), &mut buffer)?;
        if block.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        at += block.len() as u64;
        canonical.feed(block);
    }
    Ok(canonical.finish())
}

/// Returns the canonical hash of the list whose elements are the texts.
fn elements(source: &Arc<dyn ByteSource>, texts: &[TextPart]) -> io::Result<Vec<u8>> {
    let mut list = List::default();
    for text in texts {
        let part = std::slice::from_ref(text);
        list.element(|one| JsonText::new(Arc::clone(source), part, &mut |block| one.feed(block)))?;
    }
    Ok(list.finish())
}

/// Like [`elements`], for a list of blocks that was not parsed. `None` if the list contains blocks
/// that are not texts.
fn elements_of(source: &dyn ByteSource, blocks: &TextPart) -> Option<Vec<u8>> {
    #[derive(Deserialize)]
    struct TextBlock {
        r#type: String,
        text: String,
    }

    struct Elements(List);

    impl<'de> Visitor<'de> for Elements {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of texts")
        }

        fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Vec<u8>, A::Error> {
            while let Some(block) = list.next_element::<TextBlock>()? {
                if block.r#type != "text" {
                    return Err(A::Error::custom("another block"));
                }
                self.0.element(|one| one.feed(block.text.as_bytes()));
            }
            Ok(self.0.finish())
        }
    }

    if blocks.end - blocks.start > MOST_CROWD {
        return None;
    }
    let reader =
        BufReader::with_capacity(256 << 10, ReadRange::new(source, blocks.start, blocks.end));
    let mut json = serde_json::Deserializer::from_reader(reader);
    json.deserialize_seq(Elements(List::default())).ok()
}
