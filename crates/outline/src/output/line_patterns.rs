//! Finds the lines that the patterns of tools match, and skips most other lines quickly.
//!
//! Every match contains one of a few literals (`Exception`, `error TS`). A vectorised search finds
//! them; the regular expression runs only on a line that has one, or whose next line has one.

use aho_corasick::{AhoCorasick, Input, MatchKind};
use memchr::{memchr, memrchr};
use regex::bytes::Regex;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Hir, HirKind};

use super::tools::PREFIX;

/// Most bytes of a literal. Longer ones do not rule out more lines.
const LONGEST: usize = 8;
/// Fewest bytes of a literal. Shorter ones stand in too many lines.
const SHORTEST: usize = 3;
/// Most literals: `aho-corasick` searches more without vectors.
const MOST: usize = 48;

/// Patterns that each match one line or two, as one search.
#[derive(Debug)]
pub(super) struct LinePatterns {
    /// Matches at the first byte of a line, to the end of one.
    regex: Regex,
    /// Every match contains one of them. `None` if there are none: then each line is matched.
    literals: Option<AhoCorasick>,
}

impl LinePatterns {
    pub(super) fn any_of(patterns: &[&str]) -> Self {
        let any = patterns.join("|");
        Self {
            regex: super::pattern(&format!(r"\A(?m:{PREFIX}(?:{any})\r?$)")),
            literals: literals(&parsed(&any)).and_then(|literals| {
                let builder = &mut AhoCorasick::builder();
                builder.match_kind(MatchKind::LeftmostFirst);
                builder.build(literals).ok()
            }),
        }
    }

    /// Calls `take` with each match in `text` and its offset. `text` begins at a line. Matches do
    /// not overlap.
    pub(super) fn each<'t>(&self, text: &'t [u8], mut take: impl FnMut(&'t [u8], usize)) {
        let mut at = 0;
        while let Some(line) = self.next_line(text, at) {
            let end = match self.regex.find(&text[line..]) {
                Some(found) => {
                    take(found.as_bytes(), line);
                    line + found.end()
                }
                None => line + 1,
            };
            let newline = memchr(b'\n', &text[end - 1..]);
            at = newline.map_or(text.len(), |newline| end + newline);
        }
    }

    /// Returns the first line at or after the line at `at` that may begin a match.
    fn next_line(&self, text: &[u8], at: usize) -> Option<usize> {
        let Some(literals) = &self.literals else {
            return (at < text.len()).then_some(at);
        };
        let literal = literals.find(Input::new(text).range(at..))?;
        // A match may have its literal in its second line.
        let before = &text[at..literal.start()];
        let newlines = memrchr(b'\n', before).and_then(|last| memrchr(b'\n', &before[..last]));
        Some(newlines.map_or(at, |newline| at + newline + 1))
    }
}

fn parsed(pattern: &str) -> Hir {
    let mut parser = ParserBuilder::new().utf8(false).unicode(false).build();
    let parsed = parser.parse(pattern);
    parsed.expect("the patterns of this folder are valid")
}

/// Returns literals of which every match contains one; `None` if there are none of use.
fn literals(pattern: &Hir) -> Option<Vec<Vec<u8>>> {
    let mut sets = vec![beginnings(pattern)];
    match pattern.kind() {
        HirKind::Concat(parts) => {
            for at in 0..parts.len() {
                sets.push(beginnings(&Hir::concat(parts[at..].to_vec())));
                sets.push(literals(&parts[at]));
            }
        }
        HirKind::Alternation(all) => {
            let all: Option<Vec<_>> = all.iter().map(literals).collect();
            sets.push(all.map(|all| all.concat()));
        }
        HirKind::Capture(group) => sets.push(literals(&group.sub)),
        HirKind::Repetition(repeated) if repeated.min > 0 => sets.push(literals(&repeated.sub)),
        _ => {}
    }
    let shortest = |set: &[Vec<u8>]| set.iter().map(Vec::len).min().unwrap_or(0);
    let sets = sets.into_iter().flatten();
    sets.filter(|set| shortest(set) >= SHORTEST && set.len() <= MOST)
        .max_by_key(|set| (shortest(set), std::cmp::Reverse(set.len())))
}

