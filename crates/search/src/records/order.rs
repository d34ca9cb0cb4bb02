//! Reads orders: `the three most expensive`, `deepest`, `hit most often`.

use rustc_hash::FxHashSet;

use super::cell::Cell;
use super::groups::MOST;
use super::load::KEY;
use super::pattern::Pattern;
use super::plan::{By, Group, Order};
use super::reader::Reader;
use super::terms::{
    DATE, SINCE, SOON, Superlative, TOOK, Word, alike, is_asking, is_ranking, is_superlative,
    number, squeezed, superlatives, superlatives_of,
};
use super::test::Test;
use crate::words::{camel_parts, is_stop_word};

/// Superlatives of anything that can be measured.
pub(super) const GREAT: [&str; 6] = [
    "largest", "biggest", "highest", "greatest", "smallest", "lowest",
];

pub(super) static BY_NUMBER: Pattern = Pattern::new(&[&["number", "count", "frequency"]], || {
    r"(?i)\b(?:by (?:the )?(?:\w+ )?(?:number|counts?|frequency)|(?:highest|largest|greatest|most|lowest|smallest) counts)\b".into()
});

impl Reader<'_, '_> {
    /// `the three most expensive`, `deepest`, `hit most often`.
    pub(super) fn order(&mut self) {
        self.end();
        self.amount_of_even_group();
    }

    /// If each value occurs equally often, the `most common job` is that with the largest amount.
    fn amount_of_even_group(&mut self) {
        let Some(group) = self.plan.group.clone().filter(|one| one.unit.is_none()) else {
            return;
        };
        let ends = |word: &Word| is_superlative(&word.lower) || is_ranking(&word.lower);
        let amount = self.words.iter().any(ends).then(|| self.amount()).flatten();
        let amount = amount.filter(|&column| column != group.column && self.is_even(group.column));
        if let Some(column) = amount {
            self.plan.group = None;
            self.plan.order = Some(Order {
                column,
                is_descending: group.is_descending,
                count: group.count,
                by: By::Value,
            });
        }
    }

    /// Values that a condition tells are no groups: `crates with the most optional dependencies` counts
    /// by crate, and `who has most of X` by person.
    pub(super) fn not_by_told(&mut self) {
        let is_told = |column: usize| {
            let mut conditions = self.plan.conditions.iter();
            conditions.any(|one| {
                let is_one = match &one.test {
                    Test::Is(texts) => texts.len() == 1,
                    Test::True => true,
                    _ => false,
                };
                one.column == column && is_one && !one.is_negated
            })
        };
        let Some(group) = self.plan.group.clone().filter(|one| is_told(one.column)) else {
            return;
        };
        let outer = || {
            let mut columns = 0..self.columns.len();
            columns.find(|&column| self.collection.is_outer_name(column))
        };
        let other = self.asked_column(self.question.len());
        let other = other.filter(|&column| !is_told(column)).or_else(outer);
        let other = other
            .or_else(|| self.persons())
            .filter(|&column| !is_told(column));
        self.plan.group = other.map(|column| Group { column, ..group });
    }

    /// `the longest title`, `endpoint with the most characters`: the order by the length of texts that
    /// the question names.
    fn by_length(&self) -> Option<Order> {
        const REACH: usize = 3;
        /// Stems of words for a key that is a path.
        const PATHS: [&str; 6] = ["path", "url", "rout", "endpoint", "key", "name"];
        let words = &self.words;
        let is_length = |at: usize| {
            let next = words.get(at + 1).map_or("", |word| &*word.lower);
            let is_letters = ["characters", "letters", "chars"].contains(&next);
            match &*words[at].lower {
                "longest" | "lengthiest" => Some((true, is_letters)),
                "shortest" => Some((false, is_letters)),
                "most" if is_letters => Some((true, true)),
                "fewest" if is_letters => Some((false, true)),
                "max" | "maximum" if next == "length" => Some((true, true)),
                "min" | "minimum" if next == "length" => Some((false, true)),
                _ => None,
            }
        };
        let Some((at, (is_descending, is_letters))) =
            (0..words.len()).find_map(|at| Some((at, is_length(at)?)))
        else {
            return self.sorted_by_length();
        };
        let is_text = |column: usize| {
            let kind = self.kinds[column];
            kind.is_text() && !kind.has_lists && !kind.is_version
        };
        let has_paths = |column: usize| {
            self.collection.columns[column] == KEY
                && self.share(column, |cell| cell.any(|text| text.contains('/'))) > 0.5
        };
        // The last part of its name is told in full, or each of its words: `stop with the longest name`.
        let is_told = |column: usize| {
            let name = &self.collection.columns[column];
            let last = squeezed(name.rsplit('.').next().unwrap_or_default());
            let all = squeezed(self.question);
            let is_word = |stem: &String| words.iter().any(|word| word.stem == *stem);
            all.contains(&last) || self.columns[column].iter().all(is_word)
        };
        let names = |word: &Word, column: usize| {
            self.columns[column].contains(&word.stem) && is_told(column)
                || PATHS.contains(&&*word.stem) && has_paths(column)
        };
        let of = |word: &Word| {
            let mut columns = (0..self.columns.len()).filter(|&column| is_text(column));
            columns.find(|&column| names(word, column))
        };
        let is_number = |word: &&Word| number(word).is_none() && !is_stop_word(&word.lower);
        let behind = words[at + 1..].iter().take(REACH).filter(is_number);
        // `Which path is the longest?`, but not `Which job took the longest?`
        let word = |back: usize| at.checked_sub(back).map_or("", |at| &*words[at].lower);
        let is_said = is_letters || word(1) == "the" && ["is", "are"].contains(&word(2));
        let subject = self.subject().filter(|_| is_said);
        let first = words.iter().filter(|word| Some(word.start) == subject);
        // `whose name has the most letters`
        let before = words[..at].iter().rev().take(REACH).filter(|_| is_letters);
        let column = behind.take(2).chain(before).chain(first).find_map(of)?;
        Some(Order {
            column,
            is_descending,
            count: self.count_near(at).unwrap_or(1).clamp(1, 50),
            by: By::Length,
        })
    }

