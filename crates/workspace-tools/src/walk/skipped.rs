//! Counts what a walk skipped.

use std::collections::BTreeSet;
use std::fmt::Write;

/// Names that are told of each kind of failure; the others are counted.
const TOLD: usize = 5;

/// What a walk passed by. Directories count as one.
#[derive(Debug, Default)]
pub(crate) struct SkippedEntries {
    /// Their names begin with `.`.
    pub(crate) hidden: u64,
    /// Ignore files name them.
    pub(crate) ignored: u64,
    /// Pipes, sockets, devices.
    pub(crate) special: u64,
    /// Directories that could not be read.
    pub(crate) unreadable: NameList,
}

impl SkippedEntries {
    pub(super) fn add(&mut self, other: Self) {
        self.hidden += other.hidden;
        self.ignored += other.ignored;
        self.special += other.special;
        self.unreadable.add(other.unreadable);
    }

    /// What was passed by as rules have it, for who finds nothing and wonders: each a
    /// part of a sentence.
    pub(crate) fn notes(&self) -> Vec<String> {
        let kinds = [
            (self.hidden, "hidden (hidden: true takes them in)"),
            (self.ignored, "ignored (no_ignore: true takes them in)"),
            (self.special, "pipes, sockets or devices"),
        ];
        let some = kinds.into_iter().filter(|(count, _)| *count > 0);
        some.map(|(count, what)| format!("{count} {what}"))
            .collect()
    }
}

/// Names of which the first are told and all are counted.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct NameList {
    count: u64,
    first: BTreeSet<String>,
}

impl NameList {
    pub(crate) fn push(&mut self, name: String) {
        self.count += 1;
        self.first.insert(name);
        if self.first.len() > TOLD {
            self.first.pop_last();
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        let count = self.count + other.count;
        for name in other.first {
            self.push(name);
        }
        self.count = count;
    }

    /// `3 directories: a, b, c`, and how many more. `one` and `many` are the noun.
    pub(crate) fn note(&self, one: &str, many: &str) -> Option<String> {
        let noun = match self.count {
            0 => return None,
            1 => one,
            _ => many,
        };
        let first: Vec<&str> = self.first.iter().map(String::as_str).collect();
        let mut text = format!("{} {noun}: {}", self.count, first.join(", "));
        let more = self.count.saturating_sub(first.len() as u64);
        if more > 0 {
            write!(text, " and {more} more").expect("writing to a string");
        }
        Some(text)
    }
}
