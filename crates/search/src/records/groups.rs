//! Reads groups and figures: `how many per year`, `which state has the most`, `average price`.

use rustc_hash::{FxHashMap, FxHashSet};

use super::moment::{Unit, label};
use super::pattern::Pattern;
use super::plan::{COUNTED, Group};
use super::reader::Reader;
use super::terms::{Word, alike, is_superlative, number, squeezed, superlatives_of};
use super::test::selected;
use crate::words::is_stop_word;

/// `how many per year`, `number of movies by genre`.
pub(super) static PER: Pattern = Pattern::new(
    &[
        &[
            "how many",
            "how often",
            "number",
            "count",
            "break",
            "split",
            "divided",
            "distribut",
            "tally",
            "histogram",
            "frequenc",
            "total",
            "broken",
        ],
        &["per", "by", "over", "each", "every"],
    ],
    || {
        r"(?i)\b(?:how (?:many|often)|number|count|counts|breakdown|break down|broken down|split|divided|distribution|distributed|tally|histogram|frequency|frequencies|total)\b.*?\b(?:per|by|over|each|every|grouped by)\s+(?:the\s+)?(?:(?:kind|type|sort|value)s?\s+of\s+)?".into()
    },
);
/// `per year` alone, `grouped by state`.
pub(super) static EACH: Pattern = Pattern::new(&[&["group", "per", "each"]], || {
    r"(?i)\b(?:group(?:ed)?(?: [\w=.-]+){0,3}? by|per|for each|in each)\s+(?:the\s+)?".into()
});
/// `license distribution`.
pub(super) static SPREAD: Pattern = Pattern::new(
    &[&["distribution", "breakdown", "histogram", "frequenc"]],
    || r"(?i)\b(\w+) (?:counts? )?(?:distribution|breakdown|histogram|frequenc(?:y|ies))\b".into(),
);
/// `different states`, `unique names`.
pub(super) static DISTINCT: Pattern = Pattern::new(&[&["different", "distinct", "unique"]], || {
    r"(?i)\b(?:different|distinct|unique)\s+(?:values? (?:of|for|in) )?(?:the\s+)?".into()
});
/// Values that several records have.
pub(super) static SHARED: Pattern = Pattern::new(
    &[&[
        "duplicat",
        "copies",
        "more than once",
        "several",
        "multiple",
    ]],
    || {
        r"(?i)\bduplicat(?:e|es|ed)\b|\bcopies\b|\bmore than once\b|\b(?:several|multiple) (?:times|versions|copies)\b".into()
    },
);
/// `which state has the most`, `directors with the fewest`.
pub(super) static MOST: Pattern = Pattern::new(
    &[&[
        "most", "fewest", "least", "highest", "largest", "biggest", "greatest", "lowest",
        "smallest", "max",
    ]],
    || {
        r"(?i)\b(?:most|fewest|least|(?:highest|largest|biggest|greatest|lowest|smallest|maximum|max) (?:number|count|amount))\b".into()
    },
);
/// `busiest days`, `two dates with the most`.
pub(super) static BUSY: Pattern = Pattern::new(&[&["busiest", "most", "number", "top "]], || {
    r"(?i)\b(?:busiest (?:\w+ ){0,2}?(days?|dates?|months?|years?)|(?:calendar )?(days?|dates?|months?|years?) (?:with|ha(?:s|d|ve)|do|did|saw|sees?|were|was|(?:that|which) \w+) .*?\b(?:most|(?:highest|greatest|largest) number)|top (?:\w+ )?(days?|dates?|months?|years?) by)\b".into()
});
/// Words for a figure of a column.
pub(super) static FIGURE: Pattern = Pattern::new(
    &[&[
        "average", "avg", "mean", "median", "sum", "combined", "add", "total", "together",
        "overall",
    ]],
    || {
        r"(?i)\b(?:average|avg|mean|median|sum|combined|on average|in sum|add(?:ed|s)? up)\b|^(?:what is |what's |give me )?(?:the )?total\b|\b(?:how much|what)\b.*\b(?:in total|together|altogether|overall)\b|\w total\W*$|\b(?:total|sum) of\b".into()
    },
);

