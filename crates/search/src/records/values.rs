//! Reads the values of columns that a question contains, whole or in part.

use rustc_hash::{FxHashMap, FxHashSet};

use super::cell::Cell;
use super::plan::COUNTED;
use super::reader::DENYING;
use super::reader::Reader;
use super::regions::code;
use super::terms::{DATE, NUMBERS, alike, is_asking, is_ranking, is_superlative, number, squeezed};
use super::test::{Condition, Test, requirement, selected};
use crate::words::{camel_parts, is_stop_word};

/// Fewest letters of a stem that is looked for as a value.
const LEAST_STEM: usize = 4;
/// Most words of a value that is looked for in a question.
const LONGEST_VALUE: usize = 8;

/// Words of any question that are names of few records.
const COMMON: [&str; 16] = [
    "made", "make", "makes", "got", "get", "took", "take", "ran", "run", "came", "come", "went",
    "going", "gone", "earned", "called",
];

/// Words for what most records are, which name no file or route.
const GENERIC: [&str; 12] = [
    "endpoints",
    "routes",
    "paths",
    "urls",
    "files",
    "folders",
    "packages",
    "modules",
    "records",
    "entries",
    "parameters",
    "shared",
];

/// Whether a word says what is asked for, rather than the last step of a path: `/usr/bin/sort`.
fn is_generic(word: &str) -> bool {
    GENERIC.contains(&word)
        || is_ranking(word)
        || is_superlative(word)
        || DATE.split(' ').any(|one| one == word)
}

/// The first and last words of a value in the question, and whether it is the opposite of the value
/// that is meant: `unreviewed`.
type ValueSpan = (usize, usize, bool);

/// Returns what a word denies: `reviewed` for `unreviewed`.
fn opposite(word: &str) -> Option<&str> {
    const LEAST: usize = 5;
    let rest = word.strip_prefix("un").or(word.strip_prefix("non"))?;
    (rest.len() >= LEAST).then_some(rest)
}

/// Names of countries and people, each with words for what is theirs.
const DEMONYMS: [(&str, &str); 33] = [
    ("american", "usa us unitedstates"),
    ("belgian", "belgium"),
    ("brazilian", "brazil"),
    ("british", "uk gb unitedkingdom greatbritain"),
    ("canadian", "canada"),
    ("danish", "denmark"),
    ("dutch", "netherlands"),
    ("english", "england"),
    ("finnish", "finland"),
    ("french", "france"),
    ("german", "germany"),
    ("greek", "greece"),
    ("hungarian", "hungary"),
    ("irish", "ireland"),
    ("italian", "italy"),
    ("mexican", "mexico"),
    ("norwegian", "norway"),
    ("polish", "poland"),
    ("scottish", "scotland"),
    ("spanish", "spain"),
    ("swedish", "sweden"),
    ("swiss", "switzerland"),
    ("turkish", "turkey"),
    ("ukrainian", "ukraine"),
    ("welsh", "wales"),
    ("children", "child"),
    ("people", "person"),
    ("women", "woman female"),
    ("woman", "female"),
    ("girl", "female"),
    ("men", "man male"),
    ("man", "male"),
    ("boy", "male"),
];

/// Returns the names of which a word may be another form: `Europe` for `European`, `Japan` for
/// `Japanese`, `fog` for `foggy`, `child` for `children`.
pub(super) fn roots(word: &str) -> Vec<String> {
    const LEAST: usize = 5;
    const LEAST_ADJECTIVE: usize = 4;
    let single = word.strip_suffix('s').unwrap_or(word);
    let known = DEMONYMS
        .iter()
        .filter(|(one, _)| [word, single].contains(one));
    let known = known
        .flat_map(|(_, names)| names.split(' '))
        .map(str::to_owned);
    let mut roots: Vec<String> = known.collect();
    let is_long = single.len() >= LEAST;
    let of_place = single.strip_suffix("an").or(single.strip_suffix("ese"));
    if let Some(root) = of_place.filter(|_| is_long) {
        roots.extend([format!("{root}a"), root.to_owned(), format!("{root}i")]);
    }
    // `Texas`, `Hawaiian`
    let names = [single, word]
        .into_iter()
        .chain(roots.iter().map(|root| &**root));
    let codes: Vec<String> = names.filter_map(code).map(str::to_owned).collect();
    roots.extend(codes);
    if let Some(root) = word
        .strip_suffix('y')
        .filter(|_| word.len() > LEAST_ADJECTIVE)
    {
        roots.push(root.to_owned());
        // `sunny` has the last letter of `sun` twice.
        let twice = root
            .as_bytes()
            .last_chunk()
            .is_some_and(|[one, other]| one == other);
        let short = root.get(..root.len() - 1).filter(|_| twice);
        roots.extend(short.map(str::to_owned));
    }
    roots
}

/// A value that the question contains, in a column.
struct Held {
    text: String,
    /// How many records have it as their value, and as the last step of a path.
    whole: usize,
    ends: usize,
}

impl Held {
    /// How many records are meant: those with the whole value, if there are any.
    pub(super) fn count(&self) -> usize {
        match self.whole {
            0 => self.ends,
            whole => whole,
        }
    }
}

