//! Reads how many records a value must have: `directors with more than 12 films`, `codes reported
//! exactly twice`.

use super::plan::Group;
use super::reader::Reader;
use super::terms::{Word, alike};
use super::test::Comparison;
use crate::words::is_stop_word;

/// Words between a number and what is counted.
const BETWEEN: &str =
    "or more fewer less above below than of these those different such separate individual total";
/// Most words of what is asked for that may precede its column: `source files`.
const REACH: usize = 3;

impl Reader<'_, '_> {
    /// Groups the records by what is asked for, if a comparison that begins at byte `start` with a
    /// number that ends at byte `end` is about their number: the word behind it is in the plural and
    /// names no column. Returns whether it is.
    pub(super) fn times(
        &mut self,
        (start, end): (usize, usize),
        comparison: Comparison,
        number: f64,
    ) -> bool {
        const ITEMS: [&str; 5] = ["entries", "items", "elements", "members", "values"];
        let is_between = |word: &&Word| BETWEEN.split(' ').any(|one| one == word.lower);
        let mut behind = self.words.iter().filter(|word| word.start >= end);
        let Some(counted) = behind.find(|word| !is_between(word)) else {
            return false;
        };
        let is_plural = counted.lower.ends_with('s') && !is_stop_word(&counted.lower);
        // `packages in two or more versions`
        let is_measured = self.names_column(counted) && !self.names_text(counted);
        if !is_plural || is_measured || number.fract() != 0.0 {
            return false;
        }
        // `bin with two or more entries` is about the length of a list.
        let column = self.asked_column(start).or_else(|| {
            let names = self.named_records().filter(|_| self.names_text(counted))?;
            // `complexity >= 30 files` is about a number in texts.
            let is_said = self.said_near(start, end).is_some();
            (!is_said && !self.is_unique(names)).then_some(names)
        });
        let column =
            column.filter(|&column| !(self.has_lists(column) && ITEMS.contains(&&*counted.lower)));
        let Some(column) = column else {
            return false;
        };
        let counted_end = counted.end;
        self.group_by_times(column, comparison, number);
        self.take(start, counted_end);
        true
    }

    /// `code having count == 3`: groups the records by the column that is named, if the word before a
    /// comparison is `count` and no column has that name. Returns whether it is.
    pub(super) fn counted_before(
        &mut self,
        start: usize,
        comparison: Comparison,
        number: f64,
    ) -> bool {
        let before = self.words.iter().rposition(|word| word.end <= start);
        let Some(at) = before.filter(|&at| ["count", "counts"].contains(&&*self.words[at].lower))
        else {
            return false;
        };
        if self.names_column(&self.words[at]) {
            return false;
        }
        let columns = (0..at).filter_map(|at| Some(self.group_column(self.words[at].start)?.0));
        let mut columns = columns.filter(|&column| {
            let kind = self.kinds[column];
            (kind.is_text() || self.is_code(column)) && !kind.has_lists && !self.is_unique(column)
        });
        let Some(column) = columns.next() else {
            return false;
        };
        self.group_by_times(column, comparison, number);
        true
    }

    /// Groups the records by a column whose values so many records must have.
    fn group_by_times(&mut self, column: usize, comparison: Comparison, number: f64) {
        self.plan.group = Some(Group {
            column,
            unit: None,
            is_descending: !matches!(comparison, Comparison::LessThan | Comparison::AtMost),
            count: 50,
            times: Some((comparison, number)),
        });
    }

    /// Whether a word names columns of texts only.
    fn names_text(&self, word: &Word) -> bool {
        let names = |column: &usize| {
            self.columns[*column]
                .iter()
                .any(|stem| alike(&word.stem, stem))
        };
        let mut named = (0..self.columns.len()).filter(names).peekable();
        named.peek().is_some()
            && named.all(|column| self.kinds[column].is_text() && !self.has_lists(column))
    }

    /// The first words of the question, before byte `before`, that say what is asked for.
    pub(super) fn subject_words(&self, before: usize) -> Vec<&Word> {
        let subject = self.subject().unwrap_or(before);
        let words = self.words.iter();
        let words = words.filter(|word| word.start >= subject && word.end <= before);
        let words = words.take_while(|word| !is_stop_word(&word.lower));
        words.take(REACH).collect()
    }

    /// The column with values that several records share that the first words of the question, before
    /// byte `before`, ask for.
    pub(super) fn asked_column(&self, before: usize) -> Option<usize> {
        let words = self.subject_words(before);
        let is_fit = |column: usize| {
            let kind = self.kinds[column];
            (kind.is_text() || self.is_code(column))
                && !kind.is_prose
                && (!kind.has_lists || self.shares_items(column))
                && !self.is_unique(column)
        };
        let names = |word: &Word, column: usize| {
            self.columns[column]
                .iter()
                .any(|stem| alike(&word.stem, stem))
        };
        let of = |word: &&Word| {
            let mut columns = (0..self.columns.len()).filter(|&column| is_fit(column));
            columns.find(|&column| names(word, column))
        };
        let named = words.iter().find_map(of);
        let first = words.first()?;
        named.or_else(|| self.role_behind(first.start).map(|(column, _)| column))
    }
}
