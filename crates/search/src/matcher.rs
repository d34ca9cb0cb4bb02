//! Finds the terms of a question in a text.
//!
//! One scan stops wherever a term may stand, and only the word at that place is examined. So a text
//! costs one scan, and only possible hits cost more.

use std::collections::HashMap;

use crate::needles::Needles;
use crate::question::{Question, Term, Terms};
use crate::words::{Stems, are_forms, camel_parts, is_word_byte};

/// Bytes of a word stem that are searched for.
const NEEDLE_BYTES: usize = 16;

/// Bytes of a word that are examined on either side of a needle.
const WORD_BYTES: usize = 128;

/// Finds where the terms of a question occur in a text.
#[derive(Debug)]
pub(crate) struct Matcher {
    needles: Needles,
    by_stem: HashMap<String, Terms>,
    /// Stems whose other forms are terms.
    forms: Vec<(String, Terms)>,
    /// Phrases and pairs, by the number of the needle that finds them.
    phrases: Vec<Phrase>,
    stems: Stems,
}

/// The terms that a needle stands for besides the word that it begins.
#[derive(Debug, Clone, Copy, Default)]
struct Phrase {
    /// Terms that match between word boundaries.
    loose: Terms,
    /// Terms that match only if the needle is not part of a longer identifier.
    whole: Terms,
    /// Terms that match anywhere.
    pair: Terms,
}

/// A place with terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    /// First byte in the text.
    pub at: usize,
    /// The terms.
    pub terms: Terms,
    /// The needle that found it.
    pub needle: usize,
}

impl Matcher {
    /// Creates a matcher for all needles of `question` except those whose numbers are in `skipped`.
    pub(crate) fn new(question: &Question, skipped: &[usize]) -> Self {
        let number = |term: Term| question.terms.iter().position(|known| *known == term);
        let bit = |term: Term| number(term).map_or(0, |at| 1 << at);
        let mut patterns = Vec::new();
        let mut phrases = Vec::new();
        for (at, needle) in question.needles.iter().enumerate() {
            let phrase = Phrase {
                loose: bit(Term::Phrase(needle.clone())),
                whole: bit(Term::Whole(needle.clone())),
                pair: bit(Term::Pair(needle.clone())),
            };
            let is_word = phrase.loose | phrase.pair == 0;
            let text = match is_word {
                true => &needle[..needle.floor_char_boundary(NEEDLE_BYTES)],
                false => needle,
            };
            // A skipped needle keeps its number.
            let is_skipped = skipped.contains(&at);
            patterns.push(if is_skipped { "" } else { text });
            phrases.push(phrase);
        }
        let by_stem = question.by_stem.iter();
        let forms = (0..)
            .zip(&question.terms)
            .filter_map(|(at, term)| match term {
                Term::Form(stem) => Some((stem.clone(), 1 << at)),
                _ => None,
            });
        Self {
            needles: Needles::new(&patterns),
            by_stem: by_stem.map(|(stem, &at)| (stem.clone(), 1 << at)).collect(),
            forms: forms.collect(),
            phrases,
            stems: Stems::new(),
        }
    }

    /// Returns the terms in a text, front to back.
    pub(crate) fn hits<'t>(&'t self, text: &'t [u8], known: &'t mut WordCache) -> Hits<'t> {
        Hits {
            matcher: self,
            text,
            at: 0,
            known,
        }
    }

    /// Returns the phrases and pairs that the needle at `start..end` matches.
    fn phrase(&self, needle: usize, text: &[u8], start: usize, end: usize) -> Terms {
        let phrase = self.phrases[needle];
        let mut terms = phrase.pair;
        if phrase.loose | phrase.whole == 0 {
            return terms;
        }
        let is_word = |at: Option<usize>| {
            at.and_then(|at| text.get(at))
                .is_some_and(|&b| is_word_byte(b))
        };
        let joins = |at: Option<usize>| {
            at.and_then(|at| text.get(at))
                .is_some_and(|b| b"-_.".contains(b))
        };
        if is_word(start.checked_sub(1)) || is_word(Some(end)) {
            return terms;
        }
        terms |= phrase.loose;
        let goes_on = joins(start.checked_sub(1)) && is_word(start.checked_sub(2))
            || joins(Some(end)) && is_word(Some(end + 1));
        if !goes_on {
            terms |= phrase.whole;
        }
        terms
    }

    /// Returns the terms that a word matches.
    fn word(&self, word: &[u8]) -> Terms {
        let Ok(word) = std::str::from_utf8(word) else {
            return 0;
        };
        let of = |part: &str| {
            let stem = self.stems.stem(part);
            let terms = self.by_stem.get(&stem).copied().unwrap_or(0);
            let forms = self.forms.iter();
            let forms = forms.filter(|(form, _)| are_forms(form, &stem));
            forms.fold(terms, |terms, (_, form)| terms | form)
        };
        let parts = camel_parts(word);
        let parts_are = match parts.len() {
            1 => 0,
            _ => parts.into_iter().fold(0, |terms, part| terms | of(part)),
        };
        parts_are | of(word)
    }
}

/// Iterator over the terms in a text.
#[derive(Debug)]
pub(crate) struct Hits<'t> {
    matcher: &'t Matcher,
    text: &'t [u8],
    at: usize,
    known: &'t mut WordCache,
}

