//! Walks the files below a directory.
//!
//! A walk of our own on ripgrep's matchers, because `ignore`'s walker opens what it
//! finds by path: a directory that becomes a link meanwhile would lead it out. Here
//! the system resolves each directory from the one at which the walk began, beneath
//! it and through no link ([`beneath`]); what is in a directory is opened and looked
//! at from its handle. So what is reported was inside when it was opened.
//!
//! Several threads take directories from one pile, newest first, which keeps the pile
//! and the open handles few. In which order files come is not told; who shows them
//! sorts them.

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

/// More threads find nothing faster: they wait for the file system (ripgrep has the
/// same number).
const MOST_THREADS: usize = 12;

/// What of a tree is looked at.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Scope {
    /// Also what begins with `.`.
    pub(crate) hidden: bool,
    /// Also what ignore files name.
    pub(crate) no_ignore: bool,
}

/// A directory that was opened.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Its handle.
    pub(crate) fd: OwnedFd,
    /// Its name from the root with `/` at its end; empty for the root.
    pub(crate) path: Vec<u8>,
}

/// A name in a directory that is not a directory's.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: CString,
    /// Whether it is a symbolic link; a regular file otherwise.
    pub(crate) is_link: bool,
}

/// Takes what is found. Each thread has its own.
pub(crate) trait Visitor: Send {
    /// These are in `folder`. They were not opened yet.
    fn visit(&mut self, folder: &Folder, found: &[Entry], deadline: &Deadline<'_>);
}

/// What a walk gave.
#[derive(Debug)]
pub(crate) struct WalkOutcome<V> {
    /// What the threads gathered.
    pub(crate) visitors: Vec<V>,
    /// What was passed by.
    pub(crate) skipped: SkippedEntries,
    /// Why it ended early, if so.
    pub(crate) stop_reason: Option<StopReason>,
}

/// Shows `make`'s visitors all files below `base`.
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
