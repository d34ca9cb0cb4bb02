//! What failed, in what a test or a build printed?
//!
//! The tools are recognised by marks near both ends of the text, where their
//! summaries stand, so a log that is none of theirs costs nothing.

mod line_patterns;
mod tools;

use std::io;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use regex::bytes::Regex;
use rustc_hash::FxHashMap;
use spillgate_artifact::ContentKind;
use spillgate_text::View;

use crate::log::signature;
use crate::parts::{SamplePlan, grouped};
use crate::{OutlineEntry, located, note};
use line_patterns::LinePatterns;
use tools::{ANY, GOOD, IDLE, NONZERO, PREFIX, TOOLS};

/// Bytes at the beginning and at the end in which marks are looked for.
const HEAD: u64 = 64 << 10;
const TAIL: u64 = 256 << 10;
/// Failures that are shown at most; all are counted.
const FAILURES: usize = 40;
/// Lines of a summary.
const TOTALS: usize = 6;
/// Groups of alike lines that are kept of each part.
const KEPT: usize = 400;
/// Alike lines that are shown each on its own; more are shown as one.
const ALIKE: usize = 4;

/// Where any mark begins. Of the kinds of matches only the leftmost ones are found by vectors,
/// in a tenth of the time of the overlapping ones.
static MARKS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let marks = TOOLS.iter().flat_map(|tool| tool.marks);
    let marks = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(marks);
    marks.expect("the marks are few and short")
});
static WORDS: LazyLock<[Regex; 3]> = LazyLock::new(|| [GOOD, NONZERO, IDLE].map(pattern));
static IN_FRONT: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("^{PREFIX}")));

fn pattern(source: &str) -> Regex {
    Regex::new(&format!("(?-u){source}")).expect("the patterns of this folder are valid")
}

/// Failing totals, then failures with their lines, then the last total that
/// tells of none; nothing if no tool is recognised, or if nothing failed and
/// there is no summary.
pub(crate) fn outline(
    view: &View,
    plan: &SamplePlan,
    kind: ContentKind,
) -> io::Result<Vec<OutlineEntry>> {
    let mut tools = recognised(view)?;
    // Code has the words of errors in it, and nothing failed.
    tools.retain(|&at| at != ANY || kind != ContentKind::Code);
    if tools.is_empty() {
        return Ok(Vec::new());
    }
    let any = |pick: fn(&tools::Tool) -> &'static str| {
        let patterns: Vec<&str> = tools.iter().map(|&at| pick(&TOOLS[at])).collect();
        LinePatterns::any_of(&patterns)
    };
    let failure = any(|tool| tool.failure);
    let total = any(|tool| tool.total);
    let parts = plan.look(view.source(), |text, start| {
        let mut found = Findings::default();
        total.each(text, |one, at| match is_good(one) {
            true => found.good = Some((start + at as u64, line_text(one))),
            false => found.totals.add(one, start + at as u64),
        });
        failure.each(text, |one, at| {
            if !is_good(one) {
                found.failures.add(one, start + at as u64);
            }
        });
        found
    })?;
    let mut all = Findings::default();
    for part in parts {
        all.failures.absorb(part.failures);
        all.totals.absorb(part.totals);
        all.good = part.good.or(all.good);
    }
    all.entries(view, plan)
}

fn recognised(view: &View) -> io::Result<Vec<usize>> {
    let source = view.source();
    let head = source.bytes(0, HEAD)?;
    let tail = source.bytes(source.len().saturating_sub(TAIL).max(HEAD), source.len())?;
    let mut found = [false; TOOLS.len()];
    for text in [&head, &tail] {
        let mut from = 0;
        while let Some(mark) = MARKS.find(Input::new(text).range(from..)) {
            let rest = &text[mark.start()..];
            for (tool, is_found) in TOOLS.iter().zip(&mut found) {
                *is_found |= tool
                    .marks
                    .iter()
                    .any(|mark| rest.starts_with(mark.as_bytes()));
            }
            // Marks may overlap: the next one can begin within this one.
            from = mark.start() + 1;
        }
    }
    Ok((0..TOOLS.len()).filter(|&at| found[at]).collect())
}

/// Whether it tells of no failure.
fn is_good(text: &[u8]) -> bool {
    let [good, nonzero, _] = &*WORDS;
    good.is_match(text) && !nonzero.is_match(text)
}

/// The words of its lines without what stands in front of them.
fn line_text(text: &[u8]) -> String {
    let mut all = Vec::new();
    for line in text.split(|&byte| byte == b'\n') {
        let front = IN_FRONT.find(line).map_or(0, |front| front.end());
        let words = String::from_utf8_lossy(&line[front..]);
        all.extend(words.split_whitespace().map(str::to_owned));
    }
    all.join(" ")
}

