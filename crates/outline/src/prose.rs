//! Outlines prose by its headings, or by the beginnings of its paragraphs.

use std::io;

use rustc_hash::FxHashMap;
use spillgate_text::View;

use crate::parts::{SamplePlan, counted, lines};
use crate::{OutlineEntry, located, note};

/// Maximum number of paragraphs whose beginnings are shown, in addition to the first [`FIRST`].
const MOST: usize = 12;
/// Number of bytes that are read at the beginning of a paragraph.
const BEGINNING: usize = 200;
/// Maximum number of characters that are shown of a paragraph: enough for half a sentence.
const SHOWN: usize = 70;
/// Number of paragraphs at the start of the text that are always shown.
const FIRST: u64 = 3;
/// Number of bytes at the start of the text that determine its indentation.
const HEAD: u64 = 64 << 10;
/// Minimum number of headings for an outline by headings.
const FEWEST_HEADINGS: usize = 3;
/// Maximum number of headings that are kept.
const MOST_HEADINGS: usize = 300;
/// Maximum length of a heading, in bytes. A longer line is a sentence.
const HEADING: usize = 72;

/// Returns the number of paragraphs and the headings. If there are fewer than three headings, it
/// returns the beginnings of the first three paragraphs and of some that are evenly spaced. Returns
/// no entries for a text with fewer than two paragraphs.
pub(crate) fn outline(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let body = body_indent(&view.source().bytes(0, HEAD)?);
    let mut headings = Headings::new(body);
    let mut beginnings = Beginnings::default();
    plan.each_line(view.source(), |line, offset| {
        headings.take(line, offset);
        beginnings.take(line, offset);
    })?;
    if beginnings.count < 2 {
        return Ok(Vec::new());
    }
    let mut shown = vec![note(counted(&plan.scaled(beginnings.count), "paragraph"))];
    if headings.found.len() >= FEWEST_HEADINGS {
        let mut levels: Vec<usize> = headings.found.iter().map(|one| one.level).collect();
        levels.sort_unstable();
        levels.dedup();
        for one in headings.found {
            let depth = levels.iter().position(|level| *level == one.level);
            let depth = depth.unwrap_or_default();
            shown.push(located(view, one.offset, (1 + depth, depth), one.text)?);
        }
        return Ok(shown);
    }
    let every = beginnings.kept.len().div_ceil(MOST).max(1);
    for (at, (offset, text)) in beginnings.kept.iter().enumerate() {
        if at < 3 || at.is_multiple_of(every) {
            let mut cut: String = text.chars().take(SHOWN).collect();
            if cut.len() < text.len() {
                cut.push('…');
            }
            shown.push(located(view, *offset, (at + 1, 0), cut)?);
        }
    }
    Ok(shown)
}

/// The beginnings of paragraphs.
#[derive(Default)]
struct Beginnings {
    /// The beginnings of the first [`FIRST`] paragraphs, then of every `1 << thinned`th one.
    kept: Vec<(u64, String)>,
    count: u64,
    thinned: u32,
    is_inside: bool,
}

impl Beginnings {
    fn take(&mut self, line: &[u8], offset: u64) {
        let is_blank = line.trim_ascii().is_empty();
        let begins = !self.is_inside && !is_blank;
        self.is_inside = !is_blank;
        if !begins {
            return;
        }
        if self.count < FIRST || self.count.is_multiple_of(1 << self.thinned) {
            let text = String::from_utf8_lossy(&line[..line.len().min(BEGINNING)]);
            self.kept.push((offset, text.trim().to_owned()));
        }
        self.count += 1;
        if self.kept.len() > 2 * MOST {
            // Drop every other beginning after those of the first `FIRST` paragraphs.
            let mut at = 0;
            self.kept.retain(|_| {
                at += 1;
                at <= FIRST || at.is_multiple_of(2)
            });
            self.thinned += 1;
        }
    }
}

/// Returns the indentation that most lines have.
fn body_indent(head: &[u8]) -> usize {
    let mut counts: FxHashMap<usize, usize> = FxHashMap::default();
    for (_, line) in lines(head) {
        if !line.trim_ascii().is_empty() {
            *counts.entry(indent_of(line)).or_default() += 1;
        }
    }
    let most = counts
        .into_iter()
        .max_by_key(|&(indent, count)| (count, indent));
    most.map_or(0, |(indent, _)| indent)
}

fn indent_of(line: &[u8]) -> usize {
    line.iter().take_while(|&&byte| byte == b' ').count()
}

/// A heading in plain text.
struct Heading {
    offset: u64,
    /// The level of the heading; lower for larger sections.
    level: usize,
    text: String,
}

