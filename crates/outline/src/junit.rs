//! Outlines the XML reports of test runners: failures first, then suites and slow tests.

use std::io;

use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart, Event};
use spillgate_text::View;

use crate::parts::{counted, grouped};
use crate::xml::{self, LOOKED_AT};
use crate::{EntryKind, OutlineEntry, aside, note};

/// Maximum number of failures that are kept.
const FAILURES: usize = 200;
/// Maximum number of suites that are kept.
const SUITES: usize = 500;
/// Maximum number of bytes that are kept of the text of a failure.
const TEXT: usize = 8 << 10;
/// Maximum number of lines of this text that are shown.
const DETAILS: usize = 4;
/// Maximum number of slow tests that are shown.
const SLOW: usize = 3;
/// Minimum duration of a slow test, in seconds.
const SECONDS: f64 = 1.0;

/// Returns the outline of a report; `None` for other documents.
pub(crate) fn outline(view: &View) -> io::Result<Option<Vec<OutlineEntry>>> {
    let mut reader = xml::reader(view);
    let mut report = Report::default();
    let mut buffer = Vec::new();
    let is_whole = loop {
        buffer.clear();
        let at = reader.buffer_position();
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Start(tag) | Event::Empty(tag)) if report.is_other(&tag) => return Ok(None),
            Ok(Event::Start(tag)) => report.start(&tag, at),
            Ok(Event::Empty(tag)) => {
                report.start(&tag, at);
                report.end(tag.name().as_ref());
            }
            Ok(Event::End(tag)) => report.end(tag.name().as_ref()),
            Ok(Event::Text(text)) => report.text(&text),
            Ok(Event::CData(text)) => report.text(&text),
            Ok(Event::GeneralRef(reference)) => report.reference(&reference),
            Ok(Event::Eof) => break view.bytes() <= LOOKED_AT,
            Ok(_) => {}
            Err(quick_xml::Error::Io(error)) => return Err(io::Error::other(error)),
            Err(_) => break false,
        }
    };
    match report.has_root || !report.suites.is_empty() {
        true => report.render(view, is_whole).map(Some),
        false => Ok(None),
    }
}

#[derive(Debug, Default)]
struct Suite {
    offset: u64,
    name: String,
    tests: u64,
    failed: u64,
    seconds: f64,
}

#[derive(Debug, Default, Clone)]
struct Case {
    offset: u64,
    name: String,
    /// Index of the suite that contains the test; `None` if the suite is not kept.
    suite: Option<usize>,
    seconds: f64,
    outcome: Outcome,
    message: String,
    text: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    #[default]
    Passed,
    Failed,
    Error,
    Skipped,
}

#[derive(Debug, Default)]
struct Report {
    /// Whether the root element was read.
    has_root: bool,
    suites: Vec<Suite>,
    /// Indices of the open suites; `None` if a suite is not kept.
    open: Vec<Option<usize>>,
    case: Option<Case>,
    /// Whether the reader is inside the text of a failure.
    is_inside: bool,
    tests: u64,
    failed: u64,
    errors: u64,
    skipped: u64,
    seconds: f64,
    failures: Vec<Case>,
    slow: Vec<Case>,
}

impl Report {
    /// Returns whether an element is the root of a document that is not a test report.
    fn is_other(&self, tag: &BytesStart<'_>) -> bool {
        let is_root = self.suites.is_empty() && !self.has_root;
        is_root && !["testsuites", "testsuite"].contains(&tag.name().as_ref())
    }

