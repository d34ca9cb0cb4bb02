//! Progress indicators for long captures and extractions.

use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use spillgate_extract::Watch;

/// Time after which progress is shown. For a shorter capture, nothing is shown.
const AFTER: Duration = Duration::from_millis(500);

/// Shows how much was captured, on standard error and only on a terminal.
#[derive(Debug)]
pub(crate) struct CaptureProgress {
    done: &'static str,
    started: Instant,
    bar: Option<ProgressBar>,
}

impl CaptureProgress {
    pub(crate) fn new() -> Self {
        Self::of("captured")
    }

    /// Shows how much was checked, for `verify`.
    pub(crate) fn checking() -> Self {
        Self::of("checked")
    }

    fn of(done: &'static str) -> Self {
        Self {
            done,
            started: Instant::now(),
            bar: None,
        }
    }

    /// Updates the number of bytes done.
    pub(crate) fn at(&mut self, bytes: u64) {
        let elapsed = self.started.elapsed();
        if elapsed < AFTER {
            return;
        }
        let bar = self.bar.get_or_insert_with(ProgressBar::new_spinner);
        let rate = u128::from(bytes) * 1000 / elapsed.as_millis().max(1);
        bar.set_message(format!(
            "{} {}, {}/s",
            HumanBytes(bytes),
            self.done,
            HumanBytes(u64::try_from(rate).unwrap_or(u64::MAX))
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

/// Time between two frames of the spinner.
const TICK: Duration = Duration::from_millis(120);

/// Shows the step and the duration of an extraction, on standard error and only on a terminal. The
/// spinner moves by itself, because one step of a model can take minutes.
#[derive(Debug)]
pub(crate) struct ExtractProgress {
    bar: ProgressBar,
}

impl ExtractProgress {
    pub(crate) fn new() -> Self {
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
        let style = style.expect("invariant: the template is ours");
        let bar = ProgressBar::new_spinner().with_style(style);
        bar.set_message("asking");
        bar.enable_steady_tick(TICK);
        Self { bar }
    }

    /// Removes the indicator, however the extraction ended.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for ExtractProgress {
    fn step(&self, stage: &str, done: u64, total: u64) {
        self.bar.set_message(format!("{stage}: {done} of {total}"));
    }
}
