//! Conditions on the cells of a column.

use super::cell::Cell;
use super::load::{Collection, Record};
use super::moment::civil;
use super::said::said_by;
use super::version::Version;

/// A condition on a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    pub(super) column: usize,
    pub(super) test: Test,
    /// Whether the test must not hold. It does not hold for a record without the column.
    pub(super) is_negated: bool,
    /// Whether another reading of the question is likely.
    pub(super) is_weak: bool,
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
    /// Has a word that begins with this text.
    Inside(String),
    /// Is this name or has it among several.
    Part(String),
    /// Has this word in it.
    Has(String),
    /// Begins with one of these texts.
    Begins(Vec<String>),
    /// Ends with this text.
    Suffix(String),
    /// Compares so with this number.
    Number(Comparison, f64),
    /// Has a word that begins with this stem, and a number that compares so with this one.
    Said(String, Comparison, f64),
    /// Compares so with the value of another column.
    Column(Comparison, usize),
    /// Compares so with this version.
    Version(Comparison, String),
    /// Is a requirement of this version or a later one: `>=3.11,<4`.
    Needs(String),
    /// A date or time from the first second to before the last one.
    Within(i64, i64),
    /// A date in this month of any year, and on this day if one is told.
    Calendar(i64, Option<i64>),
    /// A version without a suffix such as `-rc.1`.
    Release,
    /// True.
    True,
    /// Present and not empty.
    Present,
}

/// How a value compares with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    AtLeast,
    MoreThan,
    AtMost,
    LessThan,
    Equal,
}

impl Comparison {
    /// Returns whether `one` compares so with `other`.
    pub(super) fn holds<T: PartialOrd>(self, one: &T, other: &T) -> bool {
        match self {
            Self::AtLeast => one >= other,
            Self::MoreThan => one > other,
            Self::AtMost => one <= other,
            Self::LessThan => one < other,
            Self::Equal => one == other,
        }
    }

    /// Returns the sign that jq and people write for it.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::AtLeast => ">=",
            Self::MoreThan => ">",
            Self::AtMost => "<=",
            Self::LessThan => "<",
            Self::Equal => "==",
        }
    }
}

impl Condition {
    pub(super) fn holds(&self, record: &Record<'_>) -> bool {
        let cell = record.get(self.column);
        let holds = match self.test {
            Test::Column(comparison, other) => cell.zip(record.get(other)).is_some_and(|pair| {
                let order = pair.0.compared(pair.1) as i8;
                comparison.holds(&order, &0)
            }),
            _ => cell.is_some_and(|cell| self.test.holds(cell)),
        };
        holds != self.is_negated
    }
}

impl Test {
    /// Whether it compares values with one of the question, which need not occur.
    pub(super) fn compares(&self) -> bool {
        matches!(
            self,
            Self::Number(..) | Self::Version(..) | Self::Within(..) | Self::Column(..)
        )
    }

    pub(super) fn holds(&self, cell: &Cell<'_>) -> bool {
        match self {
            Self::Is(texts) => cell.any(|text| {
                let is = |text: &str| texts.iter().any(|one| one.eq_ignore_ascii_case(text));
                let is_written = |text: &str| texts.iter().any(|one| is_same_name(one, text));
                is(text.trim()) || cell.is_list() && is_written(requirement(text))
            }),
            Self::Ends(last) => cell.any(|text| {
                let end = text.rsplit_once('/').map(|(_, end)| end);
                end.is_some_and(|end| end.eq_ignore_ascii_case(last))
            }),
            Self::Contains(part) => cell.any(|text| contains(text, part, &['_', '-'])),
            Self::Inside(part) => cell.any(|text| begins_word(text, part)),
            Self::Part(name) => cell.any(|text| contains(text, name, &['_', '-', '.'])),
            Self::Has(word) => cell.any(|text| contains(text, word, &[])),
            Self::Begins(parts) => cell.any(|text| {
                let begins = |part: &String| {
                    let start = text.get(..part.len());
                    start.is_some_and(|start| start.eq_ignore_ascii_case(part))
                };
                parts.iter().any(begins)
            }),
            Self::Number(comparison, number) => {
                let one = cell.number();
                one.is_some_and(|one| comparison.holds(&one, number))
            }
            Self::Version(comparison, version) => {
                let versions = cell.version().zip(Version::new(version));
                versions.is_some_and(|(one, other)| comparison.holds(&one, &other))
            }
            Self::Said(stem, comparison, number) => {
                said_by(cell, stem).is_some_and(|one| comparison.holds(&one, number))
            }
            Self::Needs(version) => cell.any(|text| {
                let least = text
                    .split(',')
                    .find_map(|one| one.trim().strip_prefix(">="));
                let versions = least
                    .map(str::trim)
                    .and_then(Version::new)
                    .zip(Version::new(version));
                versions.is_some_and(|(one, other)| one >= other)
            }),
            Self::Within(start, end) => {
                let moment = cell.moment();
                moment.is_some_and(|moment| (*start..*end).contains(&moment))
            }
            Self::Calendar(month, day) => cell.moment().is_some_and(|moment| {
                let (_, one, other) = civil(moment);
                one == *month && day.is_none_or(|day| day == other)
            }),
            Self::Release => cell.version().is_some_and(|version| version.is_release()),
            Self::True => matches!(cell, Cell::Bool(true)) || is_one(cell) || is_yes(cell),
            Self::Present => !cell.is_empty(),
            // One cell does not tell.
            Self::Column(..) => false,
            Self::Suffix(end) => cell.any(|text| {
                let start = text.len().checked_sub(end.len());
                let held = start.and_then(|start| text.get(start..));
                held.is_some_and(|held| held.eq_ignore_ascii_case(end))
            }),
        }
    }
}

