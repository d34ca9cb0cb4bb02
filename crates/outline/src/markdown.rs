//! The headings of a Markdown text.

use std::io;

use spillgate_text::View;

use crate::parts::SamplePlan;
use crate::{OutlineEntry, located};

/// Headings that are noted; with more, those of the deeper levels are as many
/// as lines, and the first ones tell what they are like.
const MOST: usize = 400;

/// Headings with their line numbers, nested; those in code fences are none.
pub(crate) fn outline(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let mut found: Vec<(u64, usize, String)> = Vec::new();
    let mut fence = None;
    let mut before: Option<(u64, String)> = None;
    plan.each_line(view.source(), |line, offset| {
        let text = String::from_utf8_lossy(&line[..line.len().min(LONGEST)]);
        let text = text.trim_end();
        let last = before.take();
        if let Some(mark) = fence_of(text) {
            match fence {
                None => fence = Some(mark),
                Some(open) if closes(text, open, mark) => fence = None,
                Some(_) => {}
            }
            return;
        }
        if fence.is_some() || found.len() >= MOST {
            return;
        }
        if let Some((level, title)) = heading(text) {
            found.push((offset, level, title.to_owned()));
        } else if let (Some(level), Some((offset, title))) = (underline(text), last) {
            found.push((offset, level, title));
        } else if !text.trim().is_empty() && !text.starts_with([' ', '-', '>', '|', '*', '\t']) {
            before = Some((offset, text.to_owned()));
        }
    })?;
    let top = found.iter().map(|(_, level, _)| *level).min().unwrap_or(1);
    let lines = found.into_iter().map(|(offset, level, title)| {
        let (depth, marks) = (level - top, "#".repeat(level));
        located(view, offset, (depth, depth), format!("{marks} {title}"))
    });
    lines.collect()
}

/// Bytes of a line that are looked at.
const LONGEST: usize = 400;

/// The character of a code fence, and how many of them there are.
fn fence_of(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|&c| c == '`' || c == '~')?;
    let count = line.chars().take_while(|&c| c == mark).count();
    (count >= 3).then_some((mark, count))
}

/// Whether a fence closes the open one: of its character, as long, and bare.
fn closes(line: &str, open: (char, usize), mark: (char, usize)) -> bool {
    open.0 == mark.0 && mark.1 >= open.1 && line.trim().chars().all(|c| c == open.0)
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|&byte| byte == b'#').count();
    let title = line.get(level..)?;
    ((1..=6).contains(&level) && title.starts_with(' ')).then(|| {
        (
            level,
            title
                .trim()
                .trim_end_matches(" #")
                .trim_end_matches('#')
                .trim_end(),
        )
    })
}

/// A line under a title that makes it a heading.
fn underline(line: &str) -> Option<usize> {
    let all = |c| line.len() >= 3 && line.chars().all(|one| one == c);
    match () {
        () if all('=') => Some(1),
        () if all('-') => Some(2),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::tests::{texts, view_of};

    #[test]
    fn headings_but_not_comments_in_fences() {
        let view = view_of(
            "Title\n=====\ntext\n\n## Part ##\n```sh\n# comment\n~~~\n```\n### Last\n#hash\n## C#\n",
        );
        let plan = SamplePlan::spread(view.source(), 0).unwrap();
        assert_snapshot!(texts(&outline(&view, &plan).unwrap()), @"
        1: # Title
          5: ## Part
            10: ### Last
          12: ## C
        ");
    }
}
