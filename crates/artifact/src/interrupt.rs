//! A flag and a deadline that end work on stored bytes.
//!
//! The caller that waits for the work holds the flag, and sets it if it stops waiting before it has
//! an answer. Readers check the flag before each block ([`Interruptible`](crate::Interruptible)).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Default time limit of a look-up. It is about ten times the duration of the slowest look-up in a
/// gigabyte, and shorter than the time that clients wait (60 s).
pub const LOOKUP_TIMEOUT: Duration = Duration::from_secs(20);

/// Ends work early: when it is cancelled, or when its deadline passes. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    cancelled: Arc<AtomicBool>,
    deadline: Option<(Instant, Duration)>,
}

/// Why work ended early. A read error contains this reason inside an [`io::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Interrupted {
    /// The caller no longer waits for the answer.
    #[error("it was cancelled")]
    Cancelled,
    /// The work exceeded its time limit.
    #[error("it took longer than the {} s it may take", .limit.as_secs_f64())]
    TimedOut {
        /// The time limit.
        limit: Duration,
    },
}

impl Interrupt {
    /// Returns an interrupt with a deadline `limit` from now.
    #[must_use]
    pub fn after(limit: Duration) -> Self {
        Self::default().until_after(limit)
    }

    /// Returns an interrupt with the same flag and a deadline `limit` from now, or the existing
    /// deadline if that is earlier. A limit beyond the range of the clock sets no deadline.
    #[must_use]
    pub fn until_after(&self, limit: Duration) -> Self {
        let new = Instant::now().checked_add(limit).map(|at| (at, limit));
        let earlier = [self.deadline, new].into_iter().flatten().min();
        Self {
            cancelled: Arc::clone(&self.cancelled),
            deadline: earlier,
        }
    }

    /// Ends the work.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns a guard that ends the work when the guard is dropped. The future that waits for the
    /// work holds the guard, so both are dropped together.
    pub fn on_drop(&self) -> impl Drop + Send + use<> {
        struct OnDrop(Interrupt);
        impl Drop for OnDrop {
            fn drop(&mut self) {
                self.0.cancel();
            }
        }
        OnDrop(self.clone())
    }

    /// Returns whether the work was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Fails if the work must end.
    pub fn check(&self) -> Result<(), Interrupted> {
        if self.is_cancelled() {
            return Err(Interrupted::Cancelled);
        }
        match self.deadline {
            Some((at, limit)) if Instant::now() >= at => Err(Interrupted::TimedOut { limit }),
            _ => Ok(()),
        }
    }
}

impl Interrupted {
    /// Returns the reason inside a read error, if an interrupt caused the error.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<Interrupted> for io::Error {
    fn from(why: Interrupted) -> Self {
        // The kind is not `ErrorKind::Interrupted`, because readers retry after that kind of error.
        let kind = match why {
            Interrupted::Cancelled => io::ErrorKind::Other,
            Interrupted::TimedOut { .. } => io::ErrorKind::TimedOut,
        };
        Self::new(kind, why)
    }
}
