//! Classifies the kind of content from the head of a text.
//!
//! It first tries the formats that a parser can confirm (JSON, NDJSON, CSV), then formats with
//! unmistakable marks (diff, HTML, XML). Otherwise it decides by the appearance of most lines.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde::de::IgnoredAny;
use spillgate_artifact::ContentKind;

use crate::magic;

/// Maximum bytes of the head that are examined.
pub const SAMPLE_BYTES: usize = 64 << 10;

/// The head of a result, up to [`SAMPLE_BYTES`].
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// The first bytes.
    pub head: &'a [u8],
    /// Whether this is the whole content.
    pub complete: bool,
}

/// Returns the kind of content.
#[must_use]
pub fn classify(sample: Sample<'_>) -> ContentKind {
    let head = &sample.head[..sample.head.len().min(SAMPLE_BYTES)];
    if magic::certain(head).is_some() || is_binary(Sample { head, ..sample }) {
        return ContentKind::Binary;
    }
    // Checking the whole head is much faster than looking for the first invalid byte.
    let text =
        std::str::from_utf8(head).map_or_else(|_| String::from_utf8_lossy(head), Cow::Borrowed);
    let text = text.trim_start_matches('\u{feff}');
    json(text, sample.complete)
        .or_else(|| marked(text))
        .or_else(|| timed_table(text, sample.complete))
        .or_else(|| by_lines(text, sample.complete))
        .or_else(|| table(text, sample.complete))
        .unwrap_or(ContentKind::Text)
}

/// In text, at most one byte in this many is NUL. Such NULs occur if a program writes a buffer with
/// its terminator. Lists separated by NULs (`find -print0`, `/proc/1/environ`) contain more.
const NUL_SHARE: usize = 1000;

/// Returns whether the bytes are not text: more than one NUL in a thousand bytes, or more than a
/// tenth of the bytes invalid UTF-8 or control characters.
#[must_use]
pub fn is_binary(sample: Sample<'_>) -> bool {
    let Sample { head, complete } = sample;
    if memchr::memchr_iter(0, head).count() * NUL_SHARE > head.len() {
        return true;
    }
    let controls = |valid: &str| {
        let is_odd = |b: &u8| b.is_ascii_control() && !b"\t\n\r\x0c\x1b\x08".contains(b);
        valid.as_bytes().iter().filter(|b| is_odd(b)).count()
    };
    let odd = match std::str::from_utf8(head) {
        Ok(text) => controls(text),
        Err(_) => head
            .utf8_chunks()
            .map(|chunk| controls(chunk.valid()) + chunk.invalid().len())
            .sum(),
    };
    // The sample may end inside a character.
    let odd = if complete { odd } else { odd.saturating_sub(3) };
    odd * 10 > head.len()
}

/// Detects JSON or NDJSON, as far as the sample can be parsed.
fn json(text: &str, complete: bool) -> Option<ContentKind> {
    if !text.trim_start().starts_with(['{', '[']) {
        return behind_notes(text, complete);
    }
    // Of a number that the sample cuts off behind its point, the parser says that it is wrong.
    let is_of_number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let text = match complete {
        true => text,
        false => text.trim_end_matches(is_of_number),
    };
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let (mut whole, mut ends) = (0u32, Vec::new());
    let cut_off = loop {
        match documents.next() {
            Some(Ok(_)) => {
                whole += 1;
                ends.push(documents.byte_offset());
            }
            Some(Err(error)) if error.is_eof() && !complete => break true,
            // The program that printed the document has cut it off, so the kind is JSON although
            // the document is invalid.
            Some(Err(error)) if error.is_eof() && whole == 0 && text.contains(['"', ',']) => {
                break true;
            }
            Some(Err(_)) => return json_lines(text, complete),
            None => break false,
        }
    };
    let each_on_its_line = ends
        .iter()
        .all(|&end| text[end..].is_empty() || text[end..].starts_with(['\n', '\r']));
    match whole + u32::from(cut_off) {
        1 => Some(ContentKind::Json),
        _ if each_on_its_line => Some(ContentKind::Ndjson),
        _ => None,
    }
}

