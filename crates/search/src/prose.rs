//! Searches documents for readers: prose, manuals, Markdown, HTML, XML and snapshots of pages.
//!
//! Such a text is split into passages with headings above them ([`blocks`]). A person who asks
//! about a text uses other words than the text. Therefore the question is extended by other forms
//! of its words and by synonyms, which count less. A word in the heading above a passage, or in the
//! passages before and after it, counts for the passage, too.

use std::io;

use rustc_hash::{FxHashMap, FxHashSet};
use spillgate_artifact::ContentKind;
use spillgate_lookup::Artifact;
use spillgate_text::View;

use crate::SearchOutcome;
use crate::blocks::{Blocks, blocks};
use crate::candidates::Candidate;
use crate::matcher::{Matcher, WordCache};
use crate::page::Block;
use crate::question::{MOST_TERMS, Question, Term, Terms};
use crate::rank::{DROP, Ranked};

/// Maximum size, in bytes, of a document that is split, because its passages are kept in memory.
pub(crate) const MOST_BYTES: u64 = 8 << 20;

/// The parameter k1 of BM25: the lower it is, the less repetitions of a term count.
const K1: f64 = 1.2;
/// The parameter b of BM25: how strongly the length of a passage reduces its score.
const B: f64 = 0.5;
/// The weight of a term in the heading above, relative to a term in the passage itself.
const ABOVE: f64 = 1.0;
/// The weight of a term in the passage before or after, relative to a term in the passage itself.
const BESIDE: f64 = 0.3;
/// A passage that is shorter than this share of the average counts as that long: a bare heading says
/// little.
const SHORTEST: f64 = 0.5;
/// The weight of two neighbouring words of the question that stand near each other, relative to the
/// term that is worth less.
const PAIR: f64 = 0.3;
/// Maximum distance of such words in bytes, from start to start.
const NEAR: usize = 30;
/// The weight of a term in a tag, relative to a term in the passage itself.
const IN_TAG: f64 = 0.4;
/// Maximum number of passages that are ranked.
const MOST_RANKED: usize = 512;

/// The hits in a passage.
#[derive(Debug, Default, Clone)]
struct Hits {
    times: Vec<(usize, u32)>,
    terms: Terms,
    /// The terms that occur in tags.
    in_tags: Terms,
    first: Option<usize>,
    /// The terms that stand near the term behind them in the question.
    pairs: Terms,
    /// The hit before, and the terms that it stands for.
    last: Option<(usize, Terms)>,
}

impl Hits {
    /// Adds a hit. `words` are the terms of the question for which its terms stand.
    fn add(&mut self, terms: Terms, words: Terms, at: usize) {
        self.first.get_or_insert(at);
        if let Some((before, last)) = self.last
            && at - before <= NEAR
        {
            self.pairs |= words & last >> 1 | last & words >> 1;
        }
        self.last = Some((at, words));
        self.terms |= terms;
        for term in each(terms) {
            match self.times.iter_mut().find(|(known, _)| *known == term) {
                Some((_, times)) => *times += 1,
                None => self.times.push((term, 1)),
            }
        }
    }
}

/// Returns the indices of the terms in a set.
fn each(mut terms: Terms) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = terms.trailing_zeros() as usize;
        (terms != 0).then(|| {
            terms &= terms - 1;
            at
        })
    })
}

