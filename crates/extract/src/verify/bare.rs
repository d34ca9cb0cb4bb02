//! Finds values in an answer that stand outside its quotes from the output.
//!
//! It looks for values that a reader would copy: addresses, paths, and names or numbers that contain
//! a digit, an underscore or an inner capital letter. A total that the model computed is such a
//! value. It does not occur in the output and is therefore marked as unverified; this is intended.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::answer::Claim;
use super::find::LEAST_CHARS;

static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(concat!(
        r#"(?<sure>[A-Za-z][A-Za-z0-9+.\-]{1,15}://[^\s"'`<>()\[\]{}“”]+"#,
        r"|[\w.+\-]+@[\w\-]+(?:\.[\w\-]+)+",
        r"|(?:[A-Za-z]:)?(?:~|\.{1,2})?[/\\](?:[\w.@+\-]+[/\\])*[\w.@+\-]*\w",
        r"|[\w.@+\-]+[/\\](?:[\w.@+\-]+[/\\])+[\w.@+\-]*\w)",
        r"|\w+(?:[.\-+/]\w+|[:,][0-9]+)*",
    ))
});
/// Matches references to lines in prose, such as `lines 12 to 15`, which are not citations.
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"\bL([0-9]{1,18})(?:\s?[-–—]\s?L?([0-9]{1,18}))?\b|\b(?i:lines?)\s+([0-9]{1,18})(?:\s?(?:-|–|—|to|through)\s?([0-9]{1,18}))?\b",
    )
});
static ORDINAL: LazyLock<Regex> = LazyLock::new(|| compiled("^[0-9]+(?:st|nd|rd|th)$"));
static JUST_A_LINE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"^[\[(]?\s*(?i:L|lines?\s)\s*[0-9]+(?:\s?[-–—]\s?L?[0-9]+)?\s*[\])]?$")
});

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("invariant: patterns of ours are well-formed")
}

/// Returns whether a text is only a reference to a line.
pub(super) fn names_a_line(text: &str) -> bool {
    JUST_A_LINE.is_match(text)
}

/// Returns the values in an answer outside of `spans`, which must be in ascending order.
pub(super) fn values(answer: &str, spans: &[Range<usize>], lines: u64) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut from = 0;
    let end = answer.len()..answer.len();
    for span in spans.iter().chain([&end]) {
        if from < span.start {
            within(answer, from..span.start, lines, &mut claims);
        }
        from = from.max(span.end);
    }
    claims
}

fn within(answer: &str, part: Range<usize>, lines: u64, claims: &mut Vec<Claim>) {
    let text = &answer[part.clone()];
    let is_there = |found: &regex::Captures<'_>| {
        let numbers = found.iter().skip(1).flatten();
        let mut numbers = numbers.map(|number| number.as_str().parse().unwrap_or(u64::MAX));
        numbers.all(|number| (1..=lines).contains(&number))
    };
    let named: Vec<Range<usize>> = LINE
        .captures_iter(text)
        .filter(is_there)
        .filter_map(|found| found.get(0).map(|whole| whole.range()))
        .collect();
    for found in VALUE.captures_iter(text) {
        let Some(whole) = found.get(0) else { continue };
        let value = whole
            .as_str()
            .trim_end_matches(['.', ',', ';', ':', '!', '?', '-']);
        let next = named.partition_point(|line| line.end <= whole.start());
        let is_line = named.get(next).is_some_and(|line| line.start < whole.end());
        if !is_line && is_value(value, found.name("sure").is_some()) {
            let start = part.start + whole.start();
            let end = start + value.len();
            claims.push(Claim {
                text: start..end,
                end,
                is_bare: true,
            });
        }
    }
}

fn is_value(word: &str, is_sure: bool) -> bool {
    if word.chars().take(LEAST_CHARS).count() < LEAST_CHARS || ORDINAL.is_match(word) {
        return false;
    }
    let inner = word.trim_matches('_');
    let lower_then_upper =
        |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    is_sure
        || word.contains(|c: char| c.is_ascii_digit())
        || inner.contains('_')
        || inner.as_bytes().windows(2).any(lower_then_upper)
}
