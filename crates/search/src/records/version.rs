//! Versions such as `1.2.3`, `v2.0` and `1.0.0-rc.1`, in the order of semantic versioning.

use std::cmp::Ordering;

/// Most numbers of a version that are compared.
const PARTS: usize = 4;

/// A version: numbers and what follows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version<'d> {
    numbers: [u64; PARTS],
    /// What follows the numbers, without build metadata: `rc.1`. Empty for a release.
    pre: &'d str,
}

impl<'d> Version<'d> {
    /// Reads a version: at least two numbers with dots between them, and perhaps a suffix after
    /// `-`, or a suffix that begins with a letter, as in `2.0rc1`.
    pub(super) fn new(text: &'d str) -> Option<Self> {
        const LONGEST: usize = 80;
        let text = text.trim();
        if text.len() > LONGEST {
            return None;
        }
        let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
        let (numbers, rest) = text.split_at(end.unwrap_or(text.len()));
        let (mut read, mut count) = ([0; PARTS], 0);
        for part in numbers.trim_end_matches('.').split('.') {
            let number = part.parse().ok()?;
            if let Some(place) = read.get_mut(count) {
                *place = number;
            }
            count += 1;
        }
        let pre = rest.split('+').next().unwrap_or_default();
        let begins = pre.trim_start_matches(['-', '.', '_']);
        let is_suffix = pre.is_empty()
            || begins.starts_with(|c: char| c.is_ascii_alphanumeric()) && !begins.contains(' ');
        (count >= 2 && is_suffix).then_some(Self {
            numbers: read,
            pre: begins,
        })
    }

    /// Returns whether it has no suffix of a version before the release.
    pub(super) fn is_release(&self) -> bool {
        self.pre.is_empty()
    }
}

impl Ord for Version<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let suffixes = || match (self.pre, other.pre) {
            ("", "") => Ordering::Equal,
            ("", _) => Ordering::Greater,
            (_, "") => Ordering::Less,
            (one, other) => parts(one).cmp(parts(other)),
        };
        self.numbers.cmp(&other.numbers).then_with(suffixes)
    }
}

impl PartialOrd for Version<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns the parts of a suffix; numbers come before words and are compared as numbers.
fn parts(suffix: &str) -> impl Iterator<Item = (bool, u64, &str)> {
    suffix.split(['.', '-']).map(|part| match part.parse() {
        Ok(number) => (false, number, ""),
        Err(_) => (true, 0, part),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered() {
        let ascending = [
            "0.9",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "v1.0.0-rc.1",
            "1.0",
            "1.2.3",
            "1.10.0",
            "2.0rc1",
            "2.0.0+build.5",
        ];
        for pair in ascending.windows(2) {
            let [one, other] = [pair[0], pair[1]].map(|text| Version::new(text).unwrap());
            assert!(one < other, "{pair:?}");
        }
    }

    #[test]
    fn what_is_no_version() {
        for text in [
            "",
            "7",
            "x1.2",
            "1992-06-16",
            "1.2 or later",
            "a.b",
            "1..2",
            "99999999999999999999.1",
        ] {
            assert_eq!(Version::new(text), None, "{text}");
        }
    }
}
