//! The `preview` profile. It shows the handle, the sizes, the failure if the run failed and the shape
//! otherwise, the first records or the first and last lines, and calls that read more.
//!
//! Every line that comes from the result is indented or numbered, so that it cannot pass for one of
//! ours.

use std::io;

use spillgate_artifact::{ContentKind, Facts, Handle, Manifest, RawForm, Stats, TokenBudget};
use spillgate_lookup::{Artifact, ChangedLine, changes};
use spillgate_outline::{
    EntryKind, FirstRecord, OutlineEntry, failure_leads, first_record, leads, within,
};
use spillgate_text::clip;
use spillgate_untrusted::marked;

use super::audience::Calls;
use super::inside::InnerTexts;
use super::message::{CHANGES, FAILURE, HEAD, INSIDE, Parts, SHAPE, next_lines, section};
use super::{Bounds, Message, Sizes, Strategy, Subject, name_in_line};
use crate::RetrieveError;
use crate::history::Earlier;
use crate::limits::{LEAST_PREVIEW_TOKENS, Limits};
use crate::stored_secrets::stored_how;

/// Tokens above which a result is offloaded by default. Codex cuts the middle of results over about
/// 10 KB, which is some 2,500 tokens: a result that passes whole through Spillgate must arrive
/// whole.
pub const DEFAULT_MAX_TOKENS: u64 = 2500;

/// Maximum characters of a result line. The format allows 500 with the line number, but a head of
/// five such lines says less than one of ten shorter lines.
pub(super) const LINE_CHARS: usize = 200;

/// Maximum characters of a record that is shown whole.
const RECORD_CHARS: usize = 1200;

/// Lines of a table or of JSON lines that are shown: the header and two rows, or three records.
const TABLE_LINES: u64 = 3;

/// Maximum lines of the head and of the tail.
pub(super) const HEAD_LINES: u64 = 12;
const TAIL_LINES: u64 = 8;

/// Tokens assumed for any handle, whatever its letters, so that the same result always gets the same
/// preview (prompt caches stay warm). No word costs more; of a million random long handles twenty
/// cost more than 60.
fn handle_tokens(handle: Handle) -> u64 {
    match handle {
        Handle::Short(_) => 10,
        Handle::Long { .. } => 60,
    }
}

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

    fn has_history(&self) -> bool {
        true
    }

    fn message(&self, subject: &Subject<'_>) -> Result<Message, RetrieveError> {
        if let Some(Earlier::Same(handle)) = subject.earlier
            && subject.store.manifest(handle).is_ok()
        {
            return Ok(Message::fixed(same(subject.facts(), handle)));
        }
        let parts = parts(subject)?;
        let bounds = bounds(subject, &parts);
        Ok(Message::Parts(Box::new(parts), bounds))
    }
}

/// Returns the bounds of a preview. They always leave room for the first line and the `next:`
/// lines, which a small stored result needs, too.
pub(crate) fn bounds(subject: &Subject<'_>, parts: &Parts) -> Bounds {
    let least = TokenBudget::new(LEAST_PREVIEW_TOKENS);
    let budget = match parts.failure.is_empty() {
        true => subject.budget(),
        false => failure_budget(subject),
    };
    subject.bounds(budget.max(least))
}

/// Returns the budget of a preview that says why a run failed: a sixth more than of other previews.
fn failure_budget(subject: &Subject<'_>) -> TokenBudget {
    let more = subject.limits.preview.get() * 7 / 6;
    TokenBudget::new(more).min(subject.half())
}

