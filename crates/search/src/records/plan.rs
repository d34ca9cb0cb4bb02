//! Reads a question as conditions, an order and a count over the records of a collection.

use super::beginnings::{BEGINNING, PATTERN};
use super::dates::with_year;
use super::load::Collection;
use super::moment::Unit;
use super::pattern::Pattern;
use super::reader::{Reader, kinds};
use super::terms::{Word, column_stems, expanded, spelled, words};
use super::test::{Comparison, Condition};
use crate::words::{Stems, is_stop_word};

/// What a question asks of a collection.
#[derive(Debug, Clone, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts about one question"
)]
pub(super) struct Plan {
    /// All must hold.
    pub(super) conditions: Vec<Condition>,
    pub(super) order: Option<Order>,
    pub(super) group: Option<Group>,
    /// The column whose sum or mean is asked for.
    pub(super) figures: Option<usize>,
    /// Whether it asks how many there are.
    pub(super) is_count: bool,
    /// A name or quoted text of the question that no record has.
    pub(super) missing: Option<String>,
    /// The column of which the question counts the values: `how many countries`.
    pub(super) counted: Option<usize>,
    /// Stems of the words that were not read as a part of a condition.
    pub(super) asked: Vec<String>,
    /// The columns that its words name.
    pub(super) named: Vec<usize>,
    /// The columns of conditions, order and figures that it names in full.
    pub(super) told: Vec<usize>,
    /// Whether what it asks for is what the list is called: `which functions` for `.functions[]`.
    pub(super) asks_collection: bool,
    /// Whether it names the list itself.
    pub(super) names_collection: bool,
    /// Whether its words are the whole name of the list.
    pub(super) names_whole_collection: bool,
    /// Whether the word for the order means its column, as `cheapest` means a price.
    pub(super) is_meant: bool,
    /// Whether nothing but its dates says that a column is the one to order by.
    pub(super) is_guess: bool,
    /// Whether the records at the other end of the order are asked for, too.
    pub(super) has_both_ends: bool,
    /// Whether sums for each value of a column are ordered by their mean.
    pub(super) by_mean: bool,
    /// A column and a number on both sides of which records are counted.
    pub(super) sides: Option<(usize, f64)>,
    /// Columns with the numbers of a condition that has a unit of sizes, in thousands instead of
    /// 1,024s: `10 MB` may be 10,000,000 bytes.
    pub(super) decimal: Vec<(usize, f64, f64)>,
    /// The column with values that several records share of which the question asks: `which
    /// operators had …`.
    pub(super) subject: Option<usize>,
    /// What else the question may mean.
    pub(super) further: Vec<Plan>,
}

/// The first records by a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Order {
    pub(super) column: usize,
    pub(super) is_descending: bool,
    pub(super) count: usize,
    pub(super) by: By,
}

/// By what of a column the records are ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum By {
    Value,
    /// The number that its texts have beside a word with this stem.
    Said(String),
    /// The length of its texts.
    Length,
}

/// The values of a column and how many records have each.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub(super) column: usize,
    /// The part of a date that counts.
    pub(super) unit: Option<Unit>,
    /// Whether the most frequent come first.
    pub(super) is_descending: bool,
    /// How many are asked for.
    pub(super) count: usize,
    /// How many records each value must have.
    pub(super) times: Option<(Comparison, f64)>,
}

impl Group {
    /// Whether a value that so many records have is asked for.
    pub(super) fn admits(&self, count: usize) -> bool {
        let holds =
            |(comparison, times): (Comparison, f64)| comparison.holds(&(count as f64), &times);
        self.times.is_none_or(holds)
    }
}

impl Plan {
    /// Whether it asks for an order, groups or figures.
    pub(super) fn has_result(&self) -> bool {
        self.order.is_some() || self.group.is_some() || self.figures.is_some()
    }

    /// Whether it asks how many records have what none has.
    pub(super) fn counts_missing(&self) -> bool {
        self.missing.is_some() && self.is_count && self.conditions.is_empty()
    }

    /// The columns of its conditions and of what it asks for.
    pub(super) fn used(&self) -> impl Iterator<Item = usize> {
        let conditions = self.conditions.iter().map(|one| one.column);
        let order = self.order.iter().map(|order| order.column);
        let group = self.group.iter().map(|group| group.column);
        conditions.chain(order).chain(group).chain(self.figures)
    }

