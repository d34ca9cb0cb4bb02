//! The lines of a text, to convert byte offsets to positions.

use crate::node::Position;

/// Bytes of a line above which columns count bytes instead of characters.
const LONG_LINE: usize = 10_000;

/// The offsets at which lines start, because positions are looked up by the thousand.
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

    /// Returns the position of a byte offset.
    pub(crate) fn place(&self, byte: usize) -> Position {
        let line = self.starts.partition_point(|&start| start <= byte);
        let start = self.starts[line - 1];
        let before = self.text.get(start..byte).unwrap_or_default();
        // Avoids counting the characters of a line of megabytes again and again.
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
