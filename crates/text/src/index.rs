//! Finds the offset of a view line by its number, such as line 7,000,000.

use memchr::memchr;
use spillgate_artifact::Layout;

use crate::lines::{HARD_BYTES, SOFT_CHARS, line_end};

/// Distance between two anchors, in bytes of the view. A look-up reads at most this many bytes to
/// find a line. A view of 1 GB has about 16,000 anchors, which take 400 KB.
const SPACING: u64 = 64 << 10;

/// The first bytes of a stored index. The digit is the version of the index format.
const MAGIC: &[u8; 8] = b"SGLINES1";

/// The value that a stored index contains for an unknown [`Anchor::origin`].
const UNKNOWN: u64 = u64::MAX;

/// A position in a view from which lines can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// 0-based number of the view line that begins here.
    pub line: u64,
    /// The offset of this line in the view.
    pub offset: u64,
    /// The offset in the original text from which the line was made. `None` inside a line that was
    /// broken.
    pub origin: Option<u64>,
}

/// A sparse index of the lines of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineIndex {
    /// Anchors in ascending order. The first anchor is the start of the view.
    pub anchors: Vec<Anchor>,
    /// Number of view lines.
    pub lines: u64,
    /// Size of the view in bytes.
    pub bytes: u64,
    /// Length of the longest stretch without a newline, in bytes.
    pub longest_line: u64,
}

impl LineIndex {
    /// Returns the last anchor at or before the 0-based `line`.
    #[must_use]
    pub fn before_line(&self, line: u64) -> Anchor {
        let after = self.anchors.partition_point(|anchor| anchor.line <= line);
        self.anchors[after.saturating_sub(1)]
    }

    /// Returns the last anchor at or before the byte `offset`.
    #[must_use]
    pub fn before_offset(&self, offset: u64) -> Anchor {
        let after = self
            .anchors
            .partition_point(|anchor| anchor.offset <= offset);
        self.anchors[after.saturating_sub(1)]
    }

    /// Returns the last anchor at or before the 0-based `line` whose origin is known.
    #[must_use]
    pub fn origin_before_line(&self, line: u64) -> Anchor {
        let after = self.anchors.partition_point(|anchor| anchor.line <= line);
        let known = self.anchors[..after].iter().rev();
        *known
            .clone()
            .find(|anchor| anchor.origin.is_some())
            .unwrap_or(&self.anchors[0])
    }

    /// Returns the index as bytes, which are stored with the view.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let numbers =
            [self.lines, self.bytes, self.longest_line]
                .into_iter()
                .chain(self.anchors.iter().flat_map(|anchor| {
                    [anchor.line, anchor.offset, anchor.origin.unwrap_or(UNKNOWN)]
                }));
        let mut bytes = MAGIC.to_vec();
        bytes.extend(numbers.flat_map(u64::to_le_bytes));
        bytes
    }

    /// Parses an index that [`LineIndex::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, IndexError> {
        let body = bytes.strip_prefix(MAGIC).ok_or(IndexError)?;
        let (numbers, rest) = body.as_chunks::<8>();
        let numbers: Vec<u64> = numbers.iter().map(|n| u64::from_le_bytes(*n)).collect();
        let ([lines, bytes, longest_line], anchors) =
            numbers.split_first_chunk::<3>().ok_or(IndexError)?;
        let (anchors, odd) = anchors.as_chunks::<3>();
        if anchors.is_empty() || !odd.is_empty() || !rest.is_empty() {
            return Err(IndexError);
        }
        let anchor = |&[line, offset, origin]: &[u64; 3]| Anchor {
            line,
            offset,
            origin: (origin != UNKNOWN).then_some(origin),
        };
        let anchors: Vec<Anchor> = anchors.iter().map(anchor).collect();
        let is_ascending =
            |two: &[Anchor]| two[0].line < two[1].line && two[0].offset < two[1].offset;
        let (first, last) = (anchors[0], anchors[anchors.len() - 1]);
        let fits =
            (first.line, first.offset) == (0, 0) && last.offset <= *bytes && last.line <= *lines;
        if !fits || !anchors.windows(2).all(is_ascending) {
            return Err(IndexError);
        }
        Ok(Self {
            anchors,
            lines: *lines,
            bytes: *bytes,
            longest_line: *longest_line,
        })
    }
}

/// The error for bytes that are not an index: they are damaged, or another version wrote them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the line index is damaged or of another version")]
pub struct IndexError;

/// Builds a [`LineIndex`] while the view is written.
#[derive(Debug)]
pub struct Indexer {
    layout: Layout,
    /// Whether the view is identical to the text, so that each offset is its own origin.
    same: bool,
    anchors: Vec<Anchor>,
    lines: u64,
    /// Size of the complete lines so far, in bytes.
    bytes: u64,
    /// The bytes of the line that has not ended yet. They are fewer than a view line may have.
    open: Vec<u8>,
    /// Bytes since the last newline.
    run: u64,
    longest: u64,
    /// Origin of the line that begins with the next byte.
    origin: Option<u64>,
}

impl Indexer {
    /// Returns an indexer for a view that is identical to the text.
    #[must_use]
    pub fn as_is(layout: Layout) -> Self {
        Self::new(layout, true)
    }

    /// Returns an indexer for a view made by a transformation, which calls [`Indexer::line`] to
    /// report the origins of lines.
    #[must_use]
    pub fn made(layout: Layout) -> Self {
        Self::new(layout, false)
    }

