//! Scans a whole view, in two threads if it is large.
//!
//! Only places with a hit are examined: the *unit* around the hit (a line, a paragraph) is then cut
//! out of the text. The view is read in windows of a mapped file, so memory use does not grow with
//! it.

use std::io;

use memchr::{memchr, memrchr};
use spillgate_artifact::Layout;
use spillgate_text::{HARD_BYTES, SOFT_CHARS, View, line_end};

use crate::matcher::{Matcher, WordCache};
use crate::question::Terms;
use crate::rows::RowScanner;

/// Views of at least this many bytes are scanned by two threads; below, starting a thread costs
/// more than it saves.
const TWO_THREADS: u64 = 4 << 20;

/// Bytes that are searched at a time: they stay in the processor's second-level cache, and few
/// lines at their ends are read twice.
pub(crate) const WINDOW: u64 = 512 << 10;

/// The kind of unit in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A view line.
    Line,
    /// Lines without a blank line between them, up to [`PARAGRAPH_BYTES`].
    Paragraph,
    /// A line of the text up to [`RECORD_BYTES`]; of a longer one, a view line.
    Record,
    /// A row of a table with its quoted cells, up to [`RECORD_BYTES`]; of a longer one, a view
    /// line.
    Row,
}

/// Longest record on one line that is shown whole, in bytes: 512 tokens.
pub(crate) const RECORD_BYTES: usize = 2000;

/// A paragraph is cut at the end of a line beyond this many bytes, about 200 tokens.
const PARAGRAPH_BYTES: usize = 900;
/// Lines of at least this many bytes are paragraphs of their own.
const LONG_LINE: usize = 240;

/// A unit with hits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitHit<'t> {
    /// First byte in the view.
    pub start: u64,
    /// The bytes.
    pub text: &'t [u8],
    /// The terms in it.
    pub terms: Terms,
    /// Number of hits in it.
    pub hits: u32,
}

/// Receives units with hits, front to back.
pub(crate) trait Collect: Send {
    /// Takes the next unit.
    fn unit(&mut self, unit: UnitHit<'_>);
}

/// Scans a view. Returns the collector of each part, front to back.
pub(crate) fn scan<C: Collect>(
    view: &View,
    matcher: &Matcher,
    unit: Unit,
    collector: impl Fn() -> C,
) -> io::Result<Vec<C>> {
    let parts = if view.bytes() >= TWO_THREADS { 2 } else { 1 };
    scan_parts(view, matcher, unit, parts, collector)
}

fn scan_parts<C: Collect>(
    view: &View,
    matcher: &Matcher,
    unit: Unit,
    parts: u64,
    collector: impl Fn() -> C,
) -> io::Result<Vec<C>> {
    let mut bounds = vec![0];
    for part in 1..parts {
        bounds.push(hard_line_start(view, view.bytes() * part / parts)?);
    }
    bounds.push(view.bytes());
    bounds.dedup();
    std::thread::scope(|scope| {
        let threads: Vec<_> = bounds
            .windows(2)
            .map(|pair| {
                let (start, end) = (pair[0], pair[1]);
                let mut part = PartScan {
                    view,
                    matcher,
                    unit,
                    collect: collector(),
                };
                scope.spawn(move || part.scan(start, end).map(|()| part.collect))
            })
            .collect();
        let failed = |_| Err(io::Error::other("a search thread panicked"));
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(failed))
            .collect()
    })
}

/// Returns the first byte after a newline, searched from `near`; the end of the view if there is
/// none.
fn hard_line_start(view: &View, near: u64) -> io::Result<u64> {
    const STEP: u64 = 64 << 10;
    let mut from = near.max(1) - 1;
    while from < view.bytes() {
        let block = view.source().bytes(from, from + STEP)?;
        if let Some(at) = memchr(b'\n', &block) {
            return Ok(from + at as u64 + 1);
        }
        from += block.len() as u64;
    }
    Ok(view.bytes())
}

/// The scan of one part of the view.
struct PartScan<'a, C> {
    view: &'a View,
    matcher: &'a Matcher,
    unit: Unit,
    collect: C,
}

