//! The number of threads that can run at once.

use std::num::NonZero;
use std::sync::OnceLock;
use std::thread;

/// Returns how many threads can run at once; at least 1. The system is asked once for each process,
/// because on Linux the answer takes a dozen calls.
#[must_use]
pub fn processors() -> usize {
    static FOUND: OnceLock<usize> = OnceLock::new();
    *FOUND.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}
