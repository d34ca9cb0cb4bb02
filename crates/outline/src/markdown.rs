//! Outlines a Markdown text by its headings and tables.

use std::io;

use spillgate_text::View;

use crate::drawn::{BarReader, brief};
use crate::parts::SamplePlan;
use crate::{OutlineEntry, located};

/// Maximum number of headings that are kept: the first ones.
const MOST: usize = 400;

/// Returns the headings with their line numbers, nested, and the tables below them. Lines in code
/// fences are not headings.
pub(crate) fn outline(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let mut found: Vec<(u64, usize, String)> = Vec::new();
    let mut fence = None;
    let mut before: Option<(u64, String)> = None;
    let mut tables = BarReader::default();
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
        if fence.is_some() {
            return;
        }
        tables.take(line.trim_ascii_end(), offset);
        if found.len() >= MOST {
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
    let mut entries: Vec<(u64, (usize, usize), String)> = Vec::new();
    let (tables, _) = tables.finish();
    let mut tables = tables.into_iter().peekable();
    let mut depth = 0;
    let mut add_tables = |entries: &mut Vec<_>, until: u64, depth: usize| {
        while let Some(table) = tables.next_if(|table| table.header < until) {
            let text = brief(&table, plan);
            entries.push((table.header, (depth + 1, depth), text));
        }
    };
    for (offset, level, title) in found {
        add_tables(&mut entries, offset, depth);
        let marks = "#".repeat(level);
        entries.push((
            offset,
            (level - top, level - top),
            format!("{marks} {title}"),
        ));
        depth = level - top + 1;
    }
    add_tables(&mut entries, u64::MAX, depth);
    let entries = entries.into_iter();
    let lines = entries.map(|(offset, place, text)| located(view, offset, place, text));
    lines.collect()
}

/// Maximum number of bytes of a line that are examined.
const LONGEST: usize = 400;

/// Returns the character of a code fence, and how often it is repeated.
fn fence_of(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|&c| c == '`' || c == '~')?;
    let count = line.chars().take_while(|&c| c == mark).count();
    (count >= 3).then_some((mark, count))
}

/// Returns whether a fence closes the open fence: it has the same character, is at least as long,
/// and is alone on its line.
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

/// Returns the level of the heading that this line underlines; `None` for other lines.
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

    #[test]
    fn tables_below_their_headings() {
        let view = view_of(
            "# Options\n\n| name | default |\n|---|---|\n| `a` | 1 |\n| `b` | 2 |\n\n## More\n\n```\n| x | y |\n|---|---|\n| 1 | 2 |\n```\n\nkey | value\n--- | ---\n1 | 2\n",
        );
        let plan = SamplePlan::spread(view.source(), 0).unwrap();
        assert_snapshot!(texts(&outline(&view, &plan).unwrap()), @"
        1: # Options
          3: table of 2 rows: name, default
          8: ## More
            16: table of 1 row: key, value
        ");
    }
}