/// Divides the budget. The first line and the next calls always stay. If the run failed, the lines
/// that say why may take nine tenths of the rest, and the shape what is left. Otherwise the shape
/// may take half of the rest. Then come the outlines of long texts inside a JSON document; if these
/// texts are most of it, nothing follows. A list of records is shown by its first records, which
/// may take what is left; other texts by their head, which may take half of it, and their tail.
pub(crate) fn parts(subject: &Subject<'_>) -> Result<Parts, RetrieveError> {
    let headline = headline(subject.manifest);
    let count = |text: &str| subject.counter().count(text);
    let (failure, mut shape): (Vec<OutlineEntry>, Vec<OutlineEntry>) = subject
        .outline()?
        .into_iter()
        .partition(|entry| entry.kind == EntryKind::Failure);
    let budget = match failure.is_empty() {
        true => subject.budget(),
        false => failure_budget(subject),
    };
    let shown = |entries: &[OutlineEntry], share: u64| {
        let share = share.saturating_sub(TITLE_TOKENS);
        let share = budget.less(budget.get().saturating_sub(share));
        within(entries, share, subject.counter())
    };
    let parts = |calls: Calls| {
        let handle = subject.manifest.handle;
        let frame = format!("{headline}\n{}", next_lines(&calls.calls, &calls.also));
        let handles = frame.matches(&handle.to_string()).count() as u64 * handle_tokens(handle);
        let frame = count(&frame.replace(&handle.to_string(), "")) + handles;
        let rest = budget.get().saturating_sub(frame);
        let changes = changed(subject, rest / 3, &count);
        let rest = rest.saturating_sub(count(&section(CHANGES, &changes)));
        let parts = Parts {
            headline: headline.clone(),
            changes,
            hints: calls.calls,
            also: calls.also,
            ..Parts::default()
        };
        (parts, rest)
    };
    if !failure.is_empty() {
        let (parts, rest) = parts(subject.calls(&failure_leads(&failure)));
        let texts = shown(&failure, rest * 9 / 10);
        let rest = rest.saturating_sub(count(&section(FAILURE, &texts)));
        shape.retain(|entry| !entry.is_told_by(&failure));
        return Ok(Parts {
            shape: shown(&shape, rest),
            failure: texts,
            ..parts
        });
    }
    let artifact = subject.artifact()?;
    let (view, kind) = (artifact.view(), subject.facts().stats.kind);
    let texts = InnerTexts::of(artifact)?;
    let inner = texts.as_ref().map(InnerTexts::leads).transpose()?;
    let leads = inner
        .into_iter()
        .flatten()
        .chain(leads(view, kind, &shape)?);
    let (parts, rest) = parts(subject.calls(&leads.collect::<Vec<_>>()));
    let record = first_record(&shape);
    let shape = shown(&shape, rest / 2);
    let rest = rest.saturating_sub(count(&section(SHAPE, &shape)));
    let inside = texts.as_ref().map(|texts| {
        let share = rest.saturating_sub(TITLE_TOKENS);
        let share = budget.less(budget.get().saturating_sub(share));
        texts.lines(share, subject.counter())
    });
    let inside = inside.transpose()?.unwrap_or_default();
    let rest = rest.saturating_sub(count(&section(INSIDE, &inside)));
    let parts = Parts {
        shape,
        inside,
        ..parts
    };
    if let Some(record) = record {
        let first = first(record, rest, &count);
        return Ok(Parts { first, ..parts });
    }
    // The ends of the document would be pieces of these texts.
    if texts.is_some_and(|texts| texts.is_most) {
        return Ok(parts);
    }
    let (head, tail) = head_and_tail(artifact, rest, &count)?;
    Ok(Parts {
        head,
        tail,
        ..parts
    })
}

/// Returns the first and the last lines of a text. Of a table, the first lines may take the whole
/// share, and there are no last lines.
fn head_and_tail(
    artifact: &Artifact,
    share: u64,
    count: &dyn Fn(&str) -> u64,
) -> io::Result<(Vec<String>, Vec<String>)> {
    let is_table = matches!(
        artifact.manifest().facts.stats.kind,
        ContentKind::Csv | ContentKind::Tsv | ContentKind::Ndjson
    );
    let (lines, chars) = match is_table {
        true => (TABLE_LINES, RECORD_CHARS),
        false => (HEAD_LINES, LINE_CHARS),
    };
    let half = if is_table { share } else { share / 2 };
    let head = filled(
        numbered(artifact, 1, lines, chars)?.into_iter(),
        half,
        count,
    );
    if is_table && !head.is_empty() {
        return Ok((head, Vec::new()));
    }
    let rest = share.saturating_sub(count(&section(HEAD, &head)));
    // The last lines, except those that the head shows.
    let total = artifact.view().lines();
    let start = (total + 1)
        .saturating_sub(TAIL_LINES)
        .max(head.len() as u64 + 1);
    let last = numbered(
        artifact,
        start,
        (total + 1).saturating_sub(start),
        LINE_CHARS,
    )?;
    let mut tail = filled(last.into_iter().rev(), rest, count);
    tail.reverse();
    Ok((head, tail))
}

