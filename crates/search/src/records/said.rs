//! Reads numbers inside of texts: `complexity above 30` is said by `too complex (31 > 10)`.

use super::cell::Cell;
use super::plan::{By, Order};
use super::reader::Reader;
use super::terms::{Word, is_asking, is_superlative, number};
use crate::words::is_stop_word;

/// Fewest letters of a word that a text has beside its number.
const LEAST: usize = 4;
/// Share of the texts with the word that have a number.
const MOST_OF: f64 = 0.3;

/// Returns the first number of a text that stands alone, if a word of the text begins with `stem`.
pub(super) fn said(text: &str, stem: &str) -> Option<f64> {
    let begins = |word: &str| {
        let start = word.get(..stem.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(stem))
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = text.split(|c: char| !is_word(c));
    // A name or an address says nothing.
    if !text.contains(' ') || !words.any(begins) {
        return None;
    }
    let alone = text.split(|c: char| !is_word(c) && c != '.');
    let mut numbers = alone.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    numbers.find_map(|word| word.trim_end_matches('.').parse().ok())
}

/// Returns the number that a cell says.
pub(super) fn said_by(cell: &Cell<'_>, stem: &str) -> Option<f64> {
    match cell {
        Cell::Text(text) => said(text, stem),
        _ => None,
    }
}

impl Reader<'_, '_> {
    /// The column with texts that have a number beside a word, if no column has its name.
    pub(super) fn said_column(&self, word: &Word) -> Option<usize> {
        let is_name = word.lower.len() >= LEAST
            && word.lower.chars().all(char::is_alphabetic)
            && !is_stop_word(&word.lower)
            && !is_asking(&word.lower)
            && !is_superlative(&word.lower)
            && !self.names_column(word);
        if !is_name {
            return None;
        }
        let says = |column: usize| {
            let kind = self.kinds[column];
            if kind.is_numeric
                || kind.has_lists
                || kind.is_prose
                || kind.is_dated
                || kind.is_version
            {
                return None;
            }
            let cells = self.collection.records.iter();
            let cells = cells.filter_map(|record| record.get(column));
            let (mut with, mut numbers) = (0usize, 0usize);
            for cell in cells {
                let has_word = cell.any(|text| {
                    let mut words = text.split(|c: char| !c.is_alphanumeric());
                    words.any(|one| one.to_lowercase().starts_with(&word.stem))
                });
                with += usize::from(has_word);
                numbers += usize::from(has_word && said_by(cell, &word.stem).is_some());
            }
            let is_said = numbers > 1 && numbers as f64 >= with as f64 * MOST_OF;
            is_said.then_some((numbers, std::cmp::Reverse(column)))
        };
        let best = (0..self.columns.len()).filter_map(says).max();
        best.map(|(_, std::cmp::Reverse(column))| column)
    }

    /// The column and the stem of the word beside a comparison between two bytes that texts with numbers
    /// have.
    pub(super) fn said_near(&self, start: usize, end: usize) -> Option<(usize, String)> {
        let behind = self.words.iter().find(|word| word.start >= end);
        let before = self.words.iter().rev().filter(|word| word.end <= start);
        let before = before.filter(|word| !is_stop_word(&word.lower)).take(1);
        let mut near = before.chain(behind);
        near.find_map(|word| Some((self.said_column(word)?, word.stem.clone())))
    }

    /// `the function with the most arguments`, if texts say how many there are.
    pub(super) fn said_order(&self) -> Option<Order> {
        const SKIPPED: [&str; 5] = ["number", "count", "of", "the", "amount"];
        const MOST: [&str; 8] = [
            "most", "fewest", "largest", "greatest", "highest", "biggest", "longest", "lowest",
        ];
        let at = (self.words.iter()).position(|word| MOST.contains(&&*word.lower))?;
        if self.is_bound(at) {
            return None;
        }
        let is_skipped = |word: &&Word| !SKIPPED.contains(&&*word.lower) && number(word).is_none();
        let counted = self.words[at + 1..].iter().find(is_skipped)?;
        let column = self.said_column(counted)?;
        Some(Order {
            column,
            is_descending: !["fewest", "lowest"].contains(&&*self.words[at].lower),
            count: self.count_near(at).unwrap_or(1).clamp(1, 50),
            by: By::Said(counted.stem.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_says_its_first_number_that_stands_alone() {
        for (text, stem, want) in [
            ("`run2` is too complex (31 > 10)", "complex", Some(31.0)),
            ("Too many arguments (12 > 5)", "argument", Some(12.0)),
            ("took 1.5 seconds.", "second", Some(1.5)),
            ("took 7.", "took", Some(7.0)),
            ("sha256 of 9a", "sha", None),
            ("12 > 5", "argument", None),
            ("ünique 3", "ün", Some(3.0)),
            ("", "x", None),
        ] {
            assert_eq!(said(text, stem), want, "{text}");
        }
    }
}
