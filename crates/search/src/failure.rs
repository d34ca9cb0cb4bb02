//! Answers questions about what went wrong.
//!
//! Such a question usually shares no word with its answer. The lines that report failures are
//! picked as for a preview ([`spillgate_outline::picks`]), and are shown with more of the lines
//! around them (docs/spec/behaviour.md, "Search without a model").

use std::io;

use rustc_hash::FxHashMap;
use spillgate_lookup::Artifact;
use spillgate_outline::{FailurePick, picks};

use crate::SearchOutcome;
use crate::candidates::Candidate;
use crate::question::Terms;
use crate::rank::Ranked;
use crate::text::{block, with_context};

/// If there is room, this many times as many lines as in a preview are shown around a picked line.
const MORE: u64 = 2;

/// Returns the lines of a view that report why something failed; `None` if there are none.
pub(crate) fn answer(artifact: &Artifact) -> io::Result<Option<SearchOutcome<'_>>> {
    let view = artifact.view();
    let picks = picks(view, artifact.manifest().facts.stats.kind)?;
    if picks.is_empty() {
        return Ok(None);
    }
    let ranked = (0u64..).zip(&picks).map(|(at, pick)| ranked(at, pick));
    let ranked = ranked.collect();
    let around: FxHashMap<u64, (u64, u64)> = picks
        .iter()
        .map(|pick| (pick.start, (pick.before, pick.after as u64)))
        .collect();
    Ok(Some(SearchOutcome {
        ranked,
        seen: Terms::MAX,
        total: picks.len() as u64,
        is_in_order: true,
        header: None,
        is_unstamped: picks.iter().all(|pick| pick.is_stamped),
        blocks: Box::new(move |one, _| {
            let (before, after) = around[&one.candidate.start];
            let with = |context| Ok(vec![with_context(view, one, context)?]);
            let contexts = [
                (before * MORE, after * MORE),
                (before, after),
                (0, after / 2),
            ];
            let mut blocks: Vec<_> = contexts.into_iter().map(with).collect::<io::Result<_>>()?;
            blocks.push(vec![block(one)]);
            Ok(blocks)
        }),
    }))
}

fn ranked(at: u64, pick: &FailurePick) -> Ranked {
    Ranked {
        score: 1.0 / (1.0 + at as f64),
        first_hit: 0,
        is_literal: false,
        candidate: Candidate {
            start: pick.start,
            end: pick.end,
            terms: 1,
            rank: 1.0,
            // Each picked line differs from the others, so none counts as a repetition.
            template: at,
            json: None,
        },
    }
}