    /// `keys ordered by string length descending`, `sort by length of title`: the order by the length
    /// of texts, or by how many items a list has.
    fn sorted_by_length(&self) -> Option<Order> {
        const REACH: usize = 2;
        let word = |at: usize| self.words.get(at).map_or("", |word| &*word.lower);
        let at = (0..self.words.len()).find(|&at| ["length", "len"].contains(&word(at)))?;
        let by = (1..=REACH + 1)
            .filter_map(|back| at.checked_sub(back))
            .find(|&at| word(at) == "by")?;
        if self.names_column(&self.words[at]) {
            return None;
        }
        let names = |at: usize| {
            let stem = &self.words[at].stem;
            let is_key = ["key", "name"].contains(&&**stem);
            let named = self.columns.iter().position(|stems| stems.contains(stem));
            let key = || self.collection.columns.iter().position(|name| name == KEY);
            named.or_else(|| key().filter(|_| is_key))
        };
        // `by length of title`, `by title length`, `titles by length`
        let is_call = self.question[self.words[at].end..].starts_with('(');
        let has_name = is_call || word(at + 1) == "of";
        let behind = (at + 1..self.words.len().min(at + 4)).filter(|_| has_name);
        let column = behind.chain(by + 1..at).chain(0..by).find_map(names)?;
        let is_rising = ["asc", "ascending", "shortest"]
            .iter()
            .any(|one| (0..self.words.len()).any(|at| word(at) == *one));
        Some(Order {
            column,
            is_descending: !is_rising,
            count: self.count_near(at).unwrap_or(1).clamp(1, 50),
            by: if self.has_lists(column) {
                By::Value
            } else {
                By::Length
            },
        })
    }

    /// In a list inside of records, `most X items` counts the items that meet conditions by record.
    fn by_outer(&self) -> Option<usize> {
        let mut columns = 0..self.columns.len();
        let outer = columns.find(|&column| self.collection.is_outer_name(column));
        let is_told = !self.plan.conditions.is_empty() && MOST.is_match(self.question);
        outer.filter(|_| is_told)
    }

