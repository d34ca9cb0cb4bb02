//! What failed, in what a test or a build printed?
//!
//! The tools are recognised by marks near both ends of the text, where their
//! summaries stand, so a log that is none of theirs costs nothing.

use std::collections::HashSet;
use std::io;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::bytes::Regex;
use spillgate_view::View;

use crate::parts::Plan;
use crate::{Line, located, note};

/// Bytes at the beginning and at the end in which marks are looked for.
const HEAD: u64 = 64 << 10;
const TAIL: u64 = 256 << 10;
/// Failures that are shown at most; all are counted.
const FAILURES: usize = 40;
/// Lines of a summary.
const TOTALS: usize = 6;
/// Of each part, so many failures and totals are kept, the last ones of totals.
const KEPT: usize = 400;

/// How a tool is recognised, what tells of a failure, and its summary.
struct Tool {
    marks: &'static [&'static str],
    failure: &'static str,
    total: &'static str,
}

const TOOLS: [Tool; 11] = [
    // cargo test and rustc, with the place of an error.
    Tool {
        marks: &["test result: ", "error: could not compile", "\nerror[E"],
        failure: r"test .* \.\.\. FAILED|thread '.*' .*panicked at .*(?:\n.+)?|error(?:\[E\d+\])?: .*(?:\n +--> .*)?",
        total: r"test result: .*|error: could not compile .*",
    },
    Tool {
        marks: &["test session starts ==", "short test summary info"],
        failure: r"(?:FAILED|ERROR) \S+::.*",
        total: r"=+ .*\b(?:passed|failed|errors?|no tests ran)\b.* =+",
    },
    Tool {
        marks: &["Traceback (most recent call last)"],
        failure: r"[\w.]*(?:Error|Exception|KeyboardInterrupt|SystemExit)(?:: .*)?",
        total: r"Ran \d+ tests? in .*|FAILED \(.*\)",
    },
    // jest, and vitest which prints much the same.
    Tool {
        marks: &["Test Suites: ", "Test Files "],
        failure: r" *(?:●|✕|×|FAIL ) .*",
        total: r" *(?:Tests|Test Suites|Test Files): .*",
    },
    Tool {
        marks: &[" passing (", " failing\n"],
        failure: r" +\d+\) .*",
        total: r" +\d+ (?:passing|failing|pending)\b.*",
    },
    Tool {
        marks: &["--- FAIL: ", "\nFAIL\t", "\nok  \t"],
        failure: r" *--- FAIL: .*|\S+\.go:\d+:\d+: .*|panic: .*",
        total: r"FAIL\t.*",
    },
    Tool {
        marks: &["BUILD FAILURE", "BUILD SUCCESS", "[INFO] Tests run: "],
        failure: r"\[ERROR\] +\S.*",
        total: r"\[\w+\] (?:Tests run: .*|BUILD \w+)",
    },
    Tool {
        marks: &["BUILD FAILED in", "FAILURE: Build failed"],
        failure: r"> Task .* FAILED|\S.* > .* FAILED|e: .*|\S+: error: .*|\* What went wrong:\n.*",
        total: r"\d+ tests completed.*|BUILD FAILED in .*",
    },
    // gcc, clang, make and what drives them.
    Tool {
        marks: &[
            ": error: ",
            "make: *** ",
            "ninja: build stopped",
            "undefined reference",
        ],
        failure: r"\S+:\d+(?::\d+)?: (?:fatal )?error: .*|make(?:\[\d+\])?: \*\*\* .*|.*undefined reference to .*|ld: .*",
        total: r"\d+ errors? generated\.|ninja: build stopped.*",
    },
    Tool {
        marks: &["npm ERR!", "npm error "],
        failure: r"npm (?:ERR!|error) (?:code|[A-Z]).*",
        total: r"npm (?:ERR!|error) Exit status.*",
    },
    Tool {
        marks: &[": error TS", "- error TS"],
        failure: r"\S+(?:\(\d+,\d+\)|:\d+:\d+)(?::| -) error TS\d+: .*",
        total: r"Found \d+ errors?.*",
    },
];

static MARKS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let marks = TOOLS.iter().flat_map(|tool| tool.marks);
    AhoCorasick::new(marks).expect("the marks are few and short")
});

/// Totals, then failures with their lines; nothing if no tool is recognised, or
/// if nothing failed and there is no summary.
pub(crate) fn outline(view: &View, plan: &Plan) -> io::Result<Vec<Line>> {
    let tools = recognised(view)?;
    if tools.is_empty() {
        return Ok(Vec::new());
    }
    let any = |pick: fn(&Tool) -> &'static str| {
        let sources: Vec<&str> = tools.iter().map(|&at| pick(&TOOLS[at])).collect();
        let pattern = format!(r"(?m-u)^(?:{})\r?$", sources.join("|"));
        Regex::new(&pattern).expect("the patterns of this file are valid")
    };
    let failure = any(|tool| tool.failure);
    let total = any(|tool| tool.total);
    let parts = plan.look(view.source(), |text, start| Found {
        failures: failure.find_iter(text).count() as u64,
        shown: matches(&failure, text, start).take(KEPT).collect(),
        totals: matches(&total, text, start).take(KEPT).collect(),
    })?;
    let mut all = Found::default();
    for part in parts {
        all.failures += part.failures;
        all.shown.extend(part.shown);
        all.totals.extend(part.totals);
    }
    all.told(view, plan)
}

