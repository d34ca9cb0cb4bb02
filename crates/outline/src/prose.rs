//! Outlines prose by the beginnings of its paragraphs.

use std::io;

use spillgate_text::View;

use crate::parts::{SamplePlan, counted};
use crate::{OutlineEntry, located, note};

/// Paragraphs whose beginnings are shown at most.
const MOST: usize = 12;
/// Bytes of a beginning.
const BEGINNING: usize = 200;
/// Characters of a beginning: enough for half a sentence.
const SHOWN: usize = 70;

/// How many paragraphs there are and how they begin: the first three, then some
/// that are evenly spaced. Nothing of a text with fewer than two.
pub(crate) fn outline(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let mut beginnings: Vec<(u64, String)> = Vec::new();
    let (mut count, mut step) = (0u64, 1u64);
    let mut is_between = true;
    plan.each_line(view.source(), |line, offset| {
        let is_blank = line.trim_ascii().is_empty();
        let begins = is_between && !is_blank;
        is_between = is_blank;
        if !begins {
            return;
        }
        if count.is_multiple_of(step) || count < FIRST {
            let text = String::from_utf8_lossy(&line[..line.len().min(BEGINNING)]);
            beginnings.push((offset, text.trim().to_owned()));
        }
        count += 1;
        if beginnings.len() > 2 * MOST {
            // Every other one of those behind the first goes.
            let mut at = 0;
            beginnings.retain(|_| {
                at += 1;
                at <= FIRST || at.is_multiple_of(2)
            });
            step *= 2;
        }
    })?;
    if count < 2 {
        return Ok(Vec::new());
    }
    let mut lines = vec![note(counted(&plan.scaled(count), "paragraph"))];
    let every = beginnings.len().div_ceil(MOST).max(1);
    for (at, (offset, text)) in beginnings.iter().enumerate() {
        if at < 3 || at.is_multiple_of(every) {
            let mut cut: String = text.chars().take(SHOWN).collect();
            if cut.len() < text.len() {
                cut.push('…');
            }
            lines.push(located(view, *offset, (at + 1, 0), cut)?);
        }
    }
    Ok(lines)
}

/// Paragraphs that are always kept.
const FIRST: u64 = 3;

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::tests::{texts, view_of};

    #[test]
    fn beginnings() {
        let text: String = (1..=100)
            .map(|i| format!("Paragraph {i} is\nlong.\n\n\n"))
            .collect();
        let view = view_of(&text);
        let plan = SamplePlan::spread(view.source(), 0).unwrap();
        assert_snapshot!(texts(&outline(&view, &plan).unwrap()), @"
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
        let view = view_of("only one\nof them");
        let plan = SamplePlan::spread(view.source(), 0).unwrap();
        assert_eq!(outline(&view, &plan).unwrap(), []);
    }
}
