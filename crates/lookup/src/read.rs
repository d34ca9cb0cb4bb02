//! Reads lines or bytes of a text.

use serde::Serialize;
use spillgate_artifact::{ByteRange, LineRange, TokenBudget};
use spillgate_text::{HARD_BYTES, TokenCounter, View, line_end};
use spillgate_untrusted::lines;

use crate::fit::fitting;
use crate::{Artifact, LookupError};

/// The part to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// View lines, beginning at the line `start`, counted from 1.
    Lines {
        /// First line; 0 counts as 1.
        start: u64,
        /// Number of lines; `None` reads to the end.
        lines: Option<u64>,
    },
    /// The last view lines.
    Tail {
        /// Number of lines.
        lines: u64,
    },
    /// Bytes of the view.
    Bytes(ByteRange),
}

/// A part to read, and the token budget for it.
#[derive(Debug, Clone, Copy)]
pub struct ReadQuery {
    /// The part.
    pub span: Span,
    /// Maximum size of the page's text, in tokens.
    pub budget: TokenBudget,
}

/// A page of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The text, byte for byte as in the view. The pages of a span, joined together, are the whole
    /// span.
    pub text: String,
    /// The view lines that contain the text.
    pub lines: LineRange,
    /// Number of view lines in the whole view.
    pub total_lines: u64,
    /// The range of bytes of the view that contains the text.
    pub bytes: ByteRange,
    /// The span to request next; `None` at the end of the requested span.
    pub next: Option<Span>,
}

impl Page {
    /// Returns the page as a person or a model sees it. Hidden characters are marked, and no line
    /// of the text can be mistaken for one of our own lines.
    #[must_use]
    pub fn render(&self) -> String {
        lines(&self.text).into_owned()
    }
}

/// Serializes a span as the arguments that all interfaces use for it.
impl Serialize for Span {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Lines { start, lines } => {
                map.serialize_entry("start", start)?;
                if let Some(lines) = lines {
                    map.serialize_entry("lines", lines)?;
                }
            }
            Self::Tail { lines } => {
                map.serialize_entry("tail", &true)?;
                map.serialize_entry("lines", lines)?;
            }
            Self::Bytes(range) => map.serialize_entry("bytes", range)?,
        }
        map.end()
    }
}

/// Number of bytes that are read at first per token of the budget. A token of ordinary text has
/// three to five bytes.
const BYTES_PER_TOKEN: u64 = 8;

/// Returns the first page of a span.
pub fn read(
    artifact: &Artifact,
    query: ReadQuery,
    counter: &dyn TokenCounter,
) -> Result<Page, LookupError> {
    let view = artifact.view();
    let resolved = ResolvedSpan::resolve(view, query.span)?;
    let mut window = query
        .budget
        .get()
        .saturating_mul(BYTES_PER_TOKEN)
        .max(HARD_BYTES as u64);
    loop {
        let text = text_of(view, resolved.from, resolved.to.min(resolved.from + window))?;
        let to = resolved.from + text.len() as u64;
        let ends = line_ends(view, resolved.from, &text)?;
        let taken = fitting(&text, &ends, query.budget, counter);
        // The whole window fits, and more text follows, so a larger window is read.
        if taken == text.len() && to < resolved.to {
            window *= 2;
            continue;
        }
        let mut text = text;
        text.truncate(taken);
        return page(view, &resolved, text);
    }
}

/// A span that was converted to a range of bytes.
struct ResolvedSpan {
    from: u64,
    to: u64,
    /// If lines were requested, the number of the line after the last of them.
    line_limit: Option<u64>,
    by_lines: bool,
}

