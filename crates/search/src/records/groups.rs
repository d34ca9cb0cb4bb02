//! Reads groups and figures: `how many per year`, `which state has the most`, `average price`.

use std::sync::LazyLock;

use regex::Regex;
use rustc_hash::FxHashSet;

use super::moment::Unit;
use super::plan::Group;
use super::reader::Reader;
use super::terms::{SUPERLATIVES, Word, alike, number};

/// `how many per year`, `number of movies by genre`.
static PER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:how many|number|count|counts|breakdown|break down|distribution|tally|histogram|frequency|frequencies|total)\b.*?\b(?:per|by|for each|in each|of each|for every|grouped by)\s+(?:the\s+)?")
        .expect("invariant: the pattern is valid")
});
/// `per year` alone, `grouped by state`.
static EACH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:group(?:ed)? by|per|for each|in each)\s+(?:the\s+)?")
        .expect("invariant: the pattern is valid")
});
/// `different states`, `unique names`.
static DISTINCT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:different|distinct|unique)\s+(?:values? (?:of|for|in) )?(?:the\s+)?")
        .expect("invariant: the pattern is valid")
});
/// Values that several records have.
static SHARED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\bduplicat(?:e|es|ed)\b|\bcopies\b|\bmore than once\b|\b(?:several|multiple) (?:times|versions|copies)\b")
        .expect("invariant: the pattern is valid")
});
/// `which state has the most`, `directors with the fewest`.
static MOST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:most|fewest|least|(?:highest|largest|greatest|lowest|smallest) (?:number|count))\b")
        .expect("invariant: the pattern is valid")
});
/// `busiest days`, `two dates with the most`.
static BUSY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:busiest (?:\w+ )?(days?|dates?|months?|years?)|(?:calendar )?(days?|dates?|months?|years?) (?:with|ha(?:s|d|ve)|do|did) .*?\b(?:most|highest number))\b")
        .expect("invariant: the pattern is valid")
});
/// Words for a figure of a column.
static FIGURE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:average|mean|median|sum|combined|on average|in sum|add(?:ed|s)? up)\b|^(?:what is |what's |give me )?(?:the )?total\b|\bhow much .*\b(?:in total|together|altogether)\b|\b(?:total|sum) of\b")
        .expect("invariant: the pattern is valid")
});

/// Returns the part of a date that a word names.
fn unit_of(word: &str) -> Option<Unit> {
    match word {
        "day" | "days" | "date" | "dates" | "daily" => Some(Unit::Day),
        "month" | "months" | "monthly" => Some(Unit::Month),
        "year" | "years" | "yearly" => Some(Unit::Year),
        _ => None,
    }
}

impl Reader<'_, '_> {
    /// `how many per year`, `which state has the most airports`, `different states`.
    pub(super) fn grouped(&mut self) {
        let behind = |pattern: &Regex| pattern.find(self.question).map(|found| found.end());
        let is_common = |word: &Word| word.lower == "fewest" || word.lower == "least";
        let is_descending = !self.words.iter().any(is_common);
        if let Some(found) = BUSY.captures(self.question)
            && let Some(unit) = found.get(1).or(found.get(2))
            && let Some(unit) = unit_of(&unit.as_str().to_lowercase())
            && let Some(column) = self.dated(found.get(0).map_or(0, |whole| whole.start()))
        {
            self.group(column, Some(unit), is_descending);
            return;
        }
        let column = behind(&PER)
            .or_else(|| behind(&EACH))
            .or_else(|| behind(&DISTINCT))
            .and_then(|at| self.group_column(at));
        if let Some((column, unit)) = column {
            self.group(column, unit, is_descending);
            return;
        }
        let most = MOST.find(self.question).and_then(|found| {
            // `the most expensive` asks for an order, too.
            let behind = self.words.iter().find(|word| word.start >= found.end());
            let is_often = |word: &Word| ["common", "often", "frequent"].contains(&&*word.lower);
            let is_known = |word: &Word| {
                let mut known = SUPERLATIVES.iter();
                known.any(|(name, ..)| *name == word.lower)
            };
            if behind.is_some_and(|word| is_known(word) && !is_often(word)) {
                return None;
            }
            // `the most dependencies` asks for an order.
            let fit = |column: usize| self.is_numeric(column) || self.has_lists(column);
            let named = self.best_column(found.end(), fit);
            let is_order = named.is_some_and(|column| {
                const NEAR: usize = 24;
                self.naming(column, found.end(), NEAR) >= 0.3
            });
            let subject = self.subject()?;
            let column = self.group_column(subject);
            column.filter(|&(column, _)| !is_order && !self.is_unique(column))
        });
        if let Some((column, unit)) = most {
            self.group(column, unit, is_descending);
            return;
        }
        if SHARED.is_match(self.question) {
            let names = ["name", "key", "title", "path", "id", "package", "file"];
            let is_name = |name: &&str| {
                let mut columns = self.collection.columns.iter();
                columns.position(|column| column.eq_ignore_ascii_case(name))
            };
            // Names of records in a map are their keys, of which the last step may be the name.
            let usual = |column: &usize| {
                let has = self
                    .collection
                    .records
                    .iter()
                    .filter(|one| one.has(*column))
                    .count();
                has * 2 > self.collection.records.len()
            };
            let column = names.iter().filter_map(is_name).find(usual);
            if let Some(column) = column {
                self.group(column, None, is_descending);
            }
        }
    }

