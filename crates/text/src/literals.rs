//! Finds hundreds of short texts in one pass.

use std::ops::Range;

/// Bits of a hash. The table then has 32 KiB and stays in the first-level cache.
const BITS: u32 = 15;
/// Bytes of a literal that are hashed.
const HASHED: usize = 3;
/// Hashes that are looked up before the first branch: all those within eight bytes.
const AT_ONCE: usize = 8 - HASHED + 1;
/// The bytes that are most frequent in logs, code and prose, the most frequent first. Others are rarer.
const FREQUENT: &[u8] = b" e0t1a2ion3srl45d6798cupm.-:/_fhgbv\",=wykTEINASROxCDLPM";

/// A set of literals: texts of at least three bytes that are looked for as they are.
///
/// A vectorised searcher (Teddy) takes at most 64 literals, so a few hundred of them need several
/// passes, and each takes as long as this one. Here, three bytes of each literal, its rarest ones,
/// lie in a table of hashes, and one lookup at each position of the text finds out whether one of
/// the literals can be there.
#[derive(Debug, Clone)]
pub struct Literals {
    /// For each hash, the number of its bucket; 0 if no literal has this hash.
    table: Box<[u8; 1 << BITS]>,
    buckets: Vec<Vec<Literal>>,
    /// The most bytes of a literal that are before its hashed bytes.
    before: usize,
}

#[derive(Debug, Clone)]
struct Literal {
    number: usize,
    bytes: Box<[u8]>,
    /// The first bytes of the literal, at most eight, and the bits that they take.
    first: u64,
    mask: u64,
    /// Where the hashed bytes begin.
    offset: usize,
}

impl Literal {
    fn new(number: usize, bytes: &[u8], offset: usize) -> Self {
        let mut first = [0; 8];
        let mut mask = [0; 8];
        for ((first, mask), byte) in first.iter_mut().zip(&mut mask).zip(bytes) {
            (*first, *mask) = (*byte, u8::MAX);
        }
        Self {
            number,
            bytes: bytes.into(),
            first: u64::from_le_bytes(first),
            mask: u64::from_le_bytes(mask),
            offset,
        }
    }

    /// Returns whether a text begins with the literal. Most candidates differ in the first bytes, so
    /// these are compared without a call.
    #[inline]
    fn begins(&self, text: &[u8]) -> bool {
        if let Some(eight) = text.first_chunk() {
            let differs = (u64::from_le_bytes(*eight) ^ self.first) & self.mask != 0;
            if differs || self.bytes.len() <= 8 {
                return !differs;
            }
        }
        text.starts_with(&self.bytes)
    }
}

impl Literals {
    /// Makes a set; the number of a literal is its position. Literals that have fewer than three bytes
    /// are never found.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the table has this length")]
    pub fn new<'a>(literals: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let table = vec![0; 1 << BITS].into_boxed_slice();
        let mut set = Self {
            table: table.try_into().expect("the table has this length"),
            buckets: vec![Vec::new()],
            before: 0,
        };
        let mut hashes = 0;
        for (number, bytes) in literals.into_iter().enumerate() {
            let rarest = bytes.windows(HASHED).enumerate();
            let Some((offset, hashed)) = rarest.min_by_key(|(_, window)| frequency(window)) else {
                continue;
            };
            let hash = hash(u32::from_le_bytes([hashed[0], hashed[1], hashed[2], 0]));
            let bucket = &mut set.table[hash];
            if *bucket == 0 {
                // With more than 255 hashes, some share a bucket.
                *bucket = hashes % u8::MAX + 1;
                hashes = *bucket;
                if set.buckets.len() <= usize::from(*bucket) {
                    set.buckets.push(Vec::new());
                }
            }
            set.before = set.before.max(offset);
            let literal = Literal::new(number, bytes, offset);
            set.buckets[usize::from(*bucket)].push(literal);
        }
        set
    }

    /// Calls `found` with the number and the position of each literal that begins in `range`; it may
    /// end behind the range. Of two literals that do not overlap, the first comes first. `found`
    /// returns the position from which to go on: what begins and ends before it is left out.
    pub fn each(
        &self,
        text: &[u8],
        range: Range<usize>,
        mut found: impl FnMut(usize, usize) -> usize,
    ) {
        let end = text
            .len()
            .min(range.end.saturating_add(self.before + HASHED));
        let text_to_end = &text[..end];
        let mut at = range.start;
        while let Some(eight) = text_to_end.get(at..).and_then(<[u8]>::first_chunk) {
            let eight = u64::from_le_bytes(*eight);
            let mut buckets = [0; AT_ONCE];
            for (more, bucket) in buckets.iter_mut().enumerate() {
                #[allow(clippy::cast_possible_truncation, reason = "a hash takes three bytes")]
                let three = (eight >> (8 * more)) as u32;
                *bucket = self.table[hash(three)];
            }
            let mut next = 0;
            if buckets.iter().fold(0, |all, one| all | one) != 0 {
                for (here, bucket) in (at..).zip(buckets) {
                    if bucket != 0 && here >= next {
                        next = next.max(self.look(text, here, bucket, &range, &mut found));
                    }
                }
            }
            at = next.max(at + AT_ONCE);
        }
        while let Some(last) = text_to_end
            .get(at..)
            .and_then(<[u8]>::first_chunk::<HASHED>)
        {
            let bucket = self.table[hash(u32::from_le_bytes([last[0], last[1], last[2], 0]))];
            at = (at + 1).max(self.look(text, at, bucket, &range, &mut found));
        }
    }

    /// Calls `found` with the literals of a bucket whose hashed bytes are at `at`. Returns the position
    /// from which to go on. Not inlined: it is rarely called, and the loop that calls it must stay small.
    #[inline(never)]
    fn look(
        &self,
        text: &[u8],
        at: usize,
        bucket: u8,
        range: &Range<usize>,
        found: &mut impl FnMut(usize, usize) -> usize,
    ) -> usize {
        let mut next = 0;
        for literal in &self.buckets[usize::from(bucket)] {
            if let Some(start) = at.checked_sub(literal.offset)
                && range.contains(&start)
                && literal.begins(&text[start..])
            {
                next = next.max(found(literal.number, start));
            }
        }
        next
    }
}