impl Hits<'_> {
    /// Returns the next place where a needle stands, even if no term matches there.
    pub(crate) fn next_raw(&mut self) -> Option<Hit> {
        let (needle, start, end) = self.matcher.needles.find(self.text, self.at)?;
        let phrase = self.matcher.phrase(needle, self.text, start, end);
        if self.matcher.phrases[needle].pair != 0 {
            // Pairs overlap by one character.
            let first = self.text[start + 1..end]
                .iter()
                .position(|byte| byte & 0xc0 != 0x80);
            self.at = start + 1 + first.unwrap_or(end - start - 1);
            return Some(Hit {
                at: start,
                terms: phrase,
                needle,
            });
        }
        let floor = start.saturating_sub(WORD_BYTES);
        let before = self.text[floor..start]
            .iter()
            .rev()
            .take_while(|b| is_word_byte(**b));
        let word_start = start - before.count();
        let ceiling = self.text.len().min(start + WORD_BYTES);
        let after = self.text[start..ceiling]
            .iter()
            .take_while(|b| is_word_byte(**b));
        let word_end = start + after.count();
        let word = &self.text[word_start..word_end];
        let terms = phrase | self.known.terms(word, self.matcher);
        self.at = word_end.max(start + 1);
        Some(Hit {
            at: start,
            terms,
            needle,
        })
    }
}

impl Iterator for Hits<'_> {
    type Item = Hit;

    fn next(&mut self) -> Option<Hit> {
        loop {
            let hit = self.next_raw()?;
            if hit.terms != 0 {
                return Some(hit);
            }
        }
    }
}

/// Cache of the terms of words: a few different words make up most of a text.
#[derive(Debug)]
pub(crate) struct WordCache(Vec<CachedWord>);

#[derive(Debug, Clone, Copy, Default)]
struct CachedWord {
    word: [u8; KNOWN_BYTES],
    length: u8,
    terms: Terms,
}

/// Longest word that is cached, in bytes.
const KNOWN_BYTES: usize = 23;
/// Entries of the cache; a power of two.
const KNOWN: usize = 1024;

impl Default for WordCache {
    fn default() -> Self {
        Self(vec![CachedWord::default(); KNOWN])
    }
}

impl WordCache {
    fn terms(&mut self, word: &[u8], matcher: &Matcher) -> Terms {
        if word.is_empty() || word.len() > KNOWN_BYTES {
            return matcher.word(word);
        }
        let hash = word.iter().fold(0x811c_9dc5_u32, |hash, &byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        let known = &mut self.0[(hash ^ hash >> 15) as usize % KNOWN];
        if &known.word[..usize::from(known.length)] != word {
            known.word[..word.len()].copy_from_slice(word);
            known.length = u8::try_from(word.len()).unwrap_or(0);
            known.terms = matcher.word(word);
        }
        known.terms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(question: &str, text: &str) -> Vec<(usize, String)> {
        let question = Question::new(question).unwrap();
        let matcher = Matcher::new(&question, &[]);
        let mut known = WordCache::default();
        let name = |terms: Terms| {
            let set = (0..question.terms.len()).filter(|at| terms >> at & 1 == 1);
            let names = set.map(|at| match &question.terms[at] {
                Term::Word(word) => word.clone(),
                Term::Phrase(phrase) => format!("\"{phrase}\""),
                Term::Whole(whole) => format!("={whole}"),
                Term::Pair(pair) => format!("*{pair}*"),
                Term::Form(form) => format!("~{form}"),
            });
            names.collect::<Vec<_>>().join(" ")
        };
        let hits: Vec<Hit> = matcher.hits(text.as_bytes(), &mut known).collect();
        hits.into_iter()
            .map(|hit| (hit.at, name(hit.terms)))
            .collect()
    }

    #[test]
    fn cases() {
        type Found = &'static [(usize, &'static str)];
        let cases: [(&str, &str, Found); 9] = [
            (
                "shards",
                "Shard sharded sharding",
                &[(0, "shard"), (6, "shard"), (14, "shard")],
            ),
            ("art", "start art", &[(6, "art")]),
            ("happy", "HAPPINESS", &[(0, "happi")]),
            (
                "a-b9",
                "a-b9 a-b9-c xa-b9",
                &[
                    (0, "=a-b9 \"a-b9\" a"),
                    (2, "b9"),
                    (5, "\"a-b9\" a"),
                    (7, "b9"),
                    (15, "b9"),
                ],
            ),
            ("pointer", "NullPointerException", &[(4, "pointer")]),
            (
                "NullPointer",
                "null pointer",
                &[(0, "null"), (5, "pointer")],
            ),
            (
                "日本語",
                "これは日本語です",
                &[(9, "*日本*"), (12, "*本語*")],
            ),
            ("Über", "über ÜBER", &[(0, "über"), (6, "über")]),
            (".*[", "anything", &[]),
        ];
        for (question, text, want) in cases {
            let Some(_) = Question::new(question) else {
                continue;
            };
            let want: Vec<_> = want
                .iter()
                .map(|(at, terms)| (*at, (*terms).to_owned()))
                .collect();
            assert_eq!(found(question, text), want, "{question}");
        }
    }
}
