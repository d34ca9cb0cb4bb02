//! What the words of a question say about the columns of a collection.

use rustc_hash::{FxHashMap, FxHashSet};

use super::cell::Cell;
use super::load::{Collection, Record};
use super::plan::Plan;
use super::terms::{Word, alike};
use super::test::{Condition, Test, selected};
use crate::words::is_stop_word;

/// What most values of a column are.
#[derive(Debug, Clone, Copy)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts about one column"
)]
pub(super) struct ColumnKind {
    pub(super) is_numeric: bool,
    pub(super) has_lists: bool,
    pub(super) is_category: bool,
    /// Whether its values are dates, times or Unix times.
    pub(super) is_dated: bool,
    pub(super) is_version: bool,
    /// Whether its values are long texts, in which any word may occur.
    pub(super) is_prose: bool,
    /// Whether more than a few records have it.
    pub(super) is_usual: bool,
}

impl ColumnKind {
    /// Whether more than a few records have texts in it, or lists, that are no numbers and no dates.
    pub(super) fn is_text(self) -> bool {
        self.is_usual && !self.is_numeric && !self.is_dated
    }
}

/// Looks at each value once.
pub(super) fn kinds(collection: &Collection<'_>) -> Vec<ColumnKind> {
    /// A category has fewer different values than one in this many records.
    const SHARE: usize = 5;
    /// A column is rare if fewer than one in this many records have it.
    const RARE: usize = 10;
    /// The values of prose have more bytes.
    const PROSE: usize = 400;
    /// Values of each column that are read as numbers, dates and versions.
    const LOOKED_AT: usize = 24;
    /// Rare columns within one member that make it a map.
    const MAP: usize = 10;
    #[derive(Default, Clone)]
    struct Seen<'c> {
        all: usize,
        numbers: usize,
        lists: usize,
        texts: FxHashSet<&'c str>,
        /// Values that were looked at closely, and what they are.
        looked: usize,
        figures: usize,
        dates: usize,
        versions: usize,
        bytes: usize,
    }
    let most = collection.records.len() / SHARE;
    let mut columns = vec![Seen::default(); collection.columns.len()];
    for record in &collection.records {
        for (column, cell) in record.cells() {
            let seen = &mut columns[column];
            seen.all += 1;
            if seen.looked < LOOKED_AT && !cell.is_list() {
                seen.looked += 1;
                seen.figures += usize::from(cell.number().is_some());
                seen.dates += usize::from(cell.moment().is_some());
                seen.versions += usize::from(cell.version().is_some());
                if let Cell::Text(text) = cell {
                    seen.bytes += text.len();
                }
            }
            match cell {
                cell if cell.is_number() => seen.numbers += 1,
                cell if cell.is_list() => seen.lists += 1,
                Cell::Text(text) if seen.texts.len() <= most => {
                    seen.texts.insert(text);
                }
                _ => {}
            }
        }
    }
    let kind = |(column, seen): (usize, Seen<'_>)| {
        let most_of = |part: usize, all: usize| all > 0 && part * 2 >= all;
        let is_numeric = most_of(seen.numbers, seen.all)
            || seen.figures * 10 >= seen.looked * 9 && seen.looked > 0;
        let name = collection.columns[column].to_lowercase();
        let is_time = ["time", "date", "created", "updated", "stamp", "_at"];
        let is_time = is_time.iter().any(|part| name.contains(part));
        ColumnKind {
            is_numeric,
            has_lists: most_of(seen.lists, seen.all),
            is_category: seen.texts.len() < most,
            is_dated: most_of(seen.dates, seen.looked) && (is_time || !is_numeric),
            is_version: most_of(seen.versions, seen.looked)
                && (name.contains("version") || !is_numeric),
            is_prose: seen.bytes > seen.looked * PROSE,
            is_usual: true,
        }
    };
    let is_rare: Vec<bool> = columns
        .iter()
        .map(|seen| seen.all * RARE < collection.records.len())
        .collect();
    let mut kinds: Vec<ColumnKind> = columns.into_iter().enumerate().map(kind).collect();
    // Members of a map, such as the features of a package, have names that mean nothing here.
    let parent = |column: usize| {
        collection.columns[column]
            .rsplit_once('.')
            .map(|(parent, _)| parent)
    };
    let mut within: FxHashMap<Option<&str>, usize> = FxHashMap::default();
    for column in (0..kinds.len()).filter(|&column| is_rare[column]) {
        *within.entry(parent(column)).or_default() += 1;
    }
    for (column, kind) in kinds.iter_mut().enumerate() {
        let many = within
            .get(&parent(column))
            .is_some_and(|&count| count >= MAP);
        kind.is_usual = (!is_rare[column] || parent(column).is_none() || !many)
            && !collection.is_in_map(column);
    }
    kinds
}

