//! Answers questions about what went wrong.
//!
//! Such a question usually shares no word with its answer. The lines that report failures, and those
//! that belong to them, are ranked as for a preview ([`spillgate_outline::FailureLines`]). The best
//! that the budget holds are shown, so that a larger budget is spent on the next lines and not on
//! more lines around the first report (docs/spec/behaviour.md, "Search without a model").

use std::io;

use spillgate_artifact::TokenBudget;
use spillgate_lookup::Artifact;
use spillgate_outline::{FailureLine, FailureLines, runner_prefix};
use spillgate_text::{TokenCounter, View};
use spillgate_untrusted::marked;

use crate::SearchOutcome;
use crate::candidates::Candidate;
use crate::question::Terms;
use crate::rank::Ranked;
use crate::text::block;

/// Tokens of a page besides its lines.
const AROUND: u64 = 24;
/// Tokens of the mark between two passages.
const MARK: u64 = 2;
/// Number of lines that may be too long for the rest of the budget before the page counts as full.
const MOST_MISSES: usize = 12;

/// Returns the lines of a view that report why something failed; `None` if there are none.
pub(crate) fn answer<'a>(
    artifact: &'a Artifact,
    budget: TokenBudget,
    counter: &dyn TokenCounter,
) -> io::Result<Option<SearchOutcome<'a>>> {
    let view = artifact.view();
    let found = FailureLines::of(view, artifact.manifest().facts.stats.kind)?;
    if found.lines.is_empty() {
        return Ok(None);
    }
    let shown = shown(view, &found, budget, counter)?;
    let ranked: Vec<Ranked> = (0..).zip(&shown).map(|(at, run)| ranked(at, run)).collect();
    let reports = |lines: &[FailureLine]| lines.iter().filter(|line| line.is_report).count();
    // The other reports would be passages of their own.
    let left = reports(&found.lines) - shown.iter().map(|run| reports(run)).sum::<usize>();
    Ok(Some(SearchOutcome {
        total: (ranked.len() + left) as u64,
        ranked,
        seen: Terms::MAX,
        is_in_order: true,
        header: None,
        is_unstamped: found.is_stamped,
        blocks: Box::new(|one, _| Ok(vec![vec![block(one)]])),
    }))
}

/// Returns the best lines that the budget holds, as runs of lines that follow each other.
fn shown(
    view: &View,
    found: &FailureLines,
    budget: TokenBudget,
    counter: &dyn TokenCounter,
) -> io::Result<Vec<Vec<FailureLine>>> {
    let mut best: Vec<&FailureLine> = found.lines.iter().collect();
    best.sort_by_key(|line| (line.rank, line.span.number));
    let room = budget.less(AROUND).get();
    let (mut taken, mut spent, mut misses) = (Vec::new(), 0, 0);
    for line in best {
        let cost = cost(view, line, found.is_stamped, counter)?;
        if spent + cost <= room {
            spent += cost;
            taken.push(line);
        } else if taken.is_empty() {
            // The page shows as much of the best line as the budget holds.
            return Ok(vec![vec![line.clone()]]);
        } else {
            misses += 1;
        }
        if misses > MOST_MISSES {
            break;
        }
    }
    taken.sort_by_key(|line| line.span.number);
    let mut runs: Vec<Vec<FailureLine>> = Vec::new();
    for line in taken {
        match runs.last_mut() {
            Some(run) if follows(view, line, run)? => run.push(line.clone()),
            _ => runs.push(vec![line.clone()]),
        }
    }
    Ok(runs)
}

/// Returns whether at most an empty line separates a line from a run. An empty line takes no more
/// room than the mark between passages.
fn follows(view: &View, line: &FailureLine, run: &[FailureLine]) -> io::Result<bool> {
    /// Most bytes of an empty line, with the time stamp of a runner.
    const EMPTY: u64 = 200;
    let end = run.last().map_or(0, |last| last.span.end);
    if line.span.start.saturating_sub(end) > EMPTY {
        return Ok(false);
    }
    let between = view.source().bytes(end, line.span.start)?;
    let lines = between.split_inclusive(|byte| *byte == b'\n');
    let mut lines = lines.map(|line| line[runner_prefix(line)..].trim_ascii());
    Ok(lines.next().is_none_or(<[u8]>::is_empty) && lines.next().is_none())
}

/// Returns the tokens of a line on the page.
fn cost(
    view: &View,
    line: &FailureLine,
    is_unstamped: bool,
    counter: &dyn TokenCounter,
) -> io::Result<u64> {
    let bytes = view.source().bytes(line.span.start, line.span.end)?;
    let stamp = match is_unstamped {
        true => runner_prefix(&bytes),
        false => 0,
    };
    let text = String::from_utf8_lossy(&bytes[stamp..]);
    Ok(MARK + counter.count(&format!("{}:{}", line.span.number, marked(&text))))
}

/// Returns a run of lines as a place.
fn ranked(at: u64, run: &[FailureLine]) -> Ranked {
    let rank = run.iter().map(|line| line.rank).min().unwrap_or(0);
    Ranked {
        score: 1.0 / (1.0 + rank as f64),
        first_hit: 0,
        is_literal: false,
        candidate: Candidate {
            start: run.first().map_or(0, |line| line.span.start),
            end: run.last().map_or(0, |line| line.span.end),
            terms: 1,
            rank: 1.0,
            // Each differs from the others, so none counts as a repetition.
            template: at,
            json: None,
        },
    }
}
