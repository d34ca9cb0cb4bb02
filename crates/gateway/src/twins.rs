//! Does the `structuredContent` of a large result only repeat its text?
//!
//! The same question as in `results`, for what lies in a draft: answered by
//! reading both side by side, never as a whole.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use spillgate_artifact::{ByteSource, ReadRange, TextPart};
use spillgate_view::{Decoded, JsonLayout, ViewSink};
use spillgate_wire::Skeleton;

/// Bytes compared at a time.
const BLOCK: u64 = 256 << 10;

/// Places at which a text is looked for that begins like it. More would cost
/// more than the text counted twice.
const MOST_PLACES: usize = 64;

/// Whether the JSON at `structured` repeats the texts: as a string in it
/// (server-filesystem), or because the text is the same JSON (as the SDKs do).
/// `strings` are those of the blocks, with their quotes; an error is one of reading.
pub fn is_twin(
    source: &Arc<dyn ByteSource>,
    structured: &Range<u64>,
    strings: &[Range<u64>],
    texts: &[TextPart],
) -> io::Result<bool> {
    match (texts, strings) {
        (_, []) => Ok(false),
        ([text], [string, ..]) => Ok(
            is_member(&**source, structured, string)? || is_same_json(source, structured, text)?
        ),
        _ => all_in_order(&**source, structured, strings),
    }
}

/// Whether a member of the object is the string, and most of the object.
fn is_member(
    source: &dyn ByteSource,
    object: &Range<u64>,
    string: &Range<u64>,
) -> io::Result<bool> {
    let Some(skeleton) = Skeleton::of(source, object.clone())? else {
        return Ok(false);
    };
    let members: std::collections::HashMap<String, &RawValue> =
        serde_json::from_slice(skeleton.json()).unwrap_or_default();
    let spans = members.values().map(|value| {
        let part = spillgate_wire::span_in(skeleton.json(), value.get());
        let raw = skeleton.raw_span(part);
        object.start + raw.start..object.start + raw.end
    });
    let spans: Vec<Range<u64>> = spans.collect();
    let of_all: u64 = spans.iter().map(length).sum();
    if of_all >= length(string) * 2 {
        return Ok(false);
    }
    for span in &spans {
        if length(span) == length(string) && is_same(source, span.start, string)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn length(span: &Range<u64>) -> u64 {
    span.end - span.start
}

/// Whether the bytes from `at` on are those of `span`.
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

/// Whether each string stands in `whole`, one behind the other.
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

/// Where in `range` the bytes of `string` stand again first.
fn find(
    source: &dyn ByteSource,
    range: Range<u64>,
    string: &Range<u64>,
) -> io::Result<Option<u64>> {
    /// So much of the string is looked for before all of it is compared.
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

/// Whether the text is the JSON `structured` but for white space between tokens.
fn is_same_json(
    source: &Arc<dyn ByteSource>,
    structured: &Range<u64>,
    text: &TextPart,
) -> io::Result<bool> {
    // Each escape makes the text shorter; more than that can only differ.
    if (text.end - text.start) > length(structured) * 16 {
        return Ok(false);
    }
    let text = Decoded::new(Arc::clone(source), std::slice::from_ref(text), &mut |_| {})?;
    let start = text.bytes(0, 4096)?;
    let is_json =
        start.trim_ascii_start().starts_with(b"{") || start.trim_ascii_start().starts_with(b"[");
    if !is_json || text.len() > length(structured) * 4 {
        return Ok(false);
    }
    let one = laid_out(&text, 0..text.len())?;
    Ok(one.is_some() && one == laid_out(&**source, structured.clone())?)
}

/// A hash of the JSON in one layout; `None` if that grows out of proportion.
fn laid_out(source: &dyn ByteSource, range: Range<u64>) -> io::Result<Option<Vec<u8>>> {
    /// Laid-out JSON is some two to four times its text.
    const MOST_GROWTH: u64 = 8;

    struct Hashed(Sha256, u64);

    impl ViewSink for Hashed {
        fn text(&mut self, bytes: &[u8]) -> io::Result<()> {
            let left = self.1.checked_sub(bytes.len() as u64);
            self.1 = left.ok_or(io::ErrorKind::FileTooLarge)?;
            self.0.update(bytes);
            Ok(())
        }

        fn line(&mut self, _: u64) {}
    }

    let mut hashed = Hashed(Sha256::new(), length(&range) * MOST_GROWTH);
    let mut layout = JsonLayout::default();
    let mut reader = ReadRange::new(source, range.start, range.end);
    let mut block = vec![0; usize::try_from(BLOCK).map_err(io::Error::other)?];
    loop {
        let n = io::Read::read(&mut reader, &mut block)?;
        if n == 0 {
            return Ok(Some(hashed.0.finalize().to_vec()));
        }
        match layout.feed(&block[..n], &mut hashed) {
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => return Ok(None),
            laid_out => laid_out?,
        }
    }
}