/// Words that say that what follows is not meant.
pub(super) const DENYING: [&str; 35] = [
    "not",
    "non",
    "without",
    "except",
    "excluding",
    "excludes",
    "exclude",
    "apart",
    "ignoring",
    "nor",
    "neither",
    "isn",
    "aren",
    "wasn",
    "weren",
    "haven",
    "hasn",
    "hadn",
    "don",
    "doesn",
    "didn",
    "outside",
    "besides",
    "unlike",
    "never",
    "leaving",
    "omitting",
    "cannot",
    "unable",
    "skip",
    "skipping",
    "ignore",
    "omit",
    "leave",
    "minus",
];

/// Reads a question over a collection.
pub(super) struct Reader<'a, 'd> {
    pub(super) question: &'a str,
    pub(super) kinds: Vec<ColumnKind>,
    pub(super) words: &'a [Word],
    pub(super) collection: &'a Collection<'d>,
    pub(super) columns: &'a [Vec<String>],
    /// For each word of the question, whether it was read as a part of a condition.
    pub(super) taken: Vec<bool>,
    /// For each word of the question, whether it belongs to a value of a column.
    pub(super) values_taken: Vec<bool>,
    /// The values that the question excludes ("without X"), each as the index of its last word.
    pub(super) excluded: Vec<usize>,
    /// Parts of the question that are values and no comparisons.
    pub(super) spans_taken: Vec<(usize, usize)>,
    /// The first name or quoted text that no record has.
    pub(super) missing: Option<(usize, usize)>,
    pub(super) plan: Plan,
}