/// Returns the part of a date that a word names.
pub(super) fn unit_of(word: &str) -> Option<Unit> {
    match word {
        "day" | "days" | "date" | "dates" | "daily" => Some(Unit::Day),
        "month" | "months" | "monthly" => Some(Unit::Month),
        "year" | "years" | "yearly" => Some(Unit::Year),
        _ => None,
    }
}

/// Whether a word asks for people.
pub(super) fn is_person(word: &Word) -> bool {
    const PEOPLE: &str = "people person user customer team author maintainer owner vendor";
    let single = word.lower.trim_end_matches('s');
    PEOPLE.split(' ').any(|name| name == single)
}

impl Reader<'_, '_> {
    /// `how many per year`, `which state has the most airports`, `different states`.
    pub(super) fn grouped(&mut self) {
        let behind = |pattern: &Pattern| {
            let end = pattern.find(self.question)?.end();
            (!self.is_within_name(end)).then_some(end)
        };
        let is_few = |at: usize| {
            let word = &*self.words[at].lower;
            let next = self.words.get(at + 1).map_or("", |word| &*word.lower);
            let is_number = ["number", "count", "amount"].contains(&next);
            ["fewest", "least", "rarest"].contains(&word) && !self.is_bound(at)
                || ["lowest", "smallest"].contains(&word) && is_number
        };
        let is_descending = !(0..self.words.len()).any(is_few);
        if let Some(found) = BUSY.captures(self.question)
            && let Some(unit) = found.iter().skip(1).flatten().next()
            && let Some(unit) = unit_of(&unit.as_str().to_lowercase())
            && let Some(column) = self.dated(found.get(0).map_or(0, |whole| whole.start()))
            && self.shares_unit(column, unit)
        {
            self.group(column, Some(unit), is_descending);
            return;
        }
        // `most popular dependencies`, `required by the most packages`
        if let Some(column) = self.needed_most() {
            self.group(column, None, is_descending);
            return;
        }
        // Whatever else is told, such as `under different paths`.
        if self.asks_for_names()
            && let Some(column) = self.named_records()
        {
            self.group(column, None, true);
            return;
        }
        let counted = behind(&PER);
        // `the cheapest per month` names `monthly_cost`, and `quickest pace per km` no group.
        let is_group = |column: usize, unit: Option<Unit>| {
            counted.is_some() || unit.is_some() || !self.is_measure(column) || !self.asks_for_end()
        };
        let column = counted
            .or_else(|| behind(&EACH).or_else(|| behind(&DISTINCT)))
            .or_else(|| Some(SPREAD.captures(self.question)?.get(1)?.start()))
            .and_then(|at| self.group_column(at).or_else(|| self.role_behind(at)))
            .filter(|(column, unit)| is_group(*column, *unit));
        if let Some((column, unit)) = column {
            self.group(column, unit, is_descending);
            return;
        }
        let behind_at = |end: usize| {
            let next = self.words.iter().position(|word| word.start >= end);
            next.and_then(|next| next.checked_sub(1))
        };
        let most = MOST.find(self.question).and_then(|found| {
            let at = (self.words.iter()).position(|word| word.start >= found.start())?;
            if self.is_bound(at) {
                return None;
            }
            // `the most expensive` asks for an order, too.
            let behind = self.words.iter().find(|word| word.start >= found.end());
            let is_often = |word: &Word| ["common", "often", "frequent"].contains(&&*word.lower);
            let is_end = |word: &Word| {
                is_superlative(&word.lower) || !superlatives_of(&word.lower).is_empty()
            };
            if behind.is_some_and(|word| is_end(word) && !is_often(word)) {
                return None;
            }
            // `the most dependencies` asks for an order.
            let fit = |column: usize| {
                self.is_numeric(column) && self.may_be_measured(column)
                    || self.has_lists(column) && self.varies(column)
            };
            let named = self.best_column(found.end(), fit);
            let is_order = named.is_some_and(|column| {
                const NEAR: usize = 24;
                self.naming(column, found.end(), NEAR) >= 0.3
            });
            let person = self.person();
            // `Who runs the most jobs?` asks for no number of runs.
            let is_order = match (person, behind_at(found.end())) {
                (Some(_), Some(at)) => self.named_behind(at, fit).is_some(),
                _ => is_order,
            };
            let column = match person {
                Some(person) => Some((person, None)),
                None => self.group_of_subject().or_else(|| {
                    let column =
                        self.best_column(found.start(), |column| self.is_shared(column))?;
                    Some((column, None))
                }),
            };
            let column = column.map(|(column, unit)| (self.label_of(column), unit));
            column.filter(|&(column, _)| !is_order && !self.is_unique(column))
        });
        if let Some((column, unit)) = most {
            self.group(column, unit, is_descending);
            return;
        }
        if let Some((column, unit)) = self.counted_by() {
            self.group(column, unit, is_descending);
            return;
        }
        if SHARED.is_match(self.question)
            && let Some(column) = self.named_records()
        {
            self.group(column, None, is_descending);
        }
    }