    fn end(&mut self) {
        if self.plan.group.is_some() {
            return;
        }
        self.ranked_by_number();
        if !self.plan.has_result() {
            self.ranked();
        }
        if self.plan.has_result() {
            return;
        }
        if self.needed_most().is_some() {
            self.grouped();
            return;
        }
        if !self.plan.has_result() {
            self.plan.order = self.by_length().or_else(|| self.said_order());
        }
        if !self.plan.has_result() {
            self.grouped();
        }
        if self.plan.has_result() {
            return;
        }
        let Some((at, senses)) = self.end_of_order() else {
            self.leading();
            return;
        };
        let name = senses[0].name;
        let next = |by: usize| self.words.get(at + by).map_or("", |word| &*word.lower);
        let is_often = ["often", "frequent", "frequently", "common", "times"].contains(&next(1))
            || ["commonest", "rarest"].contains(&name)
            || name == "most" && self.words.iter().any(|word| word.lower == "often")
            || name == "top" && self.is_by_number()
            || name == "popular" && self.meant_by(&senses[0], |_| true).is_none();
        let count = self.count_near(at).unwrap_or(1).clamp(1, 50);
        let senses = self.whole_sense(at, senses);
        let found = senses.iter().filter_map(|sense| {
            let found = self.ordered(at, sense, is_often)?;
            let (column, _, is_meant) = found;
            // The oldest version is the smallest one, whatever an age would be.
            let is_age = sense.means == "age" && self.kinds[column].is_version;
            (is_meant || !is_age).then_some(found)
        });
        let found: Vec<(usize, bool, bool)> = found.collect();
        let meant = found.iter().find(|(.., is_meant)| *is_meant);
        let best = meant.or(found.first()).copied();
        if is_often {
            self.plan.group = best.map(|(column, is_descending, _)| Group {
                column,
                unit: None,
                is_descending,
                count,
                times: None,
            });
            return;
        }
        let is_descending = senses[0].is_descending;
        let outer = self.by_outer().map(|column| Group {
            column,
            unit: None,
            is_descending,
            count,
            times: None,
        });
        let is_named = |column: usize| self.naming(column, 0, usize::MAX / 4) > 0.3;
        let outer = outer.filter(|_| best.is_none_or(|(column, ..)| !is_named(column)));
        let group = self.most_frequent(at, is_descending, count);
        let group = group.filter(|_| best.is_none()).or(outer);
        if group.is_some() {
            self.plan.group = group;
            return;
        }
        // Only one column has numbers.
        let mut numeric = (0..self.columns.len()).filter(|&column| self.is_numeric(column));
        let only = numeric.next().filter(|_| numeric.next().is_none());
        let is_counted = || ["most", "fewest", "least"].contains(&name);
        let only = only.or_else(|| is_counted().then(|| self.amount()).flatten());
        let only = only.map(|column| (column, is_descending, false));
        self.plan.is_meant = best.is_some_and(|(.., is_meant)| is_meant);
        self.plan.order = best.or(only).map(|(column, is_descending, _)| Order {
            column,
            is_descending,
            count,
            by: By::Value,
        });
    }

    /// `Which topic dominates?`, `hardest hit state`: words that ask for an end of an order, but are no
    /// known superlatives. They mean the most frequent values of what is asked for, or the largest
    /// of a measure that is named.
    fn leading(&mut self) {
        const NAMED: f64 = 0.3;
        let is_leading = |at: &usize| {
            let word = &self.words[*at];
            !self.taken[*at]
                && !self.is_in_name(*at)
                && !self.is_limit(word)
                && !self.values_taken[*at]
                && !self.is_told(*at)
                && (self.is_end(word) || is_ranking(&word.lower) && !self.names_column(word))
        };
        let Some(at) = (0..self.words.len()).find(is_leading) else {
            return;
        };
        let count = self.count_near(at).unwrap_or(1).clamp(1, 50);
        let is_rising = ["asc", "ascending"].contains(&&*self.words[at].lower);
        let subject = self.subject().and_then(|at| self.group_column(at));
        let subject = subject.filter(|&(column, _)| {
            !self.is_measure(column) && !self.has_lists(column) && !self.is_unique(column)
        });
        let measure = self.measures().into_iter().next();
        let measure = measure.filter(|(closeness, _)| *closeness > NAMED);
        match (measure, subject) {
            (Some((_, column)), _) => {
                self.plan.order = Some(Order {
                    column,
                    is_descending: !is_rising,
                    count,
                    by: By::Value,
                });
            }
            (None, Some((column, unit))) => {
                self.plan.group = Some(Group {
                    column,
                    unit,
                    is_descending: !is_rising,
                    count,
                    times: None,
                });
            }
            (None, None) => {}
        }
    }

    /// Whether the question asks for an end of an order: `cheapest`, `most expensive`.
    pub(super) fn asks_for_end(&self) -> bool {
        self.end_of_order().is_some()
    }

    /// Whether `top` is a part of `top-level`, which asks for no end.
    pub(super) fn is_level(&self, word: &Word) -> bool {
        word.lower == "top" && self.question[word.end..].starts_with("-level")
    }

    /// Whether a word tells what is compared: `a minimum version of at least 1.76`.
    fn is_limit(&self, word: &Word) -> bool {
        ["minimum", "maximum", "min", "max"].contains(&&*word.lower)
            && self.plan.conditions.iter().any(|one| one.test.compares())
    }

