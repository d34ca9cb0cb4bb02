//! Finds the secrets of a whole text, block by block.

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::{panic, thread};

use parking_lot::Mutex;
use spillgate_artifact::ByteSource;
use spillgate_text::processors;

use crate::findings::{Findings, MOST_FINDINGS};
use crate::rules::Rules;
use crate::scan::scan;

/// Bytes of a block.
pub(crate) const BLOCK: u64 = 1 << 20;
/// Bytes on each side of a block that are read with it. Twice as long as what a secret can need:
/// an escape has more bytes than what it stands for.
pub(crate) const MARGIN: u64 = 128 << 10;
/// The fewest blocks of each thread.
const BLOCKS_PER_THREAD: u64 = 4;
/// The most threads.
const MOST_THREADS: u64 = 4;

/// Finds the secrets of a text.
///
/// The text should be UTF-8. Memory is bounded by [`MOST_FINDINGS`] and a few blocks of 1 MiB. Large
/// texts are searched by several threads.
///
/// # Errors
///
/// Fails if the source cannot be read.
pub fn find(rules: &Rules, source: &dyn ByteSource) -> io::Result<Findings> {
    find_in_blocks(rules, source, BLOCK)
}

/// Like [`find`], with a block size for tests.
#[doc(hidden)]
pub fn find_in_blocks(rules: &Rules, source: &dyn ByteSource, block: u64) -> io::Result<Findings> {
    let length = source.len();
    let blocks = length.div_ceil(block);
    let next = AtomicU64::new(0);
    let count = AtomicUsize::new(0);
    let all = Mutex::new(Vec::new());
    let work = || -> io::Result<()> {
        let mut buffer = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= blocks || count.load(Ordering::Relaxed) > 2 * MOST_FINDINGS {
                return Ok(());
            }
            let hits = hits_of(rules, source, block, index, &mut buffer)?;
            if hits.is_empty() {
                continue;
            }
            count.fetch_add(hits.len(), Ordering::Relaxed);
            all.lock().extend(hits);
        }
    };
    let threads = (processors() as u64)
        .min(MOST_THREADS)
        .min(blocks / BLOCKS_PER_THREAD);
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut result = work();
        for other in others {
            let other = other.join();
            result = result.and(other.unwrap_or_else(|panicked| panic::resume_unwind(panicked)));
        }
        result
    })?;
    if count.into_inner() > 2 * MOST_FINDINGS {
        return Ok(Findings::too_many_of());
    }
    joined(rules, all.into_inner(), |start, end| {
        source.bytes(start, end)
    })
}

/// Returns the secrets that begin in a block of `block` bytes: their start, their end and their rule.
/// They depend on the text and the size of the blocks alone.
pub(crate) fn hits_of(
    rules: &Rules,
    source: &dyn ByteSource,
    block: u64,
    index: u64,
    buffer: &mut Vec<u8>,
) -> io::Result<Vec<(u64, u64, u16)>> {
    source.check().map_err(io::Error::from)?;
    let start = index * block;
    let end = source.len().min(start + block);
    let first = start.saturating_sub(MARGIN);
    let window = source.window(first, source.len().min(end + MARGIN), buffer)?;
    let within = |at: u64| usize::try_from(at - first).map_err(io::Error::other);
    let hits = scan(rules, window, within(start)?..within(end)?);
    let at = |at: usize| first + at as u64;
    let hits = hits.into_iter();
    Ok(hits
        .map(|hit| (at(hit.range.start), at(hit.range.end), hit.rule))
        .collect())
}

/// Finds the secrets of a text in memory, for texts so short that the preparations of [`find`] would
/// take longer than the search. `None` if there are none.
pub(crate) fn find_in_short(rules: &Rules, text: &[u8]) -> io::Result<Option<Findings>> {
    let hits = scan(rules, text, 0..text.len());
    if hits.is_empty() {
        return Ok(None);
    }
    let hits = hits.into_iter();
    let found = hits.map(|hit| (hit.range.start as u64, hit.range.end as u64, hit.rule));
    let part = |at: u64| usize::try_from(at).map_err(io::Error::other);
    let secret = |start, end| Ok(text[part(start)?..part(end)?].to_vec());
    joined(rules, found.collect(), secret).map(Some)
}

/// Joins what the blocks gave to the findings of a text.
fn joined(
    rules: &Rules,
    found: Vec<(u64, u64, u16)>,
    secret: impl FnMut(u64, u64) -> io::Result<Vec<u8>>,
) -> io::Result<Findings> {
    if found.is_empty() {
        return Ok(Findings::default());
    }
    let ids: Vec<&str> = rules.ids().collect();
    Findings::new(found, &ids, secret)
}