/// Returns whether a word of a text begins with `part`, whatever its case.
fn begins_word(text: &str, part: &str) -> bool {
    let (text, part) = (text.to_lowercase(), part.to_lowercase());
    let is_part_of_word = |c: char| c.is_alphanumeric();
    let needs = part.starts_with(is_part_of_word);
    let mut found = text.match_indices(&part);
    found.any(|(at, _)| !(needs && text[..at].ends_with(is_part_of_word)))
}

/// Returns whether two names are the same but for their case, and for `-` in place of `_`.
fn is_same_name(one: &str, other: &str) -> bool {
    let plain = |byte: u8| match byte {
        b'_' => b'-',
        byte => byte.to_ascii_lowercase(),
    };
    one.len() == other.len() && one.bytes().map(plain).eq(other.bytes().map(plain))
}

/// Returns whether a cell is the number 1, which some write for true.
fn is_one(cell: &Cell<'_>) -> bool {
    cell.is_number() && cell.any(|text| text == "1")
}

/// Returns whether a cell is a text that some tables have for true.
fn is_yes(cell: &Cell<'_>) -> bool {
    let is = |text: &str| text.eq_ignore_ascii_case("yes") || text.eq_ignore_ascii_case("true");
    matches!(cell, Cell::Text(_)) && cell.any(is)
}

/// Returns the records for which all conditions hold.
pub(super) fn selected<'c, 'd>(
    conditions: &[Condition],
    collection: &'c Collection<'d>,
) -> Vec<&'c Record<'d>> {
    let holds = |record: &&Record<'_>| conditions.iter().all(|one| one.holds(record));
    collection.records.iter().filter(holds).collect()
}

/// Whether `text` has `part` in it, not as a part of a longer word, to which `joiners` belong, too.
/// Case does not count.
fn contains(text: &str, part: &str, joiners: &[char]) -> bool {
    if part.is_ascii() {
        return has_word(text, part, joiners);
    }
    has_word(&text.to_lowercase(), &part.to_lowercase(), joiners)
}

/// The same without regard to the case of ASCII letters.
fn has_word(text: &str, part: &str, joiners: &[char]) -> bool {
    let (Some(&first), bytes) = (part.as_bytes().first(), text.as_bytes()) else {
        return false;
    };
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || joiners.contains(&c));
    let needs = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let starts = (needs(part.chars().next()), needs(part.chars().next_back()));
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    memchr::memchr2_iter(lower, upper, bytes).any(|at| {
        let end = at + part.len();
        let is_there = bytes
            .get(at..end)
            .is_some_and(|held| held.eq_ignore_ascii_case(part.as_bytes()));
        is_there
            && !(starts.0 && is_word(text[..at].chars().next_back()))
            && !(starts.1 && is_word(text[end..].chars().next()))
    })
}

/// The name in an item such as `tornado>=6.2; python_version < "4"` or `ruby:any | jruby`.
pub(super) fn requirement(text: &str) -> &str {
    let end = text.find(|c: char| c.is_whitespace() || "<>=!~;([^|".contains(c));
    let name = text[..end.unwrap_or(text.len())].trim();
    // `ruby:any`, but not `https://host`.
    match name.split_once(':') {
        Some((name, kind)) if kind.starts_with(char::is_alphabetic) => name,
        _ => name,
    }
}
