//! Ranks candidates with BM25 and bonuses for literal hits.
//!
//! BM25 (Robertson and Zaragoza 2009) uses the counts of the scan. Each candidate is read once more
//! to count how often each term occurs in it. Terms that are too common for the scan to stop at are
//! counted here.

use std::io;

use spillgate_text::View;

use crate::candidates::{Candidate, Candidates};
use crate::json::{Node, dilution};
use crate::matcher::{Matcher, WordCache};
use crate::question::{MOST_TERMS, Question, Terms, spaced};

/// How soon repetitions of a term stop counting; the usual value.
const K1: f64 = 1.2;
/// How strongly the length of a unit reduces its score; the usual value.
const B: f64 = 0.75;
/// Most candidates that are read once more.
const LOOKED_AT: usize = 512;
/// Most bytes that are read of a candidate.
const LONGEST_LOOK: u64 = 8 << 10;
/// A place with less than this share of the best score says nothing more.
pub(crate) const DROP: f64 = 0.35;
/// Factor for a candidate with a value that the question contains whole.
const LITERAL: f64 = 1.5;
/// Factor for the object that the question names, with the members that it asks for.
const ENTITY: f64 = 2.0;

/// A candidate with its score.
#[derive(Debug, Clone)]
pub(crate) struct Ranked {
    /// The place.
    pub candidate: Candidate,
    /// How well it answers; higher is better.
    pub score: f64,
    /// Byte of the place at which the first term stands.
    pub first_hit: u64,
    /// Whether the question contains a value of the place whole.
    pub is_literal: bool,
}

/// The units of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Units {
    /// How many there are.
    pub count: f64,
    /// Bytes of a usual one.
    pub usual_bytes: f64,
    /// The delimiter of values, if a unit is a row of a table.
    pub delimiter: Option<u8>,
}

/// Scores candidates.
#[derive(Debug)]
pub(crate) struct Ranker<'a> {
    pub view: &'a View,
    pub question: &'a Question,
    pub units: Units,
    /// The worth of each term.
    pub worth: [f64; MOST_TERMS],
}

impl<'a> Ranker<'a> {
    /// Creates a ranker from the number of units that hold each term.
    pub(crate) fn new(
        view: &'a View,
        question: &'a Question,
        units: Units,
        units_with: &[f64; MOST_TERMS],
    ) -> Self {
        let mut worth = [0.0; MOST_TERMS];
        for (at, weight) in question.weights.iter().enumerate() {
            let with = units_with[at].min(units.count);
            worth[at] = weight * (1.0 + (units.count - with + 0.5) / (with + 0.5)).ln();
        }
        let is_seen = |&(_, whole): &(usize, usize)| units_with[whole] > 0.0;
        for &(part, _) in &question.short_parts {
            let mut of_part = question.short_parts.iter().filter(|one| one.0 == part);
            // It weighs more if the question also contains it by itself.
            if question.weights[part] < 1.0 && !of_part.any(is_seen) {
                worth[part] = 0.0;
            }
        }
        Self {
            view,
            question,
            units,
            worth,
        }
    }