impl ResolvedSpan {
    fn resolve(view: &View, span: Span) -> Result<Self, LookupError> {
        let total = view.lines();
        match span {
            Span::Lines { start, lines } => {
                let start = start.max(1);
                if start > total + 1 {
                    return Err(LookupError::PastEnd {
                        unit: "line",
                        asked: start,
                        total,
                    });
                }
                let limit = lines.map(|lines| start.saturating_add(lines));
                let to = match limit {
                    Some(limit) => view.offset_of_line(limit)?,
                    None => view.bytes(),
                };
                Ok(Self {
                    from: view.offset_of_line(start)?,
                    to,
                    line_limit: limit.filter(|&limit| limit <= total),
                    by_lines: true,
                })
            }
            Span::Tail { lines } => {
                let start = (total + 1).saturating_sub(lines).max(1);
                Self::resolve(view, Span::Lines { start, lines: None })
            }
            Span::Bytes(range) => {
                if range.start > view.bytes() {
                    return Err(LookupError::PastEnd {
                        unit: "byte",
                        asked: range.start,
                        total: view.bytes(),
                    });
                }
                let end = range.end.unwrap_or(u64::MAX).min(view.bytes());
                Ok(Self {
                    from: char_start(view, range.start)?,
                    to: char_start(view, end)?,
                    line_limit: None,
                    by_lines: false,
                })
            }
        }
    }
}

/// Returns the start of the character that contains `offset`.
fn char_start(view: &View, offset: u64) -> Result<u64, LookupError> {
    let from = offset.saturating_sub(3);
    let around = view.source().bytes(from, offset + 1)?;
    let before = usize::try_from(offset - from).unwrap_or(0);
    let is_start = |at: &usize| around.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let start = (0..=before).rev().find(is_start).unwrap_or(before);
    Ok(from + start as u64)
}