impl<C: Collect> PartScan<'_, C> {
    fn scan(&mut self, start: u64, end: u64) -> io::Result<()> {
        let mut known = WordCache::default();
        let (mut base, mut buffer) = (start, Vec::new());
        while base < end {
            let stop = end.min(base + WINDOW);
            let bytes = self.view.source().window(base, stop, &mut buffer)?;
            let cut = match stop == end {
                true => bytes.len(),
                false => whole_lines(bytes, self.view.layout()),
            };
            self.window(base, &bytes[..cut], &mut known);
            base += cut as u64;
        }
        Ok(())
    }

    fn window(&mut self, base: u64, text: &[u8], known: &mut WordCache) {
        let mut rows = RowScanner::default();
        let mut open: Option<(usize, usize, Terms, u32)> = None;
        for hit in self.matcher.hits(text, known) {
            match &mut open {
                Some((_, end, terms, hits)) if hit.at < *end => {
                    *terms |= hit.terms;
                    *hits += 1;
                }
                _ => {
                    let floor = open.map_or(0, |(_, end, ..)| end);
                    self.close(base, text, open);
                    let (start, end) = self.around(text, hit.at, floor, &mut rows);
                    open = Some((start, end, hit.terms, 1));
                }
            }
        }
        self.close(base, text, open);
    }

    fn close(&mut self, base: u64, text: &[u8], open: Option<(usize, usize, Terms, u32)>) {
        if let Some((start, end, terms, hits)) = open {
            let (start, text) = (base + start as u64, &text[start..end]);
            self.collect.unit(UnitHit {
                start,
                text,
                terms,
                hits,
            });
        }
    }

    /// Returns the unit that contains byte `at`; `floor` is the end of the unit before.
    fn around(
        &self,
        text: &[u8],
        at: usize,
        floor: usize,
        rows: &mut RowScanner,
    ) -> (usize, usize) {
        let layout = self.view.layout();
        let (start, end) = line_around(text, at, floor, layout);
        match self.unit {
            // Each row of a Markdown table is a unit of its own.
            Unit::Paragraph if text[start] == b'|' => (start, end),
            Unit::Paragraph if end - start < LONG_LINE => paragraph(text, start, end, floor),
            Unit::Row => rows
                .around(text, at)
                .filter(|row| row.0 >= floor)
                .unwrap_or((start, end)),
            Unit::Record => record(text, at, floor).unwrap_or((start, end)),
            _ => (start, end),
        }
    }
}

/// Returns the line of the text that contains byte `at`; `None` if it is too long.
fn record(text: &[u8], at: usize, floor: usize) -> Option<(usize, usize)> {
    let low = floor.max(at.saturating_sub(RECORD_BYTES));
    let start = match memrchr(b'\n', &text[low..at]) {
        Some(newline) => low + newline + 1,
        None if low == 0 || text[low - 1] == b'\n' => low,
        None => return None,
    };
    let high = text.len().min(start + RECORD_BYTES);
    match memchr(b'\n', &text[at..high]) {
        Some(newline) => Some((start, at + newline + 1)),
        None if high == text.len() => Some((start, high)),
        None => None,
    }
}

/// Extends the line `start..end` by the lines around it that belong to its paragraph.
fn paragraph(text: &[u8], mut start: usize, mut end: usize, floor: usize) -> (usize, usize) {
    let belongs = |line: &[u8]| {
        line.len() < LONG_LINE
            && !line.starts_with(b"|")
            && line.iter().any(|byte| !byte.is_ascii_whitespace())
    };
    while start > floor && text[start - 1] == b'\n' && end - start < PARAGRAPH_BYTES / 2 {
        let low = floor.max(start.saturating_sub(LONG_LINE + 1));
        let before = low + memrchr(b'\n', &text[low..start - 1]).map_or(0, |at| at + 1);
        if !belongs(&text[before..start]) {
            break;
        }
        start = before;
    }
    while end < text.len() && text[end - 1] == b'\n' && end - start < PARAGRAPH_BYTES {
        let high = text.len().min(end + LONG_LINE);
        let Some(newline) = memchr(b'\n', &text[end..high]) else {
            break;
        };
        if !belongs(&text[end..=end + newline]) {
            break;
        }
        end += newline + 1;
    }
    (start, end)
}

/// Returns the view line that contains byte `at`. A view line begins at `floor`, which is at or
/// before `at`.
pub(crate) fn line_around(text: &[u8], at: usize, floor: usize, layout: Layout) -> (usize, usize) {
    let mut start = floor + memrchr(b'\n', &text[floor..at]).map_or(0, |at| at + 1);
    let ahead = &text[at..text.len().min(at + HARD_BYTES)];
    let newline = memchr(b'\n', ahead).map(|newline| at + newline + 1);
    if let Some(end) = newline
        && end - start <= SOFT_CHARS
        && layout != Layout::Markup
    {
        return (start, end);
    }
    loop {
        let end = start + line_end(&text[start..], layout, true).unwrap_or(1);
        if end > at || end >= text.len() {
            return (start, end.min(text.len()));
        }
        start = end;
    }
}

/// Returns how many bytes of a window are whole view lines.
pub(crate) fn whole_lines(bytes: &[u8], layout: Layout) -> usize {
    if let Some(newline) = memrchr(b'\n', bytes) {
        return newline + 1;
    }
    let mut end = 0;
    while let Some(length) = line_end(&bytes[end..], layout, false) {
        end += length;
    }
    if end == 0 { bytes.len() } else { end }
}
