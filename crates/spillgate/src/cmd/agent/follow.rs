//! What is shown and written down of a run while it goes on?

use std::future::Future;
use std::time::Duration;

use spillgate_agent::Journal;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::live::Live;
use super::trace_file::TraceFile;
use crate::failure::Failure;

/// Between two looks at what is done.
const LOOK: Duration = Duration::from_millis(150);

/// The trace is written at least so often.
const WRITE: Duration = Duration::from_secs(2);

/// Waits for a run and looks after it meanwhile. An error is the run's own, or that its
/// trace could not be written in the end.
pub(super) async fn follow<T>(
    running: impl Future<Output = Result<T, Failure>>,
    journal: &Journal,
    live: &Live,
    file: Option<&TraceFile>,
) -> Result<T, Failure> {
    let mut following = Following {
        journal,
        live,
        file,
        written: None,
    };
    // From the beginning on: a file that cannot be written is told before models are paid.
    following.write()?;
    let ran = {
        let mut running = std::pin::pin!(running);
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                ran = &mut running => break ran,
                _ = ticks.tick() => following.look(),
            }
        }
    };
    live.look(&journal.snapshot());
    following.write()?;
    ran
}

struct Following<'a> {
    journal: &'a Journal,
    live: &'a Live,
    file: Option<&'a TraceFile>,
    /// When, and with how many turns.
    written: Option<(Instant, usize)>,
}

impl Following<'_> {
    fn look(&mut self) {
        let root = self.journal.snapshot();
        self.live.look(&root);
        let is_due =
            |(at, turns): (Instant, usize)| at.elapsed() >= WRITE || root.children.len() != turns;
        if self.written.is_none_or(is_due)
            && let Err(failure) = self.write()
        {
            tracing::error!(error = failure.text(), "the trace is not up to date");
        }
    }

    fn write(&mut self) -> Result<(), Failure> {
        let Some(file) = self.file else {
            return Ok(());
        };
        let trace = self.journal.trace();
        self.written = Some((Instant::now(), trace.root.children.len()));
        file.write(&trace)
    }
}
