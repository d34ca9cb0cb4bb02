//! Reads a question as conditions, an order and a count over the records of a collection.

use std::sync::LazyLock;

use regex::Regex;
use rustc_hash::{FxHashMap, FxHashSet};

use super::load::{Cell, Collection, Record};
use crate::words::{Stems, camel_parts, is_stop_word};

/// Most words of a value that is looked for in a question.
const LONGEST_VALUE: usize = 8;

/// What a question asks of a collection.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// All must hold.
    pub(super) conditions: Vec<Condition>,
    pub(super) order: Option<Order>,
    /// Whether it asks how many there are.
    pub(super) is_count: bool,
    /// The columns that its words name.
    pub(super) named: Vec<usize>,
    /// Whether it names the list itself.
    pub(super) names_collection: bool,
}

/// A condition on a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    pub(super) column: usize,
    pub(super) test: Test,
}

/// What a cell must satisfy.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Test {
    /// Equal to one of these texts, or a list with one of them.
    Is(Vec<String>),
    /// Has this text as the last step of its path.
    Ends(String),
    /// Contains this text, between word boundaries.
    Contains(String),
    /// Has this word in it.
    Has(String),
    /// Begins with this text.
    Begins(String),
    /// At least, or more than, this.
    AtLeast(f64),
    MoreThan(f64),
    AtMost(f64),
    LessThan(f64),
    /// True.
    True,
    /// Present, or absent.
    Present(bool),
}

/// The first records by a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Order {
    pub(super) column: usize,
    pub(super) is_descending: bool,
    pub(super) count: usize,
    /// Whether the column's values are ordered by how often they occur.
    pub(super) by_frequency: bool,
}

impl Plan {
    /// How well the question fits the collection.
    pub(super) fn fit(&self) -> usize {
        self.conditions.len() * 2
            + usize::from(self.order.is_some()) * 2
            + self.named.len().min(2)
            + usize::from(self.names_collection)
    }
}

impl Test {
    pub(super) fn holds(&self, cell: Option<&Cell>) -> bool {
        if let Self::Present(is) = self {
            return cell.is_some() == *is;
        }
        let Some(cell) = cell else { return false };
        let any = |is: &dyn Fn(&str) -> bool| match cell {
            Cell::Text(text) | Cell::Number(_, text) => is(text),
            Cell::List(items, _) => items.iter().any(|item| is(item)),
            Cell::Bool(value) => is(if *value { "true" } else { "false" }),
        };
        let number = |is: &dyn Fn(f64) -> bool| cell.number().is_some_and(is);
        match self {
            Self::Is(texts) => any(&|text| {
                let is = |text: &str| texts.iter().any(|one| one.eq_ignore_ascii_case(text));
                let is_listed = matches!(cell, Cell::List(..)) && is(requirement(text));
                is(text.trim()) || is_listed
            }),
            Self::Ends(last) => any(&|text| {
                let end = text.rsplit_once('/').map(|(_, end)| end);
                end.is_some_and(|end| end.eq_ignore_ascii_case(last))
            }),
            Self::Contains(part) => any(&|text| contains(text, part, &['_', '-'])),
            Self::Has(word) => any(&|text| contains(text, word, &[])),
            Self::Begins(part) => any(&|text| {
                text.get(..part.len())
                    .is_some_and(|start| start.eq_ignore_ascii_case(part))
            }),
            Self::AtLeast(least) => number(&|number| number >= *least),
            Self::MoreThan(least) => number(&|number| number > *least),
            Self::AtMost(most) => number(&|number| number <= *most),
            Self::LessThan(most) => number(&|number| number < *most),
            Self::True => *cell == Cell::Bool(true),
            Self::Present(is) => *is,
        }
    }
}

/// Whether `text` has `part` in it, not as a part of a longer word, to which `joiners` belong, too.
/// Case does not count.
fn contains(text: &str, part: &str, joiners: &[char]) -> bool {
    let (text, part) = (text.to_lowercase(), part.to_lowercase());
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || joiners.contains(&c));
    let needs = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(&part).any(|(at, _)| {
        let (before, after) = (
            text[..at].chars().next_back(),
            text[at + part.len()..].chars().next(),
        );
        let is_cut = |edge: Option<char>, beside| needs(edge) && is_word(beside);
        !is_cut(part.chars().next(), before) && !is_cut(part.chars().next_back(), after)
    })
}

/// The name in an item such as `tornado>=6.2; python_version < "4"`.
fn requirement(text: &str) -> &str {
    let end = text.find(|c: char| c.is_whitespace() || "<>=!~;([^".contains(c));
    text[..end.unwrap_or(text.len())].trim()
}

