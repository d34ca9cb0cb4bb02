//! A flag and a deadline that end work on stored bytes.
//!
//! Whoever waits for the work holds the flag and sets it when the wait ends without an answer.
//! Readers check it before each block ([`Interruptible`](crate::Interruptible)).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a look-up may take, unless configured otherwise. About ten times as long as the slowest
/// on a gigabyte, and shorter than clients wait (60 s).
pub const LOOKUP_TIMEOUT: Duration = Duration::from_secs(20);

/// Ends work early: when it is cancelled, or when its deadline passes. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    cancelled: Arc<AtomicBool>,
    deadline: Option<(Instant, Duration)>,
}

/// Why work ended early. Read errors carry it inside an [`io::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Interrupted {
    /// Nobody waits for the answer any more.
    #[error("it was cancelled")]
    Cancelled,
    /// It took too long.
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

    /// Returns the same flag with a deadline `limit` from now; the earlier deadline wins. A limit
    /// beyond the range of the clock sets none.
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

    /// Returns a guard that ends the work when it is dropped, together with the future that waits
    /// for the work.
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

    /// Fails once the work must end.
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
    /// Returns the reason inside a read error, if an interrupt caused it.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<Interrupted> for io::Error {
    fn from(why: Interrupted) -> Self {
        // Not `ErrorKind::Interrupted`: readers retry on that one.
        let kind = match why {
            Interrupted::Cancelled => io::ErrorKind::Other,
            Interrupted::TimedOut { .. } => io::ErrorKind::TimedOut,
        };
        Self::new(kind, why)
    }
}
