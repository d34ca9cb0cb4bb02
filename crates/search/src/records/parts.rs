//! Reads quoted texts, names and requirements of versions that are values, or parts of them.

use std::sync::LazyLock;

use regex::Regex;

use super::cell::Cell;
use super::pattern::Pattern;
use super::reader::Reader;
use super::terms::{Word, alike, is_asking, is_superlative};
use super::test::Test;
use super::values::roots;
use crate::words::is_stop_word;

/// A text that a greater share of the records have says nothing.
const ALMOST_ALL: f64 = 0.95;
/// Texts that stand for themselves: quoted, or with signs inside.
pub(super) static LITERAL: Pattern = Pattern::new(
    &[&["\"", "'", "`", "-", "_", "/", "@", ":", "=", ">"]],
    || {
        r#""([^"]{1,80})"|'([^']{2,80})'|`([^`]{2,80})`|(?:^|[\s(,])([A-Za-z0-9@/>=<~^][\w@/.>=<~^:+-]*[\-_/@:=>][\w@/.>=<~^:+-]*)"#.into()
    },
);
/// Names: words with a capital letter that follow one another.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\p{Lu}[\p{L}\p{N}.'’-]*(?:\s+(?:of |de |van |von |the )?\p{Lu}[\p{L}\p{N}.'’-]*)*")
        .expect("invariant: the pattern is valid")
});

/// Whether a text has a name with a capital letter before or behind a comma: `Austin, Nevada`.
fn is_place(text: &str, name: &str) -> bool {
    let mut parts = text.split(", ").map(str::trim);
    text.contains(", ")
        && parts.any(|part| part.starts_with(char::is_uppercase) && part.eq_ignore_ascii_case(name))
}

/// Returns a name without the sign that something belongs to it.
fn without_possessive(name: &str) -> &str {
    let stripped = name.strip_suffix("'s").or(name.strip_suffix("’s"));
    stripped.unwrap_or(name)
}

impl Reader<'_, '_> {
    /// `>=3.9`, if that is a value itself rather than a comparison.
    pub(super) fn exact(&mut self) {
        for found in LITERAL.captures_iter(self.question) {
            let part = (1..=4).find_map(|at| found.get(at));
            let Some(part) = part else { continue };
            let text = part.as_str().trim_end_matches(['?', '.', ',', ':']);
            let is_sign = !text.contains(char::is_alphanumeric);
            if is_sign || !text.starts_with(['<', '>', '=', '~', '^']) {
                continue;
            }
            let test = Test::Is(vec![text.to_owned()]);
            let is_value = |column: usize| {
                !self.has_lists(column) && self.share(column, |cell| test.holds(cell)) > 0.0
            };
            let column = (0..self.columns.len()).find(|&column| is_value(column));
            let whole = column.map(|column| (column, test));
            if let Some((column, test)) = whole.or_else(|| self.requirement(text)) {
                self.condition(column, test);
                // `python >=3.11` names the column.
                let before = self.named_just_before(column, part.start());
                self.take(before.unwrap_or(part.start()), part.end());
                self.spans_taken.push((part.start(), part.end()));
            }
        }
    }

    /// The column some of whose values have a requirement among others: `>=3.11` in
    /// `>=3.11,<4.0`.
    pub(super) fn requirement(&self, text: &str) -> Option<(usize, Test)> {
        let is_exact = text.starts_with(|c: char| "<>=~^".contains(c));
        let test = Test::Contains(text.to_owned());
        let is_held = |&column: &usize| {
            !self.has_lists(column)
                && !self.kinds[column].is_prose
                && self.share(column, |cell| test.holds(cell)) > 0.0
        };
        let column = (0..self.columns.len()).filter(|_| is_exact).find(is_held)?;
        Some((column, test))
    }

    /// Where the word just before byte `at` begins, if it names a column.
    pub(super) fn named_just_before(&self, column: usize, at: usize) -> Option<usize> {
        let mut before = self.words.iter().rev().filter(|word| word.end <= at);
        let names =
            |word: &&Word| (self.columns[column].iter()).any(|stem| alike(&word.stem, stem));
        before.next().filter(names).map(|word| word.start)
    }

