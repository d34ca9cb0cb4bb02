//! Opens stored views and finds their lines by number and by offset.

use std::io;
use std::sync::Arc;

use spillgate_artifact::{ByteSource, Interrupt, Interruptible, Layout};

use crate::index::{Anchor, LineIndex};
use crate::lines::{HARD_BYTES, SOFT_CHARS, line_end};

/// Bytes read at a time while searching for lines. This is the distance between two anchors.
const READ: usize = 64 << 10;

/// A stored view, opened for reading.
#[derive(Debug)]
pub struct View {
    source: Arc<dyn ByteSource>,
    index: Arc<LineIndex>,
    layout: Layout,
}

/// A view line: the bytes `start..end` of the view, including its newline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineSpan {
    /// The 1-based number of the line.
    pub number: u64,
    /// The offset of its first byte.
    pub start: u64,
    /// The offset after its last byte.
    pub end: u64,
}

impl View {
    /// Returns a view of `source` with the line index `index`.
    #[must_use]
    pub fn new(source: Arc<dyn ByteSource>, index: LineIndex, layout: Layout) -> Self {
        Self {
            source,
            index: Arc::new(index),
            layout,
        }
    }

    /// Returns the same view, but its reads fail as soon as `interrupt` ends the work.
    #[must_use]
    pub fn until(&self, interrupt: &Interrupt) -> Self {
        let source = Interruptible::new(Arc::clone(&self.source), interrupt.clone());
        self.in_source(Arc::new(source))
    }

    /// Returns the same view with its bytes in another source.
    #[must_use]
    pub fn in_source(&self, source: Arc<dyn ByteSource>) -> Self {
        Self {
            source,
            index: Arc::clone(&self.index),
            layout: self.layout,
        }
    }

    /// Returns the bytes of the view.
    #[must_use]
    pub fn source(&self) -> &dyn ByteSource {
        &*self.source
    }

    /// Returns the bytes of the view, shared.
    #[must_use]
    pub fn shared(&self) -> &Arc<dyn ByteSource> {
        &self.source
    }

    /// Returns the sparse index of the view's lines.
    #[must_use]
    pub fn index(&self) -> &LineIndex {
        &self.index
    }

    /// Returns the layout of the view.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the number of view lines.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.index.lines
    }

    /// Returns the size of the view in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.source.len()
    }

    /// Returns the offset of the 1-based `line`. For a line after the last one, returns the end of
    /// the view.
    pub fn offset_of_line(&self, line: u64) -> io::Result<u64> {
        let mut lines = self.lines_from(line)?;
        Ok(lines.next_line()?.map_or(self.bytes(), |found| found.start))
    }

    /// Returns the 1-based number of the line that contains the byte `offset`.
    pub fn line_of_offset(&self, offset: u64) -> io::Result<u64> {
        let mut lines = self.walk(self.index.before_offset(offset));
        let mut last = 1;
        while let Some(line) = lines.next_line()? {
            last = line.number;
            if line.end > offset {
                break;
            }
        }
        Ok(last)
    }

    /// Returns the line that contains the byte `offset`. For an offset past the end, returns the
    /// last line.
    pub fn line_at(&self, offset: u64) -> io::Result<Option<LineSpan>> {
        let mut lines = self.walk(self.index.before_offset(offset));
        let mut last = None;
        while let Some(line) = lines.next_line()? {
            last = Some(line);
            if line.end > offset {
                break;
            }
        }
        Ok(last)
    }

    /// Returns the lines from the 1-based `line` on.
    pub fn lines_from(&self, line: u64) -> io::Result<Lines<'_>> {
        let wanted = line.max(1);
        let mut lines = self.walk(self.index.before_line(wanted - 1));
        while lines.number < wanted && lines.next_line()?.is_some() {}
        Ok(lines)
    }

    /// Checks that a line can begin at `offset`. If no lines are broken, the byte before it must be
    /// a newline.
    fn check_start(&self, offset: u64) -> io::Result<()> {
        let is_broken =
            self.layout == Layout::Markup || self.index.longest_line > SOFT_CHARS as u64;
        if is_broken || self.source.bytes(offset - 1, offset)? == b"\n" {
            return Ok(());
        }
        let what =
            format!("damaged: by its index a line begins at byte {offset}, by its text none does");
        Err(io::Error::new(io::ErrorKind::InvalidData, what))
    }

    fn walk(&self, anchor: Anchor) -> Lines<'_> {
        Lines {
            view: self,
            number: anchor.line + 1,
            start: anchor.offset,
            buffer: Vec::new(),
            at: 0,
        }
    }
}

