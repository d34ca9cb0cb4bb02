//! Reads flags, members that records have or lack, releases, and words that nothing else has read.

use rustc_hash::FxHashSet;

use super::cell::Cell;
use super::comparisons::ALONE;
use super::groups::is_person;
use super::load::{KEY, Record};
use super::pattern::Pattern;
use super::reader::Reader;
use super::terms::{
    DATE, NUMBERS, Word, alike, column_stems, is_asking, is_ranking, is_superlative, squeezed,
};
use super::test::{Comparison, Test};
use crate::words::{Stems, camel_parts, is_stop_word};

/// Members that records have or lack: `with a bin field`.
pub(super) static HAVING: Pattern = Pattern::new(
    &[&["with", "has", "have", "had", "having", "that set"]],
    || {
        r"(?i)\b(?:with|has|have|had|having|that set)\s+(an?\s+|the\s+|any\s+)?([\w.-]+)(?:\s+(field|member|key|attribute|property|column|entry))?".into()
    },
);
/// Words before the name of a member that records lack: `without a license`, `no homepage`.
pub(super) static LACKING: Pattern = Pattern::new(
    &[&[
        "without", "out of", "lack", "miss", "no", "'t", "’t", "omit", "empty", "unknown", "blank",
        "null", "not know",
    ]],
    || {
        r"(?i)\b(?:without|out of|lack(?:s|ing)?|miss(?:es|ing)|[a-z]{2,} no|(?:(?:do|does|did)(?: not|(?:n't|n’t)) (?:have|set|declare|list|specify|define)|(?:is|are)(?: not|(?:n't|n’t)) having)|omit(?:s|ting)?|nobody(?: is)?|no one(?: is)?|(?:^|[:;,]\s*|for which |where )no|with(?: an?)? (?:empty|missing|unknown|blank|null)|(?:do|does|did)(?: not| we not|(?:n't|n’t))(?: we)? know|not know(?:n)?)\s+(?:an?\s+|the\s+|any\s+|its\s+|their\s+)?(?:single\s+|one\s+|minimum\s+)?".into()
    },
);
/// Words behind it: `whose license is missing`, `where license is null`.
pub(super) static LACKED: Pattern = Pattern::new(
    &[
        &["whose", "where", "with"],
        &[
            "missing", "empty", "null", "absent", "blank", "unknown", "not",
        ],
    ],
    || {
        r"(?i)\b(?:whose|where|with)\s+(?:the\s+)?((?:[\w.-]+\s+){1,4}?)(?:is|are|=)?\s*(?:missing|empty|null|absent|blank|unknown|not (?:set|given|known|present|specified))\b".into()
    },
);
/// The same behind one word: `assignee null`, `the sex is unknown`.
pub(super) static ABSENT: Pattern = Pattern::new(
    &[&[
        "missing", "empty", "null", "absent", "blank", "unknown", "unset",
    ]],
    || {
        r"(?i)\b([\w.-]+)\s+(?:(?:is|are|=|==)\s*)?(?:missing|empty|null|absent|blank|unknown|unset)\b".into()
    },
);
/// Words behind the name of a member that records have: `links is not null`, `links set`.
pub(super) static PRESENT: Pattern = Pattern::new(
    &[&[
        "null", "empty", "missing", "blank", "set", "present", "given", "filled", "exist",
    ]],
    || {
        r"(?i)\b([\w.-]+)\s+(?:(?:is|are|=|!=)\s+)?(?:not (?:null|empty|missing|blank)|non-?(?:null|empty)|null(?:s)? excluded|!= ?null|set|present|given|exists?|filled(?: in)?)\b".into()
    },
);
/// The name of a member in brackets: `a two-letter code (alpha_2)`.
pub(super) static BRACKETED: Pattern = Pattern::new(&[&["("]], || r"\(([A-Za-z][\w.-]*)\)".into());
/// What records do with nothing: `do not depend on anything`, `depend on nothing`.
pub(super) static NOTHING: Pattern = Pattern::new(&[&["any", "nothing"]], || {
    r"(?i)(?:(?:\bnot|n't|n’t|\bwithout)\s+(?P<what>[a-z]+)(?:\s+(?:on|in|up))?\s+any(?:thing|one|body)?\b|\b(?P<that>[a-z]+)(?:\s+(?:on|in))?\s+nothing\b)".into()
});
/// Words for versions without a suffix.
pub(super) static RELEASED: Pattern = Pattern::new(
    &[&[
        "stable", "final", "plain", "non", "release", "suffix", "dash", "x.y.z",
    ]],
    || {
        r"(?i)\b(?:stable|final|plain|non-?(?:canary|pre-?releases?|beta|experimental)|(?:without|no|not)(?: an?| any| the)? (?:pre-?releases?|suffix(?:es)?|dash(?:es)?)(?: suffix(?:es)?)?|x\.y\.z)\b".into()
    },
);
/// Words for versions with a suffix.
pub(super) static UNRELEASED: Pattern = Pattern::new(&[&["release", "unstable"]], || {
    r"(?i)\b(?:pre-?releases?|unstable|release candidates?)\b".into()
});

