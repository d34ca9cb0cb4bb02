//! Finds the next of a few words, whatever their case.
//!
//! There are two implementations with the same result. A few needles are found by their first
//! bytes, in all cases, with SIMD (Teddy): several gigabytes per second. More needles go into one
//! automaton.

use aho_corasick::packed::{Config, MatchKind, Searcher};
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind as AutomatonKind, Span};

/// Bytes of the prefix by which a needle is searched, in order of preference: a longer prefix
/// causes fewer false stops.
const PREFIX: [usize; 2] = [4, 3];
/// Most patterns that the SIMD searcher takes.
const MOST_PATTERNS: usize = 64;

/// A set of needles.
#[derive(Debug)]
pub(crate) enum Needles {
    /// Searches for the first bytes of the needles.
    Packed {
        searcher: Searcher,
        /// The needles that begin with each pattern, longest first.
        needles: Vec<Vec<(usize, Vec<u8>)>>,
    },
    /// Searches for all needles at once; holds the number of each.
    Automaton(AhoCorasick, Vec<usize>),
}

impl Needles {
    /// Prepares a search for these needles; empty ones are skipped.
    pub(crate) fn new(needles: &[&str]) -> Self {
        let packed = PREFIX
            .into_iter()
            .find_map(|prefix| packed(needles, prefix));
        packed.unwrap_or_else(|| {
            let (numbers, wanted): (Vec<usize>, Vec<&&str>) = used(needles).unzip();
            let automaton = AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .match_kind(AutomatonKind::LeftmostLongest)
                .kind(Some(AhoCorasickKind::DFA))
                .build(wanted)
                .expect("invariant: at most a few hundred patterns of bounded length");
            Self::Automaton(automaton, numbers)
        })
    }

    /// Returns the longest needle at the first match from byte `at` on: its number, its first byte
    /// and the byte after it.
    pub(crate) fn find(&self, text: &[u8], mut at: usize) -> Option<(usize, usize, usize)> {
        match self {
            Self::Automaton(automaton, numbers) => {
                let found = automaton.find(Input::new(text).range(at..))?;
                Some((numbers[found.pattern()], found.start(), found.end()))
            }
            Self::Packed { searcher, needles } => loop {
                let span = Span::from(at..text.len());
                let prefix = searcher.find_in(text, span)?;
                let rest = &text[prefix.start()..];
                let stands = |needle: &&(usize, Vec<u8>)| {
                    rest.get(..needle.1.len())
                        .is_some_and(|here| here.eq_ignore_ascii_case(&needle.1))
                };
                if let Some((number, needle)) = needles[prefix.pattern()].iter().find(stands) {
                    return Some((*number, prefix.start(), prefix.start() + needle.len()));
                }
                at = prefix.start() + 1;
            },
        }
    }
}

/// Returns the needles that are not empty, with their numbers.
fn used<'n>(needles: &'n [&'n str]) -> impl Iterator<Item = (usize, &'n &'n str)> {
    needles
        .iter()
        .enumerate()
        .filter(|(_, needle)| !needle.is_empty())
}

/// Prepares a SIMD search by the first `length` bytes; `None` if the needles are too many or too
/// short for it.
fn packed(needles: &[&str], length: usize) -> Option<Needles> {
    let mut patterns: Vec<Vec<u8>> = Vec::new();
    let mut of_pattern: Vec<Vec<(usize, Vec<u8>)>> = Vec::new();
    for (number, needle) in used(needles) {
        for pattern in cases(needle.as_bytes().get(..length)?) {
            let known = patterns.iter().position(|known| *known == pattern);
            let at = known.unwrap_or_else(|| {
                patterns.push(pattern);
                of_pattern.push(Vec::new());
                patterns.len() - 1
            });
            of_pattern[at].push((number, needle.as_bytes().to_vec()));
        }
        if patterns.len() > MOST_PATTERNS {
            return None;
        }
    }
    for needles in &mut of_pattern {
        needles.sort_by_key(|(_, needle)| std::cmp::Reverse(needle.len()));
    }
    let mut builder = Config::new().match_kind(MatchKind::LeftmostFirst).builder();
    let searcher = builder.extend(&patterns).build()?;
    Some(Needles::Packed {
        searcher,
        needles: of_pattern,
    })
}

/// Returns the bytes with each of their ASCII letters in either case.
fn cases(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut cases = vec![Vec::new()];
    for byte in bytes {
        let (lower, upper) = (byte.to_ascii_lowercase(), byte.to_ascii_uppercase());
        let mut uppers = cases.clone();
        for case in &mut cases {
            case.push(lower);
        }
        if upper != lower {
            for case in &mut uppers {
                case.push(upper);
            }
            cases.append(&mut uppers);
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_ways_find_the_same(
            needles in proptest::collection::vec("[abC]{3,6}", 1..5),
            text in "[abcABC ]{0,80}",
        ) {
            let needles: Vec<&str> = needles.iter().map(String::as_str).collect();
            let (numbers, wanted): (Vec<usize>, Vec<&&str>) = used(&needles).unzip();
            let automaton = AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .match_kind(AutomatonKind::LeftmostLongest)
                .build(wanted)
                .unwrap();
            let automaton = Needles::Automaton(automaton, numbers);
            let Some(packed) = packed(&needles, 3) else { return Ok(()) };
            let place = |needles: &Needles, at| needles.find(text.as_bytes(), at).map(|found| (found.1, found.2));
            for at in 0..=text.len() {
                prop_assert_eq!(place(&packed, at), place(&automaton, at));
            }
        }
    }
}
