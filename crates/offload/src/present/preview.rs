//! The `preview` profile: handle, figures, shape, head, tail, ways on
//! (wire.md).
//!
//! Every line that comes from the result is indented or numbered, so nothing in
//! it can pass for a line of ours.

use spillgate_artifact::{ContentKind, Handle, Stats, TokenBudget};
use spillgate_lookup::Artifact;
use spillgate_outline::{outline, within};
use spillgate_view::clip;

use super::{Presenter, name_in_line};

/// Characters of a line of the result; wire.md allows 500 with what stands
/// before it, but a head of five such lines says less than one of ten shorter.
const LINE_CHARS: usize = 200;

/// Lines of the head and of the tail at most.
const HEAD_LINES: u64 = 12;
const TAIL_LINES: u64 = 6;

/// What a handle is taken to cost, whatever its digits: so that the same result
/// always gets the same preview (prompt caches stay warm). Of a million random
/// handles twenty cost more.
const HANDLE_TOKENS: u64 = 60;

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
/// the shape may take half of the rest, the head two thirds of what that leaves,
/// and the tail what is left then.
pub(crate) fn preview(
    presenter: &Presenter,
    parts: &Preview<'_>,
    budget: TokenBudget,
) -> std::io::Result<String> {
    let first = first_line(parts);
    let next = next_lines(presenter, parts.handle);
    let count = |text: &str| presenter.counter.count(text);
    let frame = format!("{first}{next}");
    let handle = parts.handle.to_string();
    let handles = frame.matches(&handle).count() as u64 * HANDLE_TOKENS;
    let frame = count(&frame.replace(&handle, "")) + handles;
    let rest = budget.get().saturating_sub(frame);
    let shape = outline(
        parts.artifact.view(),
        &parts.artifact.manifest().facts.view,
        parts.stats,
    )?;
    let share = (rest / 2).saturating_sub(TITLE_TOKENS);
    let share = budget.less(budget.get().saturating_sub(share));
    let shape = section("shape:", &within(shape, share, &*presenter.counter));
    let rest = rest.saturating_sub(count(&shape));
    let head = filled(
        numbered(parts, 1, HEAD_LINES)?.into_iter(),
        rest * 2 / 3,
        &count,
    );
    let unseen = head.len() as u64 + 1;
    let head = section("head:", &head);
    let rest = rest.saturating_sub(count(&head));
    let mut tail = filled(tail(parts, unseen)?.into_iter().rev(), rest, &count);
    tail.reverse();
    let tail = section("tail:", &tail);
    let text = format!("{first}{shape}{head}{tail}{next}");
    // Where parts meet they may cost a token or two more than each alone.
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

/// A title over its lines; nothing without lines.
fn section(title: &str, lines: &[String]) -> String {
    match lines.is_empty() {
        true => String::new(),
        false => format!("{title}\n{}\n", lines.join("\n")),
    }
}

/// What a title costs with its newline.
const TITLE_TOKENS: u64 = 3;

/// The first lines, as many as the share allows.
fn filled(
    lines: impl Iterator<Item = String>,
    share: u64,
    count: &dyn Fn(&str) -> u64,
) -> Vec<String> {
    let mut cost = TITLE_TOKENS;
    lines
        .take_while(|line| {
            cost += count(line) + 1;
            cost <= share
        })
        .collect()
}

/// The last lines, from line `unseen` on: those before it stand in the head.
fn tail(parts: &Preview<'_>, unseen: u64) -> std::io::Result<Vec<String>> {
    let total = parts.artifact.view().lines();
    let first = (total + 1).saturating_sub(TAIL_LINES).max(unseen);
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