/// Returns the passages of a document for readers that answer the question.
pub(crate) fn answer<'a>(
    artifact: &'a Artifact,
    question: &Question,
) -> io::Result<SearchOutcome<'a>> {
    let view = artifact.view();
    let kind = artifact.manifest().facts.stats.kind;
    let text = view.source().bytes(0, view.bytes())?;
    let wide = question.widened();
    let split = blocks(&text, kind);
    let found = Found::new(&text, &split, &wide);
    let (ranked, total) = found.ranked(&split, &wide);
    let seen = each(Terms::MAX).filter(|&at| found.with[at] > 0.0);
    let seen = seen.fold(0, |seen, at| seen | 1 << at);
    // Tags are left out, unless a name occurs only in them.
    let is_name = |at: usize| {
        matches!(
            question.terms.get(at),
            Some(Term::Phrase(_) | Term::Whole(_))
        )
    };
    let tagged: FxHashSet<u64> = split
        .all
        .iter()
        .zip(&found.hits)
        .filter(|(_, hits)| each(hits.in_tags & !hits.terms).any(is_name))
        .map(|(block, _)| block.start as u64)
        .collect();
    let is_markup = split.shown.is_some();
    // For each passage, by its offset, a heading with a term that the passage does not contain.
    let mut headings: FxHashMap<u64, (u64, u64)> = FxHashMap::default();
    for one in &ranked {
        let at = usize::try_from(one.candidate.template).unwrap_or(0);
        let block = split.all[at];
        let mut above = block.heading;
        while let Some(heading) = above.map(|above| split.headings[above]) {
            let own = found.own_of_heading[&heading.start];
            if own & !found.hits[at].terms != 0 {
                let place = (heading.start as u64, heading.end as u64);
                headings.insert(one.candidate.start, place);
                break;
            }
            above = heading.above;
        }
    }
    Ok(SearchOutcome {
        ranked,
        seen,
        header: None,
        is_unstamped: false,
        total,
        is_in_order: false,
        blocks: Box::new(move |one, _| {
            let mut block = whole_lines(view, one, one.candidate.start, one.candidate.end)?;
            block.is_untagged = is_markup && !tagged.contains(&one.candidate.start);
            let mut ways = vec![vec![block.clone()]];
            if let Some(&(start, end)) = headings.get(&one.candidate.start) {
                let mut heading = whole_lines(view, one, start, end)?;
                heading.is_untagged = is_markup;
                ways.insert(0, vec![block.clone(), heading]);
            }
            if let Some(header) = crate::text::table_header(view, one)? {
                ways.insert(0, vec![block, header]);
            }
            ways.push(vec![crate::text::line_of_hit(view, one)?]);
            Ok(ways)
        }),
    })
}

/// Returns the view lines of a range of bytes.
fn whole_lines(view: &View, one: &Ranked, start: u64, end: u64) -> io::Result<Block> {
    let mut block = crate::text::block(one);
    (block.start, block.end) = (start, end);
    if let Some(line) = view.line_at(start)? {
        block.start = line.start;
    }
    if let Some(line) = view.line_at(end.saturating_sub(1))? {
        block.end = line.end;
    }
    if !(block.start..block.end).contains(&block.hit) {
        block.hit = block.start;
    }
    Ok(block)
}

/// Returns whether a document is written for readers and small enough to be split.
pub(crate) fn is_split(view: &View, kind: ContentKind, is_prose: bool) -> bool {
    view.bytes() <= MOST_BYTES
        && (matches!(
            kind,
            ContentKind::Markdown | ContentKind::Html | ContentKind::Xml
        ) || is_prose)
}

/// The findings of a scan of a document.
struct Found {
    /// The hits in each passage.
    hits: Vec<Hits>,
    /// For each heading, the terms in it and in the headings above it.
    above: Vec<Terms>,
    /// The terms in a heading alone, by the offset of the heading.
    own_of_heading: FxHashMap<usize, Terms>,
    /// For each term, the number of passages that contain it.
    with: [f64; MOST_TERMS],
    /// The length of the text of each passage, in bytes.
    lengths: Vec<f64>,
    /// The average of these lengths, in bytes, at least 1.
    usual: f64,
}

impl Found {
    fn new(text: &[u8], split: &Blocks, question: &Question) -> Self {
        let matcher = Matcher::new(question, &[]);
        let mut known = WordCache::default();
        let shown = split.shown.as_deref().unwrap_or(text);
        let mut hits = vec![Hits::default(); split.all.len()];
        let mut at = 0;
        for hit in matcher.hits(shown, &mut known) {
            while split.all.get(at).is_some_and(|block| block.end <= hit.at) {
                at += 1;
            }
            match split.all.get(at) {
                Some(block) if block.start <= hit.at => {
                    let stand_for = each(hit.terms).map(|term| question.stands_for[term]);
                    let words = stand_for.fold(0, |words, word| words | 1 << word);
                    hits[at].add(hit.terms, words, hit.at);
                }
                _ => {}
            }
        }
        if split.shown.is_some() {
            let mut at = 0;
            for hit in matcher.hits(text, &mut known) {
                while split.all.get(at).is_some_and(|block| block.end <= hit.at) {
                    at += 1;
                }
                match split.all.get(at) {
                    Some(block) if block.start <= hit.at => {
                        hits[at].in_tags |= hit.terms;
                        hits[at].first.get_or_insert(hit.at);
                    }
                    _ => {}
                }
            }
        }
        let mut above: Vec<Terms> = Vec::with_capacity(split.headings.len());
        let mut own_of_heading = FxHashMap::default();
        for heading in &split.headings {
            let of = matcher.hits(&shown[heading.start..heading.end], &mut known);
            let own = of.fold(0, |terms, hit| terms | hit.terms);
            own_of_heading.insert(heading.start, own);
            let outer = heading.above.map_or(0, |at| above[at]);
            above.push(own | outer);
        }
        let mut with = [0.0; MOST_TERMS];
        for one in &hits {
            each(one.terms | one.in_tags).for_each(|term| with[term] += 1.0);
        }
        let lengths: Vec<f64> = split
            .all
            .iter()
            .map(|block| match &split.shown {
                None => (block.end - block.start) as f64,
                Some(shown) => {
                    let words = shown[block.start..block.end].split(u8::is_ascii_whitespace);
                    let words = words.filter(|word| !word.is_empty());
                    words.map(|word| word.len() as f64 + 1.0).sum()
                }
            })
            .collect();
        let usual = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
        Self {
            hits,
            above,
            own_of_heading,
            with,
            lengths,
            usual: usual.max(1.0),
        }
    }

