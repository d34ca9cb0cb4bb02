//! Answers questions about what went wrong.
//!
//! The question has no word in common with the answer. What a line says of a
//! failure is judged by its words, by how rare lines like it are, and by its
//! place: what ended a run stands near its end. Lines before and after belong to
//! it (docs/spec/behaviour.md, "Search without a model").

use std::collections::HashMap;
use std::io;
use std::sync::LazyLock;

use regex::bytes::Regex;
use spillgate_text::View;

use crate::SearchOutcome;
use crate::candidates::{Candidate, template};
use crate::matcher::Matcher;
use crate::question::{Question, Terms};
use crate::rank::Ranked;
use crate::scan::{Collect, Unit, UnitHit, scan};
use crate::text::{block, with_context};

/// Words of failures, and what each is worth.
const WORDS: [(f64, &str); 3] = [
    (
        3.0,
        "fatal panic panicked traceback segfault segmentation exception killed oom abort aborted",
    ),
    (
        2.0,
        "error errors err fail failed failure cannot couldn unable denied refused undefined unresolved missing critical severe \
         crash broken",
    ),
    (
        1.0,
        "invalid unexpected expected timeout timed assertion assert mismatch unknown unsupported conflict rejected incorrect \
         illegal caused terminated violation forbidden unauthorized unreachable corrupt unavailable exceeded",
    ),
];

/// What systems say without such a word; among them the usual texts of `errno`.
const PHRASES: [&str; 10] = [
    "no such",
    "not found",
    "no space left",
    "could not",
    "not exist",
    "not permitted",
    "out of memory",
    "read-only file system",
    "too many",
    "already in use",
];
/// What each of them is worth.
const PHRASE: f64 = 2.0;

/// Lines before and after one that tells of a failure that are shown with it;
/// where there is no room, fewer.
const CONTEXT: [(u64, u64); 3] = [(3, 10), (1, 4), (0, 0)];
/// Different lines that are kept in mind.
const TEMPLATES: usize = 16 << 10;
/// Lines that are ranked.
const RANKED: usize = 256;

/// Counts of nothing: a summary that says that all is well.
static ALL_WELL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(0|no|without) (errors?|failures?|failed|failing)\b|\b(errors?|failures?|failed|fail)[:=] ?0\b")
        .expect("invariant: the pattern is valid")
});

/// The lines in a view that tell why it failed.
pub(crate) fn answer(view: &View) -> io::Result<SearchOutcome<'_>> {
    let words = Words::new();
    let parts = scan(view, &words.matcher, Unit::Line, || Collector {
        words: &words,
        bytes: view.bytes() as f64,
        templates: HashMap::new(),
    })?;
    let mut templates: HashMap<u64, TemplateGroup> = HashMap::new();
    for part in parts {
        for (template, seen) in part.templates {
            let known = templates.entry(template).or_default();
            known.times += seen.times;
            if seen.salience >= known.salience {
                known.salience = seen.salience;
                (known.start, known.end) = (seen.start, seen.end);
            }
        }
    }
    let lines = view.lines().max(2) as f64;
    let rarity = |times: u64| (1.0 + lines / times as f64).ln() / (1.0 + lines).ln();
    let mut ranked: Vec<Ranked> = templates
        .into_iter()
        .map(|(template, seen)| Ranked {
            score: seen.salience * rarity(seen.times),
            first_hit: 0,
            is_literal: false,
            candidate: Candidate {
                start: seen.start,
                end: seen.end,
                terms: 1,
                rank: 1.0,
                template,
                json: None,
            },
        })
        .collect();
    ranked.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then(a.candidate.start.cmp(&b.candidate.start))
    });
    ranked.truncate(RANKED);
    Ok(SearchOutcome {
        ranked,
        seen: Terms::MAX,
        header: None,
        blocks: Box::new(move |one, _| {
            let with = |context| Ok(vec![with_context(view, one, context)?]);
            let mut blocks: Vec<_> = CONTEXT.into_iter().map(with).collect::<io::Result<_>>()?;
            blocks.push(vec![block(one)]);
            Ok(blocks)
        }),
    })
}

/// The words of failures, ready to be looked for.
struct Words {
    matcher: Matcher,
    worth: Vec<f64>,
}

impl Words {
    fn new() -> Self {
        let all = WORDS
            .iter()
            .flat_map(|(_, words)| words.split_ascii_whitespace());
        let question = Question::of_words(&all.collect::<Vec<_>>(), &PHRASES);
        // What is no word is a phrase.
        let mut worth = vec![PHRASE; question.terms.len()];
        let stems = crate::words::Stems::new();
        for (value, words) in WORDS.iter().rev() {
            for word in words.split_ascii_whitespace() {
                if let Some(&at) = question.by_stem.get(&stems.stem(word)) {
                    worth[at] = *value;
                }
            }
        }
        Self {
            matcher: Matcher::new(&question, &[]),
            worth,
        }
    }
}

/// Lines of one template.
#[derive(Debug, Clone, Copy, Default)]
struct TemplateGroup {
    times: u64,
    /// The most telling of them.
    salience: f64,
    start: u64,
    end: u64,
}

struct Collector<'a> {
    words: &'a Words,
    bytes: f64,
    templates: HashMap<u64, TemplateGroup>,
}

impl Collect for Collector<'_> {
    fn unit(&mut self, unit: UnitHit<'_>) {
        let seen = self.templates.entry(template(unit.text)).or_default();
        seen.times += 1;
        let salience = salience(&self.words.worth, unit, self.bytes);
        if salience >= seen.salience {
            seen.salience = salience;
            (seen.start, seen.end) = (unit.start, unit.start + unit.text.len() as u64);
        }
        if self.templates.len() > TEMPLATES {
            let mut all: Vec<f64> = self.templates.values().map(|seen| seen.salience).collect();
            all.sort_by(f64::total_cmp);
            let least = all[all.len() / 2];
            self.templates.retain(|_, seen| seen.salience > least);
        }
    }
}

/// How much a line tells of a failure, its rarity aside.
fn salience(worth: &[f64], unit: UnitHit<'_>, bytes: f64) -> f64 {
    /// What the start of a text is worth against its end.
    const START: f64 = 0.3;
    /// Many such words on one line are a list of them.
    const MOST: f64 = 6.0;
    let terms = (0..worth.len()).filter(|at| unit.terms >> at & 1 == 1);
    let words: f64 = terms.map(|at| worth[at]).sum();
    let level = match ALL_WELL.is_match(unit.text) {
        true => 0.05,
        false => level(unit.text),
    };
    let place = START + (1.0 - START) * unit.start as f64 / bytes;
    words.min(MOST) * level * place
}

/// What the level of a log line says.
fn level(line: &[u8]) -> f64 {
    let head = &line[..line.len().min(80)];
    let has = |word: &[u8]| memchr::memmem::find(head, word).is_some();
    if has(b"WARN") || has(b"warning") || has(b"DEBUG") {
        0.4
    } else if has(b"INFO") {
        0.7
    } else {
        1.0
    }
}
