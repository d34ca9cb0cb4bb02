//! Updates the live view and the trace file during a run.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use spillgate_agent::{Journal, Trace};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::live::Live;
use crate::failure::Failure;
use crate::trace_file::TraceFile;

/// Time between two updates of the live view.
const LOOK: Duration = Duration::from_millis(150);

/// Maximum time between two writes of the trace.
const WRITE: Duration = Duration::from_secs(2);

/// The outcome of writing the final trace.
pub(super) type Written = Result<(), Failure>;

/// Waits for a run and updates its view and trace meanwhile. Returns the run's output and,
/// separately, whether its final trace was written, so that neither hides the other.
pub(super) async fn follow<T>(
    running: impl Future<Output = T>,
    journal: &Journal,
    live: &Live,
    file: Option<&Arc<TraceFile>>,
) -> (T, Written) {
    let mut following = Following {
        journal,
        live,
        file,
        written: None,
        writing: None,
    };
    let ran = {
        let mut running = std::pin::pin!(running);
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                ran = &mut running => break ran,
                _ = ticks.tick() => following.look().await,
            }
        }
    };
    if live.is_to_look() {
        live.look(&journal.snapshot());
    }
    following.wait().await;
    (ran, write(file, journal.trace()).await)
}

/// Writes a trace on a blocking thread, if there is a file for it.
pub(super) async fn write(file: Option<&Arc<TraceFile>>, trace: Trace) -> Written {
    let Some(file) = file.cloned() else {
        return Ok(());
    };
    joined(spawn_blocking(move || file.write(&trace))).await
}

async fn joined(writing: JoinHandle<Written>) -> Written {
    let written = writing.await;
    written.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

struct Following<'a> {
    journal: &'a Journal,
    live: &'a Live,
    file: Option<&'a Arc<TraceFile>>,
    /// When the trace was last written, and in which turn.
    written: Option<(Instant, u32)>,
    /// At most one write at a time: writes share a draft file.
    writing: Option<JoinHandle<Written>>,
}

impl Following<'_> {
    async fn look(&mut self) {
        // A snapshot copies the tree, which may be large: take one only when the view needs it.
        if self.live.is_to_look() {
            self.live.look(&self.journal.snapshot());
        }
        if self.writing.as_ref().is_some_and(|it| !it.is_finished()) {
            return;
        }
        self.wait().await;
        let turn = self.live.turn();
        let is_due = |(at, of): (Instant, u32)| at.elapsed() >= WRITE || of != turn;
        if let Some(file) = self.file.filter(|_| self.written.is_none_or(is_due)) {
            let (file, journal) = (Arc::clone(file), self.journal.clone());
            self.written = Some((Instant::now(), turn));
            self.writing = Some(spawn_blocking(move || file.write(&journal.trace())));
        }
    }

    /// Waits for the write under way, if there is one.
    async fn wait(&mut self) {
        if let Some(writing) = self.writing.take()
            && let Err(failure) = joined(writing).await
        {
            tracing::error!(
                error = failure.text(),
                "the trace of the run could not be written"
            );
        }
    }
}
