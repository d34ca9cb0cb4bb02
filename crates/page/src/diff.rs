//! How an output differs from another one, usually from the earlier output of the same call.

use std::time::{Duration, Instant};

use maud::{Markup, html};
use similar::ChangeTag;
use spillgate_artifact::Handle;
use spillgate_clients::LineDiff;
use spillgate_http_api::Problem;
use spillgate_lookup::LookupError;
use spillgate_offload::Offloader;
use spillgate_outline::grouped;

use crate::artifact::Subject;
use crate::asked::{self, in_path};
use crate::{PREFIX, Page, shown};

/// Maximum bytes of an output that is compared: both are held in memory.
const MOST: u64 = 32 << 20;

/// Time after which the comparison returns a difference that is correct but may be larger.
const PATIENCE: Duration = Duration::from_secs(3);

/// Lines around a change.
const AROUND: usize = 3;

/// Most lines that are shown.
const LINES: usize = 5000;

/// Most characters of a line.
const LONGEST: usize = 1000;

/// Returns the difference to the output that the request names, or to the earlier one.
pub(crate) fn difference(
    page: &Page,
    offloader: &Offloader,
    subject: &Subject,
    earlier: Option<Handle>,
) -> Result<Markup, Problem> {
    let named = subject.asked.text("with").map(asked::handle).transpose()?;
    let Some(other) = named.or(earlier) else {
        return Ok(
            html! { (choice(subject, None)) p.faint { "There is no earlier output of the same call. Give the handle of another one." } },
        );
    };
    let (old, new) = (text(offloader, other)?, text(offloader, subject.handle)?);
    let compared = LineDiff::new(&old, &new, Some(Instant::now() + PATIENCE));
    let changes: Vec<_> = compared.changes().collect();
    let count = |tag| changes.iter().filter(|one| one.tag() == tag).count() as u64;
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    let shown = near_changes(
        &changes
            .iter()
            .map(|one| one.tag() != ChangeTag::Equal)
            .collect::<Vec<_>>(),
    );
    let created = page.store.manifest(other)?.facts.created;
    let total = shown.iter().flatten().count();
    Ok(html! {
        (choice(subject, Some(other)))
        p {
            "From " a href={ (PREFIX) "/a/" (in_path(other)) } { code { (other) } }
            " of " (shown::time(created))
            " to this one: " span.added { (grouped(added)) " lines more" } ", " span.removed { (grouped(removed)) " lines less" } "."
            @if total > LINES { " The first " (grouped(LINES as u64)) " lines are shown." }
        }
        @if added + removed > 0 {
            div.scroll tabindex="0" role="region" aria-label="Difference" {
                table.diff {
                    @for at in shown.iter().take(LINES) {
                        @match at {
                            None => { tr.gap { td colspan="4" { "⋯" } } }
                            Some(at) => { (line(&changes[*at])) }
                        }
                    }
                }
            }
        }
    })
}

fn choice(subject: &Subject, other: Option<Handle>) -> Markup {
    html! {
        form.filters method="get" action=(subject.address("")) {
            input type="hidden" name="tab" value="difference";
            label { "Compare with " input name="with" value=[other] placeholder="handle" spellcheck="false"; }
            button { "Compare" }
        }
    }
}

fn line(change: &similar::Change<&str>) -> Markup {
    let (class, sign) = match change.tag() {
        ChangeTag::Insert => ("added", "+"),
        ChangeTag::Delete => ("removed", "-"),
        ChangeTag::Equal => ("same", " "),
    };
    let number = |at: Option<usize>| at.map(|at| (at + 1).to_string()).unwrap_or_default();
    let text = change.value().trim_end_matches(['\n', '\r']);
    let cut = text
        .char_indices()
        .nth(LONGEST)
        .map_or(text.len(), |(at, _)| at);
    html! {
        tr.(class) {
            td.number { (number(change.old_index())) }
            td.number { (number(change.new_index())) }
            td.sign { (sign) }
            td { (shown::text(&text[..cut])) @if cut < text.len() { "…" } }
        }
    }
}

/// Returns the positions of changes and of the lines around them; `None` stands for those left out.
fn near_changes(is_change: &[bool]) -> Vec<Option<usize>> {
    let mut near = vec![false; is_change.len()];
    for (at, _) in is_change.iter().enumerate().filter(|(_, is)| **is) {
        let end = (at + AROUND + 1).min(near.len());
        near[at.saturating_sub(AROUND)..end].fill(true);
    }
    let mut shown = Vec::new();
    for (at, is_near) in near.into_iter().enumerate() {
        if is_near {
            shown.push(Some(at));
        } else if shown.last() != Some(&None) {
            shown.push(None);
        }
    }
    shown
}

fn text(offloader: &Offloader, handle: Handle) -> Result<String, Problem> {
    let artifact = offloader.artifact(handle)?;
    let view = artifact.view().source();
    if view.len() > MOST {
        let what = format!(
            "{handle} has {}; at most {} are compared",
            shown::size(view.len()),
            shown::size(MOST)
        );
        return Err(Problem::bad(what).hint("`spillgate diff` compares larger outputs"));
    }
    let bytes = view.bytes(0, u64::MAX).map_err(LookupError::from);
    let bytes = bytes.map_err(|error| Problem::from(&error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_far_from_a_change_are_left_out() {
        let mut is_change = vec![false; 12];
        is_change[5] = true;
        let shown = near_changes(&is_change);
        let around: Vec<_> = (2..9).map(Some).collect();
        assert_eq!(shown, [&[None][..], &around, &[None]].concat());
        assert_eq!(near_changes(&[true, false]), [Some(0), Some(1)]);
        assert_eq!(near_changes(&[]), []);
    }
}