fn recognised(view: &View) -> io::Result<Vec<usize>> {
    let source = view.source();
    let head = source.bytes(0, HEAD)?;
    let tail = source.bytes(source.len().saturating_sub(TAIL).max(HEAD), source.len())?;
    let mut found = [false; TOOLS.len()];
    for text in [&head, &tail] {
        for mark in MARKS.find_iter(text) {
            let mut before = mark.pattern().as_usize();
            let tool = TOOLS.iter().position(|tool| {
                let is_here = before < tool.marks.len();
                before = before.saturating_sub(tool.marks.len());
                is_here
            });
            found[tool.unwrap_or_default()] = true;
        }
    }
    Ok((0..TOOLS.len()).filter(|&at| found[at]).collect())
}

fn matches<'a>(
    pattern: &'a Regex,
    text: &'a [u8],
    start: u64,
) -> impl Iterator<Item = (u64, String)> + 'a {
    pattern.find_iter(text).map(move |found| {
        let words = String::from_utf8_lossy(found.as_bytes());
        let words: Vec<&str> = words.split_whitespace().collect();
        (start + found.start() as u64, words.join(" "))
    })
}

#[derive(Debug, Default)]
struct Found {
    failures: u64,
    shown: Vec<(u64, String)>,
    totals: Vec<(u64, String)>,
}

impl Found {
    fn told(self, view: &View, plan: &Plan) -> io::Result<Vec<Line>> {
        let mut lines = Vec::new();
        let first = self.totals.len().saturating_sub(TOTALS);
        for (offset, text) in &self.totals[first..] {
            lines.push(located(view, *offset, 0, text)?);
        }
        let totals: HashSet<&str> = self.totals.iter().map(|(_, text)| &**text).collect();
        let mut known = HashSet::new();
        let mut failures: Vec<&(u64, String)> = self
            .shown
            .iter()
            .filter(|(_, text)| !totals.contains(&**text) && known.insert(&**text))
            .collect();
        let count = failures.len();
        failures.truncate(FAILURES);
        if self.failures > self.shown.len() as u64 || count > failures.len() {
            let text = format!("{} lines of failures", plan.scaled(self.failures));
            lines.push(note(text));
        }
        for (at, (offset, text)) in failures.into_iter().enumerate() {
            lines.push(located(view, *offset, 1 + at / 4, text)?);
        }
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::tests::{texts, view_of};

    fn shown(text: &str) -> String {
        let view = view_of(text);
        let plan = Plan::spread(view.source(), 0).unwrap();
        texts(&outline(&view, &plan).unwrap())
    }

    #[test]
    fn tools() {
        assert_snapshot!(shown("error[E0308]: mismatched types\n  --> src/a.rs:3:5\n   |\nerror: aborting\nerror: could not compile `a` (lib) due to 2 previous errors\n"), @"
        5: error: could not compile `a` (lib) due to 2 previous errors
        1: error[E0308]: mismatched types --> src/a.rs:3:5
        4: error: aborting
        ");
        assert_snapshot!(shown("x\nTraceback (most recent call last):\n  File \"a.py\", line 3\nValueError: no\n"), @"4: ValueError: no");
        assert_snapshot!(shown("FAIL src/a.test.js\n  ● sum › adds\n\nTest Suites: 1 failed, 2 passed, 3 total\nTests:       1 failed, 9 total\n"), @"
        4: Test Suites: 1 failed, 2 passed, 3 total
        5: Tests: 1 failed, 9 total
        2: ● sum › adds
        ");
        assert_snapshot!(shown("\n  2 passing (8ms)\n  1 failing\n\n  1) sum\n       adds:\n"), @"
        2: 2 passing (8ms)
        3: 1 failing
        5: 1) sum
        ");
        assert_snapshot!(shown("=== RUN   TestA\n    a_test.go:7: no\n--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample.com/a\t0.1s\n"), @"
        5: FAIL example.com/a 0.1s
        3: --- FAIL: TestA (0.00s)
        ");
        assert_snapshot!(shown("[INFO] Tests run: 3, Failures: 1\n[ERROR] Failures: \n[ERROR]   ATest.m:3 expected 1\n[INFO] BUILD FAILURE\n"), @"
        1: [INFO] Tests run: 3, Failures: 1
        4: [INFO] BUILD FAILURE
        2: [ERROR] Failures:
        3: [ERROR] ATest.m:3 expected 1
        ");
        assert_snapshot!(shown("> Task :test FAILED\nATest > m() FAILED\n3 tests completed, 1 failed\nBUILD FAILED in 2s\n"), @"
        3: 3 tests completed, 1 failed
        4: BUILD FAILED in 2s
        1: > Task :test FAILED
        2: ATest > m() FAILED
        ");
        assert_snapshot!(shown("a.c:3:5: error: expected ';'\nmake: *** [Makefile:2: a.o] Error 1\n"), @"
        1: a.c:3:5: error: expected ';'
        2: make: *** [Makefile:2: a.o] Error 1
        ");
        assert_snapshot!(shown("npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve\n"), @"
        1: npm ERR! code ERESOLVE
        2: npm ERR! ERESOLVE unable to resolve
        ");
        assert_snapshot!(shown("a.ts(3,5): error TS2322: Type\nFound 1 error.\n"), @"
        2: Found 1 error.
        1: a.ts(3,5): error TS2322: Type
        ");
        assert_eq!(shown("an error: here, but no tool's\n"), "");
    }
}
