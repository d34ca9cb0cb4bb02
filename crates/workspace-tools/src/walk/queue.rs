//! A work queue shared by the threads of a walk.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A stack of jobs for several threads. It closes when it is empty and no thread that could add
/// jobs is still working.
#[derive(Debug)]
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// Threads that wait for a job.
    waiting: AtomicUsize,
}

#[derive(Debug)]
struct State<T> {
    jobs: Vec<T>,
    /// Threads that may still add jobs.
    busy: usize,
    closed: bool,
}

impl<T> Queue<T> {
    /// Creates a queue for `threads` threads that contains one job.
    pub(super) fn new(first: T, threads: usize) -> Self {
        let state = State {
            jobs: vec![first],
            busy: threads,
            closed: false,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Returns the next job to a thread that finished its last one. Waits while others may
    /// still add jobs. `None` means that there will be no more.
    pub(super) fn next(&self) -> Option<T> {
        let mut state = self.lock();
        state.busy -= 1;
        loop {
            if state.closed {
                return None;
            }
            if let Some(job) = state.jobs.pop() {
                state.busy += 1;
                return Some(job);
            }
            if state.busy == 0 {
                drop(state);
                self.close();
                return None;
            }
            self.waiting.fetch_add(1, Ordering::Relaxed);
            self.changed.wait(&mut state);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Adds jobs.
    pub(super) fn push(&self, jobs: impl IntoIterator<Item = T>) {
        self.lock().jobs.extend(jobs);
        if self.has_idle() {
            self.changed.notify_all();
        }
    }

    /// Whether a thread is waiting for a job.
    pub(super) fn has_idle(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Closes the queue: no more jobs are handed out.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock()
    }
}
