//! Summarises the values in one place of a document, such as a column or a JSON path.
//!
//! The summary does not depend on which part of a document was read first. Each value has the
//! offset at which it occurs, and of two equal candidates the earlier one is kept.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// Maximum number of distinct values that are counted. If there are more, they are only "many".
pub(crate) const FEW: usize = 20;
/// Number of values that are kept as examples if there are many.
const EXAMPLES: usize = 3;
/// Maximum number of bytes that are kept of a value.
const KEPT: usize = 128;

/// The distinct scalars in one place, as they are written.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Values {
    distinct: Vec<DistinctValue>,
    many: bool,
    /// Index of the value that occurred last. The next value is often equal to it.
    last: usize,
}

#[derive(Debug, Clone, PartialEq)]
struct DistinctValue {
    hash: u64,
    offset: u64,
    /// Number of times that the value occurs.
    count: u64,
    text: Box<[u8]>,
}

impl Values {
    /// Adds a value that occurs at byte `offset`.
    pub(crate) fn add(&mut self, value: &[u8], offset: u64) {
        if self.many {
            return;
        }
        let mut hasher = FxHasher::default();
        hasher.write(value);
        let hash = hasher.finish();
        if let Some(last) = self.distinct.get_mut(self.last)
            && last.hash == hash
        {
            last.count += 1;
            return;
        }
        match self.distinct.iter().position(|value| value.hash == hash) {
            Some(at) => {
                self.distinct[at].count += 1;
                self.last = at;
            }
            None => self.push(DistinctValue {
                hash,
                offset,
                count: 1,
                text: value[..value.len().min(KEPT)].into(),
            }),
        }
    }

    fn push(&mut self, value: DistinctValue) {
        self.last = self.distinct.len();
        self.distinct.push(value);
        self.keep_few();
    }

    fn keep_few(&mut self) {
        self.many |= self.distinct.len() > FEW;
        if self.many {
            self.distinct.sort_by_key(|value| value.offset);
            self.distinct.truncate(EXAMPLES);
        }
    }

    /// Adds the values of another place.
    pub(crate) fn merge(&mut self, other: Self) {
        self.many |= other.many;
        for value in other.distinct {
            match self
                .distinct
                .iter_mut()
                .find(|mine| mine.hash == value.hash)
            {
                Some(mine) => {
                    mine.offset = mine.offset.min(value.offset);
                    mine.count += value.count;
                }
                None => self.distinct.push(value),
            }
        }
        self.distinct.sort_by_key(|value| value.offset);
        self.last = 0;
        self.keep_few();
    }

    /// Returns the number of distinct values; `None` if there are many.
    pub(crate) fn distinct(&self) -> Option<usize> {
        (!self.many).then_some(self.distinct.len())
    }

    /// Returns the values with their counts, the most frequent first; an empty list if there are
    /// many values.
    pub(crate) fn counts(&self) -> Vec<(&[u8], u64)> {
        if self.many {
            return Vec::new();
        }
        let counts = self.distinct.iter().map(|one| (&*one.text, one.count));
        let mut counts: Vec<(&[u8], u64)> = counts.collect();
        counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        counts
    }

    /// Returns the first values, as they are written.
    pub(crate) fn examples(&self) -> impl Iterator<Item = &[u8]> {
        self.distinct.iter().map(|value| &*value.text)
    }
}

/// The smallest and the largest number in one place, as they are written.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Range {
    ends: Option<(Number, Number)>,
}

#[derive(Debug, Clone, PartialEq)]
struct Number {
    value: f64,
    offset: u64,
    text: Box<str>,
}

impl Range {
    /// Adds a number that occurs at byte `offset`.
    pub(crate) fn add(&mut self, text: &[u8], offset: u64) {
        let Ok(text) = std::str::from_utf8(text) else {
            return;
        };
        let Some(value) = value_of(text) else {
            return;
        };
        let number = || Number {
            value,
            offset,
            text: text.get(..KEPT).unwrap_or(text).into(),
        };
        match &mut self.ends {
            None => self.ends = Some((number(), number())),
            Some((least, _)) if value < least.value => *least = number(),
            Some((_, most)) if value > most.value => *most = number(),
            Some(_) => {}
        }
    }

    fn widen(&mut self, least: Number, most: Number) {
        self.ends = Some(match self.ends.take() {
            None => (least, most),
            Some((mine_least, mine_most)) => (
                earlier(mine_least, least, |one, other| one < other),
                earlier(mine_most, most, |one, other| one > other),
            ),
        });
    }

    /// Adds the range of another place.
    pub(crate) fn merge(&mut self, other: Self) {
        if let Some((least, most)) = other.ends {
            self.widen(least, most);
        }
    }

    /// Returns both ends as they are written, if they differ.
    pub(crate) fn ends(&self) -> Option<(&str, &str)> {
        let (least, most) = self.ends.as_ref()?;
        (least.value < most.value).then_some((&*least.text, &*most.text))
    }
}

fn value_of(text: &str) -> Option<f64> {
    /// Maximum number of characters of an integer that an `f64` always represents exactly.
    const DIGITS: usize = 15;
    if text.len() <= DIGITS
        && let Ok(integer) = text.parse::<i64>()
    {
        return Some(integer as f64);
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

fn earlier(one: Number, other: Number, better: impl Fn(f64, f64) -> bool) -> Number {
    let other_is = better(other.value, one.value)
        || (!better(one.value, other.value) && other.offset < one.offset);
    if other_is { other } else { one }
}
