//! Counts of the entries that a walk skipped.

use std::collections::BTreeSet;
use std::fmt::Write;

/// Maximum number of names that are listed for each kind of failure; further names are only
/// counted.
const TOLD: usize = 5;

/// Entries that a walk skipped. A directory counts as one.
#[derive(Debug, Default)]
pub(crate) struct SkippedEntries {
    /// Names that begin with `.`.
    pub(crate) hidden: u64,
    /// Entries that ignore files exclude.
    pub(crate) ignored: u64,
    /// Pipes, sockets and devices.
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

    /// Describes the entries that rules excluded, for a search that finds nothing. Each string is a
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

/// A list that counts all names and keeps the first ones in sorted order.
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

    /// Formats the list as `3 directories: a, b, c`, followed by the number of names that are not
    /// shown. `one` and `many` are the singular and the plural of the noun.
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