/// Words for the ends of an order: the word, whether it asks for the largest, and parts of the
/// names of columns that it means.
const SUPERLATIVES: [(&str, bool, &str); 45] = [
    ("commonest", true, ""),
    ("most", true, ""),
    ("highest", true, ""),
    ("largest", true, "size bytes kb area"),
    ("biggest", true, "size bytes kb area"),
    ("greatest", true, ""),
    ("maximum", true, ""),
    ("top", true, ""),
    ("best", true, "rating score"),
    ("longest", true, "length duration time min"),
    ("deepest", true, "depth"),
    ("fastest", true, "speed"),
    ("heaviest", true, "weight mass"),
    ("tallest", true, "height elevation"),
    ("strongest", true, "mag magnitude"),
    ("latest", true, "date time created released updated year"),
    ("newest", true, "date time created released updated year"),
    ("last", true, "date time created released updated year"),
    ("youngest", true, "date birth"),
    ("recent", true, "date time created released updated year"),
    ("costliest", true, "cost price"),
    ("dearest", true, "cost price"),
    ("expensive", true, "cost price"),
    ("popular", true, "votes downloads stars"),
    ("oldest", false, "date time created released updated year"),
    ("earliest", false, "date time created released updated year"),
    ("first", false, "date time created released updated year"),
    ("lowest", false, ""),
    ("smallest", false, "size bytes kb area"),
    ("least", false, ""),
    ("fewest", false, ""),
    ("minimum", false, ""),
    ("shortest", false, "length duration time min"),
    ("cheapest", false, "cost price"),
    ("slowest", false, "speed"),
    ("lightest", false, "weight mass"),
    ("worst", false, "rating score"),
    ("weakest", false, "mag magnitude"),
    ("shallowest", false, "depth"),
    ("southernmost", false, "latitude lat"),
    ("northernmost", true, "latitude lat"),
    ("westernmost", false, "longitude lon lng"),
    ("easternmost", true, "longitude lon lng"),
    ("south", false, "latitude lat"),
    ("north", true, "latitude lat"),
];

/// Numbers as words.
const NUMBERS: [&str; 11] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
];

/// Words that say how a number is compared, longest first where one contains another.
static COMPARED: LazyLock<Regex> = LazyLock::new(|| {
    let number = r"\$?(?P<n>\d[\d,]*(?:\.\d+)?)(?P<unit>[kKmM]?)\b";
    let number = |n: usize| {
        number
            .replace("(?P<n>", &format!("(?P<n{n}>"))
            .replace("(?P<unit>", &format!("(?P<u{n}>"))
    };
    let pattern = format!(
        concat!(
            r"(?i)(?P<ge>at least|no less than|not less than|>=|≥|from)(?:\s+[a-z]+)?\s*{n1}",
            r"|(?P<le>at most|no more than|not more than|up to|<=|≤)(?:\s+[a-z]+)?\s*{n2}",
            r"|(?P<gt>(?:more|greater|higher|larger|bigger|longer|stronger|deeper|better|later|newer) than|over|above|exceed(?:s|ing)?|beyond|>)\s*{n3}",
            r"|(?P<lt>(?:less|fewer|lower|smaller|shorter|cheaper|earlier|older) than|under|below|<)\s*{n4}",
            r"|{n5}(?:\s*\w+)?\s*(?:or|and)\s+(?P<up>more|higher|greater|above|better|up|over|larger|longer|later)\b",
            r"|{n6}(?:\s*\w+)?\s*(?:or|and)\s+(?P<down>less|fewer|lower|below|under|smaller|shorter|earlier)\b",
            r"|{n7}\+",
        ),
        n1 = number(1),
        n2 = number(2),
        n3 = number(3),
        n4 = number(4),
        n5 = number(5),
        n6 = number(6),
        n7 = number(7),
    );
    Regex::new(&pattern).expect("invariant: the pattern is valid")
});
static BETWEEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)between\s+(\d[\d,]*(?:\.\d+)?)\s+and\s+(\d[\d,]*(?:\.\d+)?)")
        .expect("invariant: the pattern is valid")
});
static COUNTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\bhow many\b|\bnumber of\b|^(?:the )?count\b|^total\b|\bcount of\b|\btotal number\b|\bhow often\b").expect("invariant: the pattern is valid")
});
/// Texts that stand for themselves: quoted, or with signs inside.
static LITERAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#""([^"]{2,80})"|'([^']{2,80})'|`([^`]{2,80})`|(?:^|[\s(,])([A-Za-z0-9@/>=<~^][\w@/.>=<~^:+-]*[\-_/@:=>][\w@/.>=<~^:+-]*)"#)
        .expect("invariant: the pattern is valid")
});
static BY_NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\bby (?:the )?(?:number|count|frequency)\b")
        .expect("invariant: the pattern is valid")
});
/// Members that records have or lack: `with a bin field`.
static HAVING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:with|ha(?:s|ve|ving)|that set|without|lack(?:s|ing)?)\s+(an?\s+|the\s+|any\s+|no\s+)?([\w.-]+)(?:\s+(field|member|key|attribute|property|column|entry))?")
        .expect("invariant: the pattern is valid")
});
static BEGINNING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)\b(?:start(?:s|ing)?|begin(?:s|ning)?)\s+with\s+(?:an? |the )?["'`]?([^\s"'`,?()]+)|\b(?:under|below|start(?:s|ing)|begin(?:s|ning))\s+(/[^\s?,]+|[\w.]+-)(?:[?.,]|\s|$)"#).expect("invariant: the pattern is valid")
});
/// `num*`, `/txs/...`, `19.2.x`.
static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[\s(])([\w/.@-]*[\w/@-])(?:\*|\.\.\.|…|\.x\b)")
        .expect("invariant: the pattern is valid")
});
/// Names: words with a capital letter that follow one another.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\p{Lu}[\p{L}\p{N}.'’-]*(?:\s+(?:of |de |van |von |the )?\p{Lu}[\p{L}\p{N}.'’-]*)*")
        .expect("invariant: the pattern is valid")
});