    /// The columns among them that the question names in full, and the one that an order means.
    pub(super) fn told(&self) -> impl Iterator<Item = usize> {
        let order = self.order.iter().filter(|_| self.is_meant);
        let meant = order.map(|order| order.column);
        self.told.iter().copied().chain(meant)
    }

    /// How well the question fits the collection.
    pub(super) fn fit(&self) -> usize {
        self.conditions.len() * 2
            + usize::from(self.order.is_some()) * if self.is_guess { 1 } else { 2 }
            + usize::from(self.group.is_some()) * 2
            + usize::from(self.figures.is_some()) * 2
            + self.named.len().min(2)
            + usize::from(!self.told.is_empty())
            + usize::from(self.names_collection)
            + usize::from(self.names_whole_collection && self.is_count)
    }
}

pub(super) static COUNTED: Pattern = Pattern::new(
    &[&[
        "how many",
        "how often",
        "number",
        "quantity",
        "count",
        "total",
        "size of",
    ]],
    || {
        r"(?i)\bhow many\b|\b(?:number|quantity) of\b|^(?:the )?count\b|\bcount\W*$|^total\b|\bcount of\b|\btotal number\b|\bhow often\b|\bnumber\W*$|\bsize of (?:the |this )?(?:\w+ )?(?:set|list|collection)\b".into()
    },
);

/// Reads a question over a collection.
pub(super) fn plan(question: &str, collection: &Collection<'_>) -> Plan {
    let stems = Stems::new();
    let question = &*spelled(question);
    let kinds = kinds(collection);
    let question = &*with_year(question, collection, &kinds);
    let question = &*expanded(question, &collection.columns);
    let words = words(question, &stems, &collection.columns);
    let columns: Vec<Vec<String>> = collection
        .columns
        .iter()
        .map(|name| column_stems(name, &stems))
        .collect();
    let mut reader = Reader {
        question,
        kinds,
        words: &words,
        collection,
        columns: &columns,
        taken: vec![false; words.len()],
        values_taken: vec![false; words.len()],
        excluded: Vec::new(),
        spans_taken: Vec::new(),
        missing: None,
        plan: Plan::default(),
    };
    reader.plan.is_count = COUNTED.is_match(question);
    reader.expressions();
    reader.exact();
    reader.containing();
    reader.dates();
    reader.releases();
    reader.pairs();
    reader.comparisons();
    reader.version_lines();
    reader.beginnings(&BEGINNING);
    reader.endings();
    reader.values();
    reader.bare_years();
    reader.signs();
    reader.forms();
    reader.beginnings(&PATTERN);
    reader.parts();
    reader.having();
    reader.figures();
    reader.order();
    reader.flags();
    reader.asked_kinds();
    reader.owners();
    reader.loose_words();
    reader.relax();
    reader.not_by_told();
    reader.not_of_absent();
    reader.named();
    reader.counted();
    // `total cost > 5` asks for no number.
    let is_total = |one: &Condition| {
        let is_named = columns[one.column].iter().any(|stem| stem == "total");
        is_named && one.test.compares()
    };
    if question.to_lowercase().starts_with("total") && reader.plan.conditions.iter().any(is_total) {
        reader.plan.is_count = false;
    }
    reader.readings();
    reader.plan.subject = reader.asked_column(question.len());
    reader.missing();
    let last = collection.path.rsplit('.').next().unwrap_or_default();
    let last = column_stems(last, &stems);
    let free = words
        .iter()
        .zip(&reader.taken)
        .filter(|(_, taken)| !**taken);
    let free = free.filter(|(word, _)| !is_stop_word(&word.lower));
    reader.plan.asked = free.map(|(word, _)| word.stem.clone()).collect();
    let is_last = |word: &Word| last.contains(&word.stem);
    reader.plan.names_collection = words.iter().any(is_last);
    reader.plan.asks_collection = reader
        .subject_words(question.len())
        .into_iter()
        .any(is_last);
    let is_said = |stem: &String| words.iter().any(|word| word.stem == *stem);
    let is_outer = collection.outer.is_none() && !last.is_empty();
    reader.plan.names_whole_collection = is_outer && last.iter().all(is_said);
    reader.plan
}
