//! Finds the literals of all rules in one text.

use std::collections::BTreeMap;
use std::ops::Range;

/// The literals of all rules, and the rules of each literal. A literal that begins with another
/// literal is not searched for: its rules are tried where the shorter literal occurs.
pub(crate) struct Literals {
    literals: spillgate_text::Literals,
    /// The rules to try for a literal.
    rules: Vec<Vec<u16>>,
}

impl Literals {
    pub(crate) fn new<'a>(literals: impl Iterator<Item = (&'a str, u16)>) -> Self {
        let mut all: BTreeMap<&str, Vec<u16>> = BTreeMap::new();
        for (literal, rule) in literals {
            all.entry(literal).or_default().push(rule);
        }
        // Sorted, a literal comes directly after the literals that it begins with.
        let mut roots: Vec<(&str, Vec<u16>)> = Vec::new();
        for (literal, rules) in all {
            match roots.last_mut() {
                Some((root, shared)) if literal.starts_with(*root) => {
                    shared.extend(rules);
                    shared.sort_unstable();
                    shared.dedup();
                }
                _ => roots.push((literal, rules)),
            }
        }
        Self {
            literals: spillgate_text::Literals::new(roots.iter().map(|(root, _)| root.as_bytes())),
            rules: roots.into_iter().map(|(_, rules)| rules).collect(),
        }
    }

    /// Calls `found` with the rules and the position of each literal that begins in `range`. A
    /// literal may end behind the range.
    pub(crate) fn each(
        &self,
        text: &[u8],
        range: Range<usize>,
        mut found: impl FnMut(&[u16], usize),
    ) {
        self.literals.each(text, range, |literal, at| {
            found(&self.rules[literal], at);
            0
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_literals_are_all_found() {
        let all = ["abc", "bcd", "abcde", "cde", "zzzz"];
        let literals = Literals::new((0..).zip(all).map(|(rule, it)| (it, rule)));
        let mut found = Vec::new();
        let text = b"xxabcdexzzzzz";
        literals.each(text, 0..text.len(), |rules, at| {
            found.push((at, rules.to_vec()));
        });
        found.sort();
        let want = vec![
            (2, vec![0, 2]),
            (3, vec![1]),
            (4, vec![3]),
            (8, vec![4]),
            (9, vec![4]),
        ];
        assert_eq!(found, want);
        // A range ends the search, but not a literal that begins in it.
        found.clear();
        literals.each(text, 3..4, |rules, at| found.push((at, rules.to_vec())));
        assert_eq!(found, [(3, vec![1])]);
    }
}