/// Returns whether a number with dots is not the one that a value is: `3.11` is no `3.1.1`.
fn is_other_number(asked: &str, text: &str) -> bool {
    let is_dotted = asked.contains('.');
    is_dotted
        && asked != text
        && asked
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
}

impl Reader<'_, '_> {
    /// Returns the values that the question contains: for each span how many records have it in each
    /// column.
    fn held(&self) -> FxHashMap<ValueSpan, FxHashMap<usize, Held>> {
        let spans = self.spans();
        let lower = |c: char| c.to_lowercase().next().unwrap_or(c);
        let has_digits = self.question.contains(|c: char| c.is_ascii_digit());
        let start = |text: &str| -> [Option<char>; 2] {
            let mut letters = text.chars().filter(|c| c.is_alphanumeric()).map(lower);
            [letters.next(), letters.next()]
        };
        let begins: FxHashSet<[Option<char>; 2]> = spans.keys().map(|key| start(key)).collect();
        // Whether the value that was last seen in a column is meant by some words.
        let mut last_seen: FxHashMap<(usize, usize, usize), (String, bool)> = FxHashMap::default();
        let mut found: FxHashMap<ValueSpan, FxHashMap<usize, Held>> = FxHashMap::default();
        // Whether the items of a list are labels.
        let mut labels: FxHashMap<usize, bool> = FxHashMap::default();
        for record in &self.collection.records {
            for (column, cell) in record.cells() {
                let mut see = |text: &str, is_end: bool| {
                    // Most values do not begin like words of the question.
                    if !begins.contains(&start(text)) {
                        return;
                    }
                    let key = squeezed(text);
                    for &(first, last, is_opposite) in spans.get(&key).into_iter().flatten() {
                        let word = &self.words[last];
                        let is_plural = !word.lower.ends_with(|c| key.ends_with(c));
                        let is_form = first == last
                            && key != word.lower
                            && (key == word.stem || word.lower.ends_with('y'));
                        // `adaptations` are no film of that name.
                        let is_several = first == last
                            && word.lower.strip_suffix('s') == Some(&*key)
                            && self.question[word.start..].starts_with(char::is_lowercase)
                            && text.starts_with(char::is_uppercase);
                        if (is_form || is_several) && !self.is_category(column) {
                            continue;
                        }
                        if is_plural && self.has_lists(column) {
                            let known = labels.entry(column);
                            if !*known.or_insert_with(|| self.has_labels(column)) {
                                continue;
                            }
                        }
                        let known = last_seen.entry((first, last, column)).or_default();
                        if known.0 != text {
                            let is_meant = self.is_meant(text, first, last, column);
                            *known = (text.to_owned(), is_meant);
                        }
                        if !known.1 {
                            continue;
                        }
                        let columns = found.entry((first, last, is_opposite)).or_default();
                        let held = columns.entry(column).or_insert_with(|| Held {
                            text: text.trim().to_owned(),
                            whole: 0,
                            ends: 0,
                        });
                        match is_end {
                            true => held.ends += 1,
                            false => held.whole += 1,
                        }
                    }
                };
                match cell {
                    Cell::Bool(_) => {}
                    // Most numbers are not in the question, and have no text yet.
                    Cell::Number(_) if !has_digits => {}
                    cell => {
                        let is_list = cell.is_list();
                        cell.any(|text| {
                            see(text, false);
                            if is_list {
                                let name = requirement(text);
                                if name.len() < text.len() {
                                    see(name, false);
                                }
                            } else if let Some((_, last)) = text.rsplit_once('/') {
                                see(last, true);
                            }
                            false
                        });
                    }
                }
            }
        }
        found
    }