    fn new(layout: Layout, same: bool) -> Self {
        let start = Anchor {
            line: 0,
            offset: 0,
            origin: Some(0),
        };
        Self {
            layout,
            same,
            anchors: vec![start],
            lines: 0,
            bytes: 0,
            open: Vec::new(),
            run: 0,
            longest: 0,
            origin: None,
        }
    }

    /// Records that the line that begins with the next byte was made from the text at the offset
    /// `origin`.
    pub fn line(&mut self, origin: u64) {
        self.origin = Some(origin);
    }

    /// Takes the next bytes of the view.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        if !self.open.is_empty() {
            bytes = self.close_open_line(bytes);
        }
        let mut start = self.bytes;
        while let Some(end) = self.next_end(bytes) {
            self.count_line(start, &bytes[..end]);
            start += end as u64;
            bytes = &bytes[end..];
        }
        self.bytes = start;
        self.open.extend_from_slice(bytes);
    }

    /// Returns the index after the view has ended.
    #[must_use]
    pub fn finish(mut self) -> LineIndex {
        let open = std::mem::take(&mut self.open);
        let (mut rest, mut start) = (open.as_slice(), self.bytes);
        while let Some(end) = line_end(rest, self.layout, true) {
            self.count_line(start, &rest[..end]);
            start += end as u64;
            rest = &rest[end..];
        }
        LineIndex {
            anchors: self.anchors,
            lines: self.lines,
            bytes: start,
            longest_line: self.longest.max(self.run),
        }
    }

    /// Appends `bytes` to the open line up to the end of that line. Returns the remaining bytes.
    fn close_open_line<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let had = self.open.len();
        let window = bytes.len().min(HARD_BYTES + 1);
        self.open.extend_from_slice(&bytes[..window]);
        let mut open = std::mem::take(&mut self.open);
        let mut used = 0;
        while used < had {
            let Some(end) = line_end(&open[used..], self.layout, false) else {
                open.drain(..used);
                self.open = open;
                return &bytes[window..];
            };
            self.count_line(self.bytes, &open[used..used + end]);
            self.bytes += end as u64;
            used += end;
        }
        &bytes[used - had..]
    }

    /// Returns the end of the next line. Most lines are short and end at their newline; for all
    /// other lines, [`line_end`] decides.
    fn next_end(&self, bytes: &[u8]) -> Option<usize> {
        match memchr(b'\n', &bytes[..bytes.len().min(SOFT_CHARS + 1)]) {
            Some(newline) if self.layout != Layout::Markup => Some(newline + 1),
            _ => line_end(bytes, self.layout, false),
        }
    }

    fn count_line(&mut self, start: u64, line: &[u8]) {
        let origin = match self.same {
            true => Some(start),
            false => self.origin.take(),
        };
        let last = self.anchors.last().map_or(0, |anchor| anchor.offset);
        if start - last >= SPACING {
            self.anchors.push(Anchor {
                line: self.lines,
                offset: start,
                origin,
            });
        }
        self.lines += 1;
        self.run += line.len() as u64;
        if line.last() == Some(&b'\n') {
            self.longest = self.longest.max(self.run - 1);
            self.run = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn index(text: &[u8], step: usize, layout: Layout) -> LineIndex {
        let mut indexer = Indexer::as_is(layout);
        for part in text.chunks(step) {
            indexer.feed(part);
        }
        indexer.finish()
    }

    /// Counts the lines by calling [`line_end`] on the whole text.
    fn naive(text: &[u8], layout: Layout) -> (u64, u64) {
        let (mut rest, mut lines) = (text, 0);
        while let Some(end) = line_end(rest, layout, true) {
            lines += 1;
            rest = &rest[end..];
        }
        let longest = text.split(|&b| b == b'\n').map(<[u8]>::len).max();
        (lines, longest.unwrap_or(0) as u64)
    }

    #[test]
    fn anchors_are_sparse_and_true() {
        let text = "0123456789\n".repeat(50_000).into_bytes();
        let index = index(&text, 4096, Layout::AsIs);
        assert_eq!((index.lines, index.bytes), (50_000, 550_000));
        assert_eq!(index.anchors.len(), 9);
        for anchor in &index.anchors {
            assert_eq!(anchor.offset, anchor.line * 11);
            assert_eq!(anchor.origin, Some(anchor.offset));
        }
        assert_eq!(index.before_line(49_999), *index.anchors.last().unwrap());
        assert_eq!(index.before_offset(70_000).offset, 65_538);
    }

    #[test]
    fn survives_being_stored() {
        let index = index(&b"abc\n".repeat(40_000), 1000, Layout::AsIs);
        assert_eq!(LineIndex::from_bytes(&index.to_bytes()), Ok(index.clone()));
        let mut swapped = index.clone();
        swapped.anchors.swap(0, 1);
        let swapped = swapped.to_bytes();
        for damaged in [&b""[..], b"SGLINES0", &index.to_bytes()[..50], &swapped] {
            assert_eq!(LineIndex::from_bytes(damaged), Err(IndexError));
        }
    }

    proptest! {
        #[test]
        fn any_steps_give_the_same_lines(
            text in "([a-z ]{0,90}|[漢🚀]{0,700}|x{900,1100}|\n|><){0,12}",
            step in 1usize..3000,
            markup: bool,
        ) {
            let layout = if markup { Layout::Markup } else { Layout::AsIs };
            let index = index(text.as_bytes(), step, layout);
            prop_assert_eq!((index.lines, index.longest_line), naive(text.as_bytes(), layout));
            prop_assert_eq!(index.bytes, text.len() as u64);
        }
    }
}
