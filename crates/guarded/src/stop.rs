//! Does anyone still wait for the answer?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once nobody waits any more. Work on many files looks at it between two.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Whether to stop.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets it.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Sets it when what is returned is dropped: with the future of the call.
    pub(crate) fn on_drop(&self) -> impl Drop + use<> {
        struct OnDrop(Stop);
        impl Drop for OnDrop {
            fn drop(&mut self) {
                self.0.set();
            }
        }
        OnDrop(self.clone())
    }
}
