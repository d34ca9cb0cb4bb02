//! The `preview` profile: handle, figures, shape, head, tail and next calls.
//!
//! Every line that comes from the result is indented or numbered, so that it cannot pass for one of
//! ours.

use std::io;

use spillgate_artifact::{ContentKind, Manifest, RawForm, Stats, TokenBudget};
use spillgate_lookup::Artifact;
use spillgate_outline::within;
use spillgate_text::clip;
use spillgate_untrusted::marked;

use super::message::{Parts, next_lines, section};
use super::{Bounds, Message, Sizes, Strategy, Subject, name_in_line};
use crate::RetrieveError;
use crate::limits::{LEAST_PREVIEW_TOKENS, Limits};

/// Tokens above which a result is offloaded by default. Codex cuts the middle of results over about
/// 10 KB, which is some 2,500 tokens: a result that passes whole through Spillgate must arrive
/// whole.
pub const DEFAULT_MAX_TOKENS: u64 = 2500;

/// Maximum characters of a result line. The format allows 500 with the line number, but a head of
/// five such lines says less than one of ten shorter lines.
const LINE_CHARS: usize = 200;

/// Maximum lines of the head and of the tail.
const HEAD_LINES: u64 = 12;
const TAIL_LINES: u64 = 6;

/// Tokens assumed for any handle, whatever its digits, so that the same result always gets the same
/// preview (prompt caches stay warm). Of a million random handles twenty cost more.
const HANDLE_TOKENS: u64 = 60;

/// The `preview` profile.
pub(crate) struct Preview;

impl Strategy for Preview {
    fn name(&self) -> &'static str {
        "preview"
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            tokens: Some(DEFAULT_MAX_TOKENS),
            ..Sizes::default()
        }
    }

    fn is_budgeted(&self) -> bool {
        true
    }

    fn shows_outline(&self, _: &Limits) -> bool {
        true
    }

    fn message(&self, subject: &Subject<'_>) -> Result<Message, RetrieveError> {
        Ok(Message::Parts(
            parts(subject, subject.budget())?,
            bounds(subject),
        ))
    }
}

/// Returns the bounds of a preview. They always leave room for the first line and the `next:`
/// lines, which a small stored result needs, too.
pub(crate) fn bounds(subject: &Subject<'_>) -> Bounds {
    let least = TokenBudget::new(LEAST_PREVIEW_TOKENS);
    subject.bounds(subject.budget().max(least))
}

/// Divides the budget. The first line and the next calls always stay. The shape may take half of
/// the rest, the head two thirds of the remainder, and the tail what is left.
pub(crate) fn parts(subject: &Subject<'_>, budget: TokenBudget) -> Result<Parts, RetrieveError> {
    let artifact = subject.artifact()?;
    let (headline, hints) = (headline(subject.manifest), subject.ways());
    let count = |text: &str| subject.counter().count(text);
    let frame = format!("{headline}\n{}", next_lines(&hints));
    let handle = subject.manifest.handle.to_string();
    let handles = frame.matches(&handle).count() as u64 * HANDLE_TOKENS;
    let frame = count(&frame.replace(&handle, "")) + handles;
    let rest = budget.get().saturating_sub(frame);
    let share = (rest / 2).saturating_sub(TITLE_TOKENS);
    let share = budget.less(budget.get().saturating_sub(share));
    let shape = within(&subject.outline()?, share, subject.counter());
    let rest = rest.saturating_sub(count(&section("shape:", &shape)));
    let numbered = |first, count| numbered(artifact, first, count);
    let head = filled(numbered(1, HEAD_LINES)?.into_iter(), rest * 2 / 3, &count);
    let rest = rest.saturating_sub(count(&section("head:", &head)));
    // The last lines, except those that the head shows.
    let total = artifact.view().lines();
    let first = (total + 1)
        .saturating_sub(TAIL_LINES)
        .max(head.len() as u64 + 1);
    let tail = numbered(first, (total + 1).saturating_sub(first))?;
    let mut tail = filled(tail.into_iter().rev(), rest, &count);
    tail.reverse();
    Ok(Parts {
        headline,
        shape,
        head,
        tail,
        hints,
    })
}

fn headline(manifest: &Manifest) -> String {
    let facts = &manifest.facts;
    let Stats {
        bytes,
        lines,
        tokens,
        kind,
        ..
    } = &facts.stats;
    let returned = if facts.is_error {
        "failed with"
    } else {
        "returned"
    };
    let from = match &facts.form {
        RawForm::Encoded { encoding, .. } => format!(", from {encoding}"),
        _ => String::new(),
    };
    format!(
        "[spillgate] {} {returned} {bytes} bytes, {lines} lines, {tokens} tokens ({kind}{from}); \
         stored whole as {}",
        name_in_line(&facts.origin.tool),
        manifest.handle
    )
}

/// Tokens of a title with its newline.
const TITLE_TOKENS: u64 = 3;

/// Takes the first lines, as many as the share allows.
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

fn numbered(artifact: &Artifact, first: u64, count: u64) -> io::Result<Vec<String>> {
    let mut numbered = Vec::new();
    if artifact.manifest().facts.stats.kind == ContentKind::Binary {
        return Ok(numbered); // nothing that could be read
    }
    let mut lines = artifact.view().lines_from(first)?;
    while (numbered.len() as u64) < count {
        let Some((line, bytes)) = lines.next_bytes()? else {
            break;
        };
        let text = String::from_utf8_lossy(bytes);
        // Marks are longer than the characters they replace: the bound applies to the marked text.
        let text = clip(&marked(text.trim_end_matches('\n')), LINE_CHARS);
        numbered.push(format!("{:>4} {text}", line.number));
    }
    Ok(numbered)
}
