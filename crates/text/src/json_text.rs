//! Decodes strings inside raw JSON on demand, while their text is read.

use std::io;
use std::sync::Arc;

use spillgate_artifact::{ByteSource, Interrupted, TextPart};

use crate::JsonStringDecoder;
use crate::raw_offset;

/// Raw bytes decoded at a time.
const BLOCK: u64 = 64 << 10;

/// Distance between two checkpoints, in bytes of text.
const SPACING: u64 = 48 << 10;

/// The decoded text of some parts of raw JSON, joined by newlines. A read of this [`ByteSource`]
/// decodes only the bytes that it returns. For this, one pass over the raw bytes records
/// checkpoints, at which decoding can start.
#[derive(Debug)]
pub struct JsonText {
    raw: Arc<dyn ByteSource>,
    parts: Arc<[TextPart]>,
    checkpoints: Vec<Checkpoint>,
    bytes: u64,
}

/// A position where decoding can start.
#[derive(Debug, Clone, Copy)]
struct Checkpoint {
    /// The offset of the next byte of the text.
    text: u64,
    /// The index of the part that contains the text.
    part: usize,
    /// The raw offset at which decoding starts.
    raw: u64,
}

impl JsonText {
    /// Decodes `parts` of `raw` once. `each` receives the text, block by block.
    pub fn new(
        raw: Arc<dyn ByteSource>,
        parts: &[TextPart],
        each: &mut dyn FnMut(&[u8]),
    ) -> io::Result<Self> {
        let parts: Arc<[TextPart]> = parts.into();
        let mut cursor = TextCursor::start(&*raw, &parts);
        let mut checkpoints = vec![cursor.checkpoint()];
        let mut block = Vec::new();
        while cursor.next(&mut block)? {
            each(&block);
            if cursor.text >= checkpoints.last().map_or(0, |place| place.text) + SPACING {
                checkpoints.push(cursor.checkpoint());
            }
        }
        let bytes = cursor.text;
        Ok(Self {
            raw,
            parts,
            checkpoints,
            bytes,
        })
    }

    /// Passes the text to `each`, block by block.
    pub fn each(&self, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut cursor = TextCursor::start(&*self.raw, &self.parts);
        let mut block = Vec::new();
        while cursor.next(&mut block)? {
            each(&block);
        }
        Ok(())
    }

    /// Returns the raw offset from which byte `offset` of the text is decoded.
    pub fn raw_at(&self, offset: u64) -> io::Result<u64> {
        let place = self.before(offset);
        let mut text = place.text;
        for (number, part) in self.parts.iter().enumerate().skip(place.part) {
            let raw = match number == place.part {
                true => place.raw,
                false => part.start,
            };
            let left = offset - text;
            if !part.is_string {
                if left <= part.end - raw {
                    return Ok(raw + left);
                }
                text += part.end - raw + 1;
                continue;
            }
            // A byte of text takes at most six raw bytes, as `\u0041`.
            let inside = self.raw.bytes(raw, part.end.min(raw + 6 * left + 12))?;
            let mut decoded = Vec::new();
            let mut decoder = JsonStringDecoder::default();
            decoder.feed(&inside, &mut decoded);
            decoder.finish(&mut decoded);
            if decoded.len() as u64 >= left {
                return Ok(raw + raw_offset(&inside, left));
            }
            text += decoded.len() as u64 + 1; // the newline between two parts
        }
        Ok(self.parts.last().map_or(0, |part| part.end))
    }

    /// Returns the last checkpoint at or before the byte `offset` of the text.
    fn before(&self, offset: u64) -> Checkpoint {
        let after = self
            .checkpoints
            .partition_point(|place| place.text <= offset);
        self.checkpoints[after.saturating_sub(1)]
    }
}

impl ByteSource for JsonText {
    fn len(&self) -> u64 {
        self.bytes
    }