/// A value that the question contains, in a column.
struct Held {
    text: String,
    /// How many records have it as their value, and as the last step of a path.
    whole: usize,
    ends: usize,
}

impl Held {
    /// How many records are meant: those with the whole value, if there are any.
    fn count(&self) -> usize {
        match self.whole {
            0 => self.ends,
            whole => whole,
        }
    }
}

/// A word of the question.
struct Word {
    start: usize,
    end: usize,
    lower: String,
    stem: String,
}

/// Reads a question over a collection.
pub(super) fn plan(question: &str, collection: &Collection) -> Plan {
    let stems = Stems::new();
    let words = words(question, &stems);
    let columns: Vec<Vec<String>> = collection
        .columns
        .iter()
        .map(|name| column_stems(name, &stems))
        .collect();
    let mut reader = Reader {
        question,
        kinds: kinds(collection),
        words: &words,
        collection,
        columns: &columns,
        taken: vec![false; words.len()],
        values_taken: vec![false; words.len()],
        plan: Plan::default(),
    };
    reader.comparisons();
    reader.beginnings(&BEGINNING);
    reader.values();
    reader.beginnings(&PATTERN);
    reader.parts();
    reader.order();
    reader.flags();
    reader.having();
    reader.plan.is_count = COUNTED.is_match(question);
    reader.loose_words();
    reader.named();
    let last = collection.path.rsplit('.').next().unwrap_or_default();
    let last = column_stems(last, &stems);
    let is_last = |word: &Word| last.contains(&word.stem);
    reader.plan.names_collection = words.iter().any(is_last);
    reader.plan
}

fn words(question: &str, stems: &Stems) -> Vec<Word> {
    static WORD: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"[\p{L}\p{M}\p{N}]+").expect("invariant: the pattern is valid")
    });
    let words = WORD.find_iter(question).map(|word| Word {
        start: word.start(),
        end: word.end(),
        lower: word.as_str().to_lowercase(),
        stem: stems.stem(word.as_str()),
    });
    words.take(80).collect()
}

/// The stems of the words in a column's name.
fn column_stems(name: &str, stems: &Stems) -> Vec<String> {
    let parts = name.split(|c: char| !c.is_alphanumeric());
    let parts = parts.filter(|part| !part.is_empty()).flat_map(camel_parts);
    let parts = parts.filter(|part| !is_stop_word(&part.to_lowercase()));
    parts.map(|part| stems.stem(part)).collect()
}

/// What most values of a column are.
#[derive(Debug, Clone, Copy)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts about one column"
)]
struct ColumnKind {
    is_numeric: bool,
    has_lists: bool,
    is_category: bool,
    /// Whether more than a few records have it.
    is_usual: bool,
}

/// Looks at each value once.
fn kinds(collection: &Collection) -> Vec<ColumnKind> {
    /// A category has fewer different values than one in this many records.
    const SHARE: usize = 5;
    /// A column is rare if fewer than one in this many records have it.
    const RARE: usize = 10;
    /// Rare columns within one member that make it a map.
    const MAP: usize = 10;
    #[derive(Default, Clone)]
    struct Seen<'c> {
        all: usize,
        numbers: usize,
        lists: usize,
        texts: FxHashSet<&'c str>,
    }
    let most = collection.records.len() / SHARE;
    let mut columns = vec![Seen::default(); collection.columns.len()];
    for record in &collection.records {
        for (&column, cell) in &record.cells {
            let seen = &mut columns[column];
            seen.all += 1;
            match cell {
                Cell::Number(..) => seen.numbers += 1,
                Cell::List(..) => seen.lists += 1,
                Cell::Text(text) if seen.texts.len() <= most => {
                    seen.texts.insert(text);
                }
                Cell::Text(_) | Cell::Bool(_) => {}
            }
        }
    }
    let kind = |seen: Seen<'_>| ColumnKind {
        is_numeric: seen.all > 0 && seen.numbers * 2 >= seen.all,
        has_lists: seen.all > 0 && seen.lists * 2 >= seen.all,
        is_category: seen.texts.len() < most,
        is_usual: true,
    };
    let is_rare: Vec<bool> = columns
        .iter()
        .map(|seen| seen.all * RARE < collection.records.len())
        .collect();
    let mut kinds: Vec<ColumnKind> = columns.into_iter().map(kind).collect();
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
        kind.is_usual = !is_rare[column] || parent(column).is_none() || !many;
    }
    kinds
}