    /// The column for what is asked for.
    fn group_of_subject(&self) -> Option<(usize, Option<Unit>)> {
        let subject = self.subject()?;
        self.group_column(subject)
            .or_else(|| self.role_behind(subject))
    }

    /// The column with the names of the records. Names of records in a map are their keys, of which
    /// the last step may be the name.
    pub(super) fn named_records(&self) -> Option<usize> {
        let names = ["name", "key", "title", "path", "id", "package", "file"];
        let is_name = |name: &&str| {
            let mut columns = self.collection.columns.iter();
            columns.position(|column| column.eq_ignore_ascii_case(name))
        };
        let usual = |column: &usize| {
            let records = &self.collection.records;
            let has = records.iter().filter(|one| one.has(*column)).count();
            has * 2 > records.len()
        };
        names.iter().filter_map(is_name).find(usual)
    }

    /// `names that occur most often`
    fn asks_for_names(&self) -> bool {
        let has = |name: &str| self.words.iter().any(|word| word.lower == name);
        let subject = self.subject();
        let mut words = self.words.iter();
        words.any(|word| word.lower == "names" && subject == Some(word.start))
            && has("most")
            && (has("often") || has("frequently"))
    }

    /// Whether word `at` is a part of `at least` or `at most`.
    pub(super) fn is_bound(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map(|at| &*self.words[at].lower);
        before == Some("at") && ["least", "most"].contains(&&*self.words[at].lower)
    }

    /// Whether several records have dates of the same day, month or year.
    fn shares_unit(&self, column: usize, unit: Unit) -> bool {
        let mut known = FxHashSet::default();
        let cells = self.collection.records.iter();
        let mut moments = cells.filter_map(|record| record.get(column)?.moment());
        moments.any(|moment| !known.insert(label(moment, unit)))
    }

    /// `how many countries`: the column of texts that the words behind name, if records share its
    /// values.
    pub(super) fn counted(&mut self) {
        let Some(found) = COUNTED.find(self.question) else {
            return;
        };
        let column = self.group_column(found.end()).map(|(column, _)| column);
        let is_shared = |column: &usize| {
            !self.is_numeric(*column) && !self.has_lists(*column) && !self.is_unique(*column)
        };
        self.plan.counted = column.filter(is_shared);
    }

    /// Whether the word before byte `end` joins the words of a column's name: `miles per gallon`.
    fn is_within_name(&self, end: usize) -> bool {
        let next = self.words.iter().position(|word| word.start >= end);
        let Some(words) = next.and_then(|next| self.words.get(next.checked_sub(2)?..=next)) else {
            return false;
        };
        let part: String = words.iter().map(|word| &*word.lower).collect();
        let mut columns = self.collection.columns.iter();
        columns.any(|name| squeezed(name).contains(&part))
    }