/// Lines that differ in numbers at most.
#[derive(Debug)]
struct Group {
    count: u64,
    /// The first different ones, each with its place and its number.
    first: Vec<(u64, String, u64)>,
}

/// Lines in groups of alike ones.
#[derive(Debug, Default)]
struct Groups {
    known: FxHashMap<u64, usize>,
    all: Vec<Group>,
    /// Lines of groups that are not kept.
    others: u64,
}

impl Groups {
    fn add(&mut self, line: &[u8], offset: u64) {
        let [_, _, idle] = &*WORDS;
        let front = IN_FRONT.find(line).map_or(0, |front| front.end());
        let key = signature(&line[front..]);
        if let Some(&at) = self.known.get(&key) {
            self.all[at].add(offset, 1, || line_text(line));
        } else if idle.is_match(&line[front..]) {
        } else if self.all.len() < KEPT {
            let first = vec![(offset, line_text(line), 1)];
            self.known.insert(key, self.all.len());
            self.all.push(Group { count: 1, first });
        } else {
            self.others += 1;
        }
    }

    /// Takes those of the part that follows.
    fn absorb(&mut self, next: Self) {
        self.others += next.others;
        let mut keys: Vec<(usize, u64)> = next.known.iter().map(|(&key, &at)| (at, key)).collect();
        keys.sort_unstable();
        for ((_, key), group) in keys.into_iter().zip(next.all) {
            match self.known.get(&key) {
                Some(&at) => {
                    let mine = &mut self.all[at];
                    let shown = group.shown();
                    for (offset, text, count) in group.first {
                        mine.add(offset, count, || text);
                    }
                    mine.count += group.count - shown;
                }
                None if self.all.len() < KEPT => {
                    self.known.insert(key, self.all.len());
                    self.all.push(group);
                }
                None => self.others += group.count,
            }
        }
    }

    /// Places and texts: identical lines once, many alike ones once.
    fn lines(self) -> Vec<(u64, String)> {
        let mut lines = Vec::new();
        for group in self.all {
            let is_one = group.count > group.shown();
            for (at, (offset, text, count)) in group.first.into_iter().enumerate() {
                match count {
                    _ if is_one && at > 0 => {}
                    _ if is_one => {
                        lines.push((offset, format!("{} alike: {text}", grouped(group.count))));
                    }
                    1 => lines.push((offset, text)),
                    n => lines.push((offset, format!("{}× {text}", grouped(n)))),
                }
            }
        }
        lines.sort();
        lines
    }
}

impl Group {
    fn add(&mut self, offset: u64, count: u64, text: impl FnOnce() -> String) {
        let is_one = self.count > self.shown();
        self.count += count;
        if is_one {
            return;
        }
        let text = text();
        let same = self.first.iter().position(|(_, known, _)| *known == text);
        match same {
            Some(at) => self.first[at].2 += count,
            None if self.first.len() < ALIKE => self.first.push((offset, text, count)),
            None => {}
        }
    }

    /// Lines that are one of the first: all, unless too many are different.
    fn shown(&self) -> u64 {
        self.first.iter().map(|(.., count)| count).sum()
    }
}

#[derive(Debug, Default)]
struct Findings {
    failures: Groups,
    totals: Groups,
    /// The last total that tells of no failure.
    good: Option<(u64, String)>,
}