/// Words for versions before the release that a question names.
pub(super) static EARLY: Pattern =
    Pattern::new(&[&["alpha", "beta", "rc", "release", "canar"]], || {
        r"(?i)\b(?:alphas?|betas?|rcs?|pre-?releases?|release candidates?|canar(?:y|ies))\b".into()
    });

impl Reader<'_, '_> {
    /// The column of versions that words such as `stable` are about.
    fn version_column(&self) -> Option<usize> {
        let is_version = |column: &usize| {
            let name = &*self.collection.columns[*column];
            self.kinds[*column].is_version && (self.columns.len() <= 3 || name.contains("version"))
        };
        (0..self.columns.len()).find(is_version)
    }

    /// Adds the condition that versions begin with a number of the question and a sign. Returns
    /// whether some do.
    fn versions_of(&mut self, column: usize, sign: char) -> bool {
        for found in ALONE.find_iter(self.question) {
            let number = found.as_str().trim();
            let test = Test::Begins(vec![format!("{number}{sign}")]);
            let is_fit = number.contains('.') && !self.is_taken(found.start(), found.end());
            if is_fit && self.share(column, |cell| test.holds(cell)) > 0.0 {
                self.condition(column, test);
                self.take(found.start(), found.end());
                return true;
            }
        }
        false
    }

    /// `the 19.2 line`, `stable 19.2 releases`: versions that begin so.
    pub(super) fn version_lines(&mut self) {
        const LINES: [&str; 7] = [
            "version", "releas", "line", "seri", "patch", "branch", "build",
        ];
        if self.words.iter().any(|word| LINES.contains(&&*word.stem))
            && let Some(column) = self.version_column()
        {
            self.versions_of(column, '.');
        }
    }

    /// `stable versions`, `prereleases`: versions without or with a suffix, or those before a release
    /// that is named.
    pub(super) fn releases(&mut self) {
        let Some(column) = self.version_column() else {
            return;
        };
        if EARLY.is_match(self.question) && self.versions_of(column, '-') {
            return;
        }
        let found = |pattern: &Pattern| {
            pattern
                .find(self.question)
                .map(|one| (one.start(), one.end()))
        };
        let (span, is_negated) = match (found(&RELEASED), found(&UNRELEASED)) {
            (Some(span), _) => (span, false),
            (None, Some(span)) => (span, true),
            (None, None) => return,
        };
        self.add(column, Test::Release, is_negated);
        self.take(span.0, span.1);
    }