/// Returns the literals that a match can begin with.
fn beginnings(pattern: &Hir) -> Option<Vec<Vec<u8>>> {
    let mut all = Extractor::new().extract(pattern);
    all.keep_first_bytes(LONGEST);
    all.dedup();
    let all = all.literals()?.iter();
    let mut all: Vec<Vec<u8>> = all.map(|literal| literal.as_bytes().to_vec()).collect();
    all.sort();
    all.dedup();
    Some(all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex_syntax::hir::Class;

    use super::super::tools::{ANY, TOOLS};
    use super::*;

    /// Each pattern of the tools.
    fn patterns() -> impl Iterator<Item = &'static str> {
        TOOLS.iter().flat_map(|tool| [tool.failure, tool.total])
    }

    /// The lines that a match may reach into beyond its first.
    fn newlines(pattern: &Hir) -> usize {
        let is_newline = |class: &Class| match class {
            Class::Bytes(class) => class
                .ranges()
                .iter()
                .any(|range| (range.start()..=range.end()).contains(&b'\n')),
            Class::Unicode(_) => unreachable!("they are bytes"),
        };
        match pattern.kind() {
            HirKind::Empty | HirKind::Look(_) => 0,
            HirKind::Literal(literal) => literal.0.iter().filter(|&&byte| byte == b'\n').count(),
            HirKind::Class(class) => usize::from(is_newline(class)),
            HirKind::Repetition(repeated) => {
                let most = repeated.max.map_or(1000, |most| most as usize);
                newlines(&repeated.sub) * most
            }
            HirKind::Capture(group) => newlines(&group.sub),
            HirKind::Concat(parts) => parts.iter().map(newlines).sum(),
            HirKind::Alternation(all) => all.iter().map(newlines).max().unwrap_or(0),
        }
    }

    /// What every match of `patterns` in `text` is, by the whole pattern and nothing else.
    fn plainly<'t>(patterns: &[&str], text: &'t [u8]) -> Vec<(&'t [u8], usize)> {
        let any = patterns.join("|");
        let regex = super::super::pattern(&format!(r"(?m:^{PREFIX}(?:{any})\r?$)"));
        let all = regex.find_iter(text);
        all.map(|found| (found.as_bytes(), found.start())).collect()
    }

    fn found<'t>(patterns: &[&str], text: &'t [u8]) -> Vec<(&'t [u8], usize)> {
        let mut all = Vec::new();
        LinePatterns::any_of(patterns).each(text, |found, at| all.push((found, at)));
        all
    }

    #[test]
    fn no_pattern_matches_nothing_or_more_than_two_lines() {
        for pattern in patterns() {
            let parsed = parsed(pattern);
            assert!(newlines(&parsed) <= 1, "{pattern}");
            assert!(parsed.properties().minimum_len() > Some(0), "{pattern}");
            let begins = plainly(&[pattern], b"\n\n");
            assert!(begins.is_empty(), "{pattern} begins with an empty line");
        }
        assert_eq!(newlines(&parsed(PREFIX)), 0);
    }

    #[test]
    fn the_literals_of_the_usual_patterns() {
        let literals = |pattern: &str| {
            let all = literals(&parsed(pattern)).unwrap_or_default();
            let all = all
                .iter()
                .map(|one| String::from_utf8_lossy(one).into_owned());
            all.collect::<Vec<_>>().join("|")
        };
        let known = patterns().filter(|pattern| !literals(pattern).is_empty());
        assert_eq!(known.count(), 24);
        insta::assert_snapshot!(literals(TOOLS[ANY].failure), @"ERROR: |ERROR[|Error: |Error[|FATAL: |FATAL[|error: |error[|fatal: |fatal[|##[error|Exceptio|Error|panicked|FAILED|rror cod|xit code|xit stat|xited wi");
        insta::assert_snapshot!(literals(TOOLS[ANY].total), @"Finished");
        insta::assert_snapshot!(literals(r"\d+ .*"), @"");
        insta::assert_snapshot!(literals(r".*(?:abc|abd|wxyz)?.*"), @"");
        insta::assert_snapshot!(literals(r".*(?:abc|abd|wxyz)+.*"), @"abc|abd|wxyz");
    }

    /// Pieces of lines that tools write, and of some that nearly are; a semicolon between two.
    const PIECES: &str = concat!(
        "\n;\n;\n;\n;\r\n; ;  ;: ;x;0;3:5;a.rs;/w/a.js;(3,5);thread 'main' ;panicked at ;",
        "error;Error;ERROR;FATAL;fatal;error[E0308]; --> ;FAILED;FAIL;FAIL\t;test a ... ;",
        "test result: ;java.io.;Exception;Caused by: ;Exception in thread ;stderr: ;##[error];",
        "exit code ;Exited with; 1; 0;Finished: ;FAILURE;UNSTABLE;[ERROR] ;[INFO] ;BUILD ;",
        "Tests run: ;<<< FAILURE!;> Task ;* What went wrong:;e: ;make: *** ;ld: ;",
        "undefined reference to ;npm ERR! ;code E;error TS2322;F401 ;Found 1 error;",
        "✖ 2 problems;● ;Tests: ;  1) ; 1 failing;=== 1 failed ===;--- FAIL: ;a_test.go:7:1: ;",
        "panic: ;AssertionError;2026-11-21T10:00:00Z ",
    );

    proptest! {
        #[test]
        fn what_is_found_is_what_the_patterns_match(
            pieces in proptest::collection::vec(proptest::sample::select(PIECES.split(';').collect::<Vec<_>>()), 0..40),
            some in proptest::collection::vec(0..TOOLS.len(), 1..4),
        ) {
            let text = pieces.concat();
            for pattern in patterns() {
                prop_assert_eq!(found(&[pattern], text.as_bytes()), plainly(&[pattern], text.as_bytes()), "{}", pattern);
            }
            for pick in [|at: &usize| TOOLS[*at].failure, |at: &usize| TOOLS[*at].total] {
                let some: Vec<&str> = some.iter().map(pick).collect();
                prop_assert_eq!(found(&some, text.as_bytes()), plainly(&some, text.as_bytes()));
            }
        }
    }
}
