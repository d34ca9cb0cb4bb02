//! Tells from a few bytes that a pattern does not match.
//!
//! A literal such as `pat` is in every second word of some texts. Asking the regular expression each
//! time takes longer than the search for the literals.

use regex_syntax::hir::{Class, Hir, HirKind};

/// The most bytes that are looked at.
const MOST: usize = 12;

/// A set of bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Bytes([u64; 4]);

impl Bytes {
    fn add(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    fn has(self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }
}

/// The bytes with which each match of a pattern begins: for each of the first positions, a set.
#[derive(Debug, Default)]
pub(crate) struct Beginning(Vec<Bytes>);

impl Beginning {
    /// Returns what is known of the matches of a pattern.
    pub(crate) fn of(pattern: &str) -> Self {
        let parsed = regex_syntax::ParserBuilder::new()
            .unicode(false)
            .utf8(false)
            .build()
            .parse(pattern);
        let mut sets = Vec::new();
        if let Ok(hir) = parsed {
            extend(&hir, &mut sets);
        }
        Self(sets)
    }

    /// Returns whether a match can begin with this text.
    pub(crate) fn fits(&self, text: &[u8]) -> bool {
        text.len() >= self.0.len() && self.0.iter().zip(text).all(|(set, byte)| set.has(*byte))
    }
}

/// Adds the bytes of the matches of `hir`. Returns whether all matches are as long as what was added, so
/// that what follows can be added, too.
fn extend(hir: &Hir, sets: &mut Vec<Bytes>) -> bool {
    if sets.len() >= MOST {
        return false;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(literal) => {
            for byte in &literal.0 {
                let mut set = Bytes::default();
                set.add(*byte);
                sets.push(set);
            }
            true
        }
        HirKind::Class(Class::Bytes(class)) => {
            let mut set = Bytes::default();
            for range in class.ranges() {
                (range.start()..=range.end()).for_each(|byte| set.add(byte));
            }
            sets.push(set);
            true
        }
        // A character may have several bytes.
        HirKind::Class(Class::Unicode(_)) => false,
        HirKind::Capture(capture) => extend(&capture.sub, sets),
        HirKind::Concat(parts) => parts.iter().all(|part| extend(part, sets)),
        HirKind::Repetition(repetition) => {
            let all = (0..repetition.min).all(|_| extend(&repetition.sub, sets));
            all && repetition.max == Some(repetition.min)
        }
        HirKind::Alternation(ways) => {
            let of = |way: &Hir| {
                let mut sets = Vec::new();
                let is_whole = extend(way, &mut sets);
                (sets, is_whole)
            };
            let ways: Vec<(Vec<Bytes>, bool)> = ways.iter().map(of).collect();
            let shortest = ways.iter().map(|(sets, _)| sets.len()).min().unwrap_or(0);
            for at in 0..shortest {
                let mut any = Bytes::default();
                for (sets, _) in &ways {
                    any.0
                        .iter_mut()
                        .zip(sets[at].0)
                        .for_each(|(all, one)| *all |= one);
                }
                sets.push(any);
            }
            ways.iter()
                .all(|(sets, is_whole)| *is_whole && sets.len() == shortest)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use regex::bytes::{Regex, RegexBuilder};

    use super::*;

    const PATTERNS: [&str; 9] = [
        r"\A(?:pat[A-Za-z0-9]{3}\.[a-f0-9]{4})",
        r"\A(?:(a|bc)d)",
        r"\A(?:(?:ab|cd)[ab]{1,2}c)",
        r"\Aa?b",
        r"\A(?i:ab)c",
        r"\A(?:a|)b",
        r"\A(?-u:.)a",
        r"\Aa(?:\b|c)[^a]b",
        r"\A(?:ab){2}c+",
    ];

    #[test]
    fn a_pattern_has_a_beginning() {
        let lengths = PATTERNS.map(|pattern| Beginning::of(pattern).0.len());
        assert_eq!(lengths, [11, 1, 3, 0, 3, 0, 2, 1, 5]);
        assert!(Beginning::of("pat[0-9]{2}").fits(b"pat42 and more"));
        assert!(!Beginning::of("pat[0-9]{2}").fits(b"path"));
        assert!(!Beginning::of("pat[0-9]{2}").fits(b"pat4"));
    }

    /// The patterns, compiled, and their beginnings.
    static COMPILED: LazyLock<Vec<(Regex, Beginning)>> = LazyLock::new(|| {
        let compiled = PATTERNS.iter().map(|pattern| {
            let regex = RegexBuilder::new(pattern).unicode(false).build().unwrap();
            (regex, Beginning::of(pattern))
        });
        compiled.collect()
    });

    proptest! {
        // Few texts match.
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn what_matches_fits(text in "[a-d]{0,6}|[a-dpat.0A]{0,14}|pat[a-z0-9.]{8}") {
            for (regex, beginning) in &*COMPILED {
                let is_match = regex.is_match(text.as_bytes());
                prop_assert!(!is_match || beginning.fits(text.as_bytes()), "{regex}");
            }
        }
    }
}
