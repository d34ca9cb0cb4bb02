//! The interface through which an extraction reports its progress.

/// Receives the progress of an extraction.
pub trait Watch: Send + Sync {
    /// Reports that `done` of `total` steps of `stage` (`map`, `reduce`, `read-grep`) are done. The
    /// total may grow when chunks are split or replies are combined in rounds.
    fn step(&self, stage: &str, done: u64, total: u64);
}

/// Ignores progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWatch;

impl Watch for NoWatch {
    fn step(&self, _: &str, _: u64, _: u64) {}
}
