//! A flag and a deadline that end work on stored bytes.
//!
//! Whoever waits for the work holds the flag: it is set when the wait ends without the
//! answer. Readers look at it before each block ([`Interruptible`](crate::Interruptible)).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a look-up may take unless a setting says otherwise: some ten times as long as
/// the slowest on a gigabyte, and shorter than clients wait (60 s).
pub const LOOKUP_TIMEOUT: Duration = Duration::from_secs(20);

/// Ends work before its time: set from outside, or due by a deadline. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    cancelled: Arc<AtomicBool>,
    deadline: Option<(Instant, Duration)>,
}

/// Why work was ended before its time. Read errors carry it inside an [`io::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Interrupted {
    /// Nobody waits for the answer any more.
    #[error("it was cancelled")]
    Cancelled,
    /// It took too long.
    #[error("it took longer than the {} s it may take", .limit.as_secs_f64())]
    TimedOut {
        /// How long it might take.
        limit: Duration,
    },
}

impl Interrupt {
    /// One that is due when `limit` has passed from now on.
    #[must_use]
    pub fn after(limit: Duration) -> Self {
        Self::default().until_after(limit)
    }

    /// The same flag with a deadline `limit` from now on; the earlier deadline holds. A limit
    /// beyond what the clock can tell is none.
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

    /// Ends the work when what is returned is dropped: with the future that waits for it.
    pub fn on_drop(&self) -> impl Drop + Send + use<> {
        struct OnDrop(Interrupt);
        impl Drop for OnDrop {
            fn drop(&mut self) {
                self.0.cancel();
            }
        }
        OnDrop(self.clone())
    }

    /// Whether nobody waits any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// An error once the work is to end.
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
    /// The reason inside a read error, if that is why it failed.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<Interrupted> for io::Error {
    fn from(why: Interrupted) -> Self {
        // Not `ErrorKind::Interrupted`: readers take that one as a reason to try again.
        let kind = match why {
            Interrupted::Cancelled => io::ErrorKind::Other,
            Interrupted::TimedOut { .. } => io::ErrorKind::TimedOut,
        };
        Self::new(kind, why)
    }
}