    fn check(&self) -> Result<(), Interrupted> {
        self.raw.check()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut cursor = TextCursor::start(&*self.raw, &self.parts);
        cursor.go_to(self.before(offset));
        let mut block = Vec::new();
        let mut filled = 0;
        while filled < buffer.len() && cursor.next(&mut block)? {
            let begins = cursor.text - block.len() as u64;
            let skipped = (offset + filled as u64).saturating_sub(begins);
            let skipped = usize::try_from(skipped).map_or(block.len(), |n| n.min(block.len()));
            let part = &block[skipped..];
            let taken = part.len().min(buffer.len() - filled);
            buffer[filled..filled + taken].copy_from_slice(&part[..taken]);
            filled += taken;
        }
        Ok(filled)
    }
}

/// Reads the text from a position on.
struct TextCursor<'a> {
    source: &'a dyn ByteSource,
    parts: &'a [TextPart],
    part: usize,
    /// The offset of the next raw byte.
    at: u64,
    decoder: JsonStringDecoder,
    /// Bytes of text decoded so far.
    text: u64,
}

impl<'a> TextCursor<'a> {
    fn start(source: &'a dyn ByteSource, parts: &'a [TextPart]) -> Self {
        Self {
            source,
            parts,
            part: 0,
            at: parts.first().map_or(0, |part| part.start),
            decoder: JsonStringDecoder::default(),
            text: 0,
        }
    }

    fn go_to(&mut self, place: Checkpoint) {
        (self.text, self.part, self.at) = (place.text, place.part, place.raw);
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            text: self.text,
            part: self.part,
            raw: self.at - self.decoder.pending() as u64,
        }
    }

    /// Replaces `block` with the next decoded block. Returns false at the end of the text.
    fn next(&mut self, block: &mut Vec<u8>) -> io::Result<bool> {
        block.clear();
        while block.is_empty() {
            let Some(part) = self.parts.get(self.part) else {
                return Ok(false);
            };
            let raw = self.source.bytes(self.at, part.end.min(self.at + BLOCK))?;
            if raw.is_empty() && self.at < part.end {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match part.is_string {
                true => self.decoder.feed(&raw, block),
                false => block.extend_from_slice(&raw),
            }
            self.at += raw.len() as u64;
            if self.at >= part.end {
                self.decoder.finish(block);
                self.part += 1;
                if let Some(next) = self.parts.get(self.part) {
                    block.push(b'\n');
                    self.at = next.start;
                }
            }
        }
        self.text += block.len() as u64;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decode_json_string;

    fn part(raw: &mut Vec<u8>, inside: &str, is_string: bool) -> TextPart {
        raw.extend_from_slice(b"{\"x\":");
        let start = raw.len() as u64;
        raw.extend_from_slice(inside.as_bytes());
        let end = raw.len() as u64;
        raw.push(b'}');
        TextPart {
            start,
            end,
            is_string,
        }
    }

    #[test]
    fn no_parts_are_no_text() {
        let none = JsonText::new(Arc::new(Vec::new()), &[], &mut |_| {}).unwrap();
        assert_eq!((none.len(), none.raw_at(0).unwrap()), (0, 0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_stretch_is_read(
            insides in proptest::collection::vec(("([a-z ]{0,9}|é|\\\\n|\\\\ud83d(\\\\ude00)?|\\\\u0041){0,9}", 1usize..6000, any::<bool>()), 0..6),
            at in 0.0..1.0f64,
            length in 0u64..100_000,
        ) {
            let mut raw = Vec::new();
            let (mut parts, mut texts) = (Vec::new(), Vec::new());
            for (inside, times, is_string) in insides {
                let inside = inside.repeat(times);
                parts.push(part(&mut raw, &inside, is_string));
                texts.push(match is_string {
                    true => decode_json_string(format!("\"{inside}\"").as_bytes()).unwrap(),
                    false => inside,
                });
            }
            let want = texts.join("\n").into_bytes();
            let mut seen = Vec::new();
            let raw = Arc::new(raw);
            let decoded = JsonText::new(raw, &parts, &mut |block| seen.extend_from_slice(block)).unwrap();
            prop_assert_eq!(&seen, &want);
            prop_assert_eq!(decoded.len(), want.len() as u64);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in a test's text")]
            let start = (at * want.len() as f64) as u64;
            let end = (start + length).min(want.len() as u64);
            let got = decoded.bytes(start, end).unwrap();
            prop_assert_eq!(&got[..], &want[usize::try_from(start).unwrap()..usize::try_from(end).unwrap()]);
        }
    }
}
