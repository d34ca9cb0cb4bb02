//! Finds the values deep inside a record that the words of a question lead to.

use crate::words::{Stems, camel_parts};

use super::cell::Cell;
use super::terms::alike;
use super::value::Json;

/// Most values of a record that are looked at.
const MOST_LEAVES: usize = 5_000;
/// Deepest value that is looked at.
const DEEPEST: usize = 24;
/// Most values that are returned.
const MOST_SHOWN: usize = 3;
/// Fewest words of the question in the keys above a value.
const LEAST_WORDS: usize = 2;

/// Returns the paths of the values whose keys have most words of the question, with their texts;
/// none if no keys have at least two, and no last key is one.
pub(super) fn inner(record: &Json<'_>, asked: &[String]) -> Vec<(String, String)> {
    let mut search = Search {
        asked,
        stems: Stems::new(),
        leaves: 0,
        best: (LEAST_WORDS, 0),
        found: Vec::new(),
    };
    search.walk(record, &mut Vec::new());
    search.found
}

struct Search<'q> {
    /// Stems of the words of the question that were not read as a condition.
    asked: &'q [String],
    stems: Stems,
    leaves: usize,
    /// How many words the best paths have, and how many of them exactly.
    best: (usize, usize),
    found: Vec<(String, String)>,
}

impl Search<'_> {
    fn walk(&mut self, value: &Json<'_>, path: &mut Vec<Step>) {
        if self.leaves >= MOST_LEAVES || path.len() >= DEEPEST {
            return;
        }
        match value {
            Json::Members(members) => {
                for (key, value) in members {
                    let step = self.step(key);
                    path.push(step);
                    self.walk(value, path);
                    path.pop();
                }
            }
            Json::List(items) if items.iter().any(Json::is_object) => {
                for item in items {
                    self.walk(item, path);
                }
            }
            value => {
                self.leaves += 1;
                self.leaf(value, path);
            }
        }
    }

    fn step(&self, key: &str) -> Step {
        let parts = key.split(|c: char| !c.is_alphanumeric());
        let parts = parts.filter(|part| !part.is_empty()).flat_map(camel_parts);
        let stems: Vec<String> = parts.map(|part| self.stems.stem(part)).collect();
        let words = self.asked.iter().enumerate();
        let words = words.filter_map(|(at, word)| {
            let is_exact = stems.contains(word);
            (is_exact || stems.iter().any(|stem| alike(word, stem))).then_some((at, is_exact))
        });
        let is_whole = !stems.is_empty() && stems.iter().all(|stem| self.asked.contains(stem));
        Step {
            key: key.to_owned(),
            words: words.collect(),
            is_whole,
        }
    }

    fn leaf(&mut self, value: &Json<'_>, path: &[Step]) {
        let mut words: Vec<(usize, bool)> =
            path.iter().flat_map(|step| step.words.clone()).collect();
        // An exact word counts once, whatever else is like it.
        words.sort_by_key(|(at, is_exact)| (*at, !is_exact));
        words.dedup_by_key(|(at, _)| *at);
        let exact = words.iter().filter(|(_, is_exact)| *is_exact).count();
        // The whole name of a member deep inside tells as much as two words.
        let is_whole = path.len() > 1 && path.last().is_some_and(|last| last.is_whole);
        let count = match is_whole {
            true => words.len().max(LEAST_WORDS),
            false => words.len(),
        };
        let score = (count, exact);
        let Some(cell) = Cell::of_json(value) else {
            return;
        };
        if score < self.best || score == self.best && self.found.len() == MOST_SHOWN {
            return;
        }
        if score > self.best {
            self.found.clear();
            self.best = score;
        }
        let keys: Vec<&str> = path.iter().map(|step| &*step.key).collect();
        self.found
            .push((keys.join("."), cell.listed().into_owned()));
    }
}

/// A key on the way to a value, with the words of the question that it has.
struct Step {
    key: String,
    words: Vec<(usize, bool)>,
    /// Whether all its words are words of the question.
    is_whole: bool,
}
