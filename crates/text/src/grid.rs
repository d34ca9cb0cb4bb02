//! Finds the offset of a line of a file by its number, such as line 7,000,000, even if lines are
//! long.
//!
//! View lines are broken if they are long, but the lines of editors, `grep -n` and `sed` are not.
//! This module counts unbroken lines, block by block. Blocks do not depend on each other, so
//! several threads count at the same time.

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use memchr::memchr_iter;
use spillgate_artifact::ByteSource;

use crate::processors;

/// Bytes of a block, unless the source would then have more than [`MOST_BLOCKS`] blocks.
const BLOCK: u64 = 64 << 10;

/// Maximum number of blocks of a source. The counts of this many blocks take 512 KiB.
const MOST_BLOCKS: u64 = 64 << 10;

/// Number of blocks that justify another thread.
const FEW_BLOCKS: usize = 16;

/// Maximum number of counting threads. More threads are not faster, because the speed of memory is
/// the limit.
const MOST_THREADS: usize = 8;

/// The encoding of a newline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Newline {
    /// The byte 10, in ASCII, UTF-8 and all encodings that contain ASCII.
    Byte,
    /// The bytes 10, 0 at an even offset.
    Utf16Le,
    /// The bytes 0, 10 at an even offset.
    Utf16Be,
}

impl Newline {
    /// Returns the length of a newline in bytes.
    #[must_use]
    pub fn width(self) -> u64 {
        match self {
            Self::Byte => 1,
            Self::Utf16Le | Self::Utf16Be => 2,
        }
    }

    /// Counts the newlines in `bytes`, which begin at an even offset.
    #[must_use]
    pub fn count(self, bytes: &[u8]) -> u64 {
        match self {
            Self::Byte => memchr_iter(b'\n', bytes).count() as u64,
            Self::Utf16Le | Self::Utf16Be => self.ends(bytes).count() as u64,
        }
    }

    /// Returns the offset after each newline in `bytes`.
    fn ends(self, bytes: &[u8]) -> impl Iterator<Item = usize> {
        memchr_iter(b'\n', bytes).filter_map(move |at| match self {
            Self::Byte => Some(at + 1),
            Self::Utf16Le => (at % 2 == 0 && bytes.get(at + 1) == Some(&0)).then_some(at + 2),
            Self::Utf16Be => (at % 2 == 1 && bytes[at - 1] == 0).then_some(at + 1),
        })
    }
}

/// The line numbers of a source: one count per block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineGrid {
    newline: Newline,
    bytes: u64,
    /// Bytes of a block.
    block: u64,
    /// For each block, the number of newlines before its end.
    until: Vec<u64>,
    /// Whether bytes follow the last newline, so that the last line has no newline.
    is_open: bool,
}

impl LineGrid {
    /// Counts the lines of `source`. Returns `None` if `stop` returned true before the count was
    /// complete.
    pub fn of(
        source: &dyn ByteSource,
        newline: Newline,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> io::Result<Option<Self>> {
        let bytes = source.len();
        let block = bytes.div_ceil(MOST_BLOCKS).next_power_of_two().max(BLOCK);
        let blocks = bytes.div_ceil(block);
        let count = NewlineCounter {
            source,
            newline,
            block,
            stop,
            counts: (0..blocks).map(|_| AtomicU64::new(0)).collect(),
            next: AtomicUsize::new(0),
        };
        let Some(mut until) = count.all()? else {
            return Ok(None);
        };
        let mut before = 0;
        for count in &mut until {
            before += *count;
            *count = before;
        }
        let end = source.bytes(bytes.saturating_sub(newline.width()), bytes)?;
        let is_aligned = bytes.is_multiple_of(newline.width());
        let is_open = bytes > 0 && !(is_aligned && newline.count(&end) == 1);
        Ok(Some(Self {
            newline,
            bytes,
            block,
            until,
            is_open,
        }))
    }

    /// Returns the number of lines. Bytes after the last newline count as a line.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.until.last().copied().unwrap_or(0) + u64::from(self.is_open)
    }

    /// Returns the size of the source in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the offset of the 0-based `line`. For a line after the last one, returns the end of
    /// the source.
    pub fn offset_of_line(&self, source: &dyn ByteSource, line: u64) -> io::Result<u64> {
        if line == 0 {
            return Ok(0);
        }
        // The line begins after newline number `line`, counted from 1.
        let block = self.until.partition_point(|&until| until < line);
        if block == self.until.len() {
            return Ok(self.bytes);
        }
        let passed = block.checked_sub(1).map_or(0, |before| self.until[before]);
        let mut left = line - passed;
        let mut at = block as u64 * self.block;
        let end = at.saturating_add(self.block).min(self.bytes);
        while at < end {
            let bytes = source.bytes(at, end.min(at + BLOCK))?;
            let mut ends = self.newline.ends(&bytes);
            let wanted = usize::try_from(left - 1).unwrap_or(usize::MAX);
            if let Some(found) = ends.nth(wanted) {
                return Ok(at + found as u64);
            }
            left -= self.newline.count(&bytes);
            at += bytes.len() as u64;
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Counts newlines with one thread per processor, up to [`MOST_THREADS`] threads.
struct NewlineCounter<'a> {
    source: &'a dyn ByteSource,
    newline: Newline,
    block: u64,
    stop: &'a (dyn Fn() -> bool + Sync),
    /// Number of newlines in each block.
    counts: Vec<AtomicU64>,
    /// The block to count next.
    next: AtomicUsize,
}

impl NewlineCounter<'_> {
    /// Returns the number of newlines in each block; `None` if the count was stopped.
    fn all(self) -> io::Result<Option<Vec<u64>>> {
        let threads = processors()
            .min(MOST_THREADS)
            .min(self.counts.len() / FEW_BLOCKS);
        let work = || {
            let counted = self.some();
            if counted.as_ref().is_ok_and(|is_all| *is_all) {
                return counted;
            }
            // The other threads then find no block to count and stop.
            self.next.store(self.counts.len(), Ordering::Relaxed);
            counted
        };
        let is_all = thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let ours = work();
            let others = others.into_iter().map(|other| {
                let counted = other.join();
                counted.expect("invariant: counting does not panic")
            });
            std::iter::once(ours)
                .chain(others)
                .try_fold(true, |all, counted| counted.map(|is_all| all && is_all))
        })?;
        let counts = self.counts.into_iter().map(AtomicU64::into_inner);
        Ok(is_all.then(|| counts.collect()))
    }

    /// Counts one block after another until no block is left. Returns false if the count was
    /// stopped.
    fn some(&self) -> io::Result<bool> {
        let mut buffer = vec![0; usize::try_from(BLOCK).unwrap_or(usize::MAX)];
        loop {
            let block = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(count) = self.counts.get(block) else {
                return Ok(true);
            };
            let start = block as u64 * self.block;
            let end = start.saturating_add(self.block).min(self.source.len());
            let (mut at, mut newlines) = (start, 0);
            while at < end {
                if (self.stop)() {
                    return Ok(false);
                }
                let wanted = buffer
                    .len()
                    .min(usize::try_from(end - at).unwrap_or(usize::MAX));
                self.source.read_exact_at(&mut buffer[..wanted], at)?;
                newlines += self.newline.count(&buffer[..wanted]);
                at += wanted as u64;
            }
            count.store(newlines, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