    fn start(&mut self, tag: &BytesStart<'_>, offset: u64) {
        let text = |name: &str| attribute(tag, name);
        match tag.name().as_ref() {
            "testsuites" => self.has_root = true,
            "testsuite" => {
                let is_kept = self.suites.len() < SUITES;
                self.open.push(is_kept.then_some(self.suites.len()));
                if is_kept {
                    self.suites.push(Suite {
                        offset,
                        name: text("name").unwrap_or_default(),
                        ..Suite::default()
                    });
                }
            }
            "testcase" => {
                let class = text("classname").filter(|class| !class.is_empty());
                let class = class.map(|class| format!("{class} "));
                let seconds = text("time").and_then(|time| time.replace(',', "").parse().ok());
                self.case = Some(Case {
                    offset,
                    name: class.unwrap_or_default() + &text("name").unwrap_or_default(),
                    suite: self.open.last().copied().flatten(),
                    seconds: seconds.filter(|time: &f64| time.is_finite()).unwrap_or(0.0),
                    ..Case::default()
                });
            }
            kind @ ("failure" | "error" | "skipped") => {
                let Some(case) = &mut self.case else { return };
                let outcome = match kind {
                    "failure" => Outcome::Failed,
                    "error" => Outcome::Error,
                    _ => Outcome::Skipped,
                };
                // The first failure element of a test says why the test failed.
                if case.outcome == Outcome::Passed {
                    case.outcome = outcome;
                    let message = text("message").filter(|message| !message.is_empty());
                    case.message = message.or_else(|| text("type")).unwrap_or_default();
                    self.is_inside = outcome != Outcome::Skipped;
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "testsuite" => {
                self.open.pop();
            }
            "failure" | "error" => self.is_inside = false,
            "testcase" => {
                if let Some(case) = self.case.take() {
                    self.add(case);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, case: Case) {
        self.is_inside = false;
        self.tests += 1;
        self.seconds += case.seconds;
        let is_failure = matches!(case.outcome, Outcome::Failed | Outcome::Error);
        match case.outcome {
            Outcome::Failed => self.failed += 1,
            Outcome::Error => self.errors += 1,
            Outcome::Skipped => self.skipped += 1,
            Outcome::Passed => {}
        }
        if let Some(suite) = case.suite.map(|at| &mut self.suites[at]) {
            suite.tests += 1;
            suite.failed += u64::from(is_failure);
            suite.seconds += case.seconds;
        }
        if case.seconds >= SECONDS {
            let at = self
                .slow
                .partition_point(|other| other.seconds >= case.seconds);
            if at < SLOW {
                self.slow.truncate(SLOW - 1);
                let text = String::new();
                self.slow.insert(
                    at,
                    Case {
                        text,
                        ..case.clone()
                    },
                );
            }
        }
        if is_failure && self.failures.len() < FAILURES {
            self.failures.push(case);
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(case) = self.case.as_mut().filter(|_| self.is_inside) {
            let room = TEXT.saturating_sub(case.text.len());
            case.text.push_str(&text[..text.floor_char_boundary(room)]);
        }
    }

    fn reference(&mut self, reference: &BytesRef<'_>) {
        let known = match reference.resolve_char_ref() {
            Ok(Some(c)) => Some(c.to_string()),
            _ => resolve_predefined_entity(reference).map(str::to_owned),
        };
        self.text(&known.unwrap_or_default());
    }

    fn render(mut self, view: &View, is_whole: bool) -> io::Result<Vec<OutlineEntry>> {
        if let Some(case) = self.case.take() {
            self.add(case); // the report was cut off in it
        }
        let counts = [
            (self.failed, "failed"),
            (self.errors, "with errors"),
            (self.skipped, "skipped"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts
            .map(|(count, what)| format!("{} {what}", grouped(*count)))
            .collect();
        let counts = match counts.is_empty() {
            true => "none failed".to_owned(),
            false => counts.join(", "),
        };
        let mut shown = Vec::new();
        if !is_whole {
            shown.push(aside("(as far as it was read)".to_owned()));
        }
        shown.push(note(format!(
            "{} in {}: {counts}; {:.1} s",
            counted(&grouped(self.tests), "test"),
            counted(&grouped(self.suites.len() as u64), "suite"),
            self.seconds
        )));
        for (at, case) in self.failures.iter().enumerate() {
            let what = match case.outcome {
                Outcome::Error => "ERROR",
                _ => "FAILED",
            };
            let message = case.message.lines().next().unwrap_or_default();
            let text = format!("{what} {}: {message}", case.name);
            let line = Some(view.line_of_offset(case.offset)?);
            let failure = |rank: usize, depth: usize, text: String| {
                OutlineEntry::new(rank, depth, EntryKind::Failure, text)
            };
            shown.push(OutlineEntry {
                line,
                ..failure(at, 0, text)
            });
            for (far, detail) in details(case).into_iter().enumerate() {
                shown.push(failure(at + 2 + 2 * far, 1, detail.trim().to_owned()));
            }
        }
        let mut suites: Vec<&Suite> = self.suites.iter().collect();
        suites.sort_by_key(|suite| std::cmp::Reverse(suite.failed));
        for (at, suite) in suites.iter().filter(|suite| suite.tests > 0).enumerate() {
            let failed = match suite.failed {
                0 => String::new(),
                count => format!(", {} failed", grouped(count)),
            };
            let tests = counted(&grouped(suite.tests), "test");
            let text = format!("{}: {tests}{failed}, {:.1} s", suite.name, suite.seconds);
            shown.push(crate::located(view, suite.offset, (3 + at, 0), text)?);
        }
        for (at, case) in self.slow.iter().enumerate() {
            let text = format!("slow: {}: {:.1} s", case.name, case.seconds);
            shown.push(crate::located(view, case.offset, (5 + at, 0), text)?);
        }
        Ok(shown)
    }
}

/// Returns the most informative lines of a failure: the expected value, and the place in the code.
fn details(case: &Case) -> Vec<&str> {
    let said = case.message.lines().next().unwrap_or_default();
    let lines = || {
        let lines = case.message.lines().skip(1).chain(case.text.lines());
        lines.filter(|line| {
            let bare = line.trim();
            let is_said = !said.is_empty() && bare.contains(said);
            !bare.is_empty() && !is_said && !case.message.starts_with(bare)
        })
    };
    let is_telling = |line: &&str| {
        let bare = line.trim_start();
        let has_place = memchr::memchr_iter(b':', bare.as_bytes()).any(|colon| {
            let digit = bare.as_bytes().get(colon + 1);
            colon > 0 && digit.is_some_and(u8::is_ascii_digit)
        });
        has_place
            || [
                "E  ",
                ">",
                "Expected",
                "expected",
                "Received",
                "Actual",
                "actual",
                "Caused by",
            ]
            .iter()
            .any(|with| bare.starts_with(with))
    };
    let telling: Vec<&str> = lines().filter(is_telling).take(DETAILS).collect();
    match telling.is_empty() {
        true => lines().take(DETAILS / 2).collect(),
        false => telling,
    }
}

/// Returns the value of an attribute.
fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = tag.attributes();
    let mut attributes = attributes.with_checks(false).flatten();
    let found = attributes.find(|one| AsRef::<str>::as_ref(&one.key) == name)?;
    let raw = found.value.to_string();
    Some(match unescape(&raw) {
        Ok(text) => text.into_owned(),
        Err(_) => raw,
    })
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::tests::{texts, view_of};

    fn shown(text: &str) -> String {
        texts(&outline(&view_of(text)).unwrap().unwrap_or_default())
    }

    #[test]
    fn failures_come_first() {
        let passed: String = (0..40)
            .map(|i| format!("<testcase classname=\"a.b\" name=\"t{i}\" time=\"0.01\"/>\n"))
            .collect();
        let text = format!(
            "<?xml version=\"1.0\"?>\n<!-- made by <us> -->\n<testsuites>\n<testsuite name=\"unit\" tests=\"42\">\n{passed}\
<testcase classname=\"a.b\" name=\"t[41]\" time=\"2.5\"><failure message=\"n is 7 &amp; &lt;bad&gt;&#10;assert 7 != 7\">n = 7\n\n    def t(n):\n&gt;       assert n != 7\nE       AssertionError: n is 7\n\ntest_a.py:5: AssertionError</failure></testcase>\n\
<testcase classname=\"a.b\" name=\"t[42]\"><error type=\"java.io.IOException\"><![CDATA[java.io.IOException: closed\n\tat a.B.read(B.java:17)\n\tat a.B.main(B.java:3)]]></error></testcase>\n\
<testcase classname=\"a.b\" name=\"t[43]\"><skipped message=\"later\"/></testcase>\n</testsuite>\n\
<testsuite name=\"none\"/><testsuite name=\"more\"><testcase name=\"one\" time=\"1,003.5\"/></testsuite></testsuites>\n"
        );
        assert_snapshot!(shown(&text), @"
        44 tests in 3 suites: 1 failed, 1 with errors, 1 skipped; 1006.4 s
        45: FAILED a.b t[41]: n is 7 & <bad>
          >       assert n != 7
          E       AssertionError: n is 7
          test_a.py:5: AssertionError
        52: ERROR a.b t[42]: java.io.IOException
          at a.B.read(B.java:17)
          at a.B.main(B.java:3)
        4: unit: 43 tests, 2 failed, 2.9 s
        57: more: 1 test, 1003.5 s
        57: slow: one: 1003.5 s
        45: slow: a.b t[41]: 2.5 s
        ");
        assert_snapshot!(shown("<testsuite name=\"x\"><testcase name=\"a\"/><testcase name=\"b\"><failure>no"), @"
        2 tests in 1 suite: 1 failed; 0.0 s
        1: FAILED b: 
          no
        1: x: 2 tests, 1 failed, 0.0 s
        ");
        assert_eq!(shown("<a><testsuite/></a>"), "");
    }
}