/// Returns the first record of a list, whole if it fits, otherwise without its nested values.
fn first(record: &FirstRecord, share: u64, count: &dyn Fn(&str) -> u64) -> Vec<String> {
    let line = |text: &str| format!("  {}: {}", record.path, marked(text));
    let texts = [&record.whole, &record.brief];
    let mut lines = texts
        .into_iter()
        .filter(|text| text.chars().count() <= RECORD_CHARS)
        .map(|text| line(text));
    let fits = |line: &String| count(line) + 1 + TITLE_TOKENS <= share;
    lines.find(fits).into_iter().collect()
}

/// Says what differs from the earlier result of the same call, within a share of the budget. An
/// earlier result that is gone or cannot be read is not mentioned.
fn changed(subject: &Subject<'_>, share: u64, count: &dyn Fn(&str) -> u64) -> Vec<String> {
    let Some(Earlier::OfCall(handle)) = subject.earlier else {
        return Vec::new();
    };
    let compared = || {
        let older = subject.open(handle).ok()?;
        let newer = subject.artifact().ok()?;
        changes(older.view(), newer.view()).ok()?
    };
    let Some(changes) = compared() else {
        return Vec::new();
    };
    let said = format!(
        "  since {handle}: {} lines added, {} removed",
        changes.added, changes.removed
    );
    let line = |sign: char, line: &ChangedLine| {
        let text = clip(&marked(&line.text), LINE_CHARS);
        format!("  {sign}{:>4} {text}", line.number)
    };
    let added = changes.first_added.iter().map(|one| line('+', one));
    let removed = changes.first_removed.iter().map(|one| line('-', one));
    // If there are many changes, some added and some removed lines are shown.
    let half = (share / 2).saturating_sub(count(&said));
    let added = filled(added, half, count);
    let removed = filled(removed, half, count);
    std::iter::once(said).chain(added).chain(removed).collect()
}

/// The message for a result whose bytes the reader was shown before.
fn same(facts: &Facts, earlier: Handle) -> String {
    format!(
        "[spillgate] {} {} {} bytes, the same as before ({}); {} as {earlier}",
        name_in_line(&facts.origin.tool),
        returned(facts),
        facts.stats.bytes,
        facts.stats.kind,
        stored_how(facts),
    )
}

/// Says how the command or the call ended.
fn returned(facts: &Facts) -> String {
    match (facts.is_error, facts.ending) {
        (false, Some(ending)) => format!("ended: {ending};"),
        (true, Some(ending)) => format!("failed: {ending};"),
        (false, None) => "returned".to_owned(),
        (true, None) => "failed with".to_owned(),
    }
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
    let from = match &facts.form {
        RawForm::Encoded { encoding, .. } => format!(", from {encoding}"),
        _ => String::new(),
    };
    // For bytes that are not text, the numbers of lines and tokens mean nothing.
    let sizes = match kind {
        ContentKind::Binary => format!("{bytes} bytes"),
        _ => format!("{bytes} bytes, {lines} lines, {tokens} tokens"),
    };
    format!(
        "[spillgate] {} {} {sizes} ({kind}{from}); {} as {}",
        name_in_line(&facts.origin.tool),
        returned(facts),
        stored_how(facts),
        manifest.handle
    )
}

/// Tokens of a title with its newline.
const TITLE_TOKENS: u64 = 3;

/// Takes the first lines, as many as the share allows.
pub(super) fn filled(
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

/// Returns lines with their numbers, each cut to `chars` characters.
pub(super) fn numbered(
    artifact: &Artifact,
    first: u64,
    count: u64,
    chars: usize,
) -> io::Result<Vec<String>> {
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
        let text = clip(&marked(text.trim_end_matches('\n')), chars);
        numbered.push(format!("{:>4} {text}", line.number));
    }
    Ok(numbered)
}
