//! Runs an agent from its plan to its exit code.
//!
//! ```text
//! listen to signals → run directory → initial trace → open tools → session → report → servers end
//! ```
//!
//! The report is printed and the trace is written before anything waits for servers to end.

use std::sync::Arc;
use std::time::Duration;

use spillgate_agent::{Ending, Trace, Until};
use spillgate_agent_files::DEFAULT_RUN_TIME;
use spillgate_artifact::{Clock, SystemClock};
use tokio::time::{Instant, sleep_until};

use super::agent_runner::{AgentRunner, Ready};
use super::ending::Over;
use super::follow::{self, Written};
use super::live::{Live, Look};
use super::plan::Plan;
use super::run_directory::{RunDirectory, Stay, clear_leftovers};
use super::stop::Stop;
use crate::agent_args::AgentRun;
use crate::failure::{Failure, Fault};
use crate::logs::{Exporting, log_and_trace};
use crate::output::Output;
use crate::settings::Settings;
use crate::trace_file::{TraceFile, in_directory};

/// Maximum wait for background writes after the run has ended.
const LAST: Duration = Duration::from_millis(500);

/// Exit code of a timeout, as in `timeout(1)`.
pub(super) const TIMED_OUT: u8 = 124;

/// Runs an agent, prints its report and returns the exit code.
pub(super) fn run(
    plan: &Plan,
    task: String,
    typed: &AgentRun,
    settings: Settings,
    out: &Output,
) -> Result<u8, Failure> {
    let parts = Parts::new(plan, typed, settings)?;
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.enable_all().build()?;
    let room = Arc::clone(parts.stay.room());
    let lead = AgentRunner::new(
        parts.settings.clone(),
        &plan.agent.run,
        room,
        typed.keep,
        parts.stop.cancelled(),
    );
    let ended = runtime.block_on(parts.session(&lead, plan, task));
    parts.live.end();
    let code = match ended {
        Ok(ended) => parts.over(&ended, typed).say(typed.watching.quiet, out),
        Err(failure) => Ok(failure.report(out)),
    };
    runtime.block_on(lead.close());
    runtime.shutdown_timeout(LAST);
    parts.stay.room().remove();
    code
}

/// The objects that a run needs from its start to its end.
struct Parts {
    settings: Settings,
    stop: Stop,
    stay: Stay,
    live: Arc<Live>,
    trace: Option<Arc<TraceFile>>,
    /// Sends the remaining spans when it is dropped.
    _exporting: Option<Exporting>,
}

/// A session that has ended.
struct Ended {
    trace: Trace,
    session: String,
    written: Written,
}

impl Parts {
    fn new(plan: &Plan, typed: &AgentRun, settings: Settings) -> Result<Self, Failure> {
        let watching = &typed.watching;
        let trace = match (&watching.trace, &settings.ui.traces) {
            (Some(file), _) => Some(TraceFile::at(file)?),
            (None, Some(directory)) => Some(in_directory(directory, &plan.agent.name.value)?),
            (None, None) => None,
        };
        let has_log = std::env::var_os("SPILLGATE_LOG").is_some();
        let exporting = log_and_trace(if watching.verbose { "info" } else { "error" })?;
        let parent = plan.agent.tool_output.store_dir.value.clone();
        let parent = parent.unwrap_or_else(std::env::temp_dir);
        let cleared = clear_leftovers(&parent);
        if cleared > 0 {
            tracing::info!(cleared, "directories left by killed runs were removed");
        }
        // Signals must be handled before the directory exists: an unhandled signal would leave it
        // behind.
        let stop = Stop::listen()?;
        let room = RunDirectory::open(&parent)?;
        stop.clears(&room);
        if typed.keep {
            room.keep();
        }
        let look = Look::of(watching.quiet, watching.verbose, has_log);
        Ok(Self {
            settings,
            stop,
            stay: Stay::in_room(room),
            live: Arc::new(Live::new(look, watching.verbose)),
            trace: trace.map(Arc::new),
            _exporting: exporting,
        })
    }

