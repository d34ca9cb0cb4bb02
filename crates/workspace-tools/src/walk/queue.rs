//! The work that is left, shared by the threads of a walk.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A pile of work for several threads. It ends when it is empty and nobody is at
/// work who may add to it.
#[derive(Debug)]
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// Threads that wait for work.
    waiting: AtomicUsize,
}

#[derive(Debug)]
struct State<T> {
    jobs: Vec<T>,
    /// Threads that may still add to it.
    busy: usize,
    closed: bool,
}

impl<T> Queue<T> {
    /// The pile of `first` for so many threads.
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

    /// The next thing to do, for a thread that is done with its last. None and there
    /// will be no more.
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

    /// Adds to it.
    pub(super) fn push(&self, jobs: impl IntoIterator<Item = T>) {
        self.lock().jobs.extend(jobs);
        if self.has_idle() {
            self.changed.notify_all();
        }
    }

    /// Whether someone waits for work.
    pub(super) fn has_idle(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Nothing more is given out.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock()
    }
}
