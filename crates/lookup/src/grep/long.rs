//! Searches views whose lines are too long to hold in memory.
//!
//! The view is read in overlapping blocks. A match belongs to the block in which it begins and may
//! extend into the overlap. A match that is longer still is cut off, which changes neither the line
//! on which it is found nor the number of matching lines.

use std::io;

use grep_matcher::Matcher;
use spillgate_artifact::{ByteSource, Layout};
use spillgate_text::line_end;

use super::{MatchOffsets, Search, Seeker, seeker};

/// Size of the part of a block in which matches may begin, in bytes.
const BLOCK: usize = 64 << 10;
/// Size of the overlap, into which matches may extend, in bytes.
const OVERLAP: usize = 64 << 10;

/// Searches the view.
pub(super) fn search<'a>(search: &Search<'a>) -> io::Result<MatchOffsets<'a>> {
    let source = search.view.source();
    let seeker = seeker(search.pattern, source);
    let mut found = search.offsets()?;
    // The start of the view line on which the next match may begin.
    let mut line_start = 0u64;
    while line_start < source.len() {
        let block = Block::read(source, line_start)?;
        match block.search(search, &seeker, &mut found)? {
            Some(next) => line_start = next,
            None => break,
        }
    }
    Ok(found)
}

/// A part of the view that begins at the start of a view line.
struct Block {
    /// The byte before the block, if there is one (`^` and `\b` need it), followed by the block.
    bytes: Vec<u8>,
    /// Number of bytes before the block: 0 or 1.
    lead: usize,
    /// Position of the block in the view.
    start: u64,
    /// Whether the block extends to the end of the view.
    is_last: bool,
}

impl Block {
    fn read(source: &dyn ByteSource, start: u64) -> io::Result<Self> {
        let lead = u64::from(start > 0);
        let end = start + (BLOCK + OVERLAP) as u64;
        Ok(Self {
            bytes: source.bytes(start - lead, end)?,
            lead: usize::from(start > 0),
            start,
            is_last: end >= source.len(),
        })
    }

    /// Records the view lines on which matches begin. Returns the start of the line at which the
    /// next block begins, or `None` if the search is finished.
    fn search<'a>(
        &self,
        search: &Search<'a>,
        seeker: &Seeker<'_>,
        found: &mut MatchOffsets<'a>,
    ) -> io::Result<Option<u64>> {
        let text = &self.bytes[self.lead..];
        let layout = search.view.layout();
        let (mut line, mut line_stop) = (0, next_end(text, 0, layout));
        let mut at = 0;
        loop {
            let next = seeker.find_at(&self.bytes, self.lead + at)?;
            let begins = next.map_or(text.len(), |one| one.start() - self.lead);
            // Advance to the line on which the match begins, or to the end of the block.
            let edge = match self.is_last {
                true => begins,
                false => begins.min(BLOCK),
            };
            while line_stop <= edge && line_stop < text.len() {
                line = line_stop;
                line_stop = next_end(text, line, layout);
            }
            if begins > edge || (begins >= BLOCK && !self.is_last) {
                // A line that was already recorded is not searched again.
                let next = if at >= line_stop { line_stop } else { line };
                return Ok(Some(self.start + next as u64));
            }
            // No line begins after a final newline, so an empty match there is not on a line.
            let on_a_line = begins < text.len() || line_stop > line && !text.ends_with(b"\n");
            if next.is_none() || !on_a_line {
                return Ok(None);
            }
            if !search.note(found, self.start + begins as u64)? {
                return Ok(None);
            }
            at = line_stop.max(begins + 1);
            if at >= text.len() {
                return Ok(match self.is_last {
                    true => None,
                    false => Some(self.start + line_stop as u64),
                });
            }
        }
    }
}

/// Returns the end of the view line that begins at `start`.
fn next_end(text: &[u8], start: usize, layout: Layout) -> usize {
    start + line_end(&text[start..], layout, true).unwrap_or(0)
}
