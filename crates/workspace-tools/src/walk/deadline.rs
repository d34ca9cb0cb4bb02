//! Time limits and cancellation of searches.

use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use spillgate_artifact::Interrupt;

/// Maximum duration of a search (docs/spec/limits.md, "Guarded tools"). A search that takes longer
/// covers too much.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Why a search ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The caller stopped waiting.
    Stopped,
    /// The time limit passed.
    TimeOut,
}

/// Checks a time limit and an interrupt.
#[derive(Debug)]
pub(crate) struct Deadline<'a> {
    stop: &'a Interrupt,
    began: Instant,
    limit: Duration,
}

impl<'a> Deadline<'a> {
    /// Starts the time limit now.
    pub(crate) fn new(stop: &'a Interrupt, limit: Duration) -> Self {
        Self {
            stop,
            began: Instant::now(),
            limit,
        }
    }

    /// The reason to end now, if there is one.
    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        if self.stop.is_cancelled() {
            Some(StopReason::Stopped)
        } else {
            (self.began.elapsed() >= self.limit).then_some(StopReason::TimeOut)
        }
    }

    /// The time limit.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }
}

/// A file whose reads fail after the deadline, because a single file may have no end.
#[derive(Debug)]
pub(crate) struct DeadlineFile<'a> {
    file: File,
    pub(crate) deadline: &'a Deadline<'a>,
    /// Bytes read so far.
    read: u64,
    /// The size of the file when a read reached its end; `None` before that.
    ended: Option<u64>,
    /// The size of the file when it was opened.
    size: u64,
}

impl<'a> DeadlineFile<'a> {
    pub(crate) fn new(file: File, deadline: &'a Deadline<'a>) -> Self {
        let size = file.metadata().map_or(0, |found| found.len());
        Self {
            file,
            deadline,
            read: 0,
            ended: None,
            size,
        }
    }

    /// Whether the file ended before its original size because it was truncated. Files that
    /// report no size (`/proc`) never count as shortened.
    pub(crate) fn is_shortened(&self) -> bool {
        self.ended
            .is_some_and(|now| self.read < self.size && now < self.size)
    }
}

impl Read for DeadlineFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.deadline.stop_reason().is_some() {
            return Err(io::Error::other("the search is over"));
        }
        let read = self.file.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            self.ended = self.file.metadata().ok().map(|found| found.len());
        }
        self.read += read as u64;
        Ok(read)
    }
}
