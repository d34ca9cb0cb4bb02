//! Decodes a JSON string block by block.

use memchr::memchr;

/// Length of an escape such as `\u0041`, in bytes.
const UNIT: usize = 6;

/// Decodes the inside of a JSON string block by block, with the same result as
/// [`decode_json_string`](crate::decode_json_string).
#[derive(Debug, Default)]
pub struct JsonStringDecoder {
    /// The beginning of an escape, or of a surrogate pair, that is not complete yet.
    pending: Vec<u8>,
}

/// The result of decoding the beginning of an escape.
enum Escape {
    /// A character, and the number of bytes of its escape.
    Is(char, usize),
    /// More bytes are needed to decode the escape.
    Unfinished,
}

impl JsonStringDecoder {
    /// Takes the next raw bytes and appends the decoded text.
    pub fn feed(&mut self, raw: &[u8], text: &mut Vec<u8>) {
        if self.pending.is_empty() {
            return self.decode(raw, text);
        }
        let joined = [std::mem::take(&mut self.pending).as_slice(), raw].concat();
        self.decode(&joined, text);
    }

    /// Returns the number of raw bytes that were passed in and not decoded yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Decodes the pending bytes after the string has ended.
    pub fn finish(&mut self, text: &mut Vec<u8>) {
        let pending = std::mem::take(&mut self.pending);
        if !pending.is_empty() {
            // The pending bytes are half a surrogate pair, and perhaps the beginning of another
            // escape.
            push(char::REPLACEMENT_CHARACTER, text);
            self.feed(&pending[pending.len().min(UNIT)..], text);
            self.finish(text);
        }
    }

    fn decode(&mut self, mut raw: &[u8], text: &mut Vec<u8>) {
        while let Some(plain) = memchr(b'\\', raw) {
            text.extend_from_slice(&raw[..plain]);
            raw = &raw[plain..];
            match escape(raw) {
                Escape::Is(character, length) => {
                    push(character, text);
                    raw = &raw[length..];
                }
                Escape::Unfinished => {
                    self.pending = raw.to_vec();
                    return;
                }
            }
        }
        text.extend_from_slice(raw);
    }
}

fn push(character: char, text: &mut Vec<u8>) {
    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Decodes the escape that `raw` begins with.
fn escape(raw: &[u8]) -> Escape {
    let character = match raw.get(1) {
        None => return Escape::Unfinished,
        Some(b'u') => return unit_escape(raw),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(&other) => char::from(other),
    };
    Escape::Is(character, 2)
}

fn unit_escape(raw: &[u8]) -> Escape {
    if raw.len() < UNIT {
        return Escape::Unfinished;
    }
    let first = unit(raw);
    if !matches!(first, Some(0xd800..=0xdbff)) {
        let character = first.and_then(char::from_u32);
        return Escape::Is(character.unwrap_or(char::REPLACEMENT_CHARACTER), UNIT);
    }
    let rest = &raw[UNIT..];
    if rest.len() < UNIT && b"\\u".starts_with(&rest[..rest.len().min(2)]) {
        return Escape::Unfinished;
    }
    let units = [first, unit(rest)].map(|unit| unit.and_then(|unit| u16::try_from(unit).ok()));
    let pair = units.map(Option::unwrap_or_default);
    match char::decode_utf16(pair).next() {
        Some(Ok(character)) => Escape::Is(character, 2 * UNIT),
        _ => Escape::Is(char::REPLACEMENT_CHARACTER, UNIT),
    }
}

/// Returns the UTF-16 code unit of an escape such as `\u0041`.
fn unit(raw: &[u8]) -> Option<u32> {
    let digits = raw.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decode_json_string;

    proptest! {
        #[test]
        fn blocks_make_the_whole(
            inside in "([a-zé漢🚀]{0,3}|\\\\[\"\\\\/bfnrt]|\\\\u(d83d|de00|00e9|0041|D83D|6f22)){0,12}",
            step in 1usize..9,
        ) {
            let (mut decoder, mut text) = (JsonStringDecoder::default(), Vec::new());
            for block in inside.as_bytes().chunks(step) {
                decoder.feed(block, &mut text);
            }
            decoder.finish(&mut text);
            let whole = decode_json_string(format!("\"{inside}\"").as_bytes());
            prop_assert_eq!(String::from_utf8(text).unwrap(), whole.unwrap());
        }
    }
}
