//! Searches with ripgrep's searcher, possibly in several parts at the same time.

use std::io;

use grep_matcher::Matcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use spillgate_artifact::Layout;
use spillgate_text::{SOFT_CHARS, View, line_end};

use super::{CostlyBoundary, LONGEST_HELD, MatchOffsets, Search, Seeker, seeker};

/// Minimum size, in bytes, of a view that is searched by two threads. For smaller views, starting a
/// thread costs more time than it saves.
const TWO_THREADS: u64 = 8 << 20;

/// Number of bytes that are searched at a time. They fit into the second-level cache of the
/// processor. Before each window, the search checks whether to continue.
const WINDOW: u64 = 256 << 10;

/// Searches the view.
pub(super) fn search<'a>(search: &Search<'a>) -> io::Result<MatchOffsets<'a>> {
    let large = search.view.bytes() >= TWO_THREADS && search.count_all && !search.inverts;
    search_parts(search, if large { 2 } else { 1 })
}

/// Searches the view in `parts` parts at the same time. If the first part already fills the page,
/// the other parts are still counted.
pub(super) fn search_parts<'a>(search: &Search<'a>, parts: u64) -> io::Result<MatchOffsets<'a>> {
    let mut bounds = vec![0];
    for part in 1..parts {
        let near = search.view.bytes() * part / parts;
        bounds.push(hard_line_start(search.view, near)?);
    }
    bounds.push(search.view.bytes());
    bounds.dedup();
    let found: Vec<io::Result<MatchOffsets<'_>>> = std::thread::scope(|scope| {
        let mut ranges = bounds.windows(2).map(|pair| (pair[0], pair[1]));
        let first = ranges.next();
        let others: Vec<_> = ranges
            .map(|range| scope.spawn(move || search_range(search, range)))
            .collect();
        let first = first.map(|range| search_range(search, range));
        let joined = others.into_iter().map(|thread| {
            let failed = |_| Err(io::Error::other("a search thread panicked"));
            thread.join().unwrap_or_else(failed)
        });
        first.into_iter().chain(joined).collect()
    });
    let mut all = MatchOffsets::default();
    for part in found {
        let part = part?;
        all.total += part.total;
        all.offsets.extend(part.offsets);
        // A query that inverts is searched in one part.
        all.others = part.others;
    }
    all.offsets.truncate(search.wanted);
    Ok(all)
}

/// Returns the position after the first newline at or after `near`, or the end if there is none.
fn hard_line_start(view: &View, near: u64) -> io::Result<u64> {
    const STEP: u64 = 64 << 10;
    let mut from = near.max(1) - 1;
    while from < view.bytes() {
        let block = view.source().bytes(from, from + STEP)?;
        if let Some(at) = memchr::memchr(b'\n', &block) {
            return Ok(from + at as u64 + 1);
        }
        from += block.len() as u64;
    }
    Ok(view.bytes())
}

fn search_range<'a>(search: &Search<'a>, (start, end): (u64, u64)) -> io::Result<MatchOffsets<'a>> {
    let mut searcher = SearcherBuilder::new()
        .line_number(false)
        .bom_sniffing(false)
        .binary_detection(BinaryDetection::none())
        .build();
    let source = search.view.source();
    let seeker = seeker(search.pattern, source);
    let mut collector = OffsetCollector {
        search,
        seeker: &seeker,
        base: start,
        found: search.offsets()?,
        done: false,
    };
    let (mut buffer, mut size) = (Vec::new(), WINDOW);
    while collector.base < end && !collector.done {
        let stop = end.min(collector.base + size);
        let bytes = source.window(collector.base, stop, &mut buffer)?;
        // Only whole lines are searched.
        let cut = match memchr::memrchr(b'\n', bytes) {
            _ if stop == end => bytes.len(),
            Some(newline) => newline + 1,
            None if size <= LONGEST_HELD => {
                size *= 2;
                continue;
            }
            // According to the index, no line is that long, so the index is damaged.
            None => bytes.len(),
        };
        let searched = searcher.search_slice(&seeker, &bytes[..cut], &mut collector);
        // Of the error that ended it, the searcher keeps only the text.
        searched.or_else(
            |error| match error.to_string() == CostlyBoundary.to_string() {
                true => Err(io::Error::other(CostlyBoundary)),
                false => source.check().map_err(io::Error::from).and(Err(error)),
            },
        )?;
        collector.base += cut as u64;
        size = WINDOW;
    }
    Ok(collector.found)
}

/// Records matching lines as the searcher finds them.
struct OffsetCollector<'s, 'a> {
    search: &'s Search<'a>,
    seeker: &'s Seeker<'s>,
    /// The position in the view at which the current window begins.
    base: u64,
    found: MatchOffsets<'a>,
    /// Whether enough matches were found.
    done: bool,
}

impl Sink for OffsetCollector<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> io::Result<bool> {
        let line = matched.bytes();
        let start = self.base + matched.absolute_byte_offset();
        let is_one = line.len() <= SOFT_CHARS && self.search.view.layout() != Layout::Markup;
        let go_on = match is_one {
            true => self.search.note(&mut self.found, start)?,
            false => self.pieces(start, line)?,
        };
        self.done = !go_on;
        Ok(go_on)
    }
}

impl OffsetCollector<'_, '_> {
    /// Records each view line, within a line that was broken into several, on which a match begins.
    fn pieces(&mut self, start: u64, line: &[u8]) -> io::Result<bool> {
        let (mut at, mut piece_end) = (0, 0);
        // An empty match at the end would be on the line that was noted last.
        while at == 0 || at < line.len() {
            let Some(found) = self.seeker.find_at(line, at)? else {
                break;
            };
            let mut piece_start = piece_end;
            while piece_end <= found.start() {
                piece_start = piece_end;
                let layout = self.search.view.layout();
                let Some(length) = line_end(&line[piece_end..], layout, true) else {
                    break;
                };
                piece_end += length;
            }
            let offset = start + found.start().max(piece_start) as u64;
            if !self.search.note(&mut self.found, offset)? {
                return Ok(false);
            }
            at = piece_end.max(found.start() + 1);
        }
        Ok(true)
    }
}