    /// Returns the passages that contain terms of the question, best first, and how many there are.
    /// The field `template` of a candidate is the number of its passage.
    fn ranked(&self, split: &Blocks, question: &Question) -> (Vec<Ranked>, u64) {
        let count = split.all.len() as f64;
        let mut worth: Vec<f64> = (0..question.terms.len())
            .map(|at| {
                let with = self.with[at];
                question.weights[at] * (1.0 + (count - with + 0.5) / (with + 0.5)).ln()
            })
            .collect();
        // A short part of an identifier means nothing without the identifier.
        for &(part, _) in &question.short_parts {
            let mut of_part = question.short_parts.iter().filter(|one| one.0 == part);
            if question.weights[part] < 1.0 && !of_part.any(|one| self.with[one.1] > 0.0) {
                worth[part] = 0.0;
            }
        }
        let mut ranked = Vec::new();
        for (at, block) in split.all.iter().enumerate() {
            let hits = &self.hits[at];
            let above = block.heading.map_or(0, |heading| self.above[heading]);
            if hits.terms | hits.in_tags | above == 0 {
                continue;
            }
            let score = self.score(at, above, question, &worth);
            if score <= 0.0 {
                continue;
            }
            let first_hit = hits.first.map_or(0, |first| first - block.start);
            ranked.push(Ranked {
                score,
                first_hit: first_hit as u64,
                is_literal: false,
                candidate: Candidate {
                    start: block.start as u64,
                    end: block.end as u64,
                    terms: hits.terms | above,
                    rank: 1.0,
                    template: at as u64,
                    json: None,
                },
            });
        }
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
        // The answer ends where the score drops.
        let least = ranked.first().map_or(0.0, |best| best.score * DROP);
        ranked.retain(|one| one.score >= least);
        let total = ranked.len() as u64;
        ranked.truncate(MOST_RANKED);
        (ranked, total)
    }

    /// Returns the BM25 score of a passage. Of a term and the terms that stand for it, only the one
    /// with the highest score counts. Neighbouring words of the question count more if they stand
    /// near each other.
    fn score(&self, at: usize, above: Terms, question: &Question, worth: &[f64]) -> f64 {
        let hits = &self.hits[at];
        let beside = |at: Option<usize>| {
            at.and_then(|at| self.hits.get(at))
                .map_or(0, |one| one.terms)
        };
        let beside = beside(at.checked_sub(1)) | beside(Some(at + 1));
        let norm = 1.0 - B + B * (self.lengths[at] / self.usual).max(SHORTEST);
        let mut best = [0.0f64; MOST_TERMS];
        let any = hits.terms | hits.in_tags | above | beside;
        for term in each(any) {
            let has = |set: Terms| f64::from(u8::from(set >> term & 1 == 1));
            let own = hits.times.iter().find(|(known, _)| *known == term);
            let own = own.map_or(0.0, |&(_, times)| f64::from(times));
            let tagged = if own == 0.0 {
                IN_TAG * has(hits.in_tags)
            } else {
                0.0
            };
            let times = own + tagged + ABOVE * has(above) + BESIDE * has(beside);
            let of = worth[term] * times * (K1 + 1.0) / (times + K1 * norm);
            let stands_for = question.stands_for[term];
            best[stands_for] = best[stands_for].max(of);
        }
        let pair = |at: usize| worth[at].min(worth[at + 1]);
        best.iter().sum::<f64>() + PAIR * each(hits.pairs).map(pair).sum::<f64>()
    }
}
