//! Searching views with lines too long to hold.
//!
//! The view is read in blocks that overlap: a match counts where it begins, and
//! may run on into the overlap. Longer matches than that are cut short, which
//! changes neither the line they are found on nor their number.

use std::io;

use grep_matcher::Matcher;
use spillgate_artifact::{ByteSource, Layout};
use spillgate_text::line_end;

use super::{MatchOffsets, Search, Seeker, seeker};

/// Bytes in which matches may begin.
const BLOCK: usize = 64 << 10;
/// Bytes into which they may run on.
const OVERLAP: usize = 64 << 10;

/// Searches the view.
pub(super) fn search(search: &Search<'_>) -> io::Result<MatchOffsets> {
    let source = search.view.source();
    let seeker = seeker(search.pattern, source);
    let mut found = MatchOffsets::default();
    // The view line that the next match may lie on.
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

/// A stretch of the view that begins where a view line does.
struct Block {
    /// One byte of what is before it (for `^` and `\b`), then the bytes.
    bytes: Vec<u8>,
    /// How many bytes stand before it: 0 or 1.
    lead: usize,
    /// Its first byte in the view.
    start: u64,
    /// Whether the view ends with it.
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

    /// Notes the view lines on which matches begin; gives the first byte of
    /// the line at which the next block begins, or `None` when all is done.
    fn search(
        &self,
        search: &Search<'_>,
        seeker: &Seeker<'_>,
        found: &mut MatchOffsets,
    ) -> io::Result<Option<u64>> {
        let text = &self.bytes[self.lead..];
        let layout = search.view.layout();
        let (mut line, mut line_stop) = (0, next_end(text, 0, layout));
        let mut at = 0;
        loop {
            let next = seeker.find_at(&self.bytes, self.lead + at)?;
            let begins = next.map_or(text.len(), |one| one.start() - self.lead);
            // Walk to the line that it begins on, or to the block's edge.
            let edge = match self.is_last {
                true => begins,
                false => begins.min(BLOCK),
            };
            while line_stop <= edge && line_stop < text.len() {
                line = line_stop;
                line_stop = next_end(text, line, layout);
            }
            if begins > edge || (begins >= BLOCK && !self.is_last) {
                // A line that was noted is not looked at again.
                let next = if at >= line_stop { line_stop } else { line };
                return Ok(Some(self.start + next as u64));
            }
            // A final newline begins no line for an empty match to lie on.
            let on_a_line = begins < text.len() || line_stop > line && !text.ends_with(b"\n");
            if next.is_none() || !on_a_line {
                return Ok(None);
            }
            if !search.note(found, self.start + begins as u64) {
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

/// Where the view line that begins at `start` ends.
fn next_end(text: &[u8], start: usize, layout: Layout) -> usize {
    start + line_end(&text[start..], layout, true).unwrap_or(0)
}