    /// Returns the candidates, best first, and how many places match about as well as the best.
    pub(crate) fn rank(&self, found: Candidates) -> io::Result<(Vec<Ranked>, u64)> {
        let sum = |terms: Terms| -> f64 {
            let set = (0..MOST_TERMS).filter(|at| terms >> at & 1 == 1);
            set.map(|at| self.worth[at]).sum()
        };
        let matching = found.matching(DROP, sum);
        let mut candidates: Vec<(f64, Candidate)> = found
            .into_candidates()
            .into_iter()
            .filter(|candidate| sum(candidate.terms) > 0.0)
            .map(|candidate| {
                (
                    sum(candidate.terms) * (0.5 + candidate.rank.min(1.0)),
                    candidate,
                )
            })
            .collect();
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.start.cmp(&b.1.start)));
        candidates.truncate(LOOKED_AT);
        let matcher = Matcher::new(self.question, &[]);
        let mut known = WordCache::default();
        let mut ranked = Vec::with_capacity(candidates.len());
        for (_, candidate) in candidates {
            ranked.push(self.score(candidate, &matcher, &mut known)?);
        }
        ranked.sort_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then(a.candidate.start.cmp(&b.candidate.start))
        });
        // Where the score drops, the answer ends.
        let least = ranked.first().map_or(0.0, |best| best.score * DROP);
        ranked.retain(|one| one.score >= least);
        Ok((ranked, matching))
    }

    fn score_entity(&self, candidate: Candidate) -> Ranked {
        // Scored as if all terms stood on one usual leaf: the rest of the object does not matter.
        let score: f64 = (0..self.question.terms.len())
            .filter(|at| candidate.terms >> at & 1 == 1)
            .map(|at| self.worth[at] * (K1 + 1.0) / (1.0 + K1 * dilution(0)))
            .sum();
        Ranked {
            score: score * ENTITY,
            first_hit: 0,
            is_literal: true,
            candidate,
        }
    }

    fn score(
        &self,
        candidate: Candidate,
        matcher: &Matcher,
        known: &mut WordCache,
    ) -> io::Result<Ranked> {
        if candidate.json.as_ref().is_some_and(|node| node.is_entity) {
            return Ok(self.score_entity(candidate));
        }
        let end = candidate.end.min(candidate.start + LONGEST_LOOK);
        let text = self.view.source().bytes(candidate.start, end)?;
        let mut times = [0u32; MOST_TERMS];
        let mut count = |text: &[u8]| {
            let mut first = None;
            for hit in matcher.hits(text, known) {
                first.get_or_insert(hit.at);
                for (at, times) in times.iter_mut().enumerate() {
                    *times += u32::from(hit.terms >> at & 1 == 1);
                }
            }
            first.unwrap_or(0) as u64
        };
        let first_hit = count(&text);
        let mut is_literal = self.has_literal(&text, self.units.delimiter);
        // In JSON a name that occurs in path and value counts once.
        let (norm, most) = match &candidate.json {
            None => {
                let length = text.len() as f64 / self.units.usual_bytes;
                (1.0 - B + B * length, u32::MAX)
            }
            Some(node) => {
                count(node.path.as_bytes());
                is_literal |= self.has_literal_leaf(node, &text, candidate.start)?;
                let bytes = usize::try_from(candidate.end - candidate.start).unwrap_or(usize::MAX);
                (dilution(bytes.saturating_add(node.path.len())), 1)
            }
        };
        // The scan has seen the terms beyond the bytes read here.
        let times = |at: usize| times[at].max((candidate.terms >> at & 1) as u32).min(most);
        let score: f64 = (0..self.question.terms.len())
            .map(|at| (self.worth[at], f64::from(times(at))))
            .map(|(worth, times)| worth * times * (K1 + 1.0) / (times + K1 * norm))
            .sum();
        let score = if is_literal { score * LITERAL } else { score };
        Ok(Ranked {
            candidate,
            score,
            first_hit,
            is_literal,
        })
    }

    /// Returns whether the question contains a value of a row whole.
    fn has_literal(&self, text: &[u8], delimiter: Option<u8>) -> bool {
        let Some(delimiter) = delimiter else {
            return false;
        };
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .from_reader(text);
        let mut row = csv::ByteRecord::new();
        reader.read_byte_record(&mut row).unwrap_or(false)
            && row.iter().any(|value| self.is_literal(value))
    }

    /// Returns whether the question contains the value of a leaf, or of a leaf of a record, whole.
    fn has_literal_leaf(&self, node: &Node, text: &[u8], start: u64) -> io::Result<bool> {
        if node.leaves.is_empty() {
            return Ok(self.is_literal_leaf(text));
        }
        for leaf in &node.leaves {
            let at = |offset: u64| usize::try_from(offset - start).unwrap_or(usize::MAX);
            let is_literal = match text.get(at(leaf.start)..at(leaf.end)) {
                Some(line) => self.is_literal_leaf(line),
                None => self.is_literal_leaf(&self.view.source().bytes(leaf.start, leaf.end)?),
            };
            if is_literal {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether the question contains the value of a line `"key": "value",`.
    fn is_literal_leaf(&self, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        let value = memchr::memmem::find(line, b"\": ").map_or(line, |at| &line[at + 3..]);
        self.is_literal(value)
    }

    fn is_literal(&self, value: &[u8]) -> bool {
        /// Longest name in bytes.
        const LONGEST: usize = 80;
        if value.len() > LONGEST {
            return false;
        }
        let value = spaced(&String::from_utf8_lossy(value));
        let words = value.trim();
        let says_something = words.chars().filter(|char| char.is_alphabetic()).count() >= 3
            || words.chars().filter(char::is_ascii_digit).count() >= 4;
        says_something
            && !crate::words::is_stop_word(words)
            && self.question.spaced.contains(&value)
    }
}
