//! Finds the quotes in an answer and the lines that it names.
//!
//! Quotes are `"…"`, `“…”`, `«…»`, `` `…` ``, and `'…'` where it cannot be an apostrophe, each on
//! one line; the lines of fenced code blocks; and lines that begin with `>`. Of nested quotes, only
//! the outermost one counts. Lines are named as `[L12]`, `[L12-15]`, `[L12, L40-44]`, or in the
//! variants that models write: `(L12)`, `[lines 12–15]`, and `[12-15]` if these lines exist.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::{memchr, memmem};
use regex::Regex;

use super::bare;
use super::find::says_something;

/// A value that an answer claims to be in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    /// The range of the value in the answer.
    pub text: Range<usize>,
    /// The byte of the answer after which a mark is inserted.
    pub end: usize,
    /// Whether the value stands in the answer without quotes.
    pub is_bare: bool,
}

/// Lines that an answer names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// The range of the reference in the answer.
    pub at: Range<usize>,
    /// The first and last line of each named range. Some of these lines may not exist.
    pub lines: Vec<(u64, u64)>,
}

/// The claims and the line references in an answer, each in the order of the answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    pub claims: Vec<Claim>,
    pub named: Vec<Named>,
}

static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    let range = r"[0-9]{1,30}(?:\s?[-–—−]\s?(?i:L)?[0-9]{1,30})?";
    let sure = format!(
        r"[\[(]\s?(?i:L|lines?)\.?\s?{range}(?:\s?(?:,|;|&|and)\s?(?:(?i:L|lines?)\.?\s?)?{range})*\s?[\])]"
    );
    let sloppy = r"\[[0-9]{1,18}\s?[-–—]\s?[0-9]{1,18}\]";
    Regex::new(&format!("(?<sure>{sure})|(?<sloppy>{sloppy})"))
        .expect("invariant: patterns of ours are well-formed")
});
static RANGE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"([0-9]+)(?:\s?[-–—−]\s?(?i:L)?([0-9]+))?")
        .expect("invariant: patterns of ours are well-formed")
});

/// Parses an answer about an output with `lines` lines. If `is_bare_checked`, values without quotes
/// are claims, too.
pub(super) fn parse(answer: &str, lines: u64, is_bare_checked: bool) -> Parsed {
    let named = named(answer, lines);
    let (mut claims, mut spans) = quotes(answer, &named);
    let is_inside = |one: &Named| {
        let next = spans.partition_point(|span| span.end <= one.at.start);
        spans
            .get(next)
            .is_some_and(|span| span.start <= one.at.start)
    };
    let named: Vec<Named> = named.into_iter().filter(|one| !is_inside(one)).collect();
    if is_bare_checked {
        spans.extend(named.iter().map(|one| one.at.clone()));
        spans.sort_unstable_by_key(|span| span.start);
        claims.extend(bare::values(answer, &spans, lines));
        claims.sort_by_key(|claim| claim.text.start);
    }
    Parsed { claims, named }
}

fn named(answer: &str, lines: u64) -> Vec<Named> {
    let mut all = Vec::new();
    for found in NAMED.captures_iter(answer) {
        let Some(whole) = found.get(0) else { continue };
        let number = |digits: &str| digits.parse().unwrap_or(u64::MAX);
        let ranges = RANGE.captures_iter(whole.as_str()).map(|range| {
            let first = number(&range[1]);
            let last = range.get(2).map_or(first, |last| number(last.as_str()));
            (first.min(last), first.max(last))
        });
        let ranges: Vec<(u64, u64)> = ranges.collect();
        let before = answer[..whole.start()].chars().next_back();
        let is_index = before.is_some_and(|c| c.is_alphanumeric() || c == ']' || c == '.');
        let is_there = ranges
            .iter()
            .all(|&(first, last)| first > 0 && last <= lines);
        if found.name("sure").is_some() || is_there && !is_index {
            all.push(Named {
                at: whole.range(),
                lines: ranges,
            });
        }
    }
    all
}

/// Returns the quotes, and the ranges of the answer that they cover.
fn quotes(answer: &str, named: &[Named]) -> (Vec<Claim>, Vec<Range<usize>>) {
    let mut found = Found {
        answer,
        named,
        claims: Vec::new(),
        spans: Vec::new(),
    };
    let (mut start, mut is_fenced) = (0, false);
    while start < answer.len() {
        let end = memchr(b'\n', &answer.as_bytes()[start..]).map_or(answer.len(), |at| start + at);
        let line = answer[start..end].trim_start();
        if line.starts_with("```") && !line[3..].contains("```") || line.starts_with("~~~") {
            is_fenced = !is_fenced;
            found.spans.push(start..end);
        } else if is_fenced {
            found.add(start..end, start..end, true);
        } else if line.starts_with('>') {
            let quoted = line.trim_start_matches(['>', ' ']);
            let quoted = quoted.trim_start_matches(QUOTES);
            found.add(end - quoted.len()..end, start..end, true);
        } else if let Some(open) = found.inline(start..end)
            && let Some(close) = found.over_lines(open)
        {
            start = close;
            continue;
        }
        start = end + 1;
    }
    (found.claims, found.spans)
}

