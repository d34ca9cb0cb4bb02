//! Leaves of a JSON document.

use spillgate_artifact::Layout;
use spillgate_text::SOFT_CHARS;

use crate::matcher::Hit;
use crate::question::Terms;
use crate::scan::line_around;

/// Leaves with hits that a record remembers.
const LEAVES: usize = 12;

/// A line, or a view line of a long one, with hits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Leaf {
    /// Its first byte in the view.
    pub start: u64,
    /// The byte after its last one.
    pub end: u64,
    /// The terms on it and above it.
    pub terms: Terms,
    /// Its path.
    pub path: String,
}

/// A line of the view, without its newline.
#[derive(Clone, Copy)]
pub(crate) struct Line<'t> {
    /// First byte in the view.
    pub start: u64,
    /// Its bytes.
    pub text: &'t [u8],
    /// Where in the window it begins.
    pub at: usize,
}

/// Whether a leaf with `terms` says more than each of the others.
pub(crate) fn is_telling(leaves: &[Leaf], terms: Terms) -> bool {
    leaves.iter().all(|leaf| terms & !leaf.terms != 0)
}

/// Keeps the leaves that have something to say that no other has.
pub(crate) fn remember(leaves: &mut Vec<Leaf>, leaf: Leaf) {
    if is_telling(leaves, leaf.terms) {
        leaves.retain(|other| other.terms & !leaf.terms != 0);
        leaves.push(leaf);
        leaves.truncate(LEAVES);
    }
}

/// A line's view lines with hits.
pub(crate) fn pieces<'h>(
    line: Line<'_>,
    hits: &'h [Hit],
    window: &[u8],
) -> Vec<(u64, u64, &'h [Hit])> {
    let end = line.start + line.text.len() as u64 + 1;
    if line.text.len() <= SOFT_CHARS {
        return match hits.is_empty() {
            true => Vec::new(),
            false => vec![(line.start, end, hits)],
        };
    }
    let mut pieces = Vec::new();
    let (mut from, mut floor) = (0, line.at);
    while let Some(first) = hits.get(from) {
        let (start, stop) = line_around(window, first.at, floor, Layout::Json);
        let count = hits[from..]
            .iter()
            .take_while(|hit| hit.at < stop)
            .count()
            .max(1);
        let base = line.start - line.at as u64;
        pieces.push((
            base + start as u64,
            base + stop as u64,
            &hits[from..from + count],
        ));
        from += count;
        floor = stop;
    }
    pieces
}

/// The length of the JSON string that `text` begins with, quotes included.
pub(crate) fn string_end(text: &[u8]) -> Option<usize> {
    if text.first() != Some(&b'"') {
        return None;
    }
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}
