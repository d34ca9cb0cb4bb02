//! The `preview` profile: handle, figures, shape, head, tail, ways on
//! (wire.md).
//!
//! Every line that comes from the result is indented or numbered, so nothing in
//! it can pass for a line of ours.

use spillgate_artifact::{ContentKind, Handle, RawForm, Stats, TokenBudget};
use spillgate_lookup::Artifact;
use spillgate_outline::{Line, outline, within};
use spillgate_untrusted::marked;
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
    /// Its outline, where that is made already.
    pub(crate) outlined: Option<Vec<Line>>,
}

/// The parts of a preview, each within its share of the budget.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    /// What it is and where it is stored.
    pub(crate) first: String,
    /// The outline's lines.
    pub(crate) shape: Vec<String>,
    /// The first lines, numbered.
    pub(crate) head: Vec<String>,
    /// The last lines, numbered.
    pub(crate) tail: Vec<String>,
    /// The ways on.
    pub(crate) next: Vec<String>,
}

/// The preview within `budget`.
pub(crate) fn preview(
    presenter: &Presenter,
    subject: &Preview<'_>,
    budget: TokenBudget,
) -> std::io::Result<String> {
    let parts = parts(presenter, subject, budget)?;
    let shape = section("shape:", &parts.shape);
    let head = section("head:", &parts.head);
    let tail = section("tail:", &parts.tail);
    let (first, next) = (parts.first, next_lines(&parts.next));
    let text = format!("{first}{shape}{head}{tail}{next}");
    // Where parts meet they may cost a token or two more than each alone.
    Ok(match presenter.counter.count(&text) <= budget.get() {
        true => text,
        false => format!("{first}{shape}{next}"),
    })
}

/// The first line and the ways on always stand; the shape may take half of the
/// rest, the head two thirds of what that leaves, and the tail what is left
/// then.
pub(crate) fn parts(
    presenter: &Presenter,
    subject: &Preview<'_>,
    budget: TokenBudget,
) -> std::io::Result<Parts> {
    let first = first_line(subject);
    let next = presenter.door.next(subject.handle, subject.stats.kind);
    let count = |text: &str| presenter.counter.count(text);
    let frame = format!("{first}{}", next_lines(&next));
    let handle = subject.handle.to_string();
    let handles = frame.matches(&handle).count() as u64 * HANDLE_TOKENS;
    let frame = count(&frame.replace(&handle, "")) + handles;
    let rest = budget.get().saturating_sub(frame);
    let shape = match &subject.outlined {
        Some(made) => made.clone(),
        None => outline(
            subject.artifact.view(),
            &subject.artifact.manifest().facts.view,
            subject.stats,
        )?,
    };
    let share = (rest / 2).saturating_sub(TITLE_TOKENS);
    let share = budget.less(budget.get().saturating_sub(share));
    let shape = within(shape, share, &*presenter.counter);
    let rest = rest.saturating_sub(count(&section("shape:", &shape)));
    let head = filled(
        numbered(subject, 1, HEAD_LINES)?.into_iter(),
        rest * 2 / 3,
        &count,
    );
    let unseen = head.len() as u64 + 1;
    let rest = rest.saturating_sub(count(&section("head:", &head)));
    let mut tail = filled(self::tail(subject, unseen)?.into_iter().rev(), rest, &count);
    tail.reverse();
    Ok(Parts {
        first,
        shape,
        head,
        tail,
        next,
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
    let from = match &parts.artifact.manifest().facts.form {
        RawForm::Encoded { encoding, .. } => format!(", from {encoding}"),
        _ => String::new(),
    };
    format!(
        "[spillgate] {} {returned} {bytes} bytes, {lines} lines, {tokens} tokens ({kind}{from}); \
         stored whole as {}\n",
        name_in_line(parts.tool),
        parts.handle
    )
}

fn next_lines(ways: &[String]) -> String {
    let lines: Vec<String> = ways.iter().map(|way| format!("next: {way}")).collect();
    lines.join("\n")
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
        // Marks are longer than what they stand for: the bound is of what is shown.
        let text = clip(&marked(text.trim_end_matches('\n')), LINE_CHARS);
        numbered.push(format!("{:>4} {text}", line.number));
    }
    Ok(numbered)
}
