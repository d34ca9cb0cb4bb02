//! Reads words that are another form of a value: `failures` for the outcome `failed`.

use super::cell::Cell;
use super::reader::Reader;
use super::terms::{NUMBERS, is_asking, is_superlative};
use super::test::{Condition, Test};
use crate::words::{Stems, are_forms};

/// Fewest letters of such a word.
const LEAST: usize = 4;
/// Most different values of a column whose values are states or kinds.
const MOST_VALUES: usize = 24;

impl Reader<'_, '_> {
    /// `how many failures`, `which were cancelling`: words with the stem of a value of a column that
    /// has few values.
    pub(super) fn forms(&mut self) {
        let stems = Stems::new();
        let free: Vec<usize> = (0..self.words.len())
            .filter(|&at| self.is_free(at))
            .collect();
        if free.is_empty() {
            return;
        }
        let columns: Vec<(usize, Vec<String>)> = (0..self.columns.len())
            .filter_map(|column| Some((column, self.kinds_of(column)?)))
            .collect();
        for at in free {
            let stem = &self.words[at].stem;
            let start = self.words[at].start;
            let found = columns.iter().flat_map(|(column, values)| {
                let values = values.iter().filter_map(|value| {
                    let other = stems.stem(value);
                    let is_same = other == *stem || self.abbreviates(value, at);
                    (is_same || are_forms(&other, stem)).then_some((is_same, *column, value))
                });
                values.collect::<Vec<_>>()
            });
            let near = |column: usize| self.naming(column, start, 30);
            let best = found.max_by(|a, b| {
                let nearest = near(a.1).total_cmp(&near(b.1));
                a.0.cmp(&b.0).then(nearest).then(b.1.cmp(&a.1))
            });
            let Some((_, column, value)) = best else {
                continue;
            };
            let is_negated = self.is_denied(at);
            let mut known = self.plan.conditions.iter_mut();
            match known.find(|one| one.column == column) {
                // `neither Democrats nor Republicans`.
                Some(Condition {
                    test: Test::Is(texts),
                    is_negated: true,
                    ..
                }) if is_negated => texts.push(value.clone()),
                Some(_) => continue,
                None => self.add_weak(column, Test::Is(vec![value.clone()]), is_negated),
            }
            self.take(start, self.words[at].end);
            self.values_taken[at] = true;
        }
    }

    /// `Which emirates are there?`: if nothing else was read, what is asked for is a value that several
    /// records share.
    pub(super) fn asked_kinds(&mut self) {
        let compare = |one: &Condition| one.test.compares();
        if !self.plan.conditions.iter().all(compare) || self.plan.has_result() {
            return;
        }
        for at in 0..self.words.len() {
            let word = &self.words[at];
            let lower = &*word.lower;
            let single = match lower.strip_suffix("ies") {
                Some(root) => format!("{root}y"),
                None => lower.trim_end_matches('s').to_owned(),
            };
            let is_kind = self.is_asked(at)
                && lower.len() >= LEAST
                && lower.ends_with('s')
                && !is_asking(lower)
                && !self.taken[at]
                && !self.names_column(word);
            if !is_kind {
                continue;
            }
            let test = Test::Is(vec![single]);
            let column = (0..self.columns.len()).find(|&column| {
                let kind = self.kinds[column];
                kind.is_usual && kind.is_category && !kind.has_lists && !kind.is_prose && {
                    let share = self.share(column, |cell| test.holds(cell));
                    share > 0.0 && share < 1.0
                }
            });
            if let Some(column) = column {
                let (start, end) = (word.start, word.end);
                self.add_weak(column, test, false);
                self.take(start, end);
                return;
            }
        }
    }

    /// Whether nothing has read a word that may say what is asked of the records.
    fn is_free(&self, at: usize) -> bool {
        let word = &self.words[at];
        let lower = &*word.lower;
        // `opened by X` tells who did it, not a state.
        let next = self.words.get(at + 1).map_or("", |word| &*word.lower);
        !self.taken[at]
            && next != "by"
            && lower.len() >= LEAST
            && lower.bytes().all(|byte| byte.is_ascii_alphabetic())
            && !is_asking(lower)
            && !is_superlative(lower)
            && !NUMBERS.contains(&lower)
            && !self.names_column(word)
    }

    /// Whether a value in capital letters is the beginning of a name: `REP` for `Republicans`.
    fn abbreviates(&self, value: &str, at: usize) -> bool {
        const LEAST: usize = 3;
        let word = &self.words[at];
        let is_name = self.question[word.start..].starts_with(char::is_uppercase);
        let is_code = value.len() >= LEAST && value.bytes().all(|byte| byte.is_ascii_uppercase());
        is_name && at > 0 && is_code && word.lower.starts_with(&value.to_lowercase())
    }

    /// The different values of a column, if they are a few words.
    fn kinds_of(&self, column: usize) -> Option<Vec<String>> {
        let kind = self.kinds[column];
        if !kind.is_usual || kind.is_numeric || kind.has_lists || kind.is_prose || kind.is_dated {
            return None;
        }
        let mut values: Vec<String> = Vec::new();
        for cell in (self.collection.records.iter()).filter_map(|record| record.get(column)) {
            let Cell::Text(text) = cell else { return None };
            let is_word = text.bytes().all(|byte| byte.is_ascii_alphabetic());
            if is_word && !values.iter().any(|value| value == text) {
                values.push((*text).to_owned());
            }
            if values.len() > MOST_VALUES {
                return None;
            }
        }
        let is_shared = values.len() * 2 < self.collection.records.len();
        (values.len() > 1 && is_shared).then_some(values)
    }
}
