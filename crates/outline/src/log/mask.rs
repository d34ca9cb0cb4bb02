//! Masks the parts of log lines that vary, such as times and numbers.
//!
//! This code runs on every line of a log. Therefore it uses no regex and allocates nothing itself.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// The text that replaces a part that varies.
pub(super) const WILDCARD: &str = "<*>";

/// Maximum number of bytes of a line that are examined. The words that distinguish lines are near
/// their start, and a line of several megabytes must not take longer.
const LOOKED_AT: usize = 400;

const DIGIT: u8 = 1;
const WORD: u8 = 2;
const JOINER: u8 = 4;
const HEX: u8 = 8;

/// The classes of each byte, so that a single lookup finds them.
static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let b = byte as u8;
        if b.is_ascii_digit() {
            classes[byte] |= DIGIT;
        }
        if b.is_ascii_hexdigit() {
            classes[byte] |= HEX;
        }
        if b.is_ascii_alphanumeric() || b >= 0x80 {
            classes[byte] |= WORD;
        }
        if matches!(b, b'.' | b':' | b'-' | b'/' | b'+' | b',') {
            classes[byte] |= JOINER;
        }
        byte += 1;
    }
    classes
}

fn is(byte: u8, class: u8) -> bool {
    CLASS[byte as usize] & class != 0
}

/// Returns the first digit at or after `from`. It examines eight bytes at a time: a byte of `other`
/// has its highest bit set where `line` has no digit.
fn next_digit(line: &[u8], from: usize) -> Option<usize> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let mut at = from;
    while let Some((eight, _)) = line.get(at..).and_then(<[u8]>::split_first_chunk) {
        let from_zero = u64::from_le_bytes(*eight) ^ (EACH * u64::from(b'0'));
        let other = ((from_zero & (EACH * 0x7f)) + EACH * (0x80 - 10)) | from_zero;
        let digits = !other & (EACH * 0x80);
        if digits != 0 {
            return Some(at + digits.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let mut rest = line.get(at..)?.iter();
    rest.position(|&byte| is(byte, DIGIT)).map(|more| at + more)
}

/// Receives the parts of a line.
trait Sink {
    /// Receives a part that is the same in all lines of a template.
    fn literal(&mut self, bytes: &[u8]);
    /// Is called in place of a part that varies.
    fn variable(&mut self);
}

impl Sink for FxHasher {
    fn literal(&mut self, bytes: &[u8]) {
        self.write(bytes);
    }

    fn variable(&mut self) {
        self.write_u8(1);
    }
}

impl Sink for String {
    fn literal(&mut self, bytes: &[u8]) {
        self.push_str(&String::from_utf8_lossy(bytes));
    }

    fn variable(&mut self) {
        self.push_str(WILDCARD);
    }
}

/// Separates the parts that vary from the rest. Such a part is a word with a digit, together with
/// words that are joined to it by a point, a colon or the like. Thus a time, an address, a version
/// or a UUID is one part.
fn walk<S: Sink>(line: &[u8], mut sink: S) -> S {
    let (mut written, mut from) = (0, 0);
    while let Some(at) = next_digit(line, from) {
        let before = line[written..at].iter().rev();
        let start = at - before.take_while(|&&byte| is(byte, WORD)).count();
        let after = line[at..].iter();
        let mut end = at + after.take_while(|&&byte| is(byte, WORD)).count();
        while end + 1 < line.len()
            && is(line[end], JOINER)
            && let Some(further) = end_of_varying(line, end + 1)
        {
            end = further;
        }
        sink.literal(&line[written..start]);
        sink.variable();
        (written, from) = (end, end);
    }
    sink.literal(&line[written..]);
    sink
}

/// Returns the end of the word at `from` if it has a digit or may be part of a hexadecimal id.
fn end_of_varying(line: &[u8], from: usize) -> Option<usize> {
    /// Minimum length of a group of hexadecimal digits. Shorter groups may be words, such as `add`.
    const HEX_GROUP: usize = 4;
    let (mut any, mut all, mut end) = (0, HEX, from);
    while end < line.len() && is(line[end], WORD) {
        any |= CLASS[line[end] as usize];
        all &= CLASS[line[end] as usize];
        end += 1;
    }
    let is_hex = all & HEX != 0 && end - from >= HEX_GROUP;
    (any & DIGIT != 0 || is_hex).then_some(end)
}

fn head(line: &[u8]) -> &[u8] {
    let line = &line[..line.len().min(LOOKED_AT)];
    line.trim_ascii_end()
}

/// Returns a hash that is the same for lines of a log that differ only in what varies: numbers, times,
/// addresses.
#[must_use]
pub fn signature(line: &[u8]) -> u64 {
    walk(head(line), FxHasher::default()).finish()
}

/// Returns the line with a [`WILDCARD`] in place of each part that varies.
pub(super) fn masked(line: &[u8]) -> String {
    walk(head(line), String::new())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_varies() {
        for (line, want) in [
            ("2026-03-01T00:00:59.999Z INFO up", "<*> INFO up"),
            (
                "Nov 21 10:00:00 host sshd[12]: ok",
                "Nov <*> <*> host sshd[<*>]: ok",
            ),
            ("client=10.4.2.1:8443 id=7", "client=<*> id=<*>"),
            ("GET /api/v2/users/123/x", "GET /api/<*>/users/<*>/x"),
            ("id 9f1b2c3d-beef-4a4a-8888-00deadbeef00 end", "id <*> end"),
            ("shard-07, 15ms; a.b", "shard-<*>, <*>; a.b"),
            ("no digits", "no digits"),
            ("7", "<*>"),
            ("", ""),
        ] {
            assert_eq!(masked(line.as_bytes()), want);
        }
    }

    proptest! {
        #[test]
        fn the_first_digit_is_found(line: Vec<u8>, from in 0usize..20) {
            let want = (from..line.len()).find(|&at| line[at].is_ascii_digit());
            prop_assert_eq!(next_digit(&line, from), want);
        }

        #[test]
        fn signatures_are_those_of_the_masked_line(a in "[ab1 :.-]{0,9}", b in "[ab1 :.-]{0,9}") {
            let same = masked(a.as_bytes()) == masked(b.as_bytes());
            prop_assert_eq!(signature(a.as_bytes()) == signature(b.as_bytes()), same);
        }
    }
}