    /// The word of the question that asks for an end of an order.
    fn end_of_order(&self) -> Option<(usize, Vec<Superlative<'_>>)> {
        const WEAK: [&str; 8] = [
            "first", "last", "next", "south", "north", "east", "west", "top",
        ];
        let ends = self.words.iter().enumerate().find_map(|(at, word)| {
            let senses = superlatives(&word.lower);
            let name = senses.first()?.name;
            let is_no_end = self.is_in_name(at)
                || self.is_bound(at)
                || self.is_level(word)
                || self.is_limit(word);
            if self.taken[at] || is_no_end || self.is_told(at) {
                return None;
            }
            // `first` and `last` name people and parts, too; `at most` was read.
            let is_weak = WEAK.contains(&name);
            let before = at.checked_sub(1).map_or("", |at| &*self.words[at].lower);
            // `signed the first`, `the very last request`, `last request path`.
            let is_last = at + 1 == self.words.len() || before == "very";
            let leads = at == 0 && !self.names_column(word);
            // `furthest north`, `first released`.
            let next = self.words.get(at + 1);
            let is_done = next.is_some_and(|next| {
                next.lower.ends_with("ed") && !self.names_column(word) && name != "next"
            });
            let is_meant = self.count_near(at).is_some()
                || name == "top"
                || is_done
                || ["furthest", "farthest"].contains(&before)
                || before.ends_with("ed")
                || ["first", "last", "next"].contains(&name) && (is_last || leads);
            (!is_weak || is_meant).then_some((at, senses))
        });
        let (at, senses) = ends.or_else(|| Some((self.placed()?, superlatives("most"))))?;
        // `top 3 most expensive` means what `most expensive` means.
        let more = (at + 1..self.words.len().min(at + 4)).find_map(|at| {
            let senses = superlatives(&self.words[at].lower);
            (!senses.is_empty()).then_some((at, senses))
        });
        match more {
            Some((at, senses)) if senses[0].name != "first" && self.is_top(senses[0].name) => {
                Some((at, senses))
            }
            _ => Some((at, senses)),
        }
    }

    /// Whether the value of what word `at` names is told: `whose minimum Python is 3.11`.
    fn is_told(&self, at: usize) -> bool {
        const REACH: usize = 3;
        let mut behind = self.words[at + 1..].windows(2).take(REACH);
        behind.any(|pair| {
            let is_value = pair[1]
                .lower
                .bytes()
                .next()
                .is_some_and(|byte| byte.is_ascii_digit());
            pair[0].lower == "is" && is_value
        })
    }

    /// The word that tells a place in an order: `comes second in sales`.
    fn placed(&self) -> Option<usize> {
        const PLACES: [&str; 4] = ["second", "third", "fourth", "fifth"];
        let is_placed = |pair: &[Word]| {
            PLACES.contains(&&*pair[0].lower) && ["in", "by"].contains(&&*pair[1].lower)
        };
        self.words.windows(2).position(is_placed)
    }

