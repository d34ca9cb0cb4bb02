//! The `preview` profile: handle, figures, shape, head, tail, ways on
//! (wire.md).
//!
//! Every line that comes from the result is indented or numbered, so nothing in
//! it can pass for a line of ours.

use spillgate_artifact::{ContentKind, Handle, Stats, TokenBudget};
use spillgate_lookup::Artifact;

use super::{Presenter, clip, name_in_line};
use crate::outline::outline;

/// Characters of a line of the result; wire.md allows 500 with what stands
/// before it, but a head of five such lines says less than one of ten shorter.
const LINE_CHARS: usize = 200;

/// Lines of the head and of the tail at most.
const HEAD_LINES: u64 = 12;
const TAIL_LINES: u64 = 6;

/// What a preview is made of.
#[derive(Debug)]
pub(crate) struct Preview<'a> {
    pub(crate) tool: &'a str,
    pub(crate) handle: Handle,
    pub(crate) stats: &'a Stats,
    pub(crate) is_error: bool,
    pub(crate) artifact: &'a Artifact,
}

/// The preview within `budget`. The first line and the ways on always stand;
/// then the shape may take half of the rest, the head two thirds of what that
/// leaves, and the tail what is left.
pub(crate) fn preview(
    presenter: &Presenter,
    parts: &Preview<'_>,
    budget: TokenBudget,
) -> std::io::Result<String> {
    let first = first_line(parts);
    let next = next_lines(presenter, parts.handle);
    let count = |text: &str| presenter.counter.count(text);
    let frame = count(&first) + count(&next);
    let mut left = budget.get().saturating_sub(frame);
    let mut section = |title: &str, lines: Vec<String>, share: u64, from_end: bool| {
        let text = fill(title, lines, share.min(left), from_end, &count);
        left -= count(&text).min(left);
        (text, left)
    };
    let rest = budget.get().saturating_sub(frame);
    let shape = outline(parts.artifact, parts.stats)?;
    let (shape, left_then) = section("shape:", shape, rest / 2, false);
    let (head, left_then) = section("head:", head(parts)?, left_then * 2 / 3, false);
    let shown = head.lines().count().saturating_sub(1) as u64;
    let (tail, _) = section("tail:", tail(parts, shown)?, left_then, true);
    let text = format!("{first}{shape}{head}{tail}{next}");
    // Counts of parts may fall short of the count of the whole by a token or
    // two where they meet.
    Ok(match count(&text) <= budget.get() {
        true => text,
        false => format!("{first}{shape}{next}"),
    })
}

fn first_line(parts: &Preview<'_>) -> String {
    let Stats {
        bytes,
        lines,
        tokens,
        kind,
        ..
    } = parts.stats;
    let returned = if parts.is_error {
        "failed with"
    } else {
        "returned"
    };
    format!(
        "[spillgate] {} {returned} {bytes} bytes, {lines} lines, {tokens} tokens ({kind}); \
         stored whole as {}\n",
        name_in_line(parts.tool),
        parts.handle
    )
}

fn next_lines(presenter: &Presenter, handle: Handle) -> String {
    let lines = presenter.door.next(handle);
    let text: Vec<String> = lines.iter().map(|line| format!("next: {line}")).collect();
    text.join("\n")
}

/// The title and as many of the lines as the share allows; nothing if that is
/// none. `from_end` keeps the last ones.
fn fill(
    title: &str,
    mut lines: Vec<String>,
    share: u64,
    from_end: bool,
    count: &dyn Fn(&str) -> u64,
) -> String {
    if from_end {
        lines.reverse();
    }
    let mut kept = Vec::new();
    let mut cost = count(title) + 1;
    for line in lines {
        cost += count(&line) + 1;
        if cost > share {
            break;
        }
        kept.push(line);
    }
    if kept.is_empty() {
        return String::new();
    }
    if from_end {
        kept.reverse();
    }
    format!("{title}\n{}\n", kept.join("\n"))
}

fn head(parts: &Preview<'_>) -> std::io::Result<Vec<String>> {
    numbered(parts, 1, HEAD_LINES)
}

/// The last lines that the head has not shown.
fn tail(parts: &Preview<'_>, shown: u64) -> std::io::Result<Vec<String>> {
    let total = parts.artifact.view().lines();
    let first = (total + 1).saturating_sub(TAIL_LINES).max(shown + 1);
    numbered(parts, first, (total + 1).saturating_sub(first))
}

fn numbered(parts: &Preview<'_>, first: u64, count: u64) -> std::io::Result<Vec<String>> {
    let mut numbered = Vec::new();
    if parts.stats.kind == ContentKind::Binary {
        return Ok(numbered); // nothing that could be read
    }
    let mut lines = parts.artifact.view().lines_from(first)?;
    while (numbered.len() as u64) < count {
        let Some((line, bytes)) = lines.next_bytes()? else {
            break;
        };
        let text = String::from_utf8_lossy(bytes);
        let text = clip(text.trim_end_matches('\n'), LINE_CHARS);
        numbered.push(format!("{:>4} {text}", line.number));
    }
    Ok(numbered)
}