    /// Values of columns that the question contains.
    pub(super) fn values(&mut self) {
        let mut found: Vec<_> = self.held().into_iter().collect();
        let asks_for_needs = self.asks_for_needs();
        // What needs something comes first, then longer values: `New York` is not `York`.
        found.sort_by_key(|((first, last, _), _)| {
            let is_owner = asks_for_needs && self.is_owner(*first, *last);
            (!is_owner, std::cmp::Reverse(last - first), *first)
        });
        let mut owner = None;
        for ((first, last, is_opposite), columns) in found {
            let is_owner = asks_for_needs && self.is_owner(first, last);
            let needs = asks_for_needs && !is_owner;
            if self.taken[first..=last].iter().any(|&taken| taken) {
                continue;
            }
            if first == last && self.is_ordered_by(first) {
                continue;
            }
            let is_none = first > 0 && self.words[first - 1].lower == "no";
            let is_negated =
                is_opposite || is_none || self.is_excluded(first) || self.is_set_aside(last);
            let at = self.words[first].start;
            let all = self.collection.records.len();
            let is_number = (self.words[first].lower.bytes()).all(|byte| byte.is_ascii_digit());
            let is_dotted = self.question[..at].ends_with(" .");
            let is_in_lists = columns.keys().all(|&column| self.has_lists(column));
            // Its own words do not name the column of a value.
            let values_taken = self.values_taken.clone();
            self.values_taken[first..=last].fill(true);
            let best = columns
                .iter()
                .map(|(&column, held)| (column, held))
                .filter(|(column, held)| held.count() < all && owner != Some(*column))
                .filter(|(column, held)| !self.has_member(*column, &held.text))
                // What merely has something of that name in a list is not meant, unless it is one of
                // a few labels.
                .filter(|&(column, _)| {
                    needs
                        || self.names_list(column, first, last)
                        || is_number
                        || is_dotted
                        || !self.has_lists(column)
                        || is_in_lists && self.has_labels(column)
                })
                .max_by(|a, b| {
                    // What is not meant is a name, not a part of a list.
                    let named = |column: usize| {
                        let needs = needs || self.names_list(column, first, last);
                        self.naming(column, at, 30)
                            + self.exactness(first, last, &columns[&column])
                            + self.liking(column, needs && !is_negated)
                            + self.beside(first, column)
                    };
                    named(a.0)
                        .total_cmp(&named(b.0))
                        .then(a.1.count().cmp(&b.1.count()))
                        .then(b.0.cmp(&a.0))
                });
            self.values_taken = values_taken;
            let Some((column, held)) = best else {
                continue;
            };
            if is_negated && self.left_out_of_asked((first, last), column, &held.text, &columns) {
                continue;
            }
            let (is_end, text) = (held.whole == 0, held.text.clone());
            owner = owner.or((is_owner && !self.has_lists(column)).then_some(column));
            // `builds` need not be the name `build`.
            let rest = self.question[at..].strip_prefix(&*text);
            let is_same = rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
            // Of `Portugal (PRT)`, each may be in another column.
            let behind = self.question[self.words[last].end..].trim_start();
            let is_code = |rest: &str| rest.bytes().take(2).all(|byte| byte.is_ascii_uppercase());
            let has_code = behind.strip_prefix('(').is_some_and(is_code);
            // `licenses` is no `/LICENSE` at the end of a path.
            let asked = &self.question[at..self.words[last].end];
            let is_other_form = first < last && !asked.eq_ignore_ascii_case(&text);
            let is_weak = first == last && !is_same || is_other_form || has_code;
            let is_other = !asked.eq_ignore_ascii_case(&text) || self.is_hyphened(first);
            let is_what = first == last && is_generic(&self.words[first].lower);
            // Nor does `license` mean `/LICENSE`, or what most paths end with.
            let is_usual = held.ends * 2 > all || asked != text;
            if is_end && ((is_other || is_usual) && first == last || is_what) {
                continue;
            }
            if is_end {
                self.push(column, Test::Ends(text), is_negated, is_weak);
                self.take(at, self.words[last].end);
                continue;
            }
            let others = columns.keys().copied().filter(|&other| other != column);
            if !is_negated && self.pair(column, others.min(), &text, (first, last)) {
                continue;
            }
            self.value(column, text, is_negated, is_weak);
            self.take(at, self.words[last].end);
            self.values_taken[first..=last].fill(true);
            if is_negated {
                self.excluded.push(last);
            }
        }
    }

    /// Adds the condition that a column has a value, or one of several. A word in small letters may be
    /// something else than a name in large ones, so that its condition is weak.
    fn value(&mut self, column: usize, text: String, is_negated: bool, is_weak: bool) {
        let known = self
            .plan
            .conditions
            .iter_mut()
            .find_map(|one| match &mut one.test {
                Test::Is(texts) if one.column == column && one.is_negated == is_negated => {
                    Some(texts)
                }
                _ => None,
            });
        match known {
            Some(texts) if texts.contains(&text) => {}
            Some(texts) => texts.push(text),
            None => self.push(column, Test::Is(vec![text]), is_negated, is_weak),
        }
    }

    /// `which species, not counting the unknown birds`: leaves out values of the column that is asked for
    /// that begin with a value of another column. Returns whether there are some.
    fn left_out_of_asked(
        &mut self,
        (first, last): (usize, usize),
        column: usize,
        text: &str,
        held: &FxHashMap<usize, Held>,
    ) -> bool {
        let (start, end) = (self.words[first].start, self.words[last].end);
        let begins = Test::Begins(vec![format!("{text} ")]);
        let subject = self.asked_column(start).filter(|&subject| {
            subject != column
                && !held.contains_key(&subject)
                && self.share(subject, |cell| begins.holds(cell)) > 0.0
        });
        if let Some(subject) = subject {
            self.add(subject, begins, true);
            self.take(start, end);
        }
        subject.is_some()
    }