    /// `most expensive` means what `expensive` means, and `biggest number of` no size.
    fn whole_sense<'s>(&'s self, at: usize, senses: Vec<Superlative<'s>>) -> Vec<Superlative<'s>> {
        let next = self.words.get(at + 1).map_or("", |word| &*word.lower);
        let second = match superlatives(next) {
            none if none.is_empty() => superlatives_of(next),
            known => known,
        };
        match senses[0].name {
            "longest" => {
                let sense = |is_descending, means| Superlative {
                    name: "longest",
                    is_descending,
                    means,
                };
                let took = ["take", "taken", "took", "run", "ran"];
                match self.words.iter().any(|word| took.contains(&&*word.lower)) {
                    _ if self.asks_for_age() => {
                        let has = |one: &str| self.words.iter().any(|word| word.lower == one);
                        let uptime = has("been").then(|| sense(true, "uptime age"));
                        let since = [sense(false, SINCE), sense(false, DATE)];
                        uptime.into_iter().chain(since).collect()
                    }
                    true => senses.into_iter().chain([sense(true, TOOK)]).collect(),
                    false => senses,
                }
            }
            "most" | "furthest" | "farthest" if !second.is_empty() => second,
            "best" | "highest" | "worst" | "lowest" if next == "paid" => vec![Superlative {
                means: "salary pay wage",
                ..senses[0]
            }],
            "least" if !second.is_empty() => {
                let flipped = |sense: Superlative<'s>| Superlative {
                    is_descending: !sense.is_descending,
                    ..sense
                };
                second.into_iter().map(flipped).collect()
            }
            // The biggest drop is the smallest change.
            _ if self.asks_for_drop(at) => {
                let flipped = |sense: Superlative<'s>| Superlative {
                    is_descending: !sense.is_descending,
                    means: "change difference delta growth",
                    ..sense
                };
                senses.into_iter().map(flipped).collect()
            }
            _ if ["number", "count", "amount"].contains(&next) => {
                let plain = |sense| Superlative { means: "", ..sense };
                senses.into_iter().map(plain).collect()
            }
            _ => senses,
        }
    }

    /// Whether the words behind word `at` ask for a drop, which no column has as a positive amount:
    /// `biggest monthly decline`.
    fn asks_for_drop(&self, at: usize) -> bool {
        const DROPS: [&str; 6] = ["drop", "declin", "decreas", "fall", "loss", "reduct"];
        const REACH: usize = 3;
        let mut behind = self.words[at + 1..].iter().take(REACH);
        behind.any(|word| DROPS.contains(&&*word.stem) && !self.names_column(word))
    }

    /// Whether what is longest has gone on since a date: `has been open longest`.
    fn asks_for_age(&self) -> bool {
        const WORDS: [&str; 9] = [
            "been",
            "waiting",
            "around",
            "pending",
            "unresolved",
            "ago",
            "without",
            "gone",
            "heard",
        ];
        let mut words = self.words.iter();
        words.any(|word| WORDS.contains(&&*word.lower))
            && (0..self.columns.len()).any(|column| self.kinds[column].is_dated)
    }

    /// The column that word `at` orders by in one of its senses, whether the largest are asked for,
    /// and whether the sense means the column.
    fn ordered(
        &self,
        at: usize,
        sense: &Superlative<'_>,
        is_often: bool,
    ) -> Option<(usize, bool, bool)> {
        let means = sense.means;
        let is_date =
            means.contains("date") || means == SOON || means == SINCE && self.asks_for_age();
        // The last steps of keys that are paths may be equal.
        let is_key = |column: usize| self.collection.columns[column] == KEY;
        // The worst year is not the smallest.
        let is_judged = ["best", "worst"].contains(&sense.name);
        // A list is large or long, but not slow; `most voted` means the list of votes.
        let is_size = means.is_empty()
            || GREAT.contains(&sense.name)
            || ["longest", "shortest"].contains(&sense.name)
            || means.contains("size");
        let is_of_sense = |column: usize| {
            let mut means = means.split_ascii_whitespace();
            means.any(|name| self.columns[column].iter().any(|stem| alike(stem, name)))
        };
        let fit = |column: usize| {
            self.kinds[column].is_usual
                && !(is_judged && self.is_of_time(column))
                && match is_often {
                    true => {
                        !self.is_numeric(column)
                            && (!self.has_lists(column) || self.shares_items(column))
                            && (is_key(column) || !self.is_unique(column))
                    }
                    false => {
                        self.is_numeric(column) && self.may_be_measured(column)
                            || self.has_lists(column)
                                && (is_size || is_of_sense(column))
                                && !self.is_outer(column)
                                && self.varies(column)
                            || is_date && self.kinds[column].is_dated
                    }
                }
        };
        let meant = self.meant_by(sense, fit);
        // A date, whatever its name.
        let dated = || (0..self.columns.len()).find(|&column| self.kinds[column].is_dated);
        let meant = meant.or_else(|| {
            let is_any = means.contains(DATE) || means == SOON;
            dated().filter(|_| is_any && !is_often)
        });
        // `oldest` means a date whatever follows it; `largest` does not always mean a size.
        let is_open = meant.is_none() || is_size;
        let next = self.named_behind(at, fit);
        if let Some(column) = next.filter(|_| is_open && !is_often) {
            return Some((column, sense.is_descending, meant == Some(column)));
        }
        let start = self.words[at].start;
        let behind = self.words.get(at + 1).map_or(start, |word| word.start);
        let column = match self.best_column(behind, fit) {
            Some(named)
                if means.is_empty()
                    || self.naming(named, behind, 30) > 0.0 && meant.is_none()
                    || self.naming(named, behind, 16) > 1.0
                        && self.has_other_name(named, at)
                        && (is_date || !self.is_of_time(named)) =>
            {
                Some(named)
            }
            named => meant.or(named),
        };
        let column = match (column, is_often) {
            // `most common status`: figures that few records have alone are a category, too.
            (None, true) => {
                let code = self.best_column(behind, |column| self.is_code(column));
                // The packages at most paths, if nothing else is named.
                let key = || (0..self.columns.len()).find(|&column| is_key(column));
                let is_path = |&column: &usize| {
                    self.share(column, |cell| cell.any(|text| text.contains('/'))) > 0.5
                };
                code.or_else(|| key().filter(is_path))
            }
            (column, _) => column,
        };
        let measure = || {
            let is_size = !is_often && GREAT.contains(&sense.name);
            is_size.then(|| self.measure(fit)).flatten()
        };
        let similar = || (!is_often).then(|| self.similar(fit)).flatten();
        let version = || {
            let is_version = |column: usize| self.kinds[column].is_version;
            (!is_often)
                .then(|| self.best_column(behind, is_version))
                .flatten()
        };
        let column = column.or_else(version).or_else(similar).or_else(measure)?;
        let column = self.total_beside(column);
        Some((column, sense.is_descending, meant == Some(column)))
    }

    /// The column that a sense means by a part of its name: of several, the total or the end that is
    /// asked for.
    fn meant_by(&self, sense: &Superlative<'_>, fit: impl Fn(usize) -> bool) -> Option<usize> {
        // `run_attempt` is no runtime.
        let is_part = |stem: &str, name: &str| match name {
            "runtime" => stem == name,
            _ => alike(stem, name),
        };
        let has = |column: usize, name: &str| {
            let mut stems = self.columns[column].iter();
            stems.any(|stem| is_part(stem, name))
        };
        let meant = (0..self.columns.len())
            .filter(|&column| fit(column))
            .filter(|&column| {
                let mut means = sense.means.split_ascii_whitespace();
                means.any(|meant| has(column, meant))
            });
        // The coldest day has the lowest minimum.
        let end = match sense.is_descending {
            true => ["max", "high"],
            false => ["min", "low"],
        };
        let is_end = |column: usize| {
            let mut stems = self.columns[column].iter();
            stems.any(|stem| end.contains(&&**stem))
        };
        meant.max_by_key(|&column| {
            let is_first = std::cmp::Reverse(column);
            // `slowest to evaluate` means `evaluationTime`, not `duration`.
            let is_named = self.naming(column, 0, usize::MAX / 4) > 0.0;
            (has(column, "total"), is_named, is_end(column), is_first)
        })
    }

    /// The column that the word behind word `at` names: `highest deaths`.
    pub(super) fn named_behind(&self, at: usize, fit: impl Fn(usize) -> bool) -> Option<usize> {
        const SKIPPED: [&str; 6] = ["number", "count", "amount", "of", "the", "total"];
        let is_skipped = |word: &&Word| !SKIPPED.contains(&&*word.lower) && number(word).is_none();
        let next = self.words.get(at + 1..)?.iter().find(is_skipped)?;
        let is_named = |column: usize| {
            fit(column)
                && self.columns[column]
                    .iter()
                    .any(|stem| alike(&next.stem, stem))
        };
        let column = self.best_column(next.start, is_named)?;
        Some(self.total_beside(column))
    }

    /// The total among the members of the same object, if a column is one that no word names.
    fn total_beside(&self, column: usize) -> usize {
        let name = &self.collection.columns[column];
        let Some((outer, last)) = name.rsplit_once('.') else {
            return column;
        };
        let last = squeezed(last);
        if self.words.iter().any(|word| last.contains(&*word.lower)) {
            return column;
        }
        let mut all = self.collection.columns.iter();
        let total = all.position(|name| {
            let inner = name
                .strip_prefix(outer)
                .and_then(|rest| rest.strip_prefix('.'));
            inner.is_some_and(|inner| inner.starts_with("total"))
        });
        total.unwrap_or(column)
    }

    /// The column of amounts that `most` means if no word names one: the only measure that is no
    /// time, or the one with the usual name.
    pub(super) fn amount(&self) -> Option<usize> {
        let is_amount = |column: usize| {
            self.is_numeric(column)
                && self.kinds[column].is_usual
                && self.may_be_measured(column)
                && !self.has_lists(column)
                && !self.is_of_time(column)
        };
        let mut amounts = (0..self.columns.len()).filter(|&column| is_amount(column));
        let only = amounts.next().filter(|_| amounts.next().is_none());
        only.or_else(|| self.measure(is_amount))
    }

    /// The column of sizes or amounts that `largest` means if no word names one.
    fn measure(&self, fit: impl Fn(usize) -> bool) -> Option<usize> {
        const MEASURES: [&str; 12] = [
            "amount",
            "total",
            "value",
            "price",
            "population",
            "count",
            "magnitude",
            "weight",
            "height",
            "length",
            "elevation",
            "altitude",
        ];
        let has =
            |column: usize, name: &str| self.columns[column].iter().any(|stem| alike(stem, name));
        let of =
            |name: &&str| (0..self.columns.len()).find(|&column| fit(column) && has(column, name));
        MEASURES.iter().find_map(of)
    }

    /// Whether a column is an object whose members are columns.
    fn is_outer(&self, column: usize) -> bool {
        let within = format!("{}.", self.collection.columns[column]);
        let mut columns = self.collection.columns.iter().zip(&self.kinds);
        columns.any(|(name, kind)| kind.is_usual && kind.is_numeric && name.starts_with(&within))
    }

    /// Whether the lists of a column differ in length: objects with the same members do not.
    pub(super) fn varies(&self, column: usize) -> bool {
        let cells = self.collection.records.iter();
        let mut lengths = cells.filter_map(|record| record.get(column)?.number());
        let first = lengths.next();
        lengths.any(|length| Some(length) != first)
    }

    /// Whether a column tells when something was: `deadliest years` asks for deaths.
    fn is_of_time(&self, column: usize) -> bool {
        let mut stems = self.columns[column].iter();
        stems.any(|stem| ["year", "date", "day", "month"].contains(&&**stem))
    }

    /// Whether a word other than word `at` names a column.
    fn has_other_name(&self, column: usize, at: usize) -> bool {
        let mut others = self
            .words
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at);
        others.any(|(_, word)| {
            self.columns[column]
                .iter()
                .any(|stem| alike(&word.stem, stem))
        })
    }

    /// Whether the items of a column's lists are texts, of which several records have the same.
    pub(super) fn shares_items(&self, column: usize) -> bool {
        let mut known = FxHashSet::default();
        let mut is_shared = false;
        let cells = self.collection.records.iter();
        let is_list = cells
            .filter_map(|record| record.get(column))
            .all(|cell| match cell {
                Cell::List(_) | Cell::Joined(_) | Cell::Members(_) => {
                    is_shared |=
                        cell.any(|item| !item.is_empty() && !known.insert(item.to_owned()));
                    true
                }
                _ => false,
            });
        is_list && is_shared
    }

    /// Whether a column has few different numbers, such as the status of a response.
    pub(super) fn is_code(&self, column: usize) -> bool {
        const MOST: usize = 60;
        let mut known = FxHashSet::default();
        let mut cells = (self.collection.records.iter()).filter_map(|record| record.get(column));
        self.is_numeric(column)
            && !self.has_lists(column)
            && cells.all(|cell| {
                known.insert(cell.shown());
                known.len() <= MOST
            })
    }

    /// `top paths`, `fewest owners`: the most frequent values of the column that the words behind
    /// word `at` name, unless each record has its own.
    fn most_frequent(&self, at: usize, is_descending: bool, count: usize) -> Option<Group> {
        let is_counted = ["top", "most", "fewest", "least"].contains(&&*self.words[at].lower);
        let skipped = self.words.get(at + 1).and_then(number).map_or(1, |_| 2);
        let behind = self.words.get(at + skipped).filter(|_| is_counted)?;
        let (column, unit) = self.group_column(behind.start)?;
        let is_fit = !self.has_lists(column) && !self.is_unique(column);
        is_fit.then_some(Group {
            column,
            unit,
            is_descending,
            count,
            times: None,
        })
    }

    /// Whether word `at` is a part of a name such as `temp_max`.
    fn is_in_name(&self, at: usize) -> bool {
        let (start, end) = (self.words[at].start, self.words[at].end);
        self.question[..start].ends_with('_') || self.question[end..].starts_with('_')
    }

    /// `by number of strikes`, unless that is a column itself.
    pub(super) fn is_by_number(&self) -> bool {
        const BEHIND: usize = 24;
        let Some(found) = BY_NUMBER.find(self.question) else {
            return false;
        };
        let fit = |column: usize| self.is_numeric(column) || self.has_lists(column);
        let named = self.best_column(found.end(), fit);
        // Words before it name what is counted: `top 2 def by number of plays`.
        let middle = usize::midpoint(found.start(), found.end() + BEHIND);
        let reach = middle - found.start();
        named.is_none_or(|column| self.naming(column, middle, reach) < 1.0)
    }

    /// Whether another superlative says what `top` does not.
    pub(super) fn is_top(&self, name: &str) -> bool {
        let has = |name: &str| self.words.iter().any(|word| word.lower == name);
        has("top") && name != "top"
    }

    /// `largest two regions by number of countries`, `rank states by count`: the most frequent values
    /// of a column, unless the number is a column itself.
    fn ranked_by_number(&mut self) {
        const RISING: [&str; 5] = ["fewest", "least", "smallest", "lowest", "ascending"];
        let ends = |word: &Word| is_superlative(&word.lower) || is_ranking(&word.lower);
        let end = self.words.iter().position(ends);
        let Some(end) = end.filter(|_| self.is_by_number()) else {
            return;
        };
        let is_kind =
            |word: &&Word| !ends(word) && number(word).is_none() && !is_asking(&word.lower);
        let subject = self.words.iter().find(is_kind);
        let column = subject.and_then(|word| {
            let named = self.group_column(word.start);
            named.or_else(|| self.role_behind(word.start))
        });
        let column = column.filter(|&(column, _)| {
            !self.is_measure(column) && !self.has_lists(column) && !self.is_unique(column)
        });
        let is_rising = |word: &Word| RISING.contains(&&*word.lower);
        self.plan.group = column.map(|(column, unit)| Group {
            column,
            unit,
            is_descending: !self.words.iter().any(is_rising),
            count: self.count_near(end).unwrap_or(1).clamp(1, 50),
            times: None,
        });
    }

    /// `ranked by sig, first three`.
    fn ranked(&mut self) {
        const RANKED: [&str; 3] = ["rank", "sort", "order"];
        let by = self
            .words
            .windows(2)
            .position(|pair| RANKED.contains(&&*pair[0].stem) && pair[1].lower == "by");
        let is_directed = |word: &Word| ["desc", "asc", "descend", "ascend"].contains(&&*word.stem);
        let by = by.or_else(|| {
            let directed = self.words.iter().any(is_directed);
            let by = self.words.iter().position(|word| word.lower == "by");
            by.filter(|_| directed).and_then(|by| by.checked_sub(1))
        });
        let Some(behind) = by.and_then(|at| self.words.get(at + 2)) else {
            return;
        };
        let fit = |column: usize| {
            self.is_numeric(column) && self.may_be_measured(column) && !self.has_lists(column)
                || self.has_lists(column) && !self.is_outer(column) && self.varies(column)
                || self.kinds[column].is_dated
        };
        let is_behind = |column: usize| {
            let mut stems = self.columns[column].iter();
            fit(column) && stems.any(|stem| alike(&behind.stem, stem))
        };
        let column = self.best_column(behind.start, is_behind);
        let column = column.or_else(|| self.best_column(behind.start, fit));
        let Some(column) = column else {
            return;
        };
        let counts = (0..self.words.len()).filter(|&at| self.is_count(at));
        let mut counts = counts.filter_map(|at| number(&self.words[at]));
        let mut numbers = self.words.iter().filter_map(number);
        let is_rising =
            |word: &Word| ["ascending", "asc", "smallest", "lowest"].contains(&&*word.lower);
        let is_descending = !self.words.iter().any(is_rising);
        self.plan.order = Some(Order {
            column,
            is_descending,
            count: counts.next().or(numbers.next()).unwrap_or(1).clamp(1, 50),
            by: By::Value,
        });
    }

    /// Whether a column has amounts, rather than numbers that only tell records apart, unless the
    /// question names it in full: `run_number` for `runs` is not meant.
    pub(super) fn may_be_measured(&self, column: usize) -> bool {
        const NAMES: [&str; 9] = [
            "id", "no", "nr", "number", "code", "index", "key", "zip", "port",
        ];
        let name = &self.collection.columns[column];
        let last = name.rsplit('.').next().unwrap_or_default();
        let parts = last
            .split(|c: char| !c.is_alphanumeric())
            .flat_map(camel_parts);
        let parts: Vec<String> = parts.map(str::to_lowercase).collect();
        let is_label = parts.last().is_some_and(|last| NAMES.contains(&&**last));
        let is_named = || {
            let mut windows = self.words.windows(parts.len());
            windows.any(|words| {
                words
                    .iter()
                    .zip(&parts)
                    .all(|(word, part)| word.lower == *part)
            })
        };
        !is_label || is_named()
    }

    /// The count beside a superlative: `top 3`, `three oldest`, `the five packages with the most`.
    pub(super) fn count_near(&self, at: usize) -> Option<usize> {
        let after = self.words.get(at + 1).and_then(number);
        let before = self.words[..at].iter().rev().take(8).find_map(number);
        let is_count = |&at: &usize| self.is_count(at);
        let other = || {
            (0..self.words.len())
                .filter(is_count)
                .find_map(|at| number(&self.words[at]))
        };
        after.or(before).or_else(other)
    }

    /// Whether a number says how many are asked for: `top 3`, `3 largest`.
    pub(super) fn is_count(&self, at: usize) -> bool {
        const BEFORE: [&str; 11] = [
            "the", "show", "give", "me", "which", "what", "list", "find", "these", "get", "are",
        ];
        const ORDERING: [&str; 8] = [
            "sort", "order", "rank", "desc", "asc", "descend", "ascend", "limit",
        ];
        const LIMITING: [&str; 10] = [
            "limit",
            "first",
            "top",
            "head",
            "desc",
            "descending",
            "asc",
            "ascending",
            "bottom",
            "best",
        ];
        let known = |at: Option<usize>| {
            let word = at.and_then(|at| self.words.get(at));
            word.is_some_and(|word| is_superlative(&word.lower))
        };
        let word = &self.words[at];
        let is_small = word.lower.parse().is_ok_and(|count: u32| count <= 100);
        // `by depth (3)`, `longest lists, 3`.
        let is_figure = |word: &Word| word.lower.bytes().all(|byte| byte.is_ascii_digit());
        let is_listed = at
            .checked_sub(1)
            .is_some_and(|at| is_figure(&self.words[at]));
        let before = self.question[..word.start].trim_end().ends_with(['(', ',']) && !is_listed;
        let behind = self.question[word.end..].trim_start_matches([')', '?', '.', ' ']);
        if !is_small {
            return false;
        }
        let is_sign = self.question[..word.start]
            .trim_end()
            .ends_with(['=', '<', '>', ':']);
        let is_named = at
            .checked_sub(1)
            .is_some_and(|at| self.names_column(&self.words[at]));
        if is_sign {
            return false;
        }
        if before && behind.is_empty() || known(at.checked_sub(1)) || known(Some(at + 1)) {
            return true;
        }
        let is_ordered = || {
            let mut words = self.words.iter();
            words.any(|word| is_superlative(&word.lower) || ORDERING.contains(&&*word.stem))
        };
        // `the 2 paths with the most requests`, `by size, limit 3`.
        let last = at.checked_sub(1).map(|at| &*self.words[at].lower);
        let leads = (is_named || last.is_none_or(|last| BEFORE.contains(&last)))
            && self
                .words
                .get(at + 1)
                .is_some_and(|next| next.lower.ends_with('s'));
        let limits = last.is_some_and(|last| LIMITING.contains(&last));
        (leads || limits) && is_ordered()
    }
}