/// Finds headings: lines that are less indented than the text below them, as in manual pages; lines
/// that are underlined; and lines with a number between two blank lines, as in RFCs.
struct Headings {
    /// The indentation of most lines.
    body: usize,
    found: Vec<Heading>,
    /// The previous line, if it may be a heading, and its indentation.
    candidate: Option<(Heading, usize)>,
    is_after_blank: bool,
}

impl Headings {
    fn new(body: usize) -> Self {
        Self {
            body,
            found: Vec::new(),
            candidate: None,
            is_after_blank: true,
        }
    }

    fn take(&mut self, line: &[u8], offset: u64) {
        let text = line.trim_ascii();
        let indent = indent_of(line);
        if let Some((heading, above)) = self.candidate.take()
            && let Some(level) = self.level(&heading, above, text, indent)
            && self.found.len() < MOST_HEADINGS
        {
            self.found.push(Heading { level, ..heading });
        }
        let may_be = self.is_after_blank
            && (1..=HEADING).contains(&text.len())
            && text.iter().any(u8::is_ascii_alphabetic)
            && !text.ends_with(b",");
        if may_be {
            let text = String::from_utf8_lossy(text).into_owned();
            let level = 0;
            self.candidate = Some((
                Heading {
                    offset,
                    level,
                    text,
                },
                indent,
            ));
        }
        self.is_after_blank = text.is_empty();
    }

    /// Returns the level of the candidate `heading`, whose indentation is `above`; `None` if it is
    /// not a heading. `next` is the trimmed line after it, and `indent` is that line's indentation.
    fn level(&self, heading: &Heading, above: usize, next: &[u8], indent: usize) -> Option<usize> {
        if let Some(&mark) = next.first()
            && b"=-~^".contains(&mark)
            && next.len() >= 3
            && next.iter().all(|byte| *byte == mark)
            && next.len().abs_diff(heading.text.chars().count()) <= 2
        {
            return Some(usize::from(mark != b'='));
        }
        if next.is_empty() {
            return number_level(&heading.text).filter(|_| above == 0);
        }
        (above < self.body && indent >= self.body).then_some(above)
    }
}

/// Returns how many parts the number at the start of a heading has: 2 for `4.2. Title`.
fn number_level(text: &str) -> Option<usize> {
    let (number, title) = text.split_once(' ')?;
    let parts: Vec<&str> = number.trim_end_matches('.').split('.').collect();
    let is_number =
        |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_title = title.trim_start().starts_with(char::is_uppercase) && !title.contains("..");
    (parts.iter().all(is_number) && parts.len() <= 4 && is_title).then_some(parts.len())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::tests::shown_by;

    #[test]
    fn beginnings() {
        let text: String = (1..=100)
            .map(|i| format!("Paragraph {i} is\nlong.\n\n\n"))
            .collect();
        assert_snapshot!(shown_by(outline, &text), @"
        100 paragraphs
        1: Paragraph 1 is
        5: Paragraph 2 is
        9: Paragraph 3 is
        45: Paragraph 12 is
        113: Paragraph 29 is
        177: Paragraph 45 is
        241: Paragraph 61 is
        305: Paragraph 77 is
        385: Paragraph 97 is
        ");
        assert_eq!(shown_by(outline, "only one\nof them"), "");
    }

    #[test]
    fn headings() {
        let manual = "LS(1)   User Commands   LS(1)\n\nNAME\n       ls - list\n\nDESCRIPTION\n       \
                      List information.\n\n       -a     do not ignore\n\n   Exit status:\n       0  if OK,\n\n\
                      AUTHOR\n       Written by a person.\n";
        assert_snapshot!(shown_by(outline, manual), @"
        6 paragraphs
        3: NAME
        6: DESCRIPTION
          11: Exit status:
        14: AUTHOR
        ");
        let underlined = "Title\n=====\n\nText is here.\n\nFirst part\n----------\n\nMore.\n\nSecond\n\
                          ------\n\nEnd.\n";
        assert_snapshot!(shown_by(outline, underlined), @"
        6 paragraphs
        1: Title
          6: First part
          11: Second
        ");
        let numbered = "1.  Introduction\n\nThis is text.\n\n1.1.  Terms\n\nMore text.\n\n2.  Protocol\n\n\
                        3 apples are not a heading.\n\nEnd.\n";
        assert_snapshot!(shown_by(outline, numbered), @"
        7 paragraphs
        1: 1.  Introduction
          5: 1.1.  Terms
        9: 2.  Protocol
        ");
        // A letter with an indented quotation has no headings.
        let letter = "Dear all,\n\nas he said:\n\n    It works.\n\nThat is all.\n\nRegards\n";
        assert_snapshot!(shown_by(outline, letter), @"
        5 paragraphs
        1: Dear all,
        3: as he said:
        5: It works.
        7: That is all.
        9: Regards
        ");
    }
}
