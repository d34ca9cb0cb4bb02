//! Keeps the newest of many files.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// A file's modification time: seconds and nanoseconds since 1970.
pub(super) type Time = (i64, i64);

/// The newest of many files, and the number of all files.
#[derive(Debug)]
pub(super) struct NewestFiles {
    /// Maximum number of files to keep.
    most: u64,
    /// A heap with the oldest file on top. Among files with the same time, the file whose path
    /// sorts last is on top.
    files: BinaryHeap<(Reverse<Time>, Vec<u8>)>,
    /// The number of all files.
    pub(super) total: u64,
}

impl NewestFiles {
    /// Creates a list that keeps the newest `most` files.
    pub(super) fn new(most: u64) -> Self {
        Self {
            most,
            files: BinaryHeap::new(),
            total: 0,
        }
    }

    pub(super) fn push(&mut self, time: Time, path: &[u8]) {
        self.total += 1;
        let is_full = self.files.len() as u64 >= self.most;
        if is_full {
            let Some(mut top) = self.files.peek_mut() else {
                return;
            };
            if (Reverse(time), path) < (top.0, top.1.as_slice()) {
                *top = (Reverse(time), path.to_vec());
            }
        } else {
            self.files.push((Reverse(time), path.to_vec()));
        }
    }

    /// Counts a file without keeping it.
    pub(super) fn count(&mut self) {
        self.total += 1;
    }

    pub(super) fn join(&mut self, other: Self) {
        let total = self.total + other.total;
        for (Reverse(time), path) in other.files {
            self.push(time, &path);
        }
        self.total = total;
    }

    /// The paths of the files in `part`, newest first.
    pub(super) fn sorted(self, part: Range<u64>) -> impl Iterator<Item = Vec<u8>> {
        let first = usize::try_from(part.start).unwrap_or(usize::MAX);
        let count = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
        let sorted = self.files.into_sorted_vec().into_iter();
        sorted.skip(first).take(count).map(|(_, path)| path)
    }
}
