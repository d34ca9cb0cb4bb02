//! A canonical hash of JSON that does not depend on layout or on escapes in strings.

use memchr::{memchr, memchr2};
use sha2::{Digest, Sha256};
use spillgate_text::JsonStringDecoder;

/// The byte that replaces the quotes around a string before hashing. It does not occur in UTF-8, so
/// no string contains it.
const QUOTE: u8 = 0xff;

/// Hashes JSON that arrives in blocks of any size. Text that is not JSON also gets a hash.
#[derive(Debug, Default)]
pub(crate) struct Canonical {
    hash: Sha256,
    /// The decoder of the string that is open.
    string: Option<JsonStringDecoder>,
    /// Whether the last byte was a backslash.
    is_escaped: bool,
    /// Whether whitespace followed the byte `last`.
    is_gap: bool,
    last: u8,
    /// Normalized bytes that wait to be hashed.
    made: Vec<u8>,
}

impl Canonical {
    /// Adds the next bytes.
    pub(crate) fn feed(&mut self, mut block: &[u8]) {
        while !block.is_empty() {
            let taken = match self.string.take() {
                Some(decoder) => self.in_string(decoder, block),
                None => self.between(block),
            };
            self.hash.update(&self.made);
            self.made.clear();
            block = &block[taken..];
        }
    }

    /// Returns the hash.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.hash.finalize().to_vec()
    }

    /// Hashes everything up to the next string.
    fn between(&mut self, block: &[u8]) -> usize {
        let quote = memchr(b'"', block);
        for &byte in &block[..quote.unwrap_or(block.len())] {
            if byte.is_ascii_whitespace() {
                self.is_gap = true;
                continue;
            }
            // Whitespace between two words is significant.
            if self.is_gap && !is_mark(self.last) && !is_mark(byte) {
                self.made.push(b' ');
            }
            (self.is_gap, self.last) = (false, byte);
            self.made.push(byte);
        }
        let Some(quote) = quote else {
            return block.len();
        };
        (self.is_gap, self.last) = (false, b'"');
        self.made.push(QUOTE);
        self.string = Some(JsonStringDecoder::default());
        quote + 1
    }

    /// Hashes the inside of a string up to its end.
    fn in_string(&mut self, mut decoder: JsonStringDecoder, block: &[u8]) -> usize {
        let mut at = 0;
        while at < block.len() {
            if std::mem::take(&mut self.is_escaped) {
                at += 1;
                continue;
            }
            let Some(found) = memchr2(b'"', b'\\', &block[at..]) else {
                break;
            };
            at += found;
            if block[at] == b'"' {
                decoder.feed(&block[..at], &mut self.made);
                decoder.finish(&mut self.made);
                self.made.push(QUOTE);
                return at + 1;
            }
            self.is_escaped = true;
            at += 1;
        }
        decoder.feed(block, &mut self.made);
        self.string = Some(decoder);
        block.len()
    }
}

/// Hashes a list element by element.
#[derive(Debug, Default)]
pub(crate) struct List {
    canonical: Canonical,
    has_any: bool,
}

impl List {
    /// Adds one element, whose JSON `feed` passes to the hash.
    pub(crate) fn element<R>(&mut self, feed: impl FnOnce(&mut Canonical) -> R) -> R {
        let before: &[u8] = if self.has_any { b"," } else { b"[" };
        self.canonical.feed(before);
        self.has_any = true;
        feed(&mut self.canonical)
    }

    /// Returns the hash.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let end: &[u8] = if self.has_any { b"]" } else { b"[]" };
        self.canonical.feed(end);
        self.canonical.finish()
    }
}

fn is_mark(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(json: &str) -> Vec<u8> {
        let mut canonical = Canonical::default();
        canonical.feed(json.as_bytes());
        canonical.finish()
    }

    #[test]
    fn the_same_json_in_another_spelling() {
        let cases = [
            ("{\"a\": [1, 2]}", "{\"a\":[1,2]}", true),
            ("{\"a\": [1, 2]}", "{\"a\":[1,3]}", false),
            ("plain text", "{\"a\":1}", false),
            ("[not json", "{\"a\":1}", false),
            ("{\"a b\": \"\\\\\" }", "{\"a b\":\"\\\\\"}", true),
            ("{\"a b\": 1}", "{\"ab\":1}", false),
            ("{\"a\": \"\\\"\"}", "{\"a\":\"\\\" \"}", false),
            ("[\"K\\u00e4se \\ud83c\\udfac\\/\"]", "[\"Käse 🎬/\"]", true),
            ("[\"a\\u0022,\\u0022b\"]", "[\"a\",\"b\"]", false),
            ("[1 2]", "[12]", false),
            ("[1, 2", "[1,2]", false),
            ("{\"a", "{\"a\":1}", false),
            ("{\"a\\", "{\"a\":1}", false),
        ];
        for (one, other, same) in cases {
            let [whole, wanted] = [one, other].map(hash);
            assert_eq!(whole == wanted, same, "{one} {other}");
            for step in 1..6 {
                let mut blocks = Canonical::default();
                one.as_bytes()
                    .chunks(step)
                    .for_each(|block| blocks.feed(block));
                assert_eq!(blocks.finish(), whole, "{one} in blocks of {step}");
            }
        }
        let mut list = List::default();
        for text in ["{\"a\": 1}", "2"] {
            list.element(|one| one.feed(text.as_bytes()));
        }
        assert_eq!(list.finish(), hash("[{\"a\":1}, 2]"));
        assert_eq!(List::default().finish(), hash("[ ]"));
    }
}