/// Hashes the three low bytes of a number.
#[inline]
fn hash(bytes: u32) -> usize {
    ((bytes << 8).wrapping_mul(0x9e37_79b1) >> (u32::BITS - BITS)) as usize
}

/// The frequency of each byte, as an estimate: 1 for the rare ones.
static FREQUENCY: [u8; 256] = frequencies();

#[allow(
    clippy::cast_possible_truncation,
    reason = "there are fewer than 250 frequent bytes"
)]
const fn frequencies() -> [u8; 256] {
    let mut frequencies = [1; 256];
    let mut rank = 0;
    while rank < FREQUENT.len() {
        frequencies[FREQUENT[rank] as usize] = (2 + FREQUENT.len() - rank) as u8;
        rank += 1;
    }
    frequencies
}

/// Estimates how frequent a text is, from its bytes.
fn frequency(text: &[u8]) -> u32 {
    text.iter()
        .map(|byte| u32::from(FREQUENCY[usize::from(*byte)]))
        .product()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(set: &Literals, text: &[u8], range: Range<usize>) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        set.each(text, range, |number, at| {
            all.push((at, number));
            0
        });
        all.sort_unstable();
        all
    }

    proptest! {
        #[test]
        fn all_literals_are_found(
            literals in prop::collection::vec("[a-c]{2,5}|[a-z_]{3,9}|\n[xyz]{2}", 0..400),
            text in "([a-c]|_|\n|[x-z]){0,60}",
            planted in prop::collection::vec((0usize..400, 0usize..60), 0..6),
            range in (0usize..70, 0usize..70),
        ) {
            let mut text = text;
            for (literal, at) in planted {
                if let Some(literal) = literals.get(literal) {
                    text.insert_str(at.min(text.len()), literal);
                }
            }
            let text = text.as_bytes();
            let range = range.0.min(text.len())..range.1;
            let set = Literals::new(literals.iter().map(String::as_bytes));
            let mut want = Vec::new();
            for at in range.clone().filter(|at| *at < text.len()) {
                let here = literals.iter().enumerate();
                want.extend(
                    here.filter(|(_, it)| it.len() >= HASHED && text[at..].starts_with(it.as_bytes()))
                        .map(|(number, _)| (at, number)),
                );
            }
            prop_assert_eq!(found(&set, text, range), want);
        }
    }

    #[test]
    fn what_lies_before_the_returned_position_is_left_out() {
        let set = Literals::new([&b"one"[..], b"two", b"\nEnd"]);
        let text = b"one two one\ntwo one two\nEnd, one";
        let mut lines = Vec::new();
        set.each(text, 0..text.len(), |number, at| {
            lines.push((number, at));
            let rest = text[at + 1..].iter().position(|byte| *byte == b'\n');
            rest.map_or(text.len(), |rest| at + 1 + rest)
        });
        assert_eq!(lines, [(0, 0), (1, 12), (2, 23)]);
    }
}
