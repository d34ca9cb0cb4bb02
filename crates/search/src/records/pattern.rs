//! Patterns over questions that are compiled only when they can match.
//!
//! To compile all of them takes longer than to read a document of a megabyte. So each names texts of
//! which a question must contain one.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::{CaptureMatches, Captures, Match, Regex};

/// Stands for any digit among the texts that a pattern needs.
pub(super) const DIGIT: &str = "\\d";

/// A regular expression over questions.
pub(super) struct Pattern {
    /// A match contains a text of each group, in any case.
    needs: &'static [&'static [&'static str]],
    source: fn() -> Cow<'static, str>,
    regex: OnceLock<Regex>,
}

impl Pattern {
    /// Creates a pattern whose matches all contain one of the texts of each group, which are in
    /// lower case.
    pub(super) const fn new(
        needs: &'static [&'static [&'static str]],
        source: fn() -> Cow<'static, str>,
    ) -> Self {
        Self {
            needs,
            source,
            regex: OnceLock::new(),
        }
    }

    /// Returns the regular expression; `None` if it cannot match anywhere in a question.
    pub(super) fn on(&self, question: &str) -> Option<&Regex> {
        let compile = || Regex::new(&(self.source)()).expect("invariant: the pattern is valid");
        let holds = |group: &&[&str]| group.iter().any(|text| contains(question, text));
        // These letters are `s` and `k` for a pattern that ignores case.
        let is_odd = question.contains(['\u{17f}', '\u{212a}']);
        (is_odd || self.needs.iter().all(holds)).then(|| self.regex.get_or_init(compile))
    }

    pub(super) fn is_match(&self, question: &str) -> bool {
        self.on(question)
            .is_some_and(|regex| regex.is_match(question))
    }

    pub(super) fn find<'q>(&self, question: &'q str) -> Option<Match<'q>> {
        self.on(question)?.find(question)
    }

    pub(super) fn find_iter<'q>(&self, question: &'q str) -> impl Iterator<Item = Match<'q>> {
        let regex = self.on(question).into_iter();
        regex.flat_map(move |regex| regex.find_iter(question))
    }

    pub(super) fn captures<'q>(&self, question: &'q str) -> Option<Captures<'q>> {
        self.on(question)?.captures(question)
    }

    pub(super) fn captures_iter<'q>(
        &self,
        question: &'q str,
    ) -> impl Iterator<Item = Captures<'q>> + use<'_, 'q> {
        let regex = self.on(question).into_iter();
        regex.flat_map(move |regex| -> CaptureMatches<'_, 'q> { regex.captures_iter(question) })
    }
}

/// Whether a question contains a text in any case, or a digit.
fn contains(question: &str, text: &str) -> bool {
    if text == DIGIT {
        return question.contains(char::is_numeric);
    }
    let mut windows = question.as_bytes().windows(text.len());
    windows.any(|window| window.eq_ignore_ascii_case(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use regex_syntax::hir::{Class, Hir, HirKind};

    use super::*;

    /// What a match may have where that is not known.
    const UNKNOWN: &str = "\0";

    /// Returns the texts that an expression matches, without those that have a text of a group.
    fn without(hir: &Hir, group: &[&str]) -> Vec<String> {
        let unknown = || vec![UNKNOWN.to_owned()];
        let mut texts = match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => vec![String::new()],
            HirKind::Literal(literal) => vec![String::from_utf8_lossy(&literal.0).into_owned()],
            HirKind::Class(class) => members(class).unwrap_or_else(unknown),
            HirKind::Capture(capture) => without(&capture.sub, group),
            HirKind::Alternation(parts) => {
                parts.iter().flat_map(|part| without(part, group)).collect()
            }
            HirKind::Concat(parts) => parts.iter().fold(vec![String::new()], |before, part| {
                let behind = without(part, group);
                let joined = before
                    .iter()
                    .flat_map(|one| behind.iter().map(move |other| format!("{one}{other}")));
                joined.filter(|text| !holds(text, group)).collect()
            }),
            HirKind::Repetition(repeated) => {
                let one = without(&repeated.sub, group);
                match (repeated.min, repeated.max) {
                    (0, Some(1)) => one.into_iter().chain([String::new()]).collect(),
                    (0, _) => unknown(),
                    _ if one.is_empty() => one,
                    _ => unknown(),
                }
            }
        };
        texts.retain(|text| !holds(text, group));
        texts.sort();
        texts.dedup();
        texts
    }

    fn holds(text: &str, group: &[&str]) -> bool {
        let has = |wanted: &&str| text.contains(*wanted);
        group.iter().any(has) || group.contains(&DIGIT) && text.contains(char::is_numeric)
    }

    /// Returns the characters of a class in lower case; `None` if they are very many.
    fn members(class: &Class) -> Option<Vec<String>> {
        const MOST: usize = 1000;
        let Class::Unicode(class) = class else {
            return None;
        };
        let all = class
            .iter()
            .flat_map(|range| range.start()..=range.end())
            .filter(|c| !['\u{17f}', '\u{212a}'].contains(c))
            .take(MOST + 1);
        let all: Vec<String> = all.map(|c| c.to_lowercase().to_string()).collect();
        let is_digit = |text: &String| text.contains(char::is_numeric);
        match all.len() {
            0..=12 => Some(all),
            ..=MOST if all.iter().all(is_digit) => Some(vec!["0".to_owned()]),
            _ => None,
        }
    }

    #[test]
    fn every_match_contains_what_a_pattern_needs() {
        for pattern in super::super::patterns() {
            let source = (pattern.source)();
            let hir = regex_syntax::parse(&source).unwrap();
            for group in pattern.needs {
                let others = without(&hir, group);
                assert!(others.is_empty(), "{source}: {others:?} without {group:?}");
                let is_lower = |text: &&str| text.to_lowercase() == **text;
                assert!(group.iter().all(is_lower), "{group:?}");
            }
        }
    }

    #[test]
    fn a_question_without_the_words_compiles_nothing() {
        let pattern = Pattern::new(&[&["than"], &[DIGIT]], || r"(?i)than \d".into());
        for question in ["more THEN 5", "more than five", ""] {
            assert!(pattern.on(question).is_none(), "{question}");
        }
        assert!(pattern.regex.get().is_none());
        assert_eq!(pattern.find("more Than 5").unwrap().as_str(), "Than 5");
    }
}
