//! Stops work when its time is over or the caller is gone.

use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use spillgate_artifact::Interrupt;

/// How long a search may take (docs/spec/limits.md, "Guarded tools"). Who asks for more
/// than that asks too much at once.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Why a search ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// Nobody waits any more.
    Stopped,
    /// It took too long.
    TimeOut,
}

/// Looks at both.
#[derive(Debug)]
pub(crate) struct Deadline<'a> {
    stop: &'a Interrupt,
    began: Instant,
    limit: Duration,
}

impl<'a> Deadline<'a> {
    /// From now on.
    pub(crate) fn new(stop: &'a Interrupt, limit: Duration) -> Self {
        Self {
            stop,
            began: Instant::now(),
            limit,
        }
    }

    /// Why to end now, if so.
    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        if self.stop.is_cancelled() {
            Some(StopReason::Stopped)
        } else {
            (self.began.elapsed() >= self.limit).then_some(StopReason::TimeOut)
        }
    }

    /// The most that it may take.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }
}

/// A file that ends with an error when the time is over: one alone may be endless.
#[derive(Debug)]
pub(crate) struct DeadlineFile<'a> {
    file: File,
    pub(crate) deadline: &'a Deadline<'a>,
    /// Bytes read.
    read: u64,
    /// The size at which it ended, if it did.
    ended: Option<u64>,
    /// The size that it had.
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

    /// Whether it ended before the size that it had, since it became smaller. What has no
    /// size of its own (`/proc`) never does.
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