    /// `Liverpool v Everton`: values of two columns, if the question has two values of a column that
    /// nothing joins and another column has such values, too. Returns whether this is so.
    fn pair(
        &mut self,
        column: usize,
        other: Option<usize>,
        text: &str,
        (first, last): (usize, usize),
    ) -> bool {
        const JOINING: [&str; 4] = ["or", "and", "nor", "plus"];
        let Some(other) = other.filter(|&other| !self.has_lists(other)) else {
            return false;
        };
        let mut before = (0..first).rev().skip_while(|&at| !self.values_taken[at]);
        let before = before.next().map_or(0, |at| self.words[at].end);
        let between = &self.question[before..self.words[first].start];
        let is_joined = between.contains([',', '/'])
            || between
                .split(' ')
                .any(|word| JOINING.contains(&&*word.to_lowercase()));
        let is_known = |one: &Condition| {
            one.column == column
                && !one.is_negated
                && matches!(&one.test, Test::Is(texts) if texts.len() == 1)
        };
        let mut conditions = self.plan.conditions.clone();
        let known = conditions.iter_mut().find(|one| is_known(one));
        let Some(known) =
            known.filter(|one| !is_joined && self.share(other, |cell| one.test.holds(cell)) > 0.0)
        else {
            return false;
        };
        // If none is named, the first column is that of the first value.
        let named = |column| self.naming(column, 0, usize::MAX / 4);
        let is_even = named(column).total_cmp(&named(other)).is_eq();
        let (one, two) = match is_even {
            true => (column.min(other), column.max(other)),
            false => (column, other),
        };
        known.column = one;
        conditions.push(Condition {
            column: two,
            test: Test::Is(vec![text.to_owned()]),
            is_negated: false,
            is_weak: true,
        });
        let is_pair = !selected(&conditions, self.collection).is_empty();
        if is_pair {
            self.plan.conditions = conditions;
            self.take(self.words[first].start, self.words[last].end);
            self.values_taken[first..=last].fill(true);
        }
        is_pair
    }

    /// Whether a word beside a value names a list that may have it: `borders CHE`, `CHE among the
    /// borders`.
    fn names_list(&self, column: usize, first: usize, last: usize) -> bool {
        const BEHIND: usize = 3;
        const BEFORE: usize = 3;
        let Some(name) = self.columns[column].last() else {
            return false;
        };
        // `borders contain CHE`, `border Switzerland (CHE)`.
        let start = self.words[first].start;
        let is_code = self.question[start..].starts_with(|c: char| c.is_uppercase());
        let reach = if is_code { BEFORE } else { 1 };
        let before = first.saturating_sub(reach)..first;
        let small = |at: &usize| {
            self.words
                .get(last + 1..*at)
                .is_some_and(|words| words.iter().all(|word| is_stop_word(&word.lower)))
        };
        let behind = (last + 2..self.words.len().min(last + 1 + BEHIND)).filter(small);
        let mut beside = before.chain(behind);
        // `for` in `extensions for text/markdown` is no extension.
        let mut cells = self.collection.records.iter();
        let cell = cells.find_map(|record| record.get(column));
        !is_stop_word(&self.words[first].lower)
            && self.has_lists(column)
            && (is_code || matches!(cell, Some(Cell::List(_) | Cell::Joined(_))))
            && beside.any(|at| alike(&self.words[at].stem, name))
    }

    /// How much the word before word `at` says that its value is in a column: its name, or `from`
    /// for an origin.
    fn beside(&self, at: usize, column: usize) -> f64 {
        const ENDS: [(&str, &str); 2] = [
            ("from", "origin from source departure sender"),
            (
                "to",
                "destination dest to target arrival recipient receiver",
            ),
        ];
        let Some(before) = at.checked_sub(1).map(|at| &self.words[at]) else {
            return 0.0;
        };
        let stems = &self.columns[column];
        let is_end = |(word, means): &(&str, &str)| {
            let mut means = means.split(' ');
            before.lower == *word && means.any(|one| stems.iter().any(|stem| alike(stem, one)))
        };
        let is_name =
            !self.values_taken[at - 1] && !self.has_lists(column) && stems.contains(&before.stem);
        f64::from(u8::from(is_name || ENDS.iter().any(is_end)))
    }

    /// Whether the items of a list column are labels: few different ones, each in several records.
    fn has_labels(&self, column: usize) -> bool {
        const SHARE: usize = 4;
        let mut known = FxHashSet::default();
        let mut all = 0;
        for cell in (self.collection.records.iter()).filter_map(|record| record.get(column)) {
            // The keys of an object are no labels.
            if !matches!(cell, Cell::List(_) | Cell::Joined(_) | Cell::Text(_)) {
                return false;
            }
            cell.any(|item| {
                all += 1;
                known.insert(item.to_owned());
                false
            });
        }
        known.len() * SHARE < all
    }

    /// Whether a text is the name of a member that most values of a column have: it names that
    /// column.
    fn has_member(&self, column: usize, text: &str) -> bool {
        let outer = &self.collection.columns[column];
        let inner = (self.collection.columns.iter()).position(|name| {
            let rest = name.strip_prefix(&**outer);
            rest.and_then(|rest| rest.strip_prefix('.')) == Some(text)
        });
        inner.is_some_and(|inner| {
            let held = self.collection.records.iter().filter(|one| one.has(inner));
            text.contains(char::is_alphabetic) && held.count() * 2 > self.collection.records.len()
        })
    }