impl Reader<'_, '_> {
    pub(super) fn share(&self, column: usize, is: impl Fn(&Cell<'_>) -> bool) -> f64 {
        let records = &self.collection.records;
        let with = records.iter().filter_map(|record| record.get(column));
        let (mut all, mut good) = (0usize, 0usize);
        for cell in with {
            all += 1;
            good += usize::from(is(cell));
        }
        match all {
            0 => 0.0,
            all => good as f64 / all as f64,
        }
    }

    pub(super) fn is_numeric(&self, column: usize) -> bool {
        self.kinds[column].is_numeric
    }

    pub(super) fn has_lists(&self, column: usize) -> bool {
        self.kinds[column].has_lists
    }

    /// Whether a word is a part of the name of a column that is not rare.
    pub(super) fn names_column(&self, word: &Word) -> bool {
        let usual = self.columns.iter().zip(&self.kinds);
        let mut stems = usual
            .filter(|(_, kind)| kind.is_usual)
            .flat_map(|(stems, _)| stems);
        stems.any(|stem| alike(stem, &word.stem))
    }

    /// Whether a word names a column, other than by a date in `mergedAt` that the state `merged` of
    /// a column of few values has, too.
    pub(super) fn names_other(&self, word: &Word, column: usize) -> bool {
        let is_state = word.lower.ends_with("ed") && self.is_category(column);
        let mut all = self.columns.iter().zip(&self.kinds);
        all.any(|(stems, kind)| {
            let is_date_of = is_state && kind.is_dated && stems[..] == [word.stem.clone()];
            kind.is_usual && !is_date_of && stems.iter().any(|stem| alike(stem, &word.stem))
        })
    }

    /// Whether a column has few different values.
    pub(super) fn is_category(&self, column: usize) -> bool {
        self.kinds[column].is_category
    }

    /// How much the words within `reach` of byte `at` name a column: the share of its name's words.
    pub(super) fn naming(&self, column: usize, at: usize, reach: usize) -> f64 {
        let stems = &self.columns[column];
        let near_to = |word: &&Word| {
            word.start.saturating_add(reach) >= at && word.end <= at.saturating_add(reach)
        };
        // A word of a value names no column, and `named` does not mean a name.
        // Nor is `number of` a number.
        let word = |at: usize| self.words.get(at).map_or("", |word| &*word.lower);
        let is_number = |at: usize| word(at) == "number" && word(at + 1) == "of";
        // A number is no `column 2`.
        let is_numbered = self.collection.columns[column].starts_with("column ");
        let is_figure = |at: usize| word(at).bytes().all(|byte| byte.is_ascii_digit());
        let is_count = |at: usize| {
            is_numbered && is_figure(at) && at.checked_sub(1).is_none_or(|at| word(at) != "column")
        };
        let free = |at: usize| {
            !self.values_taken[at] && word(at) != "named" && !is_number(at) && !is_count(at)
        };
        // `yards to go` names `togo`.
        let is_joined = |at: usize, stem: &str| {
            let before = at.checked_sub(1).map(|at| &*self.words[at].lower);
            before.and_then(|before| stem.strip_prefix(before)) == Some(word(at))
        };
        // `are` does not name an area.
        let is_named = |word: &Word, stem: &str| match is_stop_word(&word.lower) {
            true => word.stem == stem,
            false => alike(&word.stem, stem),
        };
        let held = stems.iter().filter(|stem| {
            let mut near = self.words.iter().enumerate();
            near.any(|(at, word)| {
                free(at)
                    && near_to(&word)
                    && (is_named(word, stem) || is_joined(at, stem))
                    && !self.is_in_other_name(at, stems)
            })
        });
        let held = held.count() as f64;
        // A nested name need not be told in full.
        held * held / stems.len().max(1) as f64 + held / 10.0
    }

    /// Whether a word is a part of a name that is not that of a column: `node` in `node_modules`.
    fn is_in_other_name(&self, at: usize, stems: &[String]) -> bool {
        let name = self.joined(at, &['_']);
        let within = |word: &&Word| name.start <= word.start && word.end <= name.end;
        let mut words = self.words.iter().filter(within);
        self.question[name.clone()].contains('_')
            && !words.all(|word| {
                is_stop_word(&word.lower) || stems.iter().any(|stem| alike(&word.stem, stem))
            })
    }

    /// Where a word with what signs join to it stands.
    pub(super) fn joined(&self, at: usize, signs: &[char]) -> std::ops::Range<usize> {
        let word = &self.words[at];
        let is_part = |c: char| c.is_alphanumeric() || signs.contains(&c);
        let start = self.question[..word.start].trim_end_matches(is_part).len();
        let rest = &self.question[word.end..];
        start..word.end + rest.find(|c| !is_part(c)).unwrap_or(rest.len())
    }

    /// The column that the words near byte `at` name best, if any do.
    pub(super) fn best_column(&self, at: usize, is_fit: impl Fn(usize) -> bool) -> Option<usize> {
        const NEAR: usize = 30;
        const ALL: usize = usize::MAX / 4;
        const SUBJECT: f64 = 0.6;
        let fit = (0..self.columns.len()).filter(|&column| is_fit(column));
        // Of columns that are named alike, the total is meant.
        let is_total = |column: usize| self.columns[column].iter().any(|stem| stem == "total");
        let score = |column| {
            let score = self.naming(column, at, ALL) + self.naming(column, at, NEAR) / 2.0;
            // `which candidates owe` means debts rather than loans of candidates.
            let score = match self.is_named_by_subject(column) {
                true => score * SUBJECT,
                false => score,
            };
            match score > 0.0 && is_total(column) {
                true => score + 0.01,
                false => score,
            }
        };
        let named = fit.map(|column| (score(column), column));
        let named = named.filter(|&(score, _)| score > 0.0);
        let best = named.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        best.map(|(_, column)| column)
    }

    /// Whether no words but those for what is asked for name a column.
    fn is_named_by_subject(&self, column: usize) -> bool {
        const ASKING: [&str; 5] = ["count", "list", "show", "name", "find"];
        let is_subject = |at: usize| {
            let word = &self.words[at].lower;
            let is_behind = at == 1 && ASKING.contains(&&*self.words[0].lower);
            word.ends_with('s') && (self.is_asked(at) || is_behind)
        };
        let names = |word: &Word| {
            self.columns[column]
                .iter()
                .any(|stem| alike(&word.stem, stem))
        };
        let mut naming = (0..self.words.len()).filter(|&at| names(&self.words[at]));
        naming.all(is_subject)
    }

    pub(super) fn take(&mut self, start: usize, end: usize) {
        for (word, taken) in self.words.iter().zip(&mut self.taken) {
            *taken |= word.start >= start && word.end <= end;
        }
    }

    /// Whether a word between two bytes was read as a part of a condition.
    pub(super) fn is_taken(&self, start: usize, end: usize) -> bool {
        let mut words = self.words.iter().zip(&self.taken);
        let overlaps = |&(from, to): &(usize, usize)| from < end && start < to;
        self.spans_taken.iter().any(overlaps)
            || words.any(|(word, &taken)| taken && word.start >= start && word.end <= end)
    }

    /// The last `most` words before byte `at`, the last one first.
    pub(super) fn words_before(&self, at: usize, most: usize) -> impl Iterator<Item = &str> {
        let before = self.words.iter().rev().filter(move |word| word.end <= at);
        before.take(most).map(|word| &*word.lower)
    }

    /// Whether the words behind word `at` say that it is not meant: `X aside`, `X ones left out`.
    pub(super) fn is_set_aside(&self, at: usize) -> bool {
        const WINDOW: usize = 3;
        let behind: Vec<&str> = self.words[at + 1..]
            .iter()
            .take(WINDOW)
            .map(|word| &*word.lower)
            .collect();
        let first = behind
            .first()
            .is_some_and(|word| ["aside", "excluded", "ignored"].contains(word));
        first || behind.windows(2).any(|pair| pair == ["left", "out"])
    }

    /// Whether word `at` alone in brackets explains the words before: `not found (404)`.
    fn is_explaining(&self, at: usize) -> bool {
        let (start, end) = (self.words[at].start, self.words[at].end);
        let before = self.question[..start].strip_suffix('(').map(str::trim_end);
        self.question[end..].starts_with(')')
            && before.is_some_and(|before| !before.ends_with(" in") && !before.ends_with(" not"))
    }

    /// Whether the words before word `at` say that it is not meant.
    pub(super) fn is_denied(&self, at: usize) -> bool {
        const WINDOW: usize = 2;
        /// Most small words between a denial and what is denied: `leaving out those in`.
        const MOST_SMALL: usize = 4;
        const SMALL: [&str; 20] = [
            "by", "in", "from", "at", "on", "of", "the", "those", "ones", "any", "a", "for", "t",
            "be", "been", "yet", "under", "as", "out", "counting",
        ];
        let before = self.question[..self.words[at].start].trim_end();
        if before.ends_with("!=") || before.ends_with('≠') {
            return true;
        }
        if self.is_explaining(at) {
            return false;
        }
        let word = |back: usize| at.checked_sub(back).map(|at| &*self.words[at].lower);
        let is_small = |back: &usize| word(*back).is_some_and(|word| SMALL.contains(&word));
        // `not opened by X`, `other than in X`.
        let small = (1..=MOST_SMALL).take_while(is_small).count();
        let is_state = |word: &str| word.ends_with("ed") || ["available", "part"].contains(&word);
        let is_done = small > 0 && word(small + 1).is_some_and(is_state);
        let last = small + usize::from(is_done);
        let is_be = |word: &str| ["is", "are", "was", "were"].contains(&word);
        let is_other = |word: Option<&str>| {
            word.is_some_and(|word| ["other", "others", "rather"].contains(&word))
        };
        let mut before = (1..=WINDOW.max(last + 1)).filter_map(word);
        let than = last + 1;
        // `can't be used under X`
        let is_cut = |back: usize| {
            let word = at.checked_sub(back).map(|at| &self.words[at]);
            word.is_some_and(|word| {
                word.lower == "t" && self.question[..word.start].ends_with(['\'', '’'])
            })
        };
        // `besides the root project`
        let is_the = word(2) == Some("the") && word(3).is_some_and(|word| DENYING.contains(&word));
        // `those that are no towns`; `no` alone may deny that there is any.
        let is_none = word(1) == Some("no") && word(2).is_some_and(is_be);
        before.any(|word| DENYING.contains(&word))
            || is_none
            || is_the
            || (1..=last + 2).any(is_cut)
            || word(than) == Some("than") && (is_other(word(than + 1)) || is_other(word(than + 2)))
    }

    pub(super) fn condition(&mut self, column: usize, test: Test) {
        self.add(column, test, false);
    }

    pub(super) fn add(&mut self, column: usize, test: Test, is_negated: bool) {
        self.push(column, test, is_negated, false);
    }

    /// Adds a condition that is dropped if no record meets all.
    pub(super) fn add_weak(&mut self, column: usize, test: Test, is_negated: bool) {
        self.push(column, test, is_negated, true);
    }

    pub(super) fn push(&mut self, column: usize, test: Test, is_negated: bool, is_weak: bool) {
        let condition = Condition {
            column,
            test,
            is_negated,
            is_weak,
        };
        if !self.plan.conditions.contains(&condition) {
            self.plan.conditions.push(condition);
        }
    }

    /// `a charset other than UTF-8`: of a column that few records have, those without it are not meant.
    pub(super) fn not_of_absent(&mut self) {
        let records = &self.collection.records;
        let is_rare = |column: usize| {
            records.iter().filter(|one| one.has(column)).count() * 2 < records.len()
        };
        let denied = self.plan.conditions.iter().filter(|one| {
            let is_text = matches!(
                one.test,
                Test::Is(_)
                    | Test::Contains(_)
                    | Test::Inside(_)
                    | Test::Begins(_)
                    | Test::Suffix(_)
            );
            let is_named = self.naming(one.column, 0, usize::MAX / 4) > 0.0;
            one.is_negated && is_text && is_named && is_rare(one.column)
        });
        let columns: Vec<usize> = denied.map(|one| one.column).collect();
        for column in columns {
            let is_known = |one: &Condition| one.column == column && one.test == Test::Present;
            if !self.plan.conditions.iter().any(is_known) {
                self.condition(column, Test::Present);
            }
        }
    }

    /// Drops weak conditions while no record meets all: `Is a optional?` asks for the flag of `a`.
    pub(super) fn relax(&mut self) {
        while selected(&self.plan.conditions, self.collection).is_empty() {
            let conditions = &self.plan.conditions;
            let weak = conditions.iter().rposition(|one| one.is_weak);
            // `lost more than 650 (change below -650)` tells one thing twice.
            let is_number = |one: &Condition| matches!(one.test, Test::Number(..));
            let is_again = |(at, one): (usize, &Condition)| {
                let mut later = conditions[at + 1..].iter();
                is_number(one) && later.any(|next| next.column == one.column && is_number(next))
            };
            let weak = weak.or_else(|| conditions.iter().enumerate().position(is_again));
            let Some(weak) = weak else { return };
            self.plan.conditions.remove(weak);
        }
    }

    /// The column in which a test holds for some records but not for all, named nearest, then most
    /// often.
    pub(super) fn most_held(&self, test: &Test, at: usize) -> Option<usize> {
        let records = &self.collection.records;
        let mut held = vec![0usize; self.columns.len()];
        for (column, cell) in records.iter().flat_map(Record::cells) {
            if !self.kinds[column].is_prose {
                held[column] += usize::from(test.holds(cell));
            }
        }
        let needs = self.asks_for_needs();
        let columns = held.into_iter().zip(0..);
        let columns = columns.filter(|&(held, _)| held > 0 && held < records.len());
        let best = columns.max_by(|a, b| {
            let named = |column| self.naming(column, at, 40) + self.liking(column, needs);
            named(a.1)
                .total_cmp(&named(b.1))
                .then(a.0.cmp(&b.0))
                .then(b.1.cmp(&a.1))
        });
        best.map(|(_, column)| column)
    }
}
