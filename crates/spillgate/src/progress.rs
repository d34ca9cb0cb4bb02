//! A sign of life while a long capture goes on.

use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar};

/// Shorter captures show nothing.
const AFTER: Duration = Duration::from_millis(500);

/// Shows how much was captured, on standard error and only on a terminal.
#[derive(Debug)]
pub(crate) struct CaptureProgress {
    started: Instant,
    bar: Option<ProgressBar>,
}

impl CaptureProgress {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            bar: None,
        }
    }

    /// So many bytes have come.
    pub(crate) fn at(&mut self, bytes: u64) {
        let elapsed = self.started.elapsed();
        if elapsed < AFTER {
            return;
        }
        let bar = self.bar.get_or_insert_with(ProgressBar::new_spinner);
        let rate = bytes as f64 / elapsed.as_secs_f64();
        bar.set_message(format!(
            "{} captured, {}/s",
            HumanBytes(bytes),
            HumanBytes(rate as u64)
        ));
        bar.tick();
    }
}

impl Drop for CaptureProgress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
