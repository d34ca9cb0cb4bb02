//! A directory walk that never leaves its base.
//!
//! This is our own walk with ripgrep's matchers. The walk of the `ignore` crate opens entries by
//! path, so a directory that is replaced by a link during the walk could lead it out of the base.
//! In this walk the operating system resolves each directory relative to the base, and refuses
//! paths that leave the base or contain a link ([`open_beneath`]). Entries are opened and inspected
//! through their directory's handle. So everything that the walk reports was inside the base when
//! it was opened.
//!
//! Several threads take directories from one stack, newest first, which keeps the stack and the
//! number of open handles small. Files arrive in no particular order; the caller sorts them.

mod base;
mod deadline;
mod glob;
mod ignores;
mod open_beneath;
mod queue;
mod skipped;
mod worker;

#[cfg(test)]
mod tests;

use std::ffi::CString;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::thread::{available_parallelism, scope};

pub(crate) use base::{Base, SearchRoot, start};
pub(crate) use deadline::{Deadline, DeadlineFile, StopReason, TIME_LIMIT};
pub(crate) use glob::NamePattern;
pub(crate) use open_beneath::{regular, shown};
pub(crate) use skipped::{NameList, SkippedEntries};

use queue::Queue;
use worker::{Job, Worker};

/// Maximum number of threads of a walk. More threads are not faster, because they wait for the file
/// system (ripgrep uses the same number).
const MOST_THREADS: usize = 12;

/// Which entries a walk visits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Scope {
    /// Also visit names that begin with `.`.
    pub(crate) hidden: bool,
    /// Also visit what ignore files exclude.
    pub(crate) no_ignore: bool,
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct Folder {
    /// The handle of the directory.
    pub(crate) fd: OwnedFd,
    /// The path of the directory from the root with a trailing `/`; empty for the root.
    pub(crate) path: Vec<u8>,
}

/// An entry of a directory that is not itself a directory.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: CString,
    /// Whether the entry is a symbolic link; otherwise it is a regular file.
    pub(crate) is_link: bool,
}

/// Receives the files of a walk. Each thread has its own visitor.
pub(crate) trait Visitor: Send {
    /// Visits entries of `folder`. They have not been opened yet.
    fn visit(&mut self, folder: &Folder, found: &[Entry], deadline: &Deadline<'_>);
}

/// The outcome of a walk.
#[derive(Debug)]
pub(crate) struct WalkOutcome<V> {
    /// The visitors of all threads.
    pub(crate) visitors: Vec<V>,
    /// Counts of skipped entries.
    pub(crate) skipped: SkippedEntries,
    /// Why the walk ended early, if it did.
    pub(crate) stop_reason: Option<StopReason>,
}

/// Passes all files below `base` to the visitors that `make` creates.
pub(crate) fn walk<V: Visitor>(
    base: &Base,
    what: Scope,
    deadline: &Deadline<'_>,
    make: impl Fn() -> V + Sync,
) -> WalkOutcome<V> {
    let threads = available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = threads.min(MOST_THREADS);
    let first = Job::Directory {
        path: base.path.clone(),
        ignores: match what.no_ignore {
            true => None,
            false => base.ignores.clone(),
        },
    };
    let queue = Queue::new(first, threads);
    let work = || {
        let mut worker = Worker::new(base, what, deadline, &queue, make());
        worker.run();
        (worker.visitor, worker.skipped)
    };
    let ended: Vec<_> = scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut ended = vec![work()];
        ended.extend(others.into_iter().map(|other| match other.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        }));
        ended
    });
    let mut skipped = SkippedEntries::default();
    let visitors = ended.into_iter().map(|(visitor, passed)| {
        skipped.add(passed);
        visitor
    });
    WalkOutcome {
        visitors: visitors.collect(),
        stop_reason: deadline.stop_reason(),
        skipped,
    }
}