    /// `deaths by race`: the column by which the records are counted.
    fn counted_by(&self) -> Option<(usize, Option<Unit>)> {
        let by = self.words.iter().position(|word| word.lower == "by")?;
        let before = &*self.words[by.checked_sub(1)?].lower;
        let is_counted = before.ends_with('s') && !is_stop_word(before);
        let behind = self.words.get(by + 1).filter(|_| is_counted)?;
        if self.is_within_name(behind.start) {
            return None;
        }
        let (column, unit) = self.group_column(behind.start)?;
        let is_told = (self.plan.conditions.iter()).any(|one| one.column == column);
        let is_end = || self.asks_for_end() && self.naming(column, behind.start, 24) > 0.5;
        let is_measure = self.is_numeric(column) && (!self.is_code(column) || is_end());
        let is_fit = !is_told && !self.has_lists(column) && (unit.is_some() || !is_measure);
        (is_fit && !self.is_unique(column)).then_some((column, unit))
    }

    /// Whether a column has texts that several records share.
    fn is_shared(&self, column: usize) -> bool {
        let kind = self.kinds[column];
        kind.is_text() && !kind.has_lists && !kind.is_prose && !self.is_unique(column)
    }

    /// The column of names of people, if the question asks `who` and several records share a name.
    fn person(&self) -> Option<usize> {
        let named = |word: &Word| is_person(word) && !self.names_column(word);
        let asks = |word: &Word| word.lower == "who" || named(word);
        self.words
            .iter()
            .any(asks)
            .then(|| self.persons())
            .flatten()
    }

    /// Whether most values of a column are names with an address: `Ada <ada@example.org>`.
    fn has_addresses(&self, column: usize) -> bool {
        let is_address = |text: &str| text.contains(" <") && text.ends_with('>');
        self.share(column, |cell| cell.any(is_address)) > 0.5
    }

    /// The column of names of people, or of files, if that is what the word behind byte `at` asks for.
    pub(super) fn role_behind(&self, at: usize) -> Option<(usize, Option<Unit>)> {
        let next = self.words.iter().find(|word| word.start >= at)?;
        let column = match &*next.lower {
            "file" | "files" => self.files(),
            _ if is_person(next) => self.persons(),
            _ => None,
        };
        column.map(|column| (column, None))
    }

    /// The column of paths that several records share.
    fn files(&self) -> Option<usize> {
        const PATHS: [&str; 4] = ["uri", "path", "filename", "filepath"];
        let is_path = |column: &usize| {
            let name = &self.collection.columns[*column];
            let last = name.rsplit('.').next().unwrap_or_default().to_lowercase();
            PATHS.contains(&&*last) && self.kinds[*column].is_usual && self.is_shared(*column)
        };
        (0..self.columns.len()).find(is_path)
    }

    /// The column of names of people, if several records share a name.
    pub(super) fn persons(&self) -> Option<usize> {
        const PEOPLE: &str = "login author user owner assigne custom client request actor creator committ employe person report sender maintain respons vendor oper airlin carrier";
        let is_person = |stem: &String| PEOPLE.split(' ').any(|name| name == stem);
        let mut fit = (0..self.columns.len()).filter(|&column| {
            let kind = self.kinds[column];
            kind.is_usual
                && !kind.is_numeric
                && (!kind.has_lists || self.shares_items(column))
                && !kind.is_prose
                && (self.columns[column].iter().any(is_person) || self.has_addresses(column))
                && !self.is_object(column)
                && !self.is_unique(column)
        });
        fit.next()
    }

    /// The byte at which the name of what is asked for begins: behind `which two`, or at the start.
    pub(super) fn subject(&self) -> Option<usize> {
        const SKIPPED: [&str; 6] = ["the", "top", "list", "in", "on", "for"];
        const BEFORE: [&str; 7] = ["in", "on", "for", "at", "from", "of", "by"];
        let word = |at: usize| &*self.words[at].lower;
        // `the node which has the most` asks for the node.
        let asks = |at: &usize| {
            ["which", "what", "who"].contains(&word(*at))
                && at
                    .checked_sub(1)
                    .is_none_or(|at| BEFORE.contains(&word(at)))
        };
        let from = (0..self.words.len()).find(asks).map_or(0, |at| at + 1);
        let is_skipped = |word: &&Word| SKIPPED.contains(&&*word.lower) || number(word).is_some();
        self.words[from..]
            .iter()
            .find(|word| !is_skipped(word))
            .map(|word| word.start)
    }