    /// The byte at which the name of what is asked for begins: behind `which two`, or at the start.
    fn subject(&self) -> Option<usize> {
        const SKIPPED: [&str; 6] = ["the", "top", "list", "in", "on", "for"];
        let asks = |word: &Word| word.lower == "which" || word.lower == "what";
        let from = self.words.iter().position(asks).map_or(0, |at| at + 1);
        let is_skipped = |word: &&Word| SKIPPED.contains(&&*word.lower) || number(word).is_some();
        self.words[from..]
            .iter()
            .find(|word| !is_skipped(word))
            .map(|word| word.start)
    }

    /// Whether no two records have the same value in a column, and the values are no paths.
    fn is_unique(&self, column: usize) -> bool {
        let mut known = FxHashSet::default();
        let mut records = self.collection.records.iter();
        records.all(|record| {
            record
                .get(column)
                .is_none_or(|cell| known.insert(cell.shown()))
        })
    }

    fn group(&mut self, column: usize, unit: Option<Unit>, is_descending: bool) {
        let is_superlative =
            |word: &Word| SUPERLATIVES.iter().any(|(name, ..)| *name == word.lower);
        let at = self.words.iter().position(is_superlative);
        let count = at.and_then(|at| self.count_near(at)).unwrap_or(1);
        self.plan.group = Some(Group {
            column,
            unit,
            is_descending,
            count: count.clamp(1, 50),
        });
    }

    /// The column that the words behind byte `at` name, and the part of its dates.
    fn group_column(&self, at: usize) -> Option<(usize, Option<Unit>)> {
        const WORDS: usize = 3;
        let behind = self
            .words
            .iter()
            .zip(&self.values_taken)
            .filter(|(word, _)| word.start >= at);
        let free = behind.take(WORDS).take_while(|(_, taken)| !**taken);
        let words: Vec<&Word> = free.map(|(word, _)| word).collect();
        let first = words.first()?;
        // What the name of a column consists of comes first; `number of` is no column.
        if ["number", "count", "of", "frequency", "name"].contains(&&*first.lower) {
            return None;
        }
        let score = |column: usize| {
            let stems = &self.columns[column];
            let has = |word: &&&Word| stems.iter().any(|stem| alike(&word.stem, stem));
            let known = words.iter().take_while(has).count();
            (known, std::cmp::Reverse((stems.len(), column)))
        };
        let best = (0..self.columns.len())
            .filter(|&column| self.kinds[column].is_usual && !self.kinds[column].is_prose)
            .map(score)
            .max();
        if let Some((1.., std::cmp::Reverse((_, column)))) = best {
            let is_dated = self.kinds[column].is_dated;
            return Some((column, is_dated.then(|| unit_of(&first.lower)).flatten()));
        }
        let unit = unit_of(&first.lower)?;
        self.dated(at).map(|column| (column, Some(unit)))
    }

    /// The column of dates that the words near byte `at` name best, or else the first.
    fn dated(&self, at: usize) -> Option<usize> {
        let is_dated = |column: usize| self.kinds[column].is_dated;
        let first = || (0..self.columns.len()).find(|&column| is_dated(column));
        self.best_column(at, is_dated).or_else(first)
    }

    /// `average price`, `sum of the sizes`.
    pub(super) fn figures(&mut self) {
        let Some(found) = FIGURE.find(self.question) else {
            return;
        };
        let is_measure = |column: usize| self.is_numeric(column) && self.kinds[column].is_usual;
        if !self.plan.has_result() {
            self.plan.figures = self.best_column(found.end(), is_measure);
        }
    }
}
