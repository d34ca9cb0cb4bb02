//! Is there time left, and does anyone still wait?

use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use crate::stop::Stop;

/// How long a search may take: as long as in the system that seed 004 became. Who asks
/// for more than that asks too much at once.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Why a search ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// Nobody waits any more.
    Stopped,
    /// It took too long.
    TimeOut,
}

/// Looks at both.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    stop: &'a Stop,
    began: Instant,
    limit: Duration,
}

impl<'a> Watch<'a> {
    /// From now on.
    pub(crate) fn new(stop: &'a Stop, limit: Duration) -> Self {
        Self {
            stop,
            began: Instant::now(),
            limit,
        }
    }

    /// Why to end now, if so.
    pub(crate) fn over(&self) -> Option<Over> {
        if self.stop.is_set() {
            Some(Over::Stopped)
        } else {
            (self.began.elapsed() >= self.limit).then_some(Over::TimeOut)
        }
    }

    /// The most that it may take.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }
}

/// A file that ends with an error when the time is over: one alone may be endless.
#[derive(Debug)]
pub(crate) struct Watched<'a> {
    pub(crate) file: File,
    pub(crate) watch: &'a Watch<'a>,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.watch.over() {
            None => self.file.read(buffer),
            Some(_) => Err(io::Error::other("the search is over")),
        }
    }
}