    /// Whether word `at` is the whole name of a column of amounts by which the question orders: `highest
    /// Joly votes`.
    fn is_ordered_by(&self, at: usize) -> bool {
        let word = &self.words[at];
        let asked = &self.question[word.start..word.end];
        let names = |name: &String| name.rsplit('.').next() == Some(asked);
        let column = self.collection.columns.iter().position(names);
        let before = at.checked_sub(1).map_or("", |at| &*self.words[at].lower);
        column.is_some_and(|column| self.is_numeric(column) && !self.has_lists(column))
            && (before == "by" || self.asks_for_end())
    }

    /// Whether word `at` is a part of the name of a column: `python` in `requires_python`.
    fn is_in_column(&self, at: usize) -> bool {
        let word = &self.words[at];
        let name = self.joined(at, &['_', '-']);
        name.len() > word.end - word.start && self.is_column(&self.question[name])
    }

    /// Whether the word before word `at` says that it is the name of a record: `what terser gets
    /// installed?`, `version of requests`.
    fn asks_for_record(&self, at: usize) -> bool {
        match at.checked_sub(1).map(|at| &*self.words[at].lower) {
            Some("what") => !self.names_column(&self.words[at]),
            Some("of") => !self.plan.is_count && !self.asks_for_end(),
            _ => false,
        }
    }

    /// Whether a word is, as it is written, a word of the name of a column that most records have.
    fn is_part_of_name(&self, word: &str) -> bool {
        let word = word.trim_end_matches('s');
        let records = &self.collection.records;
        let is_common = |column: usize| {
            records.iter().filter(|record| record.has(column)).count() * 2 > records.len()
        };
        self.collection
            .columns
            .iter()
            .enumerate()
            .any(|(column, name)| {
                let last = name.rsplit('.').next().unwrap_or_default();
                let parts = last.split(|c: char| !c.is_alphanumeric());
                let mut parts = parts.flat_map(camel_parts);
                let is_word = |part: &str| part.trim_end_matches('s').eq_ignore_ascii_case(word);
                parts.any(is_word) && is_common(column)
            })
    }

    /// Whether a text is the last step of the name of a column.
    fn is_column(&self, text: &str) -> bool {
        let mut columns = self.collection.columns.iter();
        columns.any(|name| name.rsplit('.').next() == Some(text))
    }

    /// Whether the signs behind word `at` make it a pattern or the beginning of a path: `tracing*`,
    /// `Pacific/`.
    fn is_pattern(&self, at: usize) -> bool {
        let behind = &self.question[self.words[at].end..];
        behind == "/"
            || ["*", "-*", "_*", "/ ", "/'"]
                .iter()
                .any(|sign| behind.starts_with(sign))
    }

    /// 1 if words are a whole value in large letters, such as `DELETE`, otherwise 0.
    fn exactness(&self, first: usize, last: usize, held: &Held) -> f64 {
        let asked = &self.question[self.words[first].start..self.words[last].end];
        let is_large = |byte: u8| byte.is_ascii_uppercase();
        let is_whole = held.whole > 0 && asked == held.text;
        f64::from(u8::from(
            is_whole && asked.len() > 1 && asked.bytes().all(is_large),
        ))
    }

    /// Whether large letters stand for a value in small ones: `UDP` for `udp`.
    fn is_acronym(&self, asked: &str, text: &str) -> bool {
        asked.len() > 1
            && asked.bytes().all(|byte| byte.is_ascii_uppercase())
            && asked.eq_ignore_ascii_case(text)
            && self.question.contains(|c: char| c.is_lowercase())
    }

    /// Whether a word is a part of one with hyphens: `macro` in `proc-macro`.
    pub(super) fn is_hyphened(&self, at: usize) -> bool {
        let word = &self.words[at];
        self.question[..word.start].ends_with('-') || self.question[word.end..].starts_with('-')
    }

    /// Whether words of which a text looks like one word are the whole name of a column: the crate
    /// `rustversion` is not meant by `Rust version`.
    fn is_name_of_column(&self, text: &str, first: usize, last: usize) -> bool {
        let words = &self.words[first..=last];
        let is_all = |stems: &Vec<String>| {
            stems.len() == words.len() && words.iter().all(|word| stems.contains(&word.stem))
        };
        words.len() > 1
            && text.chars().all(char::is_alphanumeric)
            && self.columns.iter().any(is_all)
    }

    /// Whether word `at` begins a value that is not meant: `not X`, or the `Y` of `not X or Y`.
    pub(super) fn is_excluded(&self, at: usize) -> bool {
        let joins = |at: usize| ["or", "and", "nor"].contains(&&*self.words[at].lower);
        let follows = |last: usize| at == last + 1 || at == last + 2 && joins(last + 1);
        self.is_denied(at) || self.excluded.iter().any(|&last| follows(last))
    }