struct Found<'a> {
    answer: &'a str,
    named: &'a [Named],
    claims: Vec<Claim>,
    spans: Vec<Range<usize>>,
}

/// Pairs of opening and closing marks. Apostrophes and backquotes have their own rules.
const PAIRS: [(&str, &str); 5] = [("\"", "\""), ("“", "”"), ("«", "»"), ("„", "“"), ("‘", "’")];
/// Maximum length of a quote that extends over several lines, in bytes.
const OVER_LINES: usize = 2000;
/// Maximum number of backquotes that open a quote. A longer run opens nothing.
const MOST_TICKS: usize = 8;

impl Found<'_> {
    /// Finds the quotes within a line. If a kind of mark is not closed, it is not searched again on
    /// the line, so the time is linear. Returns where a double quote begins that does not end on
    /// the line.
    fn inline(&mut self, line: Range<usize>) -> Option<usize> {
        let mut unclosed: Vec<&str> = Vec::new();
        let mut open_end = None;
        let mut at = line.start;
        while let Some(offset) = self.answer[at..line.end].find(is_opening) {
            let open = at + offset;
            let rest = &self.answer[open..line.end];
            let mark = mark(rest);
            at = open + mark.len();
            let before = self.answer[line.start..open].chars().next_back();
            if unclosed.contains(&mark) || mark == "'" && !can_open(before, rest) {
                continue;
            }
            let Some(length) = closing(mark, &rest[mark.len()..]) else {
                unclosed.push(mark);
                if matches!(mark, "\"" | "“") {
                    open_end = open_end.or(Some(open));
                }
                continue;
            };
            let text = at..at + length;
            at = text.end + closer(mark).len();
            self.add(text, open..at, false);
        }
        open_end
    }

    /// Reads a quote that begins at `open` and ends on a later line of its paragraph. Each of its
    /// lines becomes one claim. Returns where the quote ends.
    fn over_lines(&mut self, open: usize) -> Option<usize> {
        let mark = mark(&self.answer[open..]);
        let start = open + mark.len();
        let most = self.answer.floor_char_boundary(start + OVER_LINES);
        let rest = &self.answer[start..most];
        let rest = &rest[..rest.find("\n\n").unwrap_or(rest.len())];
        let length = closing(mark, rest)?;
        let mut at = start;
        for line in rest[..length].split('\n') {
            let end = at + line.len();
            self.add(at..end, at..end, true);
            at = end + 1;
        }
        Some(start + length + closer(mark).len())
    }

    /// Adds a quote of `text` that covers `span`. Line references at the end of `text` are not part
    /// of the quote.
    fn add(&mut self, text: Range<usize>, span: Range<usize>, is_line: bool) {
        let trimmed = |end: usize| text.start + self.answer[text.start..end].trim_end().len();
        let mut end = trimmed(text.end);
        let mut span = span;
        let upto = self.named.partition_point(|one| one.at.end <= end);
        for one in self.named[..upto].iter().rev() {
            if one.at.end != end || one.at.start < text.start {
                break;
            }
            span.end = one.at.start;
            end = trimmed(one.at.start);
        }
        let mark = if is_line { end } else { span.end.max(end) };
        // A line that is marked as a quote and also stands in quotation marks:
        // `> "a line in quotes"`.
        if is_line && self.answer[..text.start].ends_with(QUOTES) {
            end = text.start + self.answer[text.start..end].trim_end_matches(QUOTES).len();
        }
        let quote = &self.answer[text.start..end];
        self.spans.push(span);
        if says_something(quote) && !bare::names_a_line(quote) {
            self.claims.push(Claim {
                text: text.start..end,
                end: mark,
                is_bare: false,
            });
        }
    }
}

const QUOTES: [char; 4] = ['"', '“', '”', '`'];

fn is_opening(c: char) -> bool {
    matches!(c, '"' | '“' | '«' | '„' | '‘' | '`' | '\'')
}

/// Returns the opening mark that `rest` begins with.
fn mark(rest: &str) -> &str {
    let ticks = rest.len() - rest.trim_start_matches('`').len();
    let width = rest.chars().next().map_or(0, char::len_utf8);
    &rest[..ticks.max(width)]
}

fn closer(mark: &str) -> &str {
    let pair = PAIRS.iter().find(|(open, _)| *open == mark);
    pair.map_or(mark, |(_, close)| close)
}

/// Returns whether an apostrophe can open a quote.
fn can_open(before: Option<char>, rest: &str) -> bool {
    before.is_none_or(|c| c.is_whitespace() || "([{:=,".contains(c))
        && rest[1..].starts_with(|c: char| !c.is_whitespace())
}

/// Returns the position in `rest` where the quote that `mark` opened ends.
fn closing(mark: &str, rest: &str) -> Option<usize> {
    if mark.len() > MOST_TICKS {
        return None;
    }
    let mut ends = memmem::find_iter(rest.as_bytes(), closer(mark));
    ends.find(|&at| match mark {
        "'" => {
            let after = rest[at + 1..].chars().next();
            let is_end = after.is_none_or(|c| c.is_whitespace() || ".,;:!?)]}".contains(c));
            is_end && !rest[..at].ends_with(char::is_whitespace)
        }
        "\"" => !rest[..at].ends_with('\\'),
        _ => true,
    })
}
