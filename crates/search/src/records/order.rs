//! Reads orders: `the three most expensive`, `deepest`, `hit most often`.

use std::sync::LazyLock;

use regex::Regex;

use super::cell::Cell;
use super::plan::{Group, Order};
use super::reader::Reader;
use super::terms::{SUPERLATIVES, alike, number};

static BY_NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\bby (?:the )?(?:number|count|frequency)\b")
        .expect("invariant: the pattern is valid")
});

impl Reader<'_, '_> {
    /// `the three most expensive`, `deepest`, `hit most often`.
    pub(super) fn order(&mut self) {
        const WEAK: [&str; 5] = ["first", "last", "south", "north", "top"];
        self.ranked();
        self.grouped();
        if self.plan.has_result() {
            return;
        }
        let found = self.words.iter().enumerate().find_map(|(at, word)| {
            if self.taken[at] {
                return None;
            }
            let known = SUPERLATIVES.iter().find(|(name, ..)| *name == word.lower)?;
            // `first` and `last` name people and parts, too; `at most` was read.
            let is_weak = WEAK.contains(&known.0);
            (!is_weak || self.count_near(at).is_some() || known.0 == "top").then_some((at, known))
        });
        let Some((at, &(name, is_descending, means))) = found else {
            return;
        };
        // `top 3 most expensive` means what `most expensive` means.
        let more = (at + 1..self.words.len().min(at + 4)).find_map(|at| {
            let mut known = SUPERLATIVES.iter();
            Some((
                at,
                known.find(|(other, ..)| *other == self.words[at].lower)?,
            ))
        });
        let (at, name, is_descending, means) = match more {
            Some((at, &(name, is_descending, means))) if name != "first" && self.is_top(name) => {
                (at, name, is_descending, means)
            }
            _ => (at, name, is_descending, means),
        };
        let next = |by: usize| self.words.get(at + by).map_or("", |word| &*word.lower);
        let is_often = ["often", "frequent", "frequently", "common", "times"].contains(&next(1))
            || name == "commonest"
            || name == "most" && self.words.iter().any(|word| word.lower == "often")
            || name == "top" && self.is_by_number();
        // `most expensive` means what `expensive` means.
        let second = SUPERLATIVES.iter().find(|(other, ..)| *other == next(1));
        let (is_descending, means) = match second {
            Some(&(_, is_descending, means)) if name == "most" => (is_descending, means),
            Some(&(_, is_descending, means)) if name == "least" => (!is_descending, means),
            _ => (is_descending, means),
        };
        let start = self.words[at].start;
        let is_date = means.contains("date");
        let fit = |column: usize| {
            self.kinds[column].is_usual
                && match is_often {
                    true => !self.is_numeric(column) && !self.has_lists(column),
                    false => {
                        self.is_numeric(column)
                            || self.has_lists(column)
                            || is_date && self.is_dated(column)
                    }
                }
        };
        let has =
            |column: usize, name: &str| self.columns[column].iter().any(|stem| alike(stem, name));
        let meant = (0..self.columns.len())
            .filter(|&column| fit(column))
            .filter(|&column| {
                let mut means = means.split_ascii_whitespace();
                means.any(|meant| has(column, meant))
            });
        // The total, if there are several.
        let meant = meant.max_by_key(|&column| (has(column, "total"), std::cmp::Reverse(column)));
        let behind = self.words.get(at + 1).map_or(start, |word| word.start);
        let column = match self.best_column(behind, fit) {
            Some(named)
                if means.is_empty()
                    || self.naming(named, behind, 30) > 0.0 && meant.is_none()
                    || self.naming(named, behind, 16) > 1.0 =>
            {
                Some(named)
            }
            named => meant.or(named),
        };
        // Only one column has numbers.
        let mut numeric = (0..self.columns.len()).filter(|&column| self.is_numeric(column));
        let only = numeric.next().filter(|_| numeric.next().is_none());
        let Some(column) = column.or(only.filter(|_| !is_often)) else {
            return;
        };
        let count = self.count_near(at).unwrap_or(1).clamp(1, 50);
        match is_often {
            true => {
                self.plan.group = Some(Group {
                    column,
                    unit: None,
                    is_descending,
                    count,
                });
            }
            false => {
                self.plan.order = Some(Order {
                    column,
                    is_descending,
                    count,
                });
            }
        }
    }

    /// `by number of strikes`, unless that is a column itself.
    pub(super) fn is_by_number(&self) -> bool {
        let Some(found) = BY_NUMBER.find(self.question) else {
            return false;
        };
        let fit = |column: usize| self.is_numeric(column) || self.has_lists(column);
        let named = self.best_column(found.end(), fit);
        named.is_none_or(|column| self.naming(column, found.end(), 16) < 1.0)
    }

    /// Whether another superlative says what `top` does not.
    pub(super) fn is_top(&self, name: &str) -> bool {
        let has = |name: &str| self.words.iter().any(|word| word.lower == name);
        has("top") && name != "top"
    }

    /// `ranked by sig, first three`.
    pub(super) fn ranked(&mut self) {
        let by = self.words.windows(2).position(|pair| {
            ["ranked", "sorted", "ordered"].contains(&&*pair[0].lower) && pair[1].lower == "by"
        });
        let Some(behind) = by.and_then(|at| self.words.get(at + 2)) else {
            return;
        };
        let fit = |column: usize| self.is_numeric(column) || self.has_lists(column);
        let Some(column) = self.best_column(behind.start, fit) else {
            return;
        };
        let mut numbers = self.words.iter().filter_map(number);
        let is_descending = !self.words.iter().any(|word| word.lower == "ascending");
        self.plan.order = Some(Order {
            column,
            is_descending,
            count: numbers.next().unwrap_or(1).clamp(1, 50),
        });
    }

    pub(super) fn is_dated(&self, column: usize) -> bool {
        static DATE: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"^\d{4}-\d\d").expect("invariant: the pattern is valid"));
        self.share(
            column,
            |cell| matches!(cell, Cell::Text(text) if DATE.is_match(text)),
        ) >= 0.5
    }

    /// The count beside a superlative: `top 3`, `three oldest`, `the five packages with the most`.
    pub(super) fn count_near(&self, at: usize) -> Option<usize> {
        let after = self.words.get(at + 1).and_then(number);
        let before = self.words[..at].iter().rev().take(8).find_map(number);
        after.or(before)
    }
}