/// Maximum number of lines that a program may print before its NDJSON.
const NOTES: usize = 2;

/// Detects NDJSON after one or two lines of notes, such as `Listening on 3000`.
fn behind_notes(text: &str, complete: bool) -> Option<ContentKind> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let begins = lines
        .by_ref()
        .take(NOTES + 1)
        .any(|line| line.starts_with('{'));
    begins.then(|| json_lines(text, complete)).flatten()
}

/// Detects NDJSON that also contains a few other lines, as in logs. Nine lines in ten must be
/// documents, not counting the notes before the first document.
fn json_lines(text: &str, complete: bool) -> Option<ContentKind> {
    let mut lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    if !complete {
        lines.pop(); // the sample may cut it off
    }
    let is_document = |line: &&&str| {
        line.trim_start().starts_with(['{', '['])
            && serde_json::from_str::<IgnoredAny>(line).is_ok()
    };
    let notes = lines
        .iter()
        .take(NOTES)
        .take_while(|line| !is_document(line));
    let lines = &lines[notes.count()..];
    let documents = lines.iter().filter(is_document).count();
    (documents >= 2 && documents * 10 >= lines.len() * 9).then_some(ContentKind::Ndjson)
}

/// Detects formats by marks that no other format contains.
fn marked(text: &str) -> Option<ContentKind> {
    let start: String = text.trim_start().chars().take(512).collect();
    let start = start.to_ascii_lowercase();
    if start.starts_with("<!doctype html") || start.starts_with("<html") {
        return Some(ContentKind::Html);
    }
    if start.starts_with("<?xml") || start.starts_with("<!doctype") {
        let html = start.contains("<html") || start.contains("doctype html");
        return Some(if html {
            ContentKind::Html
        } else {
            ContentKind::Xml
        });
    }
    if start.starts_with('<') && MARKUP.is_match(&start) {
        let html = HTML_TAG.is_match(&start);
        return Some(if html {
            ContentKind::Html
        } else {
            ContentKind::Xml
        });
    }
    // The pattern is compiled only for texts that can match: most results are small and plain.
    let can_match = text.contains("diff --git ") || text.contains("@@ -");
    (can_match && DIFF.is_match(text)).then_some(ContentKind::Diff)
}

/// Detects a log, Markdown or code by the appearance of most lines.
fn by_lines(text: &str, complete: bool) -> Option<ContentKind> {
    const LOOKED_AT: usize = 400;
    let mut lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .take(LOOKED_AT)
        .collect();
    if !complete && lines.len() > 1 && lines.len() < LOOKED_AT {
        lines.pop(); // the sample may cut it off
    }
    let share = |pattern: &Regex| {
        let hits = lines.iter().filter(|line| pattern.is_match(line)).count();
        hits as f64 / lines.len().max(1) as f64
    };
    if lines.len() < 3 {
        return None;
    }
    if share(&LOG_LINE) >= 0.3 {
        return Some(ContentKind::Log);
    }
    let (code, markdown) = (share(&CODE_LINE), share(&MARKDOWN_LINE));
    let headings = lines.iter().filter(|line| HEADING.is_match(line)).count();
    // Headings are separated by text, while comment lines follow each other directly.
    let together = text
        .lines()
        .zip(text.lines().skip(1))
        .filter(|(one, next)| HEADING.is_match(one) && HEADING.is_match(next));
    let headed = headings > 0 && together.take(LOOKED_AT).count() * 4 <= headings;
    if headed && markdown > 0.03 && code < 0.4 && markdown * 3.0 > code {
        return Some(ContentKind::Markdown);
    }
    // The output of a test or a build contains quoted code, but is not code.
    if PRINTED.is_match(text) {
        return Some(ContentKind::Log);
    }
    (code >= 0.2).then_some(ContentKind::Code)
}

