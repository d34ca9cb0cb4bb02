//! The lines of a text, to convert byte offsets to positions.

use crate::node::Position;

/// In lines of more bytes than this, columns count bytes instead of characters.
const LONG_LINE: usize = 10_000;

/// The offsets at which lines start. They are kept, because thousands of positions may be looked
/// up.
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
        // In a very long line, the characters are not counted for each position.
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