    /// Members that are true or false: `which are discontinued`, `unMember false`.
    pub(super) fn flags(&mut self) {
        const FIRST: usize = 50;
        let is_flag = |column: &usize| {
            let flag = |cell: &Cell<'_>| {
                let is_any = |all: &[&str]| {
                    cell.any(|text| all.iter().any(|one| one.eq_ignore_ascii_case(text)))
                };
                matches!(cell, Cell::Bool(_))
                    || cell.is_number() && is_any(&["0", "1"])
                    || matches!(cell, Cell::Text(_)) && is_any(&["yes", "no", "true", "false"])
            };
            // Most columns have no flag among their first values.
            let cells = self.collection.records.iter();
            let mut first = cells.filter_map(|record| record.get(*column)).take(FIRST);
            self.kinds[*column].is_usual && first.any(flag) && self.share(*column, flag) >= 0.99
        };
        let mut flags: Vec<usize> = (0..self.columns.len()).filter(is_flag).collect();
        // The flag of the record itself comes before those of its members.
        flags.sort_by_key(|&column| self.collection.columns[column].matches('.').count());
        for column in flags {
            let Some((first, last, is_negated)) = self.flag_words(column) else {
                continue;
            };
            let end = self.words[last].end;
            let set = self.set_to(last + 1);
            // `which tests` asks for tests, not for a flag of that name.
            let is_plural = last_step(&self.collection.columns[column]).ends_with('s');
            if is_plural && set.is_none() && !is_negated && self.is_asked(first) {
                continue;
            }
            let is_bool = self.share(column, |cell| matches!(cell, Cell::Bool(_))) > 0.0;
            match set {
                // What is missing is not false.
                Some((false, at)) if is_bool && !is_negated => {
                    self.add_weak(column, Test::Is(vec!["false".to_owned()]), false);
                    self.take(self.words[at].start, self.words[at].end);
                }
                _ => {
                    let is_false = set.is_some_and(|(is, _)| !is);
                    self.add_weak(column, Test::True, is_negated != is_false);
                }
            }
            self.take(self.words[first].start, end);
        }
    }

    /// The first and last words that name a flag by the last step of its name, and whether they
    /// deny it.
    fn flag_words(&self, column: usize) -> Option<(usize, usize, bool)> {
        const PREFIXES: [&str; 3] = ["un", "in", "non"];
        const APART: usize = 3;
        let name = &self.collection.columns[column];
        let last = last_step(name);
        let steps = column_stems(last, &Stems::new());
        // `all-features` is no flag of features.
        let parts = last.split(|c: char| !c.is_alphanumeric());
        let mut parts = parts.flat_map(camel_parts).map(str::to_lowercase);
        if parts.any(|part| ["all", "any", "no", "other"].contains(&&*part)) {
            return None;
        }
        let least = if steps.len() > 1 { 2 } else { 3 };
        let free = |at: &usize| !self.taken[*at] && self.words[*at].lower.len() >= least;
        let is_named = |at: usize, stem: &String| {
            let word = &self.words[at];
            word.stem == *stem || alike(&word.stem, stem) && !stem.ends_with(&word.stem)
        };
        let find = |stem: &String| {
            (0..self.words.len())
                .filter(free)
                .find(|&at| is_named(at, stem))
        };
        let found: Option<Vec<usize>> = steps.iter().map(find).collect();
        if let Some(found) = found
            && let (Some(&first), Some(&last)) = (found.iter().min(), found.iter().max())
            && last - first < steps.len() + APART
        {
            let is_none = first
                .checked_sub(1)
                .is_some_and(|at| self.words[at].lower == "no");
            let is_denied =
                is_none || self.is_denied(first) || steps.len() > 1 && self.is_denied(last);
            return Some((first, last, is_denied));
        }
        let [stem] = &steps[..] else { return None };
        let is_opposite = |at: &usize| {
            let mut prefixes = PREFIXES.iter();
            prefixes.any(|prefix| self.words[*at].stem.strip_prefix(prefix) == Some(stem))
        };
        let opposite = (0..self.words.len()).filter(free).find(is_opposite);
        opposite.map(|at| (at, at, true))
    }

    /// Whether a flag is asked to be true or false: `is false`, `set to true`. Also returns the
    /// word that says so, which follows word `at` or a few small ones.
    fn set_to(&self, at: usize) -> Option<(bool, usize)> {
        const BETWEEN: [&str; 7] = ["is", "are", "set", "to", "equal", "equals", "value"];
        let mut words = self.words.iter().enumerate().skip(at);
        let (at, word) = words.find(|(_, word)| !BETWEEN.contains(&&*word.lower))?;
        // `no` may deny what follows.
        let is_last = || {
            let behind = self.question[word.end..].trim_start();
            behind.is_empty() || behind.starts_with([',', ';', '?', '.', ')'])
        };
        match &*word.lower {
            "true" | "yes" => Some((true, at)),
            "false" => Some((false, at)),
            "no" if is_last() => Some((false, at)),
            _ => None,
        }
    }

    /// Whether the words on both sides of byte `at` are the name of a column: `missing_lines`.
    fn ends_in_name(&self, at: usize) -> bool {
        let before = self.words.iter().rev().find(|word| word.end <= at);
        let behind = self.words.iter().find(|word| word.start >= at);
        let name = before
            .zip(behind)
            .map(|(one, other)| format!("{}{}", one.lower, other.lower));
        let mut columns = self.collection.columns.iter();
        name.is_some_and(|name| columns.any(|column| squeezed(last_step(column)) == name))
    }

    /// `with a bin field`, `without a license`: a column that only some records have.
    pub(super) fn having(&mut self) {
        /// Most words of the name of a member.
        const REACH: usize = 4;
        for found in PRESENT.captures_iter(self.question) {
            let Some(name) = found.get(1) else { continue };
            // `no density given`
            let before = self.words_before(name.start(), 2);
            let is_none = before
                .take_while(|word| ["no", "without", "any", "a", "lacking"].contains(word))
                .any(|word| ["no", "without", "lacking"].contains(&word));
            if self.is_step(name.as_str()) && self.presence(name.start(), name.end(), is_none) {
                return;
            }
        }
        // `named functions`: not the one whose key is empty.
        let subject = self.subject_words(self.question.len());
        if subject.first().is_some_and(|word| word.lower == "named")
            && let Some(key) = self.collection.columns.iter().position(|name| name == KEY)
            && self.share(key, |cell| !Test::Present.holds(cell)) > 0.0
        {
            self.condition(key, Test::Present);
        }
        for found in LACKED.captures_iter(self.question) {
            let Some(name) = found.get(1) else { continue };
            self.presence(name.start(), name.end(), true);
        }
        for found in LACKING.find_iter(self.question) {
            // `missing lines` may be the column `missing_lines`.
            if self.ends_in_name(found.end()) {
                continue;
            }
            let behind = self.words.iter().filter(|word| word.start >= found.end());
            let end = behind.take(REACH).last().map(|word| word.end);
            if end.is_some_and(|end| self.presence(found.end(), end, true)) {
                self.take(found.start(), found.end());
            }
        }
        for found in NOTHING.captures_iter(self.question) {
            let name = found.name("what").or(found.name("that"));
            if let Some(name) = name {
                self.presence(name.start(), name.end(), true);
            }
        }
        for found in ABSENT.captures_iter(self.question) {
            let Some(name) = found.get(1) else { continue };
            self.presence(name.start(), name.end(), true);
        }
        self.undone();
        self.emptiness();
        self.some_value();
        if !self.plan.conditions.is_empty() {
            for found in HAVING.captures_iter(self.question) {
                if let Some(name) = found.get(2) {
                    self.some_of((name.start(), name.end()));
                }
            }
            return;
        }
        let is_lacking = LACKING.is_match(self.question);
        for found in BRACKETED.captures_iter(self.question) {
            let Some(name) = found.get(1) else { continue };
            let is_meant = self.is_step(name.as_str()) && !self.asks_for_end();
            if is_meant && self.presence(name.start(), name.end(), is_lacking) {
                return;
            }
        }
        for found in HAVING.captures_iter(self.question) {
            let is_told = found.get(1).is_some() || found.get(3).is_some();
            let Some(name) = found.get(2) else { continue };
            let is_column = self.is_step(name.as_str());
            // `have a common name`: the name may be of several words.
            let behind = self.words.iter().filter(|word| word.start >= name.start());
            let end = behind
                .take(REACH)
                .last()
                .map_or(name.end(), |word| word.end);
            if (is_told || self.is_optional_member(name.as_str()))
                && is_column
                && self.presence(name.start(), name.end(), false)
                || is_told
                    && !is_column
                    && !self.asks_for_end()
                    && self.presence(name.start(), end, false)
                || self.some_of((name.start(), name.end()))
            {
                return;
            }
        }
    }

    /// `empty files`: those whose size is 0.
    fn emptiness(&mut self) {
        const SIZES: [&str; 4] = ["size", "byte", "length", "line"];
        let Some(at) = self.words.iter().position(|word| word.lower == "empty") else {
            return;
        };
        let zero = Test::Number(Comparison::Equal, 0.0);
        let is_size = |column: &usize| {
            let mut stems = self.columns[*column].iter();
            self.is_numeric(*column)
                && !self.has_lists(*column)
                && stems.any(|stem| SIZES.contains(&&**stem))
                && self.share(*column, |cell| zero.holds(cell)) > 0.0
        };
        let column = (0..self.columns.len()).find(is_size);
        if let Some(column) = column.filter(|_| !self.taken[at]) {
            self.add_weak(column, zero, false);
            self.take(self.words[at].start, self.words[at].end);
        }
    }

    /// `with debts`: what has more than 0 in a column of numbers, if many records have 0 there.
    fn some_of(&mut self, name: (usize, usize)) -> bool {
        const LEAST: f64 = 0.1;
        let named = self
            .words
            .iter()
            .find(|word| (word.start, word.end) == name);
        let Some(named) = named.filter(|word| !self.is_taken(word.start, word.end)) else {
            return false;
        };
        let zero = Test::Number(Comparison::Equal, 0.0);
        let has_zeros = |column: &usize| {
            self.columns[*column].contains(&named.stem)
                && self.is_measure(*column)
                && self.share(*column, |cell| zero.holds(cell)) >= LEAST
        };
        let column = (0..self.columns.len()).find(has_zeros);
        // `with repair costs`: the name may be of two words.
        let second = self.words.iter().find(|word| word.start >= name.1);
        let goes_on = second
            .zip(column)
            .filter(|(word, column)| self.columns[*column].contains(&word.stem));
        let name = (name.0, goes_on.map_or(name.1, |(word, _)| word.end));
        // `with severity HIGH` goes on.
        let next = self.words.iter().find(|word| word.start >= name.1);
        let between = next.map_or("", |next| &self.question[name.1..next.start]);
        let is_end = goes_on.is_some()
            || next.is_none_or(|next| is_stop_word(&next.lower))
            || between.contains(',');
        let Some(column) = column.filter(|_| is_end) else {
            return false;
        };
        self.add_weak(column, Test::Number(Comparison::MoreThan, 0.0), false);
        self.take(name.0, name.1);
        true
    }

    /// `with some damage`, `damaged`: what has another value than `None` in a column of few values.
    fn some_value(&mut self) {
        const ROOT: usize = 4;
        let none = Test::Is(vec!["None".to_owned()]);
        for at in 0..self.words.len() {
            let word = &self.words[at];
            let before = at.checked_sub(1).map_or("", |at| &*self.words[at].lower);
            let is_some = ["some", "any"].contains(&before) || word.lower.ends_with("ed");
            if !is_some || self.taken[at] || word.stem.len() < ROOT {
                continue;
            }
            let has_none = |column: &usize| {
                let mut stems = self.columns[*column].iter();
                self.is_category(*column)
                    && !self.has_lists(*column)
                    && stems.any(|stem| *stem == word.stem)
                    && self.share(*column, |cell| none.holds(cell)) > 0.0
            };
            let Some(column) = (0..self.columns.len()).find(has_none) else {
                continue;
            };
            let is_told = self.plan.conditions.iter().any(|one| one.column == column);
            if !is_told {
                let is_negated = !self.is_denied(at);
                let (start, end) = (word.start, word.end);
                self.add_weak(column, none.clone(), is_negated);
                self.take(start, end);
            }
        }
    }

    /// `unassigned`: what has no assignee.
    fn undone(&mut self) {
        const ROOT: usize = 4;
        for at in 0..self.words.len() {
            if self.done(at) {
                continue;
            }
            let Some(rest) = self.words[at].stem.strip_prefix("un") else {
                continue;
            };
            let is_lacked = |column: &usize| {
                let stems = &self.columns[*column];
                let held = |record: &&Record<'_>| record.has(*column);
                rest.len() >= ROOT
                    && stems.len() == 1
                    && alike(rest, &stems[0])
                    && !self.collection.records.iter().all(|record| held(&record))
            };
            let column = (0..self.columns.len()).find(is_lacked);
            if let Some(column) = column.filter(|_| !self.taken[at]) {
                self.add_weak(column, Test::Present, true);
                self.take(self.words[at].start, self.words[at].end);
            }
        }
    }

    /// `merged`: what has a date in `mergedAt`, or a text in `deprecated`, if some records have none.
    /// `not assigned`: what has no assignee. Returns whether word `at` says so.
    fn done(&mut self, at: usize) -> bool {
        let word = &self.words[at];
        let is_negated = self.is_denied(at);
        let is_of = |column: &usize| {
            let is_named = match &self.columns[*column][..] {
                [stem] if is_negated => alike(&word.stem, stem),
                [stem] => *stem == word.stem && !self.is_numeric(*column),
                _ => false,
            };
            is_named && !self.collection.records.iter().all(|one| one.has(*column))
        };
        let column = (0..self.columns.len()).find(is_of);
        let is_bool =
            |&column: &usize| self.share(column, |cell| matches!(cell, Cell::Bool(_))) > 0.0;
        let column = column.filter(|column| !is_bool(column));
        let column = column.filter(|_| !self.taken[at] && word.lower.ends_with("ed"));
        if let Some(column) = column {
            self.add_weak(column, Test::Present, is_negated);
        }
        column.is_some()
    }

    /// Whether a text is the last step of a column's name, whatever its case.
    fn is_step(&self, text: &str) -> bool {
        let mut columns = self.collection.columns.iter();
        columns.any(|name| last_step(name).eq_ignore_ascii_case(text))
    }

    /// Whether a column of this name has lists, or fewer records than not have it.
    fn is_optional_member(&self, name: &str) -> bool {
        let mut columns = self.collection.columns.iter();
        let column = columns.position(|one| last_step(one).eq_ignore_ascii_case(name));
        column.is_some_and(|column| {
            let held = self.collection.records.iter().filter(|one| one.has(column));
            self.has_lists(column) || held.count() * 2 < self.collection.records.len()
        })
    }

    /// Adds the condition that records have or lack the column that the words between two bytes
    /// begin with. Returns whether they name one that only some records have.
    fn presence(&mut self, start: usize, end: usize, is_negated: bool) -> bool {
        let inside = |word: &&Word| word.start >= start && word.end <= end;
        let words: Vec<&Word> = self.words.iter().filter(inside).collect();
        if words.is_empty() || self.is_taken(start, words[0].end) {
            return false;
        }
        let held = |column: usize| {
            let records = self.collection.records.iter();
            let cells = records.filter_map(|record| record.get(column));
            cells.filter(|cell| !cell.is_empty()).count()
        };
        // How many of the first words the name consists of; its last step may stand for it.
        let named = |column: usize| {
            let stems = &self.columns[column];
            let has = |word: &&&Word| stems.iter().any(|stem| alike(&word.stem, stem));
            let known = words.iter().take_while(has).count();
            let is_whole = stems
                .last()
                .is_some_and(|last| words[..known].iter().any(|word| alike(&word.stem, last)));
            if is_whole { known } else { 0 }
        };
        let best = (0..self.columns.len())
            .map(|column| {
                let stems = self.columns[column].len();
                (named(column), std::cmp::Reverse((stems, column)))
            })
            .max();
        let Some((known @ 1.., std::cmp::Reverse((_, column)))) = best else {
            return false;
        };
        let held = held(column);
        // `had no precipitation`: all have a number, and some have none of it.
        let zero = Test::Number(Comparison::Equal, 0.0);
        if is_negated
            && held == self.collection.records.len()
            && self.is_numeric(column)
            && self.share(column, |cell| zero.holds(cell)) > 0.0
        {
            self.add_weak(column, zero, false);
            self.take(start, words[known - 1].end);
            return true;
        }
        if held == 0 || held == self.collection.records.len() {
            return false;
        }
        self.add_weak(column, Test::Present, is_negated);
        self.take(start, words[known - 1].end);
        true
    }

    /// `How many packages install binaries?`: the member of some records that a word names, if the
    /// question has no other condition.
    pub(super) fn owners(&mut self) {
        const MOST: f64 = 0.6;
        if !self.plan.conditions.is_empty() || self.plan.has_result() || !self.plan.is_count {
            return;
        }
        let all = self.collection.records.len() as f64;
        let is_optional = |column: usize| {
            let records = self.collection.records.iter();
            let held = records.filter(|record| record.has(column)).count() as f64;
            held > 0.0 && held / all < MOST
        };
        let found = (0..self.columns.len()).find(|&column| {
            let [stem] = &self.columns[column][..] else {
                return false;
            };
            let mut words = self.words.iter().enumerate();
            let is_named = |(at, word): (usize, &Word)| {
                !self.is_asked(at)
                    && !self.taken[at]
                    && word.lower.len() > 2
                    && alike(&word.stem, stem)
            };
            is_optional(column) && words.any(is_named)
        });
        if let Some(column) = found {
            self.condition(column, Test::Present);
        }
    }

    /// Words that nothing else has read and that are a part of the values of some records: the only
    /// thing that such a question can mean.
    pub(super) fn loose_words(&mut self) {
        const LEAST: usize = 4;
        const ASKING: [&str; 10] = [
            "many", "number", "count", "list", "which", "give", "name", "entries", "records",
            "there",
        ];
        // `sign languages that begin with B`
        let mut conditions = self.plan.conditions.iter();
        let begun = conditions.find(|one| matches!(one.test, Test::Begins(_)));
        let begun = begun.map(|one| one.column);
        let has_others = self
            .plan
            .conditions
            .iter()
            .any(|one| !matches!(one.test, Test::Release | Test::Begins(_)));
        if has_others || self.plan.has_result() {
            return;
        }
        for (at, word) in self.words.iter().enumerate() {
            let mut names = self.columns.iter().zip(&self.collection.columns);
            let names_column = names.any(|(stems, name)| {
                !name.contains('.') && stems.iter().any(|stem| alike(stem, &word.stem))
            });
            // `sphinxcontrib packages` are packages with that in their names.
            let next = self.words.get(1).map_or("", |next| &*next.lower);
            let is_kind = at == 0 && next.ends_with('s') && !is_asking(&word.lower);
            let is_head = at == 1 && self.words.len() == 2 && word.lower.ends_with('s');
            if self.is_asked(at) && !is_kind
                || is_head
                || is_person(word) && self.persons().is_some()
                || self.taken[at]
                || word.lower.len() < LEAST
                || is_stop_word(&word.lower)
                || names_column
                || ASKING.contains(&&*word.lower)
                || NUMBERS.contains(&&*word.lower)
                || is_superlative(&word.lower)
                || is_ranking(&word.lower)
            {
                continue;
            }
            // `@babel` is a scope.
            let test = match self.question[..word.start].ends_with('@') {
                true => Test::Contains(format!("@{}", word.lower)),
                false => Test::Has(word.lower.clone()),
            };
            let column = self.most_held(&test, word.start);
            let Some(column) = column.filter(|&column| begun.is_none_or(|one| one == column))
            else {
                continue;
            };
            let held = self.share(column, |cell| test.holds(cell));
            // What is asked for may have that word in its name, rather than anywhere in it.
            let is_named = !self.is_beside_asking(at) || self.liking(column, false) > 0.0;
            if held <= 0.6 && is_named {
                let is_negated = self.is_denied(at);
                self.add_weak(column, test, is_negated);
                self.values_taken[at] = true;
            }
        }
    }

    /// The columns that the words name, best first.
    pub(super) fn named(&mut self) {
        let used: FxHashSet<usize> = self.plan.conditions.iter().map(|one| one.column).collect();
        let mut named: Vec<(f64, usize)> = (0..self.columns.len())
            .filter(|&column| !used.contains(&column) && !self.collection.is_in_map(column))
            .map(|column| (self.naming(column, 0, usize::MAX / 4), column))
            .filter(|&(score, _)| score > 0.3)
            .collect();
        let is_told = |column: &usize| self.naming(*column, 0, usize::MAX / 4) > 1.0;
        self.plan.told = self.plan.used().filter(is_told).collect();
        let is_guess = |column: usize| {
            let stems = &self.columns[column];
            let mut parts = DATE.split(' ');
            self.kinds[column].is_dated
                && self.naming(column, 0, usize::MAX / 4) <= 0.0
                && !parts.any(|part| stems.iter().any(|stem| alike(stem, part)))
        };
        self.plan.is_guess = (self.plan.order.as_ref()).is_some_and(|one| is_guess(one.column));
        named.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        self.plan.named = named
            .into_iter()
            .take(4)
            .map(|(_, column)| column)
            .collect();
        // `where` asks for a file or a place.
        let is_place = |&column: &usize| {
            const PLACES: [&str; 6] = ["file", "filenam", "path", "locat", "address", "place"];
            let stems = &self.columns[column];
            !self.has_lists(column) && stems.len() == 1 && PLACES.contains(&&*stems[0])
        };
        if self.words.iter().any(|word| word.lower == "where")
            && let Some(place) = (0..self.columns.len()).find(is_place)
            && !used.contains(&place)
            && !self.plan.named.contains(&place)
        {
            self.plan.named.insert(0, place);
        }
        // `who` asks for a person or a company.
        if self.words.iter().any(|word| word.lower == "who")
            && let Some(person) = self.persons()
            && !used.contains(&person)
            && !self.plan.named.contains(&person)
        {
            self.plan.named.insert(0, person);
        }
        // `when` asks for a date, whatever its column is called.
        let is_dated = |&column: &usize| self.kinds[column].is_dated;
        if self.words.iter().any(|word| word.lower == "when")
            && !self.plan.named.iter().any(is_dated)
        {
            let dated = (0..self.columns.len()).find(is_dated);
            self.plan
                .named
                .extend(dated.filter(|column| !used.contains(column)));
        }
    }
}

/// Returns the last step of a column's name.
fn last_step(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
