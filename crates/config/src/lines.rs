//! The lines of a text, by which bytes become places.

use crate::node::Position;

/// Bytes of a line after which its bytes are counted for its characters.
const LONG_LINE: usize = 10_000;

/// Where the lines of a text begin: its places are looked up by the thousand.
pub(crate) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(breaks).collect(),
        }
    }

    /// The place of a byte.
    pub(crate) fn place(&self, byte: usize) -> Position {
        let line = self.starts.partition_point(|&start| start <= byte);
        let start = self.starts[line - 1];
        let before = self.text.get(start..byte).unwrap_or_default();
        // Characters of a line of megabytes would be counted over and over.
        let characters = match before.len() > LONG_LINE {
            true => before.len(),
            false => before.chars().count(),
        };
        Position {
            line,
            column: 1 + characters,
        }
    }
}
