//! Searches JSON documents and selects what to show around a hit.

use std::io;

use spillgate_artifact::TokenBudget;
use spillgate_lookup::Artifact;
use spillgate_text::View;

use crate::SearchOutcome;
use crate::json::{self, Node, USUAL_LEAF};
use crate::leaf::Leaf;
use crate::page::Block;
use crate::question::{MOST_TERMS, Question};
use crate::rank::{Ranked, Ranker, Units};

/// Bytes per token of the budget up to which the first record is shown whole. Pretty-printed JSON
/// has about four bytes per token, so the first record may take half of the budget.
const FIRST_RECORD: u64 = 2;
/// The same for the records that follow.
const NEXT_RECORD: u64 = 1;
/// Largest record in bytes that is shown whole, about 500 tokens.
const LARGEST_RECORD: u64 = 2000;

/// Returns the places in a JSON document that answer.
pub(crate) fn answer<'a>(
    artifact: &'a Artifact,
    question: &Question,
    budget: TokenBudget,
) -> io::Result<SearchOutcome<'a>> {
    let view = artifact.view();
    let prelude = artifact.manifest().facts.view.prelude;
    let found = json::scan(view, prelude, question)?;
    let units = Units {
        count: found.units.max(1) as f64,
        usual_bytes: USUAL_LEAF,
        delimiter: None,
    };
    let units_with: [f64; MOST_TERMS] = found.units_with.map(|with| with as f64);
    let seen = (0..MOST_TERMS).filter(|&at| found.units_with[at] > 0);
    let seen = seen.fold(0, |seen, at| seen | 1 << at);
    let (ranked, total) = Ranker::new(view, question, units, &units_with).rank(found)?;
    Ok(SearchOutcome {
        ranked,
        seen,
        header: None,
        is_unstamped: false,
        total,
        is_in_order: false,
        blocks: Box::new(move |one, is_first| {
            let by_budget = budget.get() * if is_first { FIRST_RECORD } else { NEXT_RECORD };
            alternatives(view, one, by_budget.min(LARGEST_RECORD))
        }),
    })
}

/// Returns the ways to show a place: the largest record around it that is small enough, or else its
/// lines with hits and the line that identifies the record.
fn alternatives(view: &View, one: &Ranked, largest: u64) -> io::Result<Vec<Vec<Block>>> {
    let candidate = &one.candidate;
    let Some(node) = candidate.json.as_deref() else {
        return Ok(vec![vec![crate::text::block(one)]]);
    };
    let hit = candidate.start + one.first_hit;
    let block = |start, end, path: &str| Block {
        start,
        end,
        path: (!path.is_empty()).then(|| path.to_owned()),
        score: one.score,
        hit: if (start..end).contains(&hit) {
            hit
        } else {
            start
        },
        is_untagged: false,
    };
    let mut alternatives = Vec::new();
    if candidate.end - candidate.start <= largest {
        let mut widest =
            (!node.leaves.is_empty()).then(|| block(candidate.start, candidate.end, &node.path));
        for &(start, path_length) in &node.around {
            let Some(end) = container_end(view, start, start + largest)? else {
                break;
            };
            let path = match path_length {
                0 => ".",
                length => node.path.get(..length).unwrap_or(""),
            };
            widest = Some(block(start, end, path));
        }
        alternatives.extend(widest.map(|widest| vec![widest]));
    }
    let of_leaf = |leaf: &Leaf| block(leaf.start, leaf.end, &leaf.path);
    let mut lines: Vec<Block> = node.identity.iter().map(of_leaf).collect();
    if node.leaves.is_empty() {
        lines.insert(0, block(candidate.start, candidate.end, &node.path));
    } else {
        lines.extend(covering(node).into_iter().map(of_leaf));
    }
    alternatives.push(lines);
    Ok(alternatives)
}

/// Returns a few leaves of a record that together hold all terms of its leaves.
fn covering(node: &Node) -> Vec<&Leaf> {
    let (mut leaves, mut held) = (Vec::new(), 0);
    loop {
        let new = |leaf: &&Leaf| (leaf.terms & !held).count_ones();
        // `max_by_key` returns the last of equals, so the first leaf wins.
        let best = node.leaves.iter().rev().max_by_key(new);
        match best.filter(|leaf| new(leaf) > 0) {
            Some(leaf) => {
                held |= leaf.terms;
                leaves.push(leaf);
            }
            None => return leaves,
        }
    }
}

/// Returns where the container that begins on the line at `start` ends; `None` if that is not
/// before byte `limit`.
pub(crate) fn container_end(view: &View, start: u64, limit: u64) -> io::Result<Option<u64>> {
    let text = view.source().bytes(start, limit)?;
    let indent = text.iter().take_while(|byte| **byte == b' ').count();
    let mut at = 0;
    while let Some(newline) = memchr::memchr(b'\n', &text[at..]) {
        at += newline + 1;
        let line = &text[at..];
        let closes = line.len() > indent
            && line[..indent].iter().all(|byte| *byte == b' ')
            && matches!(line[indent], b'}' | b']');
        if closes {
            let rest = memchr::memchr(b'\n', line).map_or(line.len(), |newline| newline + 1);
            return Ok(Some(start + (at + rest) as u64));
        }
    }
    Ok(None)
}
