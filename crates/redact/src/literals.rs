//! Finds the literals of all rules in one text.

use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::packed::{self, MatchKind};
use aho_corasick::{AhoCorasick, Span};

/// The literals of one vectorised searcher; more make it slow.
const GROUP: usize = 48;

/// The literals of all rules, and the rules of each literal. A literal that begins with another
/// literal is not searched for: its rules are tried where the shorter literal occurs.
pub(crate) struct Literals {
    searchers: Vec<Searcher>,
    /// The rules to try for a literal.
    rules: Vec<Vec<u16>>,
}

struct Searcher {
    method: Method,
    /// The number of the first literal.
    first: usize,
}

enum Method {
    /// Vectorised.
    Packed(packed::Searcher),
    /// For processors without the vector instructions.
    Automaton(AhoCorasick),
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
        // A searcher compares as many bytes as its shortest literal has, so short literals are
        // apart from the others.
        roots.sort_by_key(|(literal, _)| literal.len().min(4));
        let short = roots.partition_point(|(literal, _)| literal.len() < 4);
        let mut searchers = Vec::new();
        for range in [0..short, short..roots.len()] {
            let size = range.len().div_ceil(range.len().div_ceil(GROUP).max(1));
            let mut first = range.start;
            for group in roots[range].chunks(size.max(1)) {
                let group: Vec<&str> = group.iter().map(|(literal, _)| *literal).collect();
                if let Some(method) = method(&group) {
                    searchers.push(Searcher { method, first });
                }
                first += group.len();
            }
        }
        Self {
            searchers,
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
        /// No literal is longer.
        const LONGEST: usize = 64;
        let end = text.len().min(range.end + LONGEST);
        for searcher in &self.searchers {
            let mut at = range.start;
            while at < range.end {
                let span = Span { start: at, end };
                let Some((literal, start)) = searcher.find(text, span) else {
                    break;
                };
                if start >= range.end {
                    break;
                }
                found(&self.rules[searcher.first + literal], start);
                at = start + 1;
            }
        }
    }
}

impl Searcher {
    fn find(&self, text: &[u8], span: Span) -> Option<(usize, usize)> {
        match &self.method {
            Method::Packed(searcher) => searcher
                .find_in(text, span)
                .map(|found| (found.pattern().as_usize(), found.start())),
            Method::Automaton(automaton) => automaton
                .find(aho_corasick::Input::new(text).span(span))
                .map(|found| (found.pattern().as_usize(), found.start())),
        }
    }
}

fn method(literals: &[&str]) -> Option<Method> {
    let packed = packed::Config::new()
        .match_kind(MatchKind::LeftmostFirst)
        .builder()
        .extend(literals)
        .build();
    match packed {
        Some(searcher) => Some(Method::Packed(searcher)),
        None => automaton(literals).map(Method::Automaton),
    }
}

fn automaton(literals: &[&str]) -> Option<AhoCorasick> {
    AhoCorasick::builder()
        .match_kind(aho_corasick::MatchKind::LeftmostFirst)
        .kind(Some(aho_corasick::AhoCorasickKind::DFA))
        .build(literals)
        .ok()
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

    #[test]
    fn the_automaton_finds_what_the_vectorised_searcher_finds() {
        let literals = ["token", "ghp_", "key"];
        let text = b"a token, a ghp_key, tokentoken";
        let automaton = Method::Automaton(automaton(&literals).unwrap());
        let methods = [automaton, method(&literals).unwrap()];
        let found = methods.map(|method| {
            let searcher = Searcher { method, first: 0 };
            let mut found = Vec::new();
            let mut start = 0;
            while let Some(at) = searcher.find(
                text,
                Span {
                    start,
                    end: text.len(),
                },
            ) {
                found.push(at);
                start = at.1 + 1;
            }
            found
        });
        assert_eq!(found[0], found[1]);
        assert_eq!(found[0].len(), 5);
    }
}