/// Returns the text in `from..to`, shortened to whole characters. A view is UTF-8. If the stored
/// bytes are damaged and are not UTF-8, U+FFFD appears in the text.
fn text_of(view: &View, from: u64, to: u64) -> Result<String, LookupError> {
    let mut bytes = view.source().bytes(from, to)?;
    if let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Returns the ends of view lines in a text that begins at byte `from` of the view.
fn line_ends(view: &View, from: u64, text: &str) -> Result<Vec<usize>, LookupError> {
    let mut ends = Vec::new();
    let Some(first) = view.line_at(from)? else {
        return Ok(ends);
    };
    let mut at = usize::try_from(first.end.saturating_sub(from)).unwrap_or(usize::MAX);
    while at <= text.len() && at > 0 {
        ends.push(at);
        let rest = &text.as_bytes()[at..];
        let Some(length) = line_end(rest, view.layout(), false) else {
            break;
        };
        at += length;
    }
    Ok(ends)
}

fn page(view: &View, resolved: &ResolvedSpan, text: String) -> Result<Page, LookupError> {
    let end = resolved.from + text.len() as u64;
    let first = view.line_of_offset(resolved.from)?;
    let last = match text.is_empty() {
        true => first.saturating_sub(1),
        false => view.line_of_offset(end - 1)?,
    };
    let next = match end < resolved.to {
        true => Some(next(view, resolved, end)?),
        false => None,
    };
    Ok(Page {
        text,
        lines: LineRange { first, last },
        total_lines: view.lines(),
        bytes: ByteRange {
            start: resolved.from,
            end: Some(end),
        },
        next,
    })
}

/// Returns the span of the next page. It is given in lines if lines were requested and a line
/// begins at `end`, otherwise in bytes.
fn next(view: &View, resolved: &ResolvedSpan, end: u64) -> Result<Span, LookupError> {
    let line = view.line_at(end)?.filter(|line| line.start == end);
    Ok(match line {
        Some(line) if resolved.by_lines => Span::Lines {
            start: line.number,
            lines: resolved.line_limit.map(|limit| limit - line.number),
        },
        _ => Span::Bytes(ByteRange {
            start: end,
            end: (resolved.to < view.bytes()).then_some(resolved.to),
        }),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spillgate_text::Tokenizer;

    use super::*;
    use crate::artifact::tests::artifact;

    fn query(span: Span, budget: u64) -> ReadQuery {
        ReadQuery {
            span,
            budget: TokenBudget::new(budget),
        }
    }

    fn lines(start: u64, lines: u64) -> Span {
        Span::Lines {
            start,
            lines: Some(lines),
        }
    }

    #[test]
    fn spans() {
        let artifact = artifact("one\ntwo\nthree\nfour\n");
        let counter = Tokenizer::Heuristic.counter();
        let cases = [
            (lines(2, 2), "two\nthree\n", (2, 3)),
            (lines(0, 1), "one\n", (1, 1)),
            (lines(4, 100), "four\n", (4, 4)),
            (lines(5, 1), "", (5, 4)),
            (Span::Tail { lines: 2 }, "three\nfour\n", (3, 4)),
            (Span::Tail { lines: 99 }, "one\ntwo\nthree\nfour\n", (1, 4)),
            (Span::Bytes("5..9".parse().unwrap()), "wo\nt", (2, 3)),
            (Span::Bytes("14..".parse().unwrap()), "four\n", (4, 4)),
        ];
        for (span, text, (first, last)) in cases {
            let page = read(&artifact, query(span, 1000), &*counter).unwrap();
            assert_eq!(page.text, text, "{span:?}");
            assert_eq!(page.next, None, "{span:?}");
            if first < 5 {
                assert_eq!(
                    (page.lines.first, page.lines.last),
                    (first, last),
                    "{span:?}"
                );
            }
            assert_eq!(page.total_lines, 4);
        }
    }

    #[test]
    fn past_the_end_says_where_the_end_is() {
        let artifact = artifact("one\ntwo\n");
        let counter = Tokenizer::Heuristic.counter();
        let message = |span| {
            let error = read(&artifact, query(span, 100), &*counter).unwrap_err();
            assert!(error.is_callers());
            error.to_string()
        };
        assert_eq!(
            message(lines(9, 1)),
            "line 9 is past the end: there are 2 lines"
        );
        assert_eq!(
            message(Span::Bytes("99..".parse().unwrap())),
            "byte 99 is past the end: there are 8 bytes"
        );
    }

    #[test]
    fn the_middle_of_a_long_line_pages_to_its_end() {
        let line: String = (0..200_000).map(|i| format!("{i:05}")).collect();
        let artifact = artifact(&line);
        let counter = Tokenizer::O200kBase.counter();
        let mut span = Span::Bytes("500001..".parse().unwrap());
        let (mut joined, mut pages) = (String::new(), 0);
        loop {
            let page = read(&artifact, query(span, 5000), &*counter).unwrap();
            assert!(!page.text.is_empty());
            joined.push_str(&page.text);
            pages += 1;
            match page.next {
                Some(next) => span = next,
                None => break,
            }
        }
        assert_eq!(joined, line[500_001..]);
        assert!(pages > 10);
    }

    proptest! {
        #[test]
        fn pages_put_together_are_the_span(
            text in "([a-z ]{0,40}|[漢é🚀]{0,9}|x{990,1010}|\n){0,30}",
            budget in 1u64..400,
            start in 1u64..12,
            wanted in proptest::option::of(1u64..20),
            from in proptest::option::of(0usize..300),
        ) {
            let artifact = artifact(&text);
            let counter = Tokenizer::O200kBase.counter();
            let total = artifact.view().lines();
            let from = from.map(|at| text.floor_char_boundary(at));
            let (mut span, expected) = if let Some(at) = from { (Span::Bytes(ByteRange { start: at as u64, end: None }), text[at..].to_owned()) } else {
                let start = start.min(total + 1);
                let offset = |line| usize::try_from(artifact.view().offset_of_line(line).unwrap()).unwrap();
                let end = wanted.map_or(text.len(), |n| offset(start + n));
                (Span::Lines { start, lines: wanted }, text[offset(start)..end].to_owned())
            };
            let mut joined = String::new();
            loop {
                let page = read(&artifact, query(span, budget), &*counter).unwrap();
                prop_assert!(counter.count(&page.text) <= TokenBudget::new(budget).get());
                prop_assert!(page.next.is_none() || !page.text.is_empty());
                joined.push_str(&page.text);
                match page.next {
                    Some(next) => span = next,
                    None => break,
                }
            }
            prop_assert_eq!(joined, expected);
        }
    }
}