    /// Whether word `at` says what is asked for: `which packages`, `how many endpoints`.
    pub(super) fn is_asked(&self, at: usize) -> bool {
        const BEFORE: [&str; 8] = ["which", "what", "many", "of", "all", "the", "list", "these"];
        let before = at.checked_sub(1).map(|at| &*self.words[at].lower);
        let word = &self.words[at];
        let starts_small = self.question[word.start..]
            .chars()
            .next()
            .is_some_and(char::is_lowercase);
        // What is asked for is told in the plural.
        let after = self.words.get(at + 1).map_or("", |word| &*word.lower);
        // `which crate has`: a single thing is asked for.
        let is_single = starts_small
            && before.is_some_and(|word| word == "which" || word == "what")
            && (is_stop_word(after) || is_superlative(after));
        is_single
            || at == 0 && (starts_small || is_asking(&word.lower))
            || starts_small
                && word.lower.ends_with('s')
                && before.is_some_and(|word| BEFORE.contains(&word) || NUMBERS.contains(&word))
    }

    /// Whether a word follows what asks for something: `how many bird strikes`.
    pub(super) fn is_beside_asking(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map(|at| &*self.words[at].lower);
        before.is_some_and(|word| ["many", "of", "which", "what"].contains(&word))
    }

    /// The runs of words of the question, squeezed, each with its first and last words.
    fn spans(&self) -> FxHashMap<String, Vec<ValueSpan>> {
        let mut spans: FxHashMap<String, Vec<ValueSpan>> = FxHashMap::default();
        for first in 0..self.words.len() {
            let mut key = String::new();
            for last in first..self.words.len().min(first + LONGEST_VALUE) {
                if last > first && self.are_figures(last) {
                    break;
                }
                key.push_str(&self.words[last].lower);
                spans
                    .entry(key.clone())
                    .or_default()
                    .push((first, last, false));
            }
            for last in first..self.words.len().min(first + LONGEST_VALUE) {
                // `quarry blasts` are records of `quarry blast`.
                if let Some(single) = self.words[last].lower.strip_suffix('s')
                    && (single.len() > 3 || single.ends_with(|c: char| c.is_ascii_digit()))
                {
                    let before = self.words[first..last].iter().map(|word| &*word.lower);
                    let key: String = before.chain([single]).collect();
                    spans.entry(key).or_default().push((first, last, false));
                }
            }
            for last in first..self.words.len().min(first + LONGEST_VALUE) {
                // `union territories` are records of `union territory`.
                if let Some(single) = self.words[last].lower.strip_suffix("ies") {
                    let before = self.words[first..last].iter().map(|word| &*word.lower);
                    let single = format!("{single}y");
                    let key: String = before.chain([&*single]).collect();
                    spans.entry(key).or_default().push((first, last, false));
                }
                // `South American countries` are those of `South America`.
                for root in roots(&self.words[last].lower) {
                    let before = self.words[first..last].iter().map(|word| &*word.lower);
                    let key: String = before.chain([&*root]).collect();
                    spans.entry(key).or_default().push((first, last, false));
                }
            }
            // `the disk was full` is the error `disk full`.
            self.without_small(first, &mut spans);
            // `logged as warnings`: the level `warn`.
            let word = &self.words[first];
            let is_plural = word.lower.ends_with('s') && word.stem != word.lower;
            if word.stem.len() >= LEAST_STEM && is_plural {
                let of_stem = spans.entry(word.stem.clone()).or_default();
                if !of_stem.contains(&(first, first, false)) {
                    of_stem.push((first, first, false));
                }
            }
            if let Some(rest) = opposite(&self.words[first].lower) {
                spans
                    .entry(rest.to_owned())
                    .or_default()
                    .push((first, first, true));
            }
        }
        // `New Mexico`: the state `NM`.
        let codes: Vec<(String, Vec<ValueSpan>)> = spans
            .iter()
            .filter_map(|(key, found)| Some((code(key)?.to_owned(), found.clone())))
            .collect();
        for (code, found) in codes {
            let known = spans.entry(code).or_default();
            for span in found {
                if !known.contains(&span) {
                    known.push(span);
                }
            }
        }
        spans
    }

    /// Whether word `at` and the one before it are separate figures: `4, 6` is not 46.
    fn are_figures(&self, at: usize) -> bool {
        let is_figure = |c: char| c.is_ascii_digit();
        let (before, word) = (&self.words[at - 1], &self.words[at]);
        let gap = &self.question[before.end..word.start];
        gap.contains(char::is_whitespace)
            && before.lower.ends_with(is_figure)
            && word.lower.starts_with(is_figure)
    }

    /// Adds the runs of words from word `first` on in which small words are left out.
    fn without_small(&self, first: usize, spans: &mut FxHashMap<String, Vec<ValueSpan>>) {
        let is_small = |at: usize| is_stop_word(&self.words[at].lower);
        if is_small(first) {
            return;
        }
        // `build scripts were executed`: `build-script-executed`.
        let form = |at: usize, is_single: bool| {
            let word = &*self.words[at].lower;
            let single = word.strip_suffix('s').filter(|one| one.len() > 3);
            single.filter(|_| is_single).unwrap_or(word)
        };
        for is_single in [false, true] {
            let mut key = form(first, is_single).to_owned();
            let mut has_small = false;
            for last in first + 1..self.words.len().min(first + LONGEST_VALUE) {
                if is_small(last) {
                    has_small = true;
                    continue;
                }
                // `3 or 5` is not 35.
                let is_figure = |c: char| c.is_ascii_digit();
                if key.ends_with(is_figure) && form(last, is_single).starts_with(is_figure) {
                    break;
                }
                key.push_str(form(last, is_single));
                let known = spans
                    .get(&key)
                    .is_some_and(|all| all.contains(&(first, last, false)));
                if has_small && !known {
                    let span = spans.entry(key.clone()).or_default();
                    span.push((first, last, false));
                }
            }
        }
    }