struct Reader<'a> {
    question: &'a str,
    kinds: Vec<ColumnKind>,
    words: &'a [Word],
    collection: &'a Collection,
    columns: &'a [Vec<String>],
    /// Words that were read as a part of a condition.
    taken: Vec<bool>,
    /// Words that are a value.
    values_taken: Vec<bool>,
    plan: Plan,
}

impl Reader<'_> {
    fn share(&self, column: usize, is: impl Fn(&Cell) -> bool) -> f64 {
        let records = &self.collection.records;
        let with = records
            .iter()
            .filter_map(|record| record.cells.get(&column));
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

    fn is_numeric(&self, column: usize) -> bool {
        self.kinds[column].is_numeric
    }

    fn has_lists(&self, column: usize) -> bool {
        self.kinds[column].has_lists
    }

    /// Whether a word is a part of the name of a column that is not rare.
    fn names_column(&self, word: &Word) -> bool {
        let usual = self.columns.iter().zip(&self.kinds);
        let mut stems = usual
            .filter(|(_, kind)| kind.is_usual)
            .flat_map(|(stems, _)| stems);
        stems.any(|stem| alike(stem, &word.stem))
    }

    /// Whether a column has few different values.
    fn is_category(&self, column: usize) -> bool {
        self.kinds[column].is_category
    }

    /// How much the words within `reach` of byte `at` name a column: the share of its name's words.
    fn naming(&self, column: usize, at: usize, reach: usize) -> f64 {
        let stems = &self.columns[column];
        let near_to = |word: &&Word| {
            word.start.saturating_add(reach) >= at && word.end <= at.saturating_add(reach)
        };
        // A word of a value names no column.
        let free = |at: usize| !self.values_taken[at];
        let held = stems.iter().filter(|stem| {
            let mut near = self.words.iter().enumerate();
            near.any(|(at, word)| free(at) && near_to(&word) && alike(&word.stem, stem))
        });
        let held = held.count() as f64;
        // A nested name need not be told in full.
        held * held / stems.len().max(1) as f64 + held / 10.0
    }

    /// The column that the words near byte `at` name best, if any do.
    fn best_column(&self, at: usize, is_fit: impl Fn(usize) -> bool) -> Option<usize> {
        const NEAR: usize = 30;
        const ALL: usize = usize::MAX / 4;
        let fit = (0..self.columns.len()).filter(|&column| is_fit(column));
        let score = |column| self.naming(column, at, ALL) + self.naming(column, at, NEAR) / 2.0;
        let named = fit.map(|column| (score(column), column));
        let named = named.filter(|&(score, _)| score > 0.0);
        let best = named.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        best.map(|(_, column)| column)
    }

    fn take(&mut self, start: usize, end: usize) {
        for (word, taken) in self.words.iter().zip(&mut self.taken) {
            *taken |= word.start >= start && word.end <= end;
        }
    }

    fn condition(&mut self, column: usize, test: Test) {
        let condition = Condition { column, test };
        if !self.plan.conditions.contains(&condition) {
            self.plan.conditions.push(condition);
        }
    }

    /// `more than 5`, `8.2 or higher`, `between 3 and 4`.
    fn comparisons(&mut self) {
        let number = |text: &str| text.replace(',', "").parse::<f64>().ok();
        if let Some(found) = BETWEEN.captures(self.question) {
            let (low, high) = (number(&found[1]), number(&found[2]));
            let whole = found.get(0).expect("the whole match");
            let column = self.best_column(whole.start(), |column| self.is_numeric(column));
            if let (Some(low), Some(high), Some(column)) = (low, high, column) {
                self.condition(column, Test::AtLeast(low));
                self.condition(column, Test::AtMost(high));
                self.take(whole.start(), whole.end());
            }
            return;
        }
        for found in COMPARED.captures_iter(self.question) {
            let at = (1..=7).find(|at| found.name(&format!("n{at}")).is_some());
            let Some(at) = at else { continue };
            let Some(value) = number(&found[&*format!("n{at}")]) else {
                continue;
            };
            let unit = found
                .name(&format!("u{at}"))
                .map_or("", |unit| unit.as_str());
            let value = match unit {
                "k" | "K" => value * 1e3,
                "m" | "M" => value * 1e6,
                _ => value,
            };
            let whole = found.get(0).expect("the whole match");
            let fit = |column: usize| self.is_numeric(column) || self.has_lists(column);
            let mut numeric = (0..self.columns.len()).filter(|&column| self.is_numeric(column));
            let only = numeric.next().filter(|_| numeric.next().is_none());
            let written = &found[&*format!("n{at}")];
            let column = self.best_column(whole.start(), fit).or(only);
            let Some(column) = column.or_else(|| self.column_of_number(written)) else {
                continue;
            };
            let test = match at {
                1 | 5 | 7 => Test::AtLeast(value),
                2 | 6 => Test::AtMost(value),
                3 => Test::MoreThan(value),
                _ => Test::LessThan(value),
            };
            self.condition(column, test);
            self.take(whole.start(), whole.end());
        }
    }

    /// The numeric column in which a number with a fraction occurs most often as it is written.
    fn column_of_number(&self, written: &str) -> Option<usize> {
        let is_written =
            |cell: Option<&Cell>| matches!(cell, Some(Cell::Number(_, text)) if text == written);
        let times = |column: usize| {
            let records = self.collection.records.iter();
            let held = records.filter(|one| is_written(one.cells.get(&column)));
            held.count()
        };
        let columns = (0..self.columns.len()).filter(|&column| self.is_numeric(column));
        let columns = columns.map(|column| (times(column), std::cmp::Reverse(column)));
        let best = columns.filter(|_| written.contains('.')).max()?;
        (best.0 > 0).then_some(best.1.0)
    }

    /// `starting with windows-`, `under /nutlink/`.
    fn beginnings(&mut self, pattern: &Regex) {
        let Some(found) = pattern.captures(self.question) else {
            return;
        };
        let Some(part) = found.iter().skip(1).flatten().next() else {
            return;
        };
        let mut inside = self.words.iter().zip(&self.taken);
        if inside
            .any(|(word, &taken)| taken && word.start >= part.start() && word.end <= part.end())
        {
            return;
        }
        let text = part.as_str().trim_end_matches(['?', '.', ',']);
        // `19.2.x` stands for `19.2.` and what follows.
        let text = match part.as_str().len() + 2 <= found[0].trim_start().len()
            && found[0].ends_with(['x'])
        {
            true => format!("{text}."),
            false => text.to_owned(),
        };
        let test = Test::Begins(text);
        let best = self.most_held(&test, part.start());
        if let Some(column) = best {
            self.condition(column, test);
            self.take(part.start(), part.end());
        }
    }

    /// The column in which a test holds for some records but not for all, named nearest, then most
    /// often.
    fn most_held(&self, test: &Test, at: usize) -> Option<usize> {
        let records = &self.collection.records;
        let held = |column: usize| {
            let held = records
                .iter()
                .filter(|record| test.holds(record.cells.get(&column)));
            held.count()
        };
        let columns = (0..self.columns.len()).map(|column| (held(column), column));
        let columns = columns.filter(|&(held, _)| held > 0 && held < records.len());
        let best = columns.max_by(|a, b| {
            let named = |column| self.naming(column, at, 40);
            named(a.1)
                .total_cmp(&named(b.1))
                .then(a.0.cmp(&b.0))
                .then(b.1.cmp(&a.1))
        });
        best.map(|(_, column)| column)
    }

    /// Values of columns that the question contains.
    fn values(&mut self) {
        let spans = self.spans();
        let lower = |c: char| c.to_lowercase().next().unwrap_or(c);
        let begins: FxHashSet<char> = self
            .words
            .iter()
            .filter_map(|word| word.lower.chars().next())
            .collect();
        // For each span, how many records have it in each column.
        let mut found: FxHashMap<(usize, usize), FxHashMap<usize, Held>> = FxHashMap::default();
        for record in &self.collection.records {
            for (&column, cell) in &record.cells {
                let mut see = |text: &str, is_end: bool| {
                    // Most values do not begin like a word of the question.
                    let first = text.chars().find(|c| c.is_alphanumeric());
                    if !first.is_some_and(|first| begins.contains(&lower(first))) {
                        return;
                    }
                    let key = squeezed(text);
                    for &(first, last) in spans.get(&key).into_iter().flatten() {
                        if !self.is_meant(text, first, last, column) {
                            continue;
                        }
                        let columns = found.entry((first, last)).or_default();
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
                    Cell::Text(text) | Cell::Number(_, text) => {
                        see(text, false);
                        if let Some((_, last)) = text.rsplit_once('/') {
                            see(last, true);
                        }
                    }
                    Cell::List(items, _) => {
                        for item in items {
                            see(item, false);
                            let name = requirement(item);
                            if name.len() < item.len() {
                                see(name, false);
                            }
                        }
                    }
                    Cell::Bool(_) => {}
                }
            }
        }
        let mut found: Vec<_> = found.into_iter().collect();
        let needs = self.asks_for_needs();
        // Longer values first: `New York` is not `York`.
        found.sort_by_key(|((first, last), _)| (std::cmp::Reverse(last - first), *first));
        for ((first, last), columns) in found {
            if self.taken[first..=last].iter().any(|&taken| taken) || self.is_denied(first) {
                continue;
            }
            let at = self.words[first].start;
            let all = self.collection.records.len();
            let first_word = &self.words[first].lower;
            let is_number = first_word.bytes().all(|byte| byte.is_ascii_digit());
            let best = columns
                .into_iter()
                .filter(|(_, held)| held.count() < all)
                // What merely has something of that name in a list is not meant.
                .filter(|&(column, _)| needs || is_number || !self.has_lists(column))
                .max_by(|a, b| {
                    let named =
                        |column: usize| self.naming(column, at, 30) + self.liking(column, needs);
                    named(a.0)
                        .total_cmp(&named(b.0))
                        .then(a.1.count().cmp(&b.1.count()))
                        .then(b.0.cmp(&a.0))
                });
            let Some((column, held)) = best else {
                continue;
            };
            let (is_end, text) = (held.whole == 0, held.text);
            if is_end {
                self.condition(column, Test::Ends(text));
                self.take(at, self.words[last].end);
                continue;
            }
            let known = self
                .plan
                .conditions
                .iter_mut()
                .find_map(|one| match &mut one.test {
                    Test::Is(texts) if one.column == column => Some(texts),
                    _ => None,
                });
            match known {
                Some(texts) => texts.push(text),
                None => self.condition(column, Test::Is(vec![text])),
            }
            self.take(at, self.words[last].end);
            self.values_taken[first..=last].fill(true);
        }
    }

    /// Whether the question asks what depends on something.
    fn asks_for_needs(&self) -> bool {
        const NEEDS: [&str; 8] = [
            "depend", "need", "requir", "use", "import", "includ", "featur", "pull",
        ];
        let mut stems = self.words.iter().map(|word| &*word.stem);
        stems.any(|stem| NEEDS.contains(&stem))
    }

    /// Whether word `at` says what is asked for: `which packages`, `how many endpoints`.
    fn is_asked(&self, at: usize) -> bool {
        const BEFORE: [&str; 8] = ["which", "what", "many", "of", "all", "the", "list", "these"];
        let before = at.checked_sub(1).map(|at| &*self.words[at].lower);
        let word = &self.words[at];
        let starts_small = self.question[word.start..]
            .chars()
            .next()
            .is_some_and(char::is_lowercase);
        // What is asked for is told in the plural.
        at == 0 && (starts_small || is_asking(&word.lower))
            || starts_small
                && word.lower.ends_with('s')
                && before.is_some_and(|word| BEFORE.contains(&word) || NUMBERS.contains(&word))
    }

    /// Whether a number says how many are asked for: `top 3`, `3 largest`.
    fn is_count(&self, at: usize) -> bool {
        let known = |at: Option<usize>| {
            let word = at.and_then(|at| self.words.get(at));
            word.is_some_and(|word| SUPERLATIVES.iter().any(|(name, ..)| *name == word.lower))
        };
        let is_small = self.words[at]
            .lower
            .parse()
            .is_ok_and(|count: u32| count <= 100);
        is_small && (known(at.checked_sub(1)) || known(Some(at + 1)))
    }

    /// Whether a word follows what asks for something: `how many bird strikes`.
    fn is_beside_asking(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map(|at| &*self.words[at].lower);
        before.is_some_and(|word| ["many", "of", "which", "what"].contains(&word))
    }

    /// How likely a value is meant in a column, whatever the words near it: what depends on
    /// something has it in a list, otherwise a name is that of a record.
    fn liking(&self, column: usize, needs: bool) -> f64 {
        const LIST: f64 = 5.0;
        const NAME: f64 = 0.6;
        let name = &*self.collection.columns[column];
        match (self.has_lists(column), needs) {
            (true, true) => LIST,
            (true, false) => -LIST,
            _ if ["name", "title", "key", "id", "metadata.name"].contains(&name) => NAME,
            _ => 0.0,
        }
    }

    /// Whether the words before word `at` say that it is not meant.
    fn is_denied(&self, at: usize) -> bool {
        let before = self.words[..at].iter().rev().take(2);
        let mut before = before.map(|word| &*word.lower);
        before.any(|word| {
            [
                "not",
                "non",
                "without",
                "except",
                "excluding",
                "apart",
                "ignoring",
                "nor",
            ]
            .contains(&word)
        })
    }

    /// The runs of words of the question, squeezed, each with its first and last words.
    fn spans(&self) -> FxHashMap<String, Vec<(usize, usize)>> {
        let mut spans: FxHashMap<String, Vec<(usize, usize)>> = FxHashMap::default();
        for first in 0..self.words.len() {
            let mut key = String::new();
            for last in first..self.words.len().min(first + LONGEST_VALUE) {
                key.push_str(&self.words[last].lower);
                spans.entry(key.clone()).or_default().push((first, last));
            }
        }
        spans
    }

    /// Whether a value is meant by words that look like it: not a common word, and short ones in
    /// their own case.
    fn is_meant(&self, text: &str, first: usize, last: usize, column: usize) -> bool {
        const SHORT: usize = 3;
        let asked = &self.question[self.words[first].start..self.words[last].end];
        let text = text.trim();
        if first == last {
            let word = &self.words[first];
            let says_nothing = NUMBERS.contains(&&*word.lower) || is_asking(&word.lower);
            if says_nothing && first == last || self.is_asked(first) || self.is_count(first) {
                return false;
            }
            let is_number = word.lower.bytes().all(|byte| byte.is_ascii_digit());
            let is_same = asked == text;
            let is_named = self.naming(column, word.start, 24) > 0.0;
            if is_number {
                const LEAST_DIGITS: usize = 3;
                let is_listed = asked.len() >= LEAST_DIGITS && self.has_lists(column);
                return (is_named || is_listed) && text == asked;
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
            // A word that names a column is not its value.
            return !self.names_column(word) || is_named && is_same;
        }
        // Signs between words must be those of the value, unless they are blanks.
        asked.eq_ignore_ascii_case(text) || !text.contains(['/', '@', '>', '<', '='])
    }

    /// Names, quoted texts and identifiers that are a part of values.
    fn parts(&mut self) {
        let literals = LITERAL.captures_iter(self.question).filter_map(|found| {
            (1..=4)
                .find_map(|at| found.get(at))
                .map(|part| (part.start(), part.end()))
        });
        let names = NAME
            .find_iter(self.question)
            .map(|name| (name.start(), name.end()));
        let all: Vec<(usize, usize)> = literals.chain(names).collect();
        for (start, end) in all {
            let inside = self.words.iter().zip(&self.taken);
            let mut inside = inside.filter(|(word, _)| word.start >= start && word.end <= end);
            if inside.clone().count() == 0 || inside.any(|(_, &taken)| taken) {
                continue;
            }
            let text = self.question[start..end].trim_end_matches(['?', '.', ',', ':']);
            let words: Vec<&Word> = self
                .words
                .iter()
                .filter(|word| word.start >= start && word.end <= end)
                .collect();
            let is_plain = words.len() == 1 && text.len() == words[0].lower.len();
            let is_first = start == 0 && is_asking(&words[0].lower);
            let names_column = words
                .iter()
                .all(|word| is_stop_word(&word.lower) || self.names_column(word));
            let at = self.words.iter().position(|word| word.start >= start);
            let is_denied = at.is_some_and(|at| self.is_denied(at));
            if text.len() < 3 || names_column || is_plain && is_first || is_denied {
                continue;
            }
            let test = Test::Contains(text.to_owned());
            if let Some(column) = self.most_held(&test, start) {
                self.condition(column, test);
                self.take(start, end);
            }
        }
    }

    /// `the three most expensive`, `deepest`, `hit most often`.
    fn order(&mut self) {
        let found = self.words.iter().enumerate().find_map(|(at, word)| {
            if self.taken[at] {
                return None;
            }
            let known = SUPERLATIVES.iter().find(|(name, ..)| *name == word.lower)?;
            // `first` and `last` name people and parts, too; `at most` was read.
            let is_weak = ["first", "last", "south", "north", "top"].contains(&known.0);
            (!is_weak || self.count_near(at).is_some() || known.0 == "top").then_some((at, known))
        });
        let Some((at, &(name, is_descending, means))) = found else {
            self.ranked();
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
        let Some(column) = column else { return };
        self.plan.order = Some(Order {
            column,
            is_descending,
            count: self.count_near(at).unwrap_or(1).clamp(1, 50),
            by_frequency: is_often,
        });
    }

    /// `by number of strikes`, unless that is a column itself.
    fn is_by_number(&self) -> bool {
        let Some(found) = BY_NUMBER.find(self.question) else {
            return false;
        };
        let fit = |column: usize| self.is_numeric(column) || self.has_lists(column);
        let named = self.best_column(found.end(), fit);
        named.is_none_or(|column| self.naming(column, found.end(), 16) < 1.0)
    }

    /// Whether another superlative says what `top` does not.
    fn is_top(&self, name: &str) -> bool {
        let has = |name: &str| self.words.iter().any(|word| word.lower == name);
        has("top") && name != "top"
    }

    /// `ranked by sig, first three`.
    fn ranked(&mut self) {
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
            by_frequency: false,
        });
    }

    fn is_dated(&self, column: usize) -> bool {
        static DATE: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"^\d{4}-\d\d").expect("invariant: the pattern is valid"));
        self.share(
            column,
            |cell| matches!(cell, Cell::Text(text) if DATE.is_match(text)),
        ) >= 0.5
    }

    /// The count beside a superlative: `top 3`, `three oldest`, `the five packages with the most`.
    fn count_near(&self, at: usize) -> Option<usize> {
        let after = self.words.get(at + 1).and_then(number);
        let before = self.words[..at].iter().rev().take(8).find_map(number);
        after.or(before)
    }

    /// Members that are true or false, or that only some records have.
    fn flags(&mut self) {
        if !self.plan.conditions.is_empty() || self.plan.order.is_some() {
            return;
        }
        for column in 0..self.columns.len() {
            let is_flag = self.share(column, |cell| matches!(cell, Cell::Bool(_))) >= 0.9;
            let stems = &self.columns[column];
            let is_named = stems.len() == 1
                && self
                    .words
                    .iter()
                    .any(|word| alike(&word.stem, &stems[0]) && word.lower.len() > 2);
            if is_flag && is_named {
                self.condition(column, Test::True);
                return;
            }
        }
    }

    /// `with a bin field`, `without an os member`: a column that only some records have.
    fn having(&mut self) {
        if !self.plan.conditions.is_empty() {
            return;
        }
        for found in HAVING.captures_iter(self.question) {
            let name = &found[2];
            let is_named = |one: &String| one.eq_ignore_ascii_case(name);
            let Some(column) = self.collection.columns.iter().position(is_named) else {
                continue;
            };
            let records = self.collection.records.iter();
            let held = records
                .filter(|one| one.cells.contains_key(&column))
                .count();
            let is_told = found.get(1).is_some() || found.get(3).is_some();
            if !is_told || held == 0 || held == self.collection.records.len() {
                continue;
            }
            let lower = found[0].to_lowercase();
            let lacks = lower.starts_with("without") || lower.starts_with("lack");
            let has_no = found
                .get(1)
                .is_some_and(|part| part.as_str().trim() == "no");
            self.condition(column, Test::Present(!lacks && !has_no));
            return;
        }
    }

    /// Words that nothing else has read and that are a part of the values of some records: the only
    /// thing that such a question can mean.
    fn loose_words(&mut self) {
        const LEAST: usize = 4;
        if !self.plan.conditions.is_empty() || self.plan.order.is_some() {
            return;
        }
        for (at, word) in self.words.iter().enumerate() {
            let mut stems = self.columns.iter().flatten();
            let names_column = stems.any(|stem| alike(stem, &word.stem));
            let is_asking = [
                "many", "number", "count", "list", "which", "give", "name", "entries", "records",
                "there",
            ]
            .contains(&&*word.lower);
            if self.is_asked(at)
                || word.lower.len() < LEAST
                || is_stop_word(&word.lower)
                || names_column
                || is_asking
                || NUMBERS.contains(&&*word.lower)
                || self.is_denied(at)
            {
                continue;
            }
            let test = Test::Has(word.lower.clone());
            let Some(column) = self.most_held(&test, word.start) else {
                continue;
            };
            let held = self.share(column, |cell| test.holds(Some(cell)));
            // What is asked for may have that word in its name, rather than anywhere in it.
            let is_named = !self.is_beside_asking(at) || self.liking(column, false) > 0.0;
            if held <= 0.6 && is_named {
                self.condition(column, test);
            }
        }
    }

    fn named(&mut self) {
        let used: FxHashSet<usize> = self.plan.conditions.iter().map(|one| one.column).collect();
        let mut named: Vec<(f64, usize)> = (0..self.columns.len())
            .filter(|column| !used.contains(column))
            .map(|column| (self.naming(column, 0, usize::MAX / 4), column))
            .filter(|&(score, _)| score > 0.3)
            .collect();
        named.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        self.plan.named = named
            .into_iter()
            .take(4)
            .map(|(_, column)| column)
            .collect();
    }
}