impl Findings {
    fn entries(self, view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
        let mut lines = Vec::new();
        let totals = self.totals.lines();
        let last = totals.len().saturating_sub(TOTALS);
        for (offset, text) in &totals[last..] {
            lines.push(located(view, *offset, (0, 0), text.clone())?);
        }
        let all: u64 = self.failures.all.iter().map(|group| group.count).sum();
        let all = all + self.failures.others;
        let is_more = self.failures.others > 0;
        let mut failures = self.failures.lines();
        failures.retain(|one| !totals.contains(one));
        if is_more || failures.len() > FAILURES {
            lines.push(note(format!("{} lines of failures", plan.scaled(all))));
        }
        failures.truncate(FAILURES);
        for (at, (offset, text)) in failures.into_iter().enumerate() {
            lines.push(located(view, offset, (1 + at / 4, 0), text)?);
        }
        if let Some((offset, text)) = self.good {
            let rank = lines.len();
            lines.push(located(view, offset, (rank, 0), text)?);
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
        let plan = SamplePlan::spread(view.source(), 0).unwrap();
        texts(&outline(&view, &plan, ContentKind::Log).unwrap())
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
        1: FAIL src/a.test.js
        2: ● sum › adds
        ");
        assert_snapshot!(shown("\n  2 passing (8ms)\n  1 failing\n\n  1) sum\n       adds:\n"), @"
        3: 1 failing
        5: 1) sum
        2: 2 passing (8ms)
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
        assert_snapshot!(shown("/w/a.js\n  3:5  error  'x' is not defined  no-undef\n  9:1  error  Missing semicolon  semi\n\n✖ 2 problems (2 errors, 0 warnings)\n"), @"
        5: ✖ 2 problems (2 errors, 0 warnings)
        1: /w/a.js 3:5 error 'x' is not defined no-undef
        3: 9:1 error Missing semicolon semi
        ");
        assert_snapshot!(shown("a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n"), @"
        2: Found 1 error.
        1: a.py:1:8: F401 [*] `os` imported but unused
        ");
        assert_eq!(shown("an error: here, but no tool's\n"), "");
    }

    #[test]
    fn every_mark_is_found_also_within_another() {
        let tools = |text: &str| recognised(&view_of(text)).unwrap();
        for (at, tool) in TOOLS.iter().enumerate() {
            for mark in tool.marks {
                assert!(tools(&format!("x{mark}x")).contains(&at), "{mark}");
            }
        }
        let cargo = TOOLS
            .iter()
            .position(|tool| tool.marks.contains(&"test result: "));
        let any = tools("x\nerror: could not compile `a`\n");
        assert_eq!(any, [cargo.unwrap(), ANY]);
    }

    #[test]
    fn what_failed_comes_first() {
        let ci = "[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 0\n\
            [INFO] BUILD SUCCESS\n[ERROR] COMPILATION ERROR : \n\
            [ERROR] /w/A.java:[7,3] cannot find symbol\n[ERROR] No space left on device\n\
            [ERROR] No space left on device\n[INFO] Core ....... FAILURE [  7.4 s]\n\
            [INFO] BUILD FAILURE\n[ERROR] \n[ERROR] Re-run Maven using the -X switch.\n\
            [ERROR] -> [Help 1]\n[INFO] BUILD SUCCESS\n";
        assert_snapshot!(shown(ci), @"
        8: [INFO] BUILD FAILURE
        3: [ERROR] COMPILATION ERROR :
        4: [ERROR] /w/A.java:[7,3] cannot find symbol
        5: 2× [ERROR] No space left on device
        7: [INFO] Core ....... FAILURE [ 7.4 s]
        12: [INFO] BUILD SUCCESS
        ");
        let prefixed: String = ci
            .lines()
            .map(|line| format!("2022-03-15T21:05:41.2757496Z {line}\n"))
            .collect();
        assert_eq!(shown(&prefixed), shown(ci));
        let symbols: String = (1..9)
            .map(|i| format!("[ERROR] /w/A.java:[{i},3] cannot find symbol\n"))
            .collect();
        assert_snapshot!(shown(&format!("{symbols}Tests run: 9, Failures: 1, Errors: 0\n[INFO] BUILD FAILURE\n")), @"
        9: Tests run: 9, Failures: 1, Errors: 0
        10: [INFO] BUILD FAILURE
        1: 8 alike: [ERROR] /w/A.java:[1,3] cannot find symbol
        ");
        assert_snapshot!(shown("Started by timer\n[INFO] BUILD SUCCESS\nERROR: no tag class, it has failed\nFinished: FAILURE\n"), @"
        4: Finished: FAILURE
        3: ERROR: no tag class, it has failed
        2: [INFO] BUILD SUCCESS
        ");
        assert_snapshot!(shown("Started\nhudson.plugins.git.GitException: Command returned status code 128:\nstderr: fatal: unable to access\n\tat a.B(C.java:1)\nCaused: java.io.IOException: No space left\nFinished: FAILURE\n"), @"
        6: Finished: FAILURE
        2: hudson.plugins.git.GitException: Command returned status code 128:
        3: stderr: fatal: unable to access
        5: Caused: java.io.IOException: No space left
        ");
        assert_snapshot!(shown("compiling\nthread 'main' panicked at src/a.rs:3:5:\nno\nprocess exited with code 101\n"), @"
        2: thread 'main' panicked at src/a.rs:3:5: no
        4: process exited with code 101
        ");
        assert_snapshot!(shown("ok\n##[error]Process completed with exit code 1.\n"), @"2: ##[error]Process completed with exit code 1.");
        assert_eq!(
            shown("0 tests FAILED, 0 errors\nall done, exit code 0\n"),
            ""
        );
    }
}