    /// The column with a word, or with codes of which it is the beginning: `PLR` for `PLR0912`.
    fn word_or_code(&self, text: &str, at: usize) -> Option<(usize, Test)> {
        let word = Test::Has(text.to_owned());
        if let Some(column) = self.most_held(&word, at) {
            return Some((column, word));
        }
        let is_code = |value: &str| {
            let digits = value.strip_prefix(text);
            digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let begins = Test::Begins(vec![text.to_owned()]);
        let column = self.most_held(&begins, at)?;
        (self.share(column, |cell| cell.any(is_code)) > 0.0).then_some((column, begins))
    }

    /// The column in which a test holds, or that for another form of the text: `Chile` for `Chilean`.
    fn held_or_root(&self, test: Test, text: &str, at: usize) -> (Test, Option<usize>) {
        /// Fewest letters of a root: `us` may be any word.
        const LEAST: usize = 4;
        let best = self.most_held(&test, at);
        if best.is_some() {
            return (test, best);
        }
        let roots = roots(&text.to_lowercase()).into_iter();
        let roots = roots.filter(|root| root.len() >= LEAST).map(Test::Contains);
        let mut held = roots.filter_map(|root| Some((self.most_held(&root, at)?, root)));
        match held.next() {
            Some((column, root)) => (root, Some(column)),
            None => (test, None),
        }
    }

    /// Whether a test holds for any value of any record.
    fn is_held(&self, test: &Test) -> bool {
        let mut records = self.collection.records.iter();
        records.any(|record| record.cells().any(|(_, cell)| test.holds(cell)))
    }

    /// Joins names with `and` between them that are one name in a value: `Hail and Ride`.
    fn joined_names(&self, names: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
        let mut joined: Vec<(usize, usize)> = Vec::new();
        for (start, end) in names {
            let before = joined.last_mut().filter(|(first, before)| {
                let between = &self.question[*before..start];
                let whole = || Test::Contains(self.question[*first..end].to_owned());
                [" and ", " & "].contains(&between) && self.is_held(&whole())
            });
            match before {
                Some(before) => before.1 = end,
                None => joined.push((start, end)),
            }
        }
        joined
    }

    /// Names, quoted texts and identifiers that are a part of values.
    pub(super) fn parts(&mut self) {
        let literals = LITERAL.captures_iter(self.question).filter_map(|found| {
            (1..=4)
                .find_map(|at| found.get(at))
                .map(|part| (part.start(), part.end(), found.get(4).is_some()))
        });
        let names = NAME
            .find_iter(self.question)
            .map(|name| (name.start(), name.end()));
        let names = self.joined_names(names.collect()).into_iter();
        let names = names.map(|(start, end)| (start, end, false));
        let all: Vec<(usize, usize, bool)> = literals.chain(names).collect();
        for (start, end, is_literal) in all {
            let inside = self.words.iter().zip(&self.taken);
            let mut inside = inside.filter(|(word, _)| word.start >= start && word.end <= end);
            let text = &self.question[start..end];
            // `names with "&"`
            let is_sign = !is_literal && !text.contains(char::is_alphanumeric);
            if inside.clone().count() == 0 && !is_sign || inside.any(|(_, &taken)| taken) {
                continue;
            }
            let text = match is_sign {
                true => text,
                false => text.trim_end_matches(['?', '.', ',', ':']),
            };
            // `Nevada's largest` is about `Nevada`.
            let text = without_possessive(text);
            let is_word = !text.contains(|c: char| !c.is_alphanumeric());
            if is_word && is_literal {
                continue;
            }
            let words: Vec<&Word> = self
                .words
                .iter()
                .filter(|word| word.start >= start && word.end <= end)
                .collect();
            let is_plain = words.len() == 1 && text.len() == words[0].lower.len();
            let is_first = start == 0 && words.first().is_some_and(|word| is_asking(&word.lower));
            let names_column = !is_sign
                && words
                    .iter()
                    .all(|word| is_stop_word(&word.lower) || self.names_column(word));
            let at = self.words.iter().position(|word| word.start >= start);
            let is_negated = at.is_some_and(|at| self.is_excluded(at));
            // `MX` for `MX-AGU`
            let is_code = text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_uppercase());
            if text.len() < 3 && !is_sign && !is_code || names_column || is_plain && is_first {
                continue;
            }
            let begins = Test::Begins(vec![text.to_owned()]);
            let is_path = text.starts_with('/') || text.ends_with('/');
            let is_path = is_path && self.most_held(&begins, start).is_some();
            let test = match is_path {
                true => begins,
                false => Test::Contains(text.to_owned()),
            };
            let (test, best) = match text.len() < 3 && !is_sign {
                true => (test, None),
                false => self.held_or_root(test, text, start),
            };
            // What nearly all records have is not asked for.
            let is_told = |column: &usize| {
                let named = || self.naming(*column, start, 24) > 0.0;
                self.share(*column, |cell| test.holds(cell)) < ALMOST_ALL || named()
            };
            if let Some(column) = best.filter(is_told) {
                self.add(column, test, is_negated);
                self.take(start, end);
            } else if let begins = Test::Begins(vec![format!("{text}-")])
                && let Some(column) = self.most_held(&begins, start)
                && (self.is_category(column) || is_code)
            {
                // `Apache` for `Apache-2.0`.
                self.add(column, begins, is_negated);
                self.take(start, end);
            } else if text.bytes().all(|byte| byte.is_ascii_uppercase())
                && let Some((column, word)) = self.word_or_code(text, start)
            {
                // `GPL` for `MIT OR GPL-2.0`.
                self.add_weak(column, word, is_negated);
                self.take(start, end);
            } else if is_literal
                && let inside = Test::Inside(text.to_owned())
                && let Some(column) = self.most_held(&inside, start)
            {
                // `py2.py3-none-any` in the name of a file.
                self.add(column, inside, is_negated);
                self.take(start, end);
            } else if !is_negated && !is_literal && start > 0 && !self.is_held(&test) {
                self.missing.get_or_insert((start, start + text.len()));
            }
        }
        self.places();
    }

