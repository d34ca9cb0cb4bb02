//! Reads comparisons of two columns: `returned after the due date`, `stock below reorder level`.

use super::pattern::Pattern;
use super::reader::Reader;
use super::terms::{Word, alike};
use super::test::{Comparison, Test};

/// Words between the names of two columns that are compared.
pub(super) static COMPARED_WITH: Pattern = Pattern::new(
    &[&[
        "than", "after", "before", "above", "below", "over", "under", "exceed", "beyond", "past",
        ">", "<", "=",
    ]],
    || {
        concat!(
            r"(?i)\s*(?:(?P<gt>\b(?:(?:more|greater|higher|larger|bigger|later) than|after|above|over|exceed(?:s|ed|ing)?|beyond|past)\b|>=?)",
            r"|(?P<lt>\b(?:(?:less|fewer|lower|smaller|earlier) than|before|below|under)\b|<=?))",
            r"\s*(?:(?:the|its|their|his|her)\b)?\s*",
        )
        .into()
    },
);
/// Words that say that something was done after or before it was due.
pub(super) static PUNCTUAL: Pattern = Pattern::new(&[&["late", "on time", "in time"]], || {
    r"(?i)\b(?:(?P<late>late)|(?:on|in) time)\b".into()
});

/// Words before or behind the names of two columns with the same value.
pub(super) static SAME: Pattern = Pattern::new(&[&["same", "identical", "equal"]], || {
    r"(?i)\b(?:same|identical|equal) (?:value (?:for|in) )?(?P<one>\w+)(?: and | as (?:the |its |their )?)(?P<other>\w+)|\b(?P<first>\w+) and (?P<second>\w+)(?: that)? are (?:exactly )?(?:the same|identical|equal)\b"
        .into()
});

/// Parts of the names of columns that tell when something is due.
const DUE: &str = "due deadlin promis expect schedul target";
/// Parts of the names of columns that tell when something was done.
const DONE: &str = "return complet finish close deliv deliveri deliver paid pay ship arriv resolv done submit actual end";

impl Reader<'_, '_> {
    /// `returned > due`, `came back late`: records whose values in two columns compare so.
    pub(super) fn pairs(&mut self) {
        for found in COMPARED_WITH.captures_iter(self.question) {
            let Some(whole) = found.get(0) else { continue };
            let is_equal = whole.as_str().contains('=');
            let comparison = match (found.name("gt").is_some(), is_equal) {
                (true, false) => Comparison::MoreThan,
                (true, true) => Comparison::AtLeast,
                (false, false) => Comparison::LessThan,
                (false, true) => Comparison::AtMost,
            };
            let pair = self
                .named_before(whole.start())
                .zip(self.named_after(whole.end()));
            let Some(((one, start), (other, end))) = pair else {
                continue;
            };
            if self.can_compare(one, other) && !self.is_taken(start, end) {
                self.add(one, Test::Column(comparison, other), false);
                self.take(start, end);
            }
        }
        for found in SAME.captures_iter(self.question) {
            let one = found.name("one").or(found.name("first"));
            let other = found.name("other").or(found.name("second"));
            let Some((one, other)) = one.zip(other) else {
                continue;
            };
            let named = |word: regex::Match<'_>| {
                let mut words = self.words.iter();
                let word = words.find(|one| one.start == word.start())?;
                Some(self.named_by(&[word])?.0)
            };
            let Some((first, second)) = named(one).zip(named(other)) else {
                continue;
            };
            let whole = found.get(0).map_or(0..0, |whole| whole.range());
            let is_alike = |column: usize| {
                let kind = self.kinds[column];
                (kind.is_numeric, kind.is_dated, kind.has_lists)
            };
            let is_fit = first != second && is_alike(first) == is_alike(second);
            if is_fit && !self.is_taken(whole.start, whole.end) {
                self.add(first, Test::Column(Comparison::Equal, second), false);
                self.take(whole.start, whole.end);
            }
        }
        self.punctual();
    }

    /// `came back late`: what was done after it was due.
    fn punctual(&mut self) {
        let Some(found) = PUNCTUAL.captures(self.question) else {
            return;
        };
        let Some(whole) = found.get(0) else { return };
        let of = |names: &str| {
            (0..self.columns.len()).find(|&column| {
                let mut stems = self.columns[column].iter();
                self.kinds[column].is_dated
                    && stems.any(|stem| names.split(' ').any(|name| name == stem))
            })
        };
        let (Some(due), Some(done)) = (of(DUE), of(DONE)) else {
            return;
        };
        let at = self
            .words
            .iter()
            .position(|word| word.start >= whole.start());
        let is_denied = at.is_some_and(|at| self.is_denied(at));
        let is_late = found.name("late").is_some() != is_denied;
        let comparison = match is_late {
            true => Comparison::MoreThan,
            false => Comparison::AtMost,
        };
        let test = Test::Column(comparison, due);
        let has = self.plan.conditions.iter().any(|one| one.column == done);
        if due != done && !has && !self.is_taken(whole.start(), whole.end()) {
            self.add_weak(done, test, false);
            self.take(whole.start(), whole.end());
        }
    }

    /// Whether the values of two columns are dates or numbers of the same kind.
    fn can_compare(&self, one: usize, other: usize) -> bool {
        let (first, second) = (self.kinds[one], self.kinds[other]);
        one != other
            && (first.is_dated && second.is_dated
                || first.is_numeric
                    && second.is_numeric
                    && !first.is_dated
                    && !second.is_dated
                    && !first.has_lists
                    && !second.has_lists)
    }

    /// The column that the words before byte `at` end with, and where its name begins.
    fn named_before(&self, at: usize) -> Option<(usize, usize)> {
        const LINKS: [&str; 7] = ["is", "was", "are", "were", "has", "been", "be"];
        const WORDS: usize = 3;
        let mut before: Vec<&Word> = self.words.iter().filter(|word| word.end <= at).collect();
        while before
            .last()
            .is_some_and(|word| LINKS.contains(&&*word.lower))
        {
            before.pop();
        }
        let words: Vec<&Word> = before.into_iter().rev().take(WORDS).collect();
        let (column, known) = self.named_by(&words)?;
        Some((column, words[known - 1].start))
    }

    /// The column that the words behind byte `at` begin with, and where its name ends.
    fn named_after(&self, at: usize) -> Option<(usize, usize)> {
        const WORDS: usize = 3;
        let behind = self.words.iter().filter(|word| word.start >= at);
        let words: Vec<&Word> = behind.take(WORDS).collect();
        let (column, known) = self.named_by(&words)?;
        Some((column, words[known - 1].end))
    }

    /// The column whose name has most of the first words, and how many they are.
    pub(super) fn named_by(&self, words: &[&Word]) -> Option<(usize, usize)> {
        let known = |column: usize| {
            let stems = &self.columns[column];
            let has = |word: &&&Word| {
                let mut stems = stems.iter();
                word.lower.len() > 2 && stems.any(|stem| alike(&word.stem, stem))
            };
            words.iter().take_while(has).count()
        };
        let fit = (0..self.columns.len()).filter(|&column| self.kinds[column].is_usual);
        let best = fit.map(|column| {
            let stems = self.columns[column].len();
            (known(column), std::cmp::Reverse((stems, column)))
        });
        let (known, std::cmp::Reverse((_, column))) = best.max()?;
        (known > 0).then_some((column, known))
    }
}