/// Detects a table that contains times. Its rows look like log lines, but its header does not.
fn timed_table(text: &str, complete: bool) -> Option<ContentKind> {
    if !text.contains([',', '\t']) {
        return None;
    }
    let header = text.lines().next()?;
    let is_row = |line: &str| LOG_LINE.is_match(line);
    let rows = text.lines().skip(1).take(3);
    match !is_row(header) && rows.into_iter().any(is_row) {
        true => table(text, complete),
        false => None,
    }
}

/// Detects rows with the same number of fields under a header of short, distinct names.
fn table(text: &str, complete: bool) -> Option<ContentKind> {
    [(b',', ContentKind::Csv), (b'\t', ContentKind::Tsv)]
        .into_iter()
        .find_map(|(delimiter, kind)| is_table(text, delimiter, complete).then_some(kind))
}

/// Whether the name of a column is a year from 1700 to 2099, as in tables of statistics.
#[must_use]
pub fn is_year(name: &str) -> bool {
    let century = name.get(..2).filter(|_| name.len() == 4);
    century.is_some_and(|century| ["17", "18", "19", "20"].contains(&century))
        && name.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_table(text: &str, delimiter: u8, complete: bool) -> bool {
    const ROWS: usize = 50;
    const WIDEST_NAME: usize = 64;
    /// Maximum words of a column name. In prose with a comma in each line, the "names" have more
    /// words.
    const MOST_WORDS: usize = 4;
    // Making the reader costs more than this search.
    if memchr::memchr(delimiter, text.as_bytes()).is_none() {
        return false;
    }
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .from_reader(text.as_bytes());
    let Ok(header) = reader.headers().cloned() else {
        return false;
    };
    let mut names: Vec<&str> = header.iter().collect();
    names.sort_unstable();
    names.dedup();
    // The column with the names of the rows often has no name itself.
    let is_name = |(at, name): (usize, &str)| {
        let words = name.split_whitespace().count();
        let least = usize::from(at > 0);
        name.len() <= WIDEST_NAME
            && (least..=MOST_WORDS).contains(&words)
            && (name.parse::<f64>().is_err() || is_year(name))
    };
    let has_word = names.iter().any(|name| name.contains(char::is_alphabetic));
    let named = names.len() == header.len() && has_word && header.iter().enumerate().all(is_name);
    if header.len() < 2 || !named {
        return false;
    }
    let rows: Vec<bool> = reader.records().take(ROWS).map(|row| row.is_ok()).collect();
    // The sample may cut off the last row.
    let judged = if complete || rows.len() == ROWS {
        rows.len()
    } else {
        rows.len().saturating_sub(1)
    };
    judged >= 1 && rows[..judged].iter().all(|&whole| whole)
}

fn pattern(source: &str) -> Regex {
    Regex::new(source).expect("the patterns of this file are valid")
}

static MARKUP: LazyLock<Regex> = LazyLock::new(|| pattern(r"^<[a-z][\w:.-]*(\s[^<>]*)?/?>|^<!--"));
static HTML_TAG: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"<(head|body|div|span|p|a|ul|table|section|main|article|h[1-6]|script|img)[\s>]")
});
static DIFF: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?m)^diff --git |^--- \S.*\n\+\+\+ \S.*\n@@ -\d+(,\d+)? \+\d+(,\d+)? @@")
});
/// A time of day, a date or a log level near the start of the line.
static LOG_LINE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^.{0,40}?(\d{1,2}:\d{2}:\d{2}|\d{4}[-/]\d{2}[-/]\d{2}[T ]|\d{2}/[A-Z][a-z]{2}/\d{4})",
        r"|^.{0,50}?\b(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)\b"
    ))
});
/// The first lines of test runs, and lines that only compilers write.
static PRINTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?m)^running \d+ tests?$|^test \S+ \.\.\. (ok|FAILED|ignored)$|^=+ test session starts =+$",
        r"|^error(\[E\d+\])?: .*\n +--> \S+:\d+:\d+$|^=== RUN   \S|^ *--- (FAIL|PASS): \S",
        r"|^\S+:\d+:\d+: (fatal )?error: |^\[INFO\] Scanning for projects|^> Task :\S|^npm (ERR!|error) |^Traceback \(most recent call last\):$"
    ))
});
static HEADING: LazyLock<Regex> = LazyLock::new(|| pattern(r"^#{1,6} \S"));
static MARKDOWN_LINE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^#{1,6} \S|^\s{0,6}([-*+]|\d+\.) \S|^\s{0,3}(```|~~~|> )|\]\(\S+\)|^\|.*\|\s*$|\*\*\S",
    )
});
static CODE_LINE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^\s*(pub |export |public |private |protected |static |async |abstract |final )*",
        r"(fn|def|class|struct|enum|impl|trait|interface|func|function|package|namespace|module|import|from \S+ import|use|mod|type|const|let|var|return|if|for|while|else|match|switch|case|#include|#define|@\w+)\b.*",
        r"|[{};]\s*$|^\s*(//|/\*|\*/)|^\s*\}"
    ))
});

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> ContentKind {
        classify(Sample {
            head: text.as_bytes(),
            complete: true,
        })
    }

    #[test]
    fn json_with_something_before_it_or_cut_off() {
        use ContentKind::*;
        let cases = [
            ("{\"a\": [1, {\"b\": \"c", Json),
            ("[\n  {\n    \"a\": 1\n  },\n", Json),
            ("[", Text),
            ("Listening on 3000\n{\"a\":1}\n{\"a\":2}\n", Ndjson),
            ("up\n[INFO] ready\n{\"a\":1}\n{\"a\":2}\n", Ndjson),
            ("a\nb\nc\n{\"a\":1}\n{\"a\":2}\n", Code),
        ];
        for (text, kind) in cases {
            assert_eq!(self::kind(text), kind, "{text:?}");
        }
    }

    #[test]
    fn whole_texts() {
        use ContentKind::*;
        let cases = [
            ("", Text),
            ("hello", Text),
            ("{\"a\": [1, 2]}", Json),
            ("\u{feff}[1]\n", Json),
            ("{\"a\":1}\n{\"a\":2}\n", Ndjson),
            ("{\"a\":1} {\"a\":2}", Text),
            ("{\"a\":1}\n{broken\n", Text),
            ("{not json}", Text),
            ("x\n{\"a\":1}\n", Text),
            (
                "[2026-11-21 10:00:00] INFO up\n[2026-11-21 10:00:01] INFO up\n[2026-11-21 10:00:02] WARN x\n",
                Log,
            ),
            (
                "Nov 21 10:00:00 host sshd[1]: ok\nNov 21 10:00:01 host sshd[1]: ok\nNov 21 10:00:02 host x: y\n",
                Log,
            ),
            ("id,name\n1,a\n2,\"b\nc\"\n", Csv),
            ("id\tname\n1\ta\n", Tsv),
            ("one, two\nthree\n", Text),
            (
                "the first line of all, and more\nthe second, and more\n",
                Text,
            ),
            ("1,2\n3,4\n", Text),
            ("\"\",\"rank\",\"name\"\n\"1\",1,\"a\"\n", Csv),
            ("Country,1960,1961\nAruba,4.8,4.6\n", Csv),
            ("Country,1960,41\nAruba,4.8,4.6\n", Text),
            ("1960,1961\n4.8,4.6\n", Text),
            ("a,,b\n1,2,3\n", Text),
            (
                "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
                Diff,
            ),
            ("--- a\n+++ b\n@@ -1,2 +1,2 @@\n x\n", Diff),
            ("<!DOCTYPE html><html></html>", Html),
            ("<div><p>x</p></div>", Html),
            ("<?xml version=\"1.0\"?><a/>", Xml),
            ("<rss version=\"2\"><channel></channel></rss>", Xml),
            ("# Title\n\nSome prose.\n\n- one\n- two\n", Markdown),
            (
                "# a comment\n# and more of it\n# still\nssh 22/tcp\nhttp 80/tcp\n- x\n",
                Text,
            ),
            (
                "use std::fs;\n\nfn main() {\n    println!(\"x\");\n}\n",
                Code,
            ),
            (
                "import os\n\ndef f():\n    return 1\n\nclass A:\n    pass\n",
                Code,
            ),
            (
                "The cat sat on the mat,\nand it was warm,\nas mats are.\n",
                Text,
            ),
        ];
        for (text, want) in cases {
            assert_eq!(kind(text), want, "{text:?}");
        }
    }

    #[test]
    fn what_looks_like_something_else() {
        use ContentKind::*;
        let cases = [
            (
                "id,when\n1,2026-11-21T10:00:00Z\n2,2026-11-21T10:00:01Z\n",
                Csv,
            ),
            (
                "2026-11-21 10:00:00,123 INFO up\n2026-11-21 10:00:00,124 INFO up\n2026-11-21 10:00:00,125 INFO up\n",
                Log,
            ),
            (
                "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n    let x = 1;\n    f(x);\n",
                Log,
            ),
            (
                "error[E0308]: mismatched types\n --> src/lib.rs:1:20\n  |\n1 | fn f() -> u8 { x }\n  |\n",
                Log,
            ),
        ];
        for (text, want) in cases {
            assert_eq!(kind(text), want, "{text:?}");
        }
    }

    #[test]
    fn a_bad_line_does_not_spoil_many_good_ones() {
        let text = format!("{{\"a\":1}}\n{{broken\n{}", "{\"a\":2}\n".repeat(30));
        assert_eq!(kind(&text), ContentKind::Ndjson);
    }

    #[test]
    fn a_few_lines_do_not_decide() {
        let some = "{\"a\":1}\nnot json\n".repeat(20);
        assert_ne!(kind(&some), ContentKind::Ndjson);
        let one = format!(
            "2026-11-21 10:00:00 INFO up\n{}",
            "plain words without a mark\n".repeat(20)
        );
        assert_eq!(kind(&one), ContentKind::Text);
    }

    #[test]
    fn only_the_beginning_is_looked_at() {
        let mut bytes = "plain words\n".repeat(SAMPLE_BYTES / 12 + 1).into_bytes();
        bytes.extend(vec![0; SAMPLE_BYTES]);
        let whole = Sample {
            head: &bytes,
            complete: false,
        };
        assert_eq!(classify(whole), ContentKind::Text);
    }

    #[test]
    fn samples_of_larger_texts() {
        let cut = |text: &str| {
            classify(Sample {
                head: text.as_bytes(),
                complete: false,
            })
        };
        assert_eq!(cut("{\"items\": [{\"id\": 1}, {\"i"), ContentKind::Json);
        for number in ["-", "14.", "14.5", "1e", "1e-", "true", "tru"] {
            let text = format!("[{{\"id\": {number}");
            assert_eq!(cut(&text), ContentKind::Json, "{text}");
        }
        assert_eq!(cut("{\"a\":1}\n{\"a\":2}\n{\"a"), ContentKind::Ndjson);
        assert_eq!(cut("a,b\n1,2\n3,\"x"), ContentKind::Csv);
    }

    #[test]
    fn binary_is_not_text() {
        let binary = |head: &[u8]| {
            classify(Sample {
                head,
                complete: true,
            })
        };
        assert_eq!(binary(b"\x7fELF\x02\x01\x01\0"), ContentKind::Binary);
        assert_eq!(binary(&[0xfe; 100]), ContentKind::Binary);
        assert_eq!(
            binary(b"caf\xe9 au lait, caf\xe9 noir, th\xe9 vert et plus"),
            ContentKind::Text
        );
    }
}