    /// A name or quoted text that no record has and that means nothing else, such as an order.
    pub(super) fn missing(&mut self) {
        let Some((start, end)) = self.missing else {
            return;
        };
        let mut words = self.words.iter().zip(&self.taken);
        let means_more =
            words.any(|(word, &taken)| taken && word.start >= start && word.end <= end);
        // Of `Portugal (PRT)`, the code is enough.
        let behind = self.question[end..].trim_start_matches(['"', '\'', '`', ' ']);
        if !means_more && !behind.starts_with('(') {
            self.plan.missing = Some(self.question[start..end].to_owned());
        }
    }

    /// `deepest quakes in alaska`: words in small letters that are the last or first part of values
    /// behind or before a comma, always with a capital letter.
    fn places(&mut self) {
        const LEAST: usize = 4;
        const MOST: f64 = 0.5;
        for at in 0..self.words.len() {
            let word = &self.words[at];
            let is_free = !self.taken[at]
                && word.lower.len() >= LEAST
                && word.lower.chars().all(char::is_alphabetic)
                && !is_stop_word(&word.lower)
                && !is_superlative(&word.lower)
                && !self.names_column(word);
            if !is_free {
                continue;
            }
            let names = std::iter::once(word.lower.clone()).chain(roots(&word.lower));
            let names = names.filter(|name| name.len() >= LEAST);
            let tests: Vec<Test> = names.map(Test::Has).collect();
            let held = tests.into_iter().find_map(|test| {
                let column = self.most_held(&test, word.start)?;
                let Test::Has(name) = &test else { return None };
                let is_place = |cell: &Cell<'_>| cell.any(|text| is_place(text, name));
                let held = self.share(column, |cell| test.holds(cell));
                let places = self.share(column, is_place);
                (held <= MOST && places * 2.0 > held).then_some((column, test))
            });
            if let Some((column, test)) = held {
                let (start, end) = (word.start, word.end);
                let is_negated = self.is_excluded(at) || self.is_set_aside(at);
                self.add_weak(column, test, is_negated);
                self.take(start, end);
            }
        }
    }
}