    /// Runs the session to its end. Fails only if the session could not begin.
    async fn session(
        &self,
        lead: &Arc<AgentRunner>,
        plan: &Plan,
        task: String,
    ) -> Result<Ended, Failure> {
        let time = plan.agent.timeout.value.unwrap_or(DEFAULT_RUN_TIME);
        let deadline = Instant::now().checked_add(time);
        // The new trace replaces the trace of an earlier run from the start, and a trace file that
        // cannot be written fails before anything is started.
        let before = lead.before(plan, &task)?;
        follow::write(self.trace.as_ref(), before.trace()).await?;
        let ready = match self.ready(lead, plan, task, deadline).await {
            Ok(ready) => ready,
            Err(failure) => return Err(self.not_begun(before.trace(), failure).await),
        };
        let session = ready.session.clone();
        let journal = lead.journal(&ready, None);
        let until = Until {
            timeout: deadline.map(|at| at.saturating_duration_since(Instant::now())),
            cancelled: Some(self.stop.cancelled()),
            share: Some(lead.share(true)),
        };
        let running = lead.run(ready, &journal, &self.live, until);
        let (ran, written) =
            follow::follow(running, &journal, &self.live, self.trace.as_ref()).await;
        match ran {
            Ok(_) => Ok(Ended {
                trace: journal.trace(),
                session,
                written,
            }),
            Err(failure) => Err(self.not_begun(journal.trace(), failure).await),
        }
    }

    /// Opens the agent's tools, unless the run is cancelled or times out first.
    async fn ready(
        &self,
        lead: &Arc<AgentRunner>,
        plan: &Plan,
        task: String,
        deadline: Option<Instant>,
    ) -> Result<Ready, Failure> {
        let cancelled = self.stop.cancelled();
        tokio::select! {
            ready = lead.ready(plan, task, &self.live) => ready,
            () = cancelled.cancelled() => {
                let early = Failure::new("cancelled", Fault::Caller, "cancelled");
                Err(early.hint("its tools were not open yet").code(self.stop.code().unwrap_or(1)))
            }
            () = at(deadline) => {
                let what = "no report: the time limit was reached before its tools were open";
                Err(Failure::new("timed_out", Fault::Upstream, what)
                    .hint("give it more time with --timeout, or see why a server takes so long")
                    .code(TIMED_OUT))
            }
        }
    }

    /// Writes a trace that says why there was no session.
    async fn not_begun(&self, mut trace: Trace, failure: Failure) -> Failure {
        trace.ending = Some(match failure.kind {
            "cancelled" => Ending::Cancelled,
            "timed_out" => Ending::TimedOut,
            _ => Ending::Failed(failure.text().to_owned()),
        });
        trace.ended = Some(SystemClock.now());
        trace.root.error = Some(failure.text().to_owned());
        if let Err(unwritten) = follow::write(self.trace.as_ref(), trace).await {
            tracing::error!(
                error = unwritten.text(),
                "the trace of the run could not be written"
            );
        }
        failure
    }

    fn over<'a>(&self, ended: &'a Ended, typed: &AgentRun) -> Over<'a> {
        let room = || self.stay.room().path().display().to_string();
        let named = typed.watching.trace.as_deref();
        let kept = self.trace.as_ref().map(|file| file.path());
        Over {
            trace: &ended.trace,
            session: &ended.session,
            signal: self.stop.code(),
            kept: typed.keep.then(room),
            trace_file: named.or(kept).map(|path| path.display().to_string()),
            unwritten: ended.written.as_ref().err(),
        }
    }
}

/// Returns the deadline of a sub-agent that starts now; the time to open its tools counts.
pub(super) fn deadline(plan: &Plan) -> Option<Instant> {
    Instant::now().checked_add(plan.agent.timeout.value?)
}

/// Waits until the deadline, or forever if there is none.
pub(super) async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