/// Walks the view lines in order.
#[derive(Debug)]
pub struct Lines<'a> {
    view: &'a View,
    /// Number of the next line.
    number: u64,
    /// The offset of the next line in the view.
    start: u64,
    buffer: Vec<u8>,
    /// The position of the next line in the buffer.
    at: usize,
}

impl Lines<'_> {
    /// Returns the next line; `None` after the last line.
    pub fn next_line(&mut self) -> io::Result<Option<LineSpan>> {
        let mut found = self.end_in_buffer(false);
        if found.is_none() {
            let at_end = self.refill()?;
            found = self.end_in_buffer(at_end);
        }
        let Some(length) = found else {
            return Ok(None);
        };
        let line = LineSpan {
            number: self.number,
            start: self.start,
            end: self.start + length as u64,
        };
        self.number += 1;
        self.start = line.end;
        self.at += length;
        Ok(Some(line))
    }

    /// Returns the next line with its bytes.
    pub fn next_bytes(&mut self) -> io::Result<Option<(LineSpan, &[u8])>> {
        let Some(line) = self.next_line()? else {
            return Ok(None);
        };
        let length = usize::try_from(line.end - line.start).unwrap_or(usize::MAX);
        Ok(Some((line, &self.buffer[self.at - length..self.at])))
    }

    fn end_in_buffer(&self, at_end: bool) -> Option<usize> {
        line_end(&self.buffer[self.at..], self.view.layout, at_end)
    }

    /// Reads more bytes, so that the buffer contains at least one complete line. Returns whether
    /// the view ends in the buffer.
    fn refill(&mut self) -> io::Result<bool> {
        let is_inside = self.start > 0 && self.start < self.view.bytes();
        if self.buffer.is_empty() && is_inside {
            self.view.check_start(self.start)?;
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        let from = self.start + self.buffer.len() as u64;
        let wanted = READ.max(HARD_BYTES + 1) as u64;
        let more = self.view.source.bytes(from, from + wanted)?;
        self.buffer.extend_from_slice(&more);
        Ok(from + more.len() as u64 >= self.view.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Indexer;

    fn view(text: &str) -> View {
        let mut indexer = Indexer::as_is(Layout::AsIs);
        indexer.feed(text.as_bytes());
        View::new(
            Arc::new(text.as_bytes().to_vec()),
            indexer.finish(),
            Layout::AsIs,
        )
    }

    #[test]
    fn every_line_is_found_by_number_and_by_offset() {
        let long = "word ".repeat(900);
        let text: String = (0..9000)
            .map(|i| match i % 1000 {
                7 => format!("{long}\n"),
                _ => format!("line {i}\n"),
            })
            .collect();
        let view = view(&text);
        let mut lines = view.lines_from(1).unwrap();
        let mut count = 0;
        while let Some(line) = lines.next_line().unwrap() {
            count += 1;
            assert_eq!(line.number, count);
            if count % 97 == 0 {
                assert_eq!(view.offset_of_line(count).unwrap(), line.start);
                assert_eq!(view.line_of_offset(line.start).unwrap(), count);
                assert_eq!(view.line_of_offset(line.end - 1).unwrap(), count);
            }
        }
        assert_eq!(count, view.lines());
        assert_eq!(view.offset_of_line(count + 1).unwrap(), view.bytes());
    }

    #[test]
    fn an_index_that_does_not_fit_the_text_is_noticed() {
        let mut view = view(&"0123456789\n".repeat(50_000));
        Arc::make_mut(&mut view.index).anchors[3].offset += 1;
        let line = view.index.anchors[3].line + 1;
        let error = view.offset_of_line(line + 5).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
        assert!(view.offset_of_line(5).is_ok());
    }

    #[test]
    fn past_the_last_line_is_the_end() {
        for text in ["one", "one\n", "one\ntwo"] {
            let view = view(text);
            for line in view.lines() + 1..view.lines() + 4 {
                let offset = view.offset_of_line(line).unwrap();
                assert_eq!(offset, view.bytes(), "{text:?} {line}");
            }
        }
    }

    #[test]
    fn an_empty_view_has_no_line() {
        let view = view("");
        assert_eq!(view.lines(), 0);
        assert_eq!(view.lines_from(1).unwrap().next_line().unwrap(), None);
        assert_eq!(view.line_at(0).unwrap(), None);
    }
}
