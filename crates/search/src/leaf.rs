//! The leaves of a JSON document.

use spillgate_artifact::Layout;
use spillgate_text::SOFT_CHARS;

use crate::matcher::Hit;
use crate::question::Terms;
use crate::scan::line_around;

/// Maximum number of lines with hits that are kept for one record.
const LEAVES: usize = 12;

/// A line with hits, or a view line of a long one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Leaf {
    /// First byte in the view.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
    /// The terms on the line and in the keys above it.
    pub terms: Terms,
    /// The path as jq writes it.
    pub path: String,
}

/// A line of the view, without its newline.
#[derive(Clone, Copy)]
pub(crate) struct Line<'t> {
    /// First byte in the view.
    pub start: u64,
    /// The bytes.
    pub text: &'t [u8],
    /// Byte of the window at which it begins.
    pub at: usize,
}

/// Returns whether `terms` has a term that each of the leaves lacks.
pub(crate) fn is_telling(leaves: &[Leaf], terms: Terms) -> bool {
    leaves.iter().all(|leaf| terms & !leaf.terms != 0)
}

/// Adds a leaf if it has a term that each of the others lacks, and drops the leaves that it covers.
pub(crate) fn remember(leaves: &mut Vec<Leaf>, leaf: Leaf) {
    if is_telling(leaves, leaf.terms) {
        leaves.retain(|other| other.terms & !leaf.terms != 0);
        leaves.push(leaf);
        leaves.truncate(LEAVES);
    }
}

/// Returns the view lines of a line that have hits: first byte, the byte after the last one, the
/// hits.
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

/// Returns the length of the JSON string at the start of `text`, quotes included; `None` if there
/// is none.
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