/// The count that a word tells, at most 100.
fn number(word: &Word) -> Option<usize> {
    let known = NUMBERS.iter().position(|name| *name == word.lower);
    let figure = word.lower.parse().ok();
    known.or_else(|| figure.filter(|&count: &usize| count <= 100))
}

/// Whether a word of the question and one of a name mean the same: equal stems, one that begins
/// with the other (`mag`, `magnitude`), two forms of a word (`describ` and `descript`, `licenc` and
/// `licens`), or what costs and its price.
fn alike(word: &str, name: &str) -> bool {
    const LEAST: usize = 3;
    const ROOT: usize = 5;
    const ENDING: usize = 2;
    const SAME: [[&str; 2]; 2] = [["cost", "price"], ["price", "cost"]];
    let (short, long) = match word.len() < name.len() {
        true => (word, name),
        false => (name, word),
    };
    let common = word.bytes().zip(name.bytes()).take_while(|(a, b)| a == b);
    let common = common.count();
    word == name
        || short.len() >= LEAST && long.starts_with(short)
        || common >= ROOT && long.len() - common <= ENDING
        || SAME.contains(&[word, name])
}

/// Whether a word asks for something, so that its capital letter says nothing.
fn is_asking(word: &str) -> bool {
    const ASKING: &str = "list give show find name tell count print return select get which what how number total every each all";
    is_stop_word(word) || ASKING.split(' ').any(|one| one == word)
}

/// A text in lower case without what separates its words.
fn squeezed(text: &str) -> String {
    const LONGEST: usize = 120;
    if text.len() > LONGEST {
        return String::new();
    }
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns the records for which all conditions hold.
pub(super) fn selected<'c>(plan: &Plan, collection: &'c Collection) -> Vec<&'c Record> {
    let holds = |record: &&Record| {
        let mut conditions = plan.conditions.iter();
        conditions.all(|one| one.test.holds(record.cells.get(&one.column)))
    };
    collection.records.iter().filter(holds).collect()
}
