//! Answers questions about what went wrong.
//!
//! Such a question shares no word with its answer. A line is scored by its failure words, by how
//! rare lines like it are, and by its position: what ended a run stands near its end. The lines
//! before and after it are shown with it (docs/spec/behaviour.md, "Search without a model").

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

/// Failure words and the worth of each.
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

/// Failure phrases that contain none of these words, among them the usual texts of `errno`.
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
/// Worth of each phrase.
const PHRASE: f64 = 2.0;

/// Numbers of lines shown before and after a failure line; the smaller ones are used if there is no
/// room.
const CONTEXT: [(u64, u64); 3] = [(3, 10), (1, 4), (0, 0)];
/// Most templates of lines that are kept.
const TEMPLATES: usize = 16 << 10;
/// Most lines that are ranked.
const RANKED: usize = 256;

/// Matches counts of zero: a summary that reports success.
static ALL_WELL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(0|no|without) (errors?|failures?|failed|failing)\b|\b(errors?|failures?|failed|fail)[:=] ?0\b")
        .expect("invariant: the pattern is valid")
});

/// Returns the lines of a view that report why something failed.
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

/// The failure words, ready for the scan.
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
        // Terms that are not words are phrases.
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
    /// The highest salience among them.
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

/// Returns how strongly a line reports a failure, apart from its rarity.
fn salience(worth: &[f64], unit: UnitHit<'_>, bytes: f64) -> f64 {
    /// Worth of the start of a text relative to its end.
    const START: f64 = 0.3;
    /// Most worth that words add up to: a line with many failure words is a list of them.
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

/// Returns the factor for the level of a log line.
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