    /// Whether no two records have the same value in a column, and the values are no paths.
    pub(super) fn is_unique(&self, column: usize) -> bool {
        let mut known = FxHashSet::default();
        let mut records = self.collection.records.iter();
        records.all(|record| {
            record
                .get(column)
                .is_none_or(|cell| known.insert(cell.shown()))
        })
    }

    /// Whether all values of a column occur equally often among the records that fulfil the
    /// conditions.
    pub(super) fn is_even(&self, column: usize) -> bool {
        const LEAST: usize = 5;
        let mut times: FxHashMap<_, usize> = FxHashMap::default();
        for record in selected(&self.plan.conditions, self.collection) {
            if let Some(cell) = record.get(column) {
                *times.entry(cell.shown()).or_default() += 1;
            }
        }
        let mut all = times.values();
        let first = all.next();
        times.len() >= LEAST && all.all(|one| Some(one) == first)
    }

    fn group(&mut self, column: usize, unit: Option<Unit>, is_descending: bool) {
        let at = (self.words.iter()).position(|word| is_superlative(&word.lower));
        let count = at.and_then(|at| self.count_near(at)).unwrap_or(1);
        self.plan.group = Some(Group {
            column,
            unit,
            is_descending,
            count: count.clamp(1, 50),
            times: None,
        });
    }

    /// The column that the words behind byte `at` name, and the part of its dates.
    pub(super) fn group_column(&self, at: usize) -> Option<(usize, Option<Unit>)> {
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
    pub(super) fn dated(&self, at: usize) -> Option<usize> {
        let is_dated = |column: usize| self.kinds[column].is_dated;
        let first = || (0..self.columns.len()).find(|&column| is_dated(column));
        self.best_column(at, is_dated).or_else(first)
    }

    /// `average price`, `sum of the sizes`.
    pub(super) fn figures(&mut self) {
        let Some(found) = FIGURE.find(self.question) else {
            return;
        };
        // `highest total of reactions` asks for an order.
        let before = self.words_before(found.start(), 1).any(is_superlative);
        if before {
            return;
        }
        // `when was the priciest one (cost total)?`
        let is_last = (self.question[found.end()..])
            .trim_end_matches(['?', '.', ')'])
            .is_empty();
        let is_name = found.as_str().to_lowercase().contains(" total") && is_last;
        if self.plan.has_result() || is_name && self.asks_for_end() {
            return;
        }
        let usual = (0..self.columns.len()).filter(|&at| self.is_numeric(at));
        let measures: Vec<usize> = usual.filter(|&at| self.kinds[at].is_usual).collect();
        let is_measure = |column: usize| measures.contains(&column);
        // `total repair cost` is the sum of `Cost Repair`, not of `Cost Total`.
        let (start, end) = (found.start(), found.end());
        let is_inside = |word: &Word| word.start >= start && word.end <= end;
        let total = (self.words.iter()).position(|word| word.lower == "total" && is_inside(word));
        let total = total.filter(|&at| !self.values_taken[at]);
        if let Some(total) = total {
            self.values_taken[total] = true;
        }
        let named = self.best_column(start, is_measure);
        if let Some(total) = total {
            self.values_taken[total] = false;
        }
        let column = named.or_else(|| self.best_column(end, is_measure));
        // `total cost > 100` compares.
        let is_compared = |column: &usize| {
            let mut conditions = self.plan.conditions.iter();
            total.is_some() && conditions.any(|one| one.column == *column && one.test.compares())
        };
        self.plan.figures = column.filter(|column| !is_compared(column));
    }
}
