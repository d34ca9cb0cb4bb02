//! How an output differs from another one, usually from the earlier output of the same call.

use std::collections::VecDeque;
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

/// Most lines of both outputs together: a line takes about 100 bytes while they are compared.
const BOTH: usize = 500_000;

/// What compares larger outputs.
const LARGER: &str = "`spillgate diff` compares larger outputs";

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
    let together = lines_of(&old) + lines_of(&new);
    if together > BOTH {
        let what = format!(
            "the two outputs have {} lines; at most {} are compared",
            grouped(together as u64),
            grouped(BOTH as u64)
        );
        return Err(Problem::bad(what).hint(LARGER));
    }
    let compared = LineDiff::new(&old, &new, Some(Instant::now() + PATIENCE));
    let (mut added, mut removed) = (0, 0);
    let changes = compared.changes().map(|change| {
        match change.tag() {
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
            ChangeTag::Equal => {}
        }
        (change.tag() != ChangeTag::Equal, change)
    });
    let (shown, total) = near_changes(changes, LINES);
    let created = page.store.manifest(other)?.facts.created;
    Ok(html! {
        (choice(subject, Some(other)))
        p {
            "Since " a href={ (PREFIX) "/a/" (in_path(other)) } { code { (other) } } ": "
            span.added { (lines(added)) " added" } ", " span.removed { (lines(removed)) " removed" } ". That one was stored "
            (shown::time(created))
        }
        @if total > LINES { p.faint { "The first " (grouped(LINES as u64)) " lines are shown." } }
        @if added + removed > 0 {
            div.scroll tabindex="0" role="region" aria-label="Difference" {
                table.diff {
                    @for change in &shown {
                        @match change {
                            None => { tr.gap { td colspan="4" { "⋯" } } }
                            Some(change) => { (line(change)) }
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

fn lines(count: u64) -> String {
    let noun = if count == 1 { "line" } else { "lines" };
    format!("{} {noun}", grouped(count))
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

/// Returns the number of lines; each of `\n`, `\r` and `\r\n` ends one.
fn lines_of(text: &str) -> usize {
    let count = |end: &str| text.matches(end).count();
    count("\n") + count("\r") - count("\r\n")
}

/// Returns changes and the lines around them, at most `most`, and how many there are in all. `None`
/// stands for lines that are left out.
fn near_changes<T>(
    changes: impl Iterator<Item = (bool, T)>,
    most: usize,
) -> (Vec<Option<T>>, usize) {
    let (mut shown, mut total) = (Vec::new(), 0);
    let mut show = |one: Option<T>| {
        total += usize::from(one.is_some());
        if shown.len() < most {
            shown.push(one);
        }
    };
    // The last lines without a change, and whether there were more before them.
    let (mut before, mut is_cut) = (VecDeque::new(), false);
    let mut after = 0;
    for (is_change, one) in changes {
        if is_change {
            if is_cut {
                show(None);
            }
            is_cut = false;
            before.drain(..).for_each(|one| show(Some(one)));
            show(Some(one));
            after = AROUND;
        } else if after > 0 {
            show(Some(one));
            after -= 1;
        } else {
            before.push_back(one);
            if before.len() > AROUND {
                before.pop_front();
                is_cut = true;
            }
        }
    }
    if is_cut || !before.is_empty() {
        show(None);
    }
    (shown, total)
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
        return Err(Problem::bad(what).hint(LARGER));
    }
    let bytes = view.bytes(0, u64::MAX).map_err(LookupError::from);
    let bytes = bytes.map_err(|error| Problem::from(&error))?;
    let text = String::from_utf8(bytes);
    Ok(text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_far_from_a_change_are_left_out() {
        let near = |changed: &[usize], lines: usize, most| {
            let lines = (0..lines).map(|at| (changed.contains(&at), at));
            near_changes(lines, most)
        };
        let around: Vec<_> = (2..9).map(Some).collect();
        let whole = [&[None][..], &around, &[None]].concat();
        assert_eq!(near(&[5], 12, 100), (whole.clone(), 7));
        assert_eq!(near(&[5], 12, 4), (whole[..4].to_vec(), 7));
        assert_eq!(near(&[0], 2, 9), (vec![Some(0), Some(1)], 2));
        assert_eq!(near(&[0, 7], 8, 99).0, (0..8).map(Some).collect::<Vec<_>>());
        let gap = near(&[0, 8], 9, 99).0;
        assert_eq!(gap.iter().filter(|one| one.is_none()).count(), 1, "{gap:?}");
        assert_eq!(near(&[], 0, 9), (vec![], 0));
    }

    #[test]
    fn lines_are_counted_as_they_are_compared() {
        assert_eq!(lines_of("a\nb\r\nc\rd"), 3);
        assert_eq!(lines_of(&"\r".repeat(9)), 9);
    }
}
