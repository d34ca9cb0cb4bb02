//! Counts lines and characters of bytes while they arrive.

/// Bytes examined at a time: few enough to stay in the first-level cache while several passes read
/// them.
const BLOCK: usize = 32 << 10;

/// Counts bytes, lines and characters of a stream in one pass, and finds invalid UTF-8 and control
/// characters.
#[derive(Debug, Default)]
pub struct Scan {
    facts: ScanFacts,
    /// The beginning of a character that is not complete yet, at most 3 bytes.
    pending: Vec<u8>,
}

/// What a [`Scan`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScanFacts {
    /// Number of bytes.
    pub bytes: u64,
    /// Number of `\n` bytes.
    pub newlines: u64,
    /// Number of Unicode scalar values. An invalid sequence counts as one.
    pub chars: u64,
    /// Number of invalid UTF-8 sequences. Each becomes one U+FFFD in the view.
    pub invalid: u64,
    /// Whether there is a control character other than tab and newline. In that case the view
    /// differs from the bytes.
    pub controls: bool,
}

impl ScanFacts {
    /// Returns the number of newlines + 1, or 0 if there are no bytes.
    #[must_use]
    pub fn lines(&self) -> u64 {
        if self.bytes == 0 {
            0
        } else {
            self.newlines + 1
        }
    }

    /// Returns whether the bytes can be shown unchanged.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.invalid == 0 && !self.controls
    }
}

impl Scan {
    /// Takes the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8]) {
        for block in bytes.chunks(BLOCK) {
            self.facts.bytes += block.len() as u64;
            self.facts.newlines += bytecount::count(block, b'\n') as u64;
            self.facts.controls = self.facts.controls || self.has_controls(block);
            self.characters(block);
        }
    }

    /// Returns the facts after the stream has ended.
    #[must_use]
    pub fn finish(mut self) -> ScanFacts {
        if !self.pending.is_empty() {
            self.facts.chars += 1;
            self.facts.invalid += 1;
        }
        self.facts
    }

    /// Returns whether a control character ends in `block`; it may begin in the previous block.
    fn has_controls(&self, block: &[u8]) -> bool {
        let across = self.pending.last().zip(block.first());
        has_controls(block) || across.is_some_and(|(&one, &other)| is_c1(one, other))
    }

    fn characters(&mut self, block: &[u8]) {
        if self.pending.is_empty() {
            return self.whole_characters(block);
        }
        // A character may span two blocks, so its few bytes are examined first.
        let joined = std::mem::take(&mut self.pending);
        let borrowed = block.len().min(4 - joined.len());
        let seam = [joined.as_slice(), &block[..borrowed]].concat();
        let used = match std::str::from_utf8(&seam) {
            Ok(_) => seam.len(),
            Err(error) => match (error.valid_up_to(), error.error_len()) {
                (0, Some(invalid)) => {
                    self.facts.invalid += 1;
                    self.facts.chars += 1;
                    // The invalid sequence began before the block and may end in it.
                    return self.whole_characters(&block[invalid.saturating_sub(joined.len())..]);
                }
                (0, None) if borrowed == block.len() => {
                    self.pending = seam;
                    return;
                }
                (valid, _) => valid,
            },
        };
        self.facts.chars += bytecount::num_chars(&seam[..used]) as u64;
        self.whole_characters(&block[used - joined.len()..]);
    }

    fn whole_characters(&mut self, mut bytes: &[u8]) {
        loop {
            let Err(error) = simdutf8::compat::from_utf8(bytes) else {
                self.facts.chars += bytecount::num_chars(bytes) as u64;
                return;
            };
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            self.facts.chars += bytecount::num_chars(valid) as u64;
            let Some(invalid) = error.error_len() else {
                self.pending = rest.to_vec();
                return;
            };
            self.facts.chars += 1;
            self.facts.invalid += 1;
            bytes = &rest[invalid..];
        }
    }
}

/// Returns whether there is a control character.
///
/// It examines eight bytes at a time in one word. The release build optimizes for size when it links,
/// so the compiler does not do this by itself.
fn has_controls(block: &[u8]) -> bool {
    let (words, rest) = block.as_chunks::<8>();
    let among_words = words
        .iter()
        .fold(0, |found, word| found | controls(u64::from_le_bytes(*word)));
    let among_rest = rest
        .iter()
        .any(|&byte| byte.is_ascii_control() && byte != b'\n' && byte != b'\t');
    let is_c1 = |at: usize| block.get(at + 1).is_some_and(|&next| is_c1(0xc2, next));
    among_words != 0 || among_rest || memchr::memchr_iter(0xc2, block).any(is_c1)
}

/// Returns a word with the highest bit of each byte that is an ASCII control character other than
/// tab and newline.
fn controls(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = EACH * 0x80;
    const LOW: u64 = EACH * 0x7f;
    // The highest bit of each byte that is not zero. No carry crosses bytes.
    let not_zero = |word: u64| ((word & LOW) + LOW) | word;
    let is_not = |byte: u8| not_zero(word ^ (EACH * u64::from(byte)));
    let from_space = ((word & LOW) + EACH * (0x80 - 0x20)) | word;
    let is_low = !from_space & is_not(b'\n') & is_not(b'\t');
    (is_low | !is_not(0x7f)) & HIGH
}

/// Returns whether two bytes are a character from U+0080 to U+009F. Terminals treat these like
/// escapes.
fn is_c1(one: u8, other: u8) -> bool {
    one == 0xc2 && other & 0xe0 == 0x80
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scan(bytes: &[u8], step: usize) -> ScanFacts {
        let mut scan = Scan::default();
        for part in bytes.chunks(step) {
            scan.feed(part);
        }
        scan.finish()
    }

    fn expected(bytes: &[u8]) -> ScanFacts {
        ScanFacts {
            bytes: bytes.len() as u64,
            newlines: bytes.iter().filter(|&&b| b == b'\n').count() as u64,
            chars: String::from_utf8_lossy(bytes).chars().count() as u64,
            invalid: bytes
                .utf8_chunks()
                .filter(|chunk| !chunk.invalid().is_empty())
                .count() as u64,
            controls: String::from_utf8_lossy(bytes)
                .chars()
                .any(|c| c.is_control() && !"\n\t".contains(c)),
        }
    }

    #[test]
    fn lines_follow_the_seeds() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 2), ("a\nb", 2), ("\n\n", 3)] {
            assert_eq!(scan(text.as_bytes(), 1).lines(), lines, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_steps(
            parts in proptest::collection::vec(prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..6),
                "[a\n\r漢é🚀\u{1b}\u{7f}\u{85}\u{9b}\u{a0}]{0,4}".prop_map(String::into_bytes),
            ], 0..40),
            step in 1usize..9,
        ) {
            let bytes = parts.concat();
            prop_assert_eq!(scan(&bytes, step), expected(&bytes));
        }
    }
}