    /// The words of a value without the `s` of several such values.
    fn without_plural<'q>(
        &self,
        asked: &'q str,
        text: &str,
        first: usize,
        column: usize,
    ) -> &'q str {
        // `P2s` are several `P2`.
        match asked.strip_suffix('s') {
            Some(one) if one.ends_with(|c: char| c.is_ascii_digit()) => one,
            // `open bugs` have the label `bug`.
            Some(one) if one == text && first > 0 && self.has_lists(column) => one,
            _ => asked,
        }
    }

    /// Whether a value is meant by words that look like it: not a common word, and short ones in
    /// their own case.
    pub(super) fn is_meant(&self, text: &str, first: usize, last: usize, column: usize) -> bool {
        let start = self.words[first].start;
        // `.py` is a word with its dot.
        let is_dotted = text.starts_with('.') && self.question[..start].ends_with('.');
        let start = start - usize::from(is_dotted);
        let asked = &self.question[start..self.words[last].end];
        let asked = self.without_plural(asked, text, first, column);
        let text = text.trim();
        // `ext .py` is no `ext.py`.
        if asked.contains(" .") && text.contains('.') {
            return false;
        }
        if self.is_pattern(last) || is_other_number(asked, text) {
            return false;
        }
        if first == last {
            return self.is_meant_alone((text, asked), first, column, is_dotted);
        }
        if asked != text && (self.is_column(asked) || self.is_name_of_column(text, first, last)) {
            return false;
        }
        // Signs between words must be those of the value, unless they are blanks.
        let is_sign = |c: char| !c.is_alphanumeric();
        if asked.eq_ignore_ascii_case(text.trim_matches(is_sign)) {
            // `not rated` may deny what follows.
            return asked == text || !DENYING.contains(&&*self.words[first].lower);
        }
        let plain = |text: &str| text.to_lowercase().replace('-', "_");
        let is_identifier = !asked.contains(' ');
        let is_phrase = is_identifier || !is_stop_word(&self.words[first].lower);
        !text.contains(['/', '@', '>', '<', '='])
            && is_phrase
            && (!is_identifier || !asked.contains(['_', '-']) || plain(asked) == plain(text))
    }

    /// The same of one word of the question, `asked`.
    fn is_meant_alone(
        &self,
        (text, asked): (&str, &str),
        first: usize,
        column: usize,
        is_dotted: bool,
    ) -> bool {
        const SHORT: usize = 3;
        let word = &self.words[first];
        // `films that made 20 million` are not called `Made`.
        let is_verb = COMMON.contains(&&*word.lower) && asked != text;
        if is_verb && !self.is_category(column) {
            return false;
        }
        let is_capital = asked == text && asked.bytes().all(|byte| byte.is_ascii_uppercase());
        let is_name = is_capital && self.question.contains(|c: char| c.is_lowercase());
        let is_beside =
            asked == text && self.is_category(column) && self.is_beside_name(first, column);
        // `feature tables` names the list of features.
        let is_list_name = || {
            let mut stems = self.columns[column].iter();
            self.has_lists(column) && stems.any(|stem| alike(&word.stem, stem))
        };
        if self.is_in_column(first) || is_list_name() {
            return false;
        }
        let is_limit = is_superlative(&word.lower)
            && (self.words.get(first + 1)).is_some_and(|next| number(next).is_some());
        let says_nothing = is_limit && !is_name
            || (NUMBERS.contains(&&*word.lower) || is_asking(&word.lower))
                && !is_name
                && !is_beside;
        // `libs section: how many?` begins with the value.
        let is_name_first = self.is_category(column) || !asked.ends_with('s');
        // `attrs summary` asks for a member of a record.
        let is_looked_up = || {
            let next = self.words.get(1);
            self.liking(column, false) > 0.0
                && next.is_some_and(|next| self.words.len() <= 3 && self.names_column(next))
        };
        let is_first = first == 0 && asked == text && (is_name_first || is_looked_up());
        let before = first.checked_sub(1).map(|at| &*self.words[at].lower);
        let is_item = asked == text
            && self.has_lists(column)
            && before.is_some_and(|word| word == "of" || word == "list");
        let is_record = asked == text && self.liking(column, false) > 0.0;
        let is_what = is_record && self.asks_for_record(first);
        let is_counted = self.is_counted_kind(text, first, column);
        let is_asked =
            self.is_asked(first) && !is_counted && !is_first && !is_item && !is_beside && !is_what;
        // `texas: the two largest` begins with a state.
        let is_region = code(&word.lower).is_some_and(|code| text.eq_ignore_ascii_case(code));
        if self.is_kind(first, column) || is_region && self.is_category(column) {
            return true;
        }
        // `opens the most tickets` tells no state.
        let next = |by: usize| self.words.get(first + by).map_or("", |word| &*word.lower);
        if word.lower != text.to_lowercase() && next(1) == "the" && is_superlative(next(2)) {
            return false;
        }
        if says_nothing || is_asked || self.is_count(first) {
            return false;
        }
        let is_number = word.lower.bytes().all(|byte| byte.is_ascii_digit());
        let is_same = asked == text;
        let is_named = self.naming(column, word.start, 24) > 0.0;
        if is_number {
            let start = self.words[self.first_of_figures(first)].start;
            let is_named = self.naming(column, start, 24) > 0.0;
            return text == asked && (is_named || self.is_known_number(asked, column));
        }
        let is_acronym = self.is_acronym(asked, text) && self.is_category(column);
        if is_name || is_beside || is_acronym || is_dotted && is_same {
            return true;
        }
        // `European` means no column `EUR`.
        let is_derived = || roots(&word.lower).contains(&squeezed(text));
        if self.is_category(column) && is_derived() {
            return text.len() > SHORT || !self.names_column(word);
        }
        // `depends on requests`: what follows is what is needed.
        if is_same && self.has_lists(column) && self.is_needed(first) {
            return true;
        }
        if is_stop_word(&word.lower) || text.len() <= SHORT {
            let has_signs = text
                .bytes()
                .any(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
            let is_name = !COUNTED.is_match(self.question)
                && self.liking(column, false) > 0.0
                && !self.names_column(word);
            return is_same
                && (has_signs
                    || !is_stop_word(&word.lower) && (self.is_category(column) || is_name));
        }
        let is_proper = is_same && first > 0 && text.starts_with(char::is_uppercase);
        // A word that names a column is not its value.
        // The record `requests` is not meant by a column `requested`.
        !self.names_other(word, column)
            || is_same && (is_named || is_proper)
            || is_record && !self.is_part_of_name(&word.lower)
    }

    /// Whether word `first` tells a kind of things that are counted: `the last two explosions`, or `most
    /// examples` in a list inside of records.
    fn is_counted_kind(&self, text: &str, first: usize, column: usize) -> bool {
        let word = &self.words[first];
        let before = first.checked_sub(1).map_or("", |at| &*self.words[at].lower);
        let is_many = ["most", "of"].contains(&before) && self.collection.outer.is_some();
        (NUMBERS.contains(&before) || is_many)
            && self.is_category(column)
            && word.lower.ends_with('s')
            && (word.lower.strip_suffix('s') == Some(text) || word.stem == text)
    }

    /// The first of the figures that word `at` follows: the `4` of `4, 6 or 8`.
    fn first_of_figures(&self, at: usize) -> usize {
        let is_figure = |at: usize| {
            self.words[at]
                .lower
                .bytes()
                .all(|byte| byte.is_ascii_digit())
        };
        let is_joint = |at: usize| ["or", "and"].contains(&&*self.words[at].lower);
        let mut first = at;
        while let Some(before) = first.checked_sub(1) {
            let before = match before.checked_sub(1) {
                Some(other) if is_joint(before) => other,
                _ => before,
            };
            if !is_figure(before) {
                break;
            }
            first = before;
        }
        first
    }

    /// Whether a number is one of a column that the words near it need not name.
    fn is_known_number(&self, asked: &str, column: usize) -> bool {
        const LEAST_DIGITS: usize = 3;
        const LEAST_ID: usize = 4;
        let is_listed = asked.len() >= LEAST_DIGITS && self.has_lists(column);
        let is_year = || self.columns[column].iter().any(|stem| stem == "year");
        // A number of an issue is told without its name.
        let is_known = asked.len() >= LEAST_ID && (is_year() || self.is_unique(column));
        // `got a 503` tells the status of a response.
        let is_status = asked.len() == LEAST_DIGITS
            && self.columns[column].iter().any(|stem| stem == "status")
            && self.is_code(column);
        is_listed || is_known || is_status
    }

    /// Whether the word before or behind word `at` names a column: `network us`, `payments
    /// namespace`.
    fn is_beside_name(&self, at: usize, column: usize) -> bool {
        let names = |at: usize| {
            let word = self.words.get(at).map(|word| &word.stem);
            let mut stems = self.columns[column].iter();
            word.is_some_and(|word| stems.any(|stem| alike(word, stem)))
        };
        at.checked_sub(1).is_some_and(names) || names(at + 1)
    }

    /// Whether the first word is what kind of things are asked for: `failed pods`.
    fn is_kind(&self, at: usize, column: usize) -> bool {
        let next = self.words.get(at + 1).map_or("", |word| &*word.lower);
        // `how many docs commits`, `failed pods`.
        (at == 0 || self.is_beside_asking(at) && self.words[at].lower.ends_with('s'))
            && !self.words[at]
                .lower
                .starts_with(|c: char| c.is_ascii_digit())
            && self.is_category(column)
            && next.ends_with('s')
            && !is_stop_word(next)
            && !is_asking(&self.words[at].lower)
            && !self.names_column(&self.words[at])
    }
}
