//! `spillgate agent`: a model, its tools and a report, from a prompt file.
//!
//! ```text
//! arguments → plan (all files, checked) → room, signals → lead (tools, session) → ending
//!                                             └─ live view and trace meanwhile
//! ```

mod asked;
mod dry_run;
mod ending;
mod follow;
mod lead;
mod live;
mod over;
mod plan;
mod room;
mod sources;
mod stop;
mod task;
mod trace_file;
mod view;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use spillgate_agent::{Trace, Until};
use spillgate_agentfile::{Agent, InputFormat};

use self::asked::Asked;
use self::ending::Over;
use self::lead::Lead;
use self::live::{Live, Look};
use self::plan::Plan;
use self::room::{Room, Stay, clear_leftovers};
use self::stop::Stop;
use self::trace_file::TraceFile;
use crate::agent_args::{Agent as Arguments, AgentCommand, AgentRun, AgentView};
use crate::args::{Common, LimitArgs};
use crate::failure::{Failure, Fault};
use crate::layers::Layers;
use crate::logs::log_to_stderr;
use crate::output::Output;
use crate::settings::Settings;

/// What is still written when a run is over is not waited for longer.
const LAST: Duration = Duration::from_millis(500);

pub(crate) fn agent(common: &Common, agent: &Arguments, out: &Output) -> Result<u8, Failure> {
    let typed = &agent.run;
    match (&agent.command, &typed.file) {
        (Some(AgentCommand::View(view)), _) => view::view(view, out),
        (None, Some(word)) if word.as_os_str() == "view" => view::view(&viewed(typed)?, out),
        (None, Some(file)) => run(common, file, typed, out),
        (None, None) => unreachable!("invariant: clap wants a file where there is no subcommand"),
    }
}

/// Behind another option (`agent --json view TRACE`) the word is no subcommand to the
/// parser.
fn viewed(run: &AgentRun) -> Result<AgentView, Failure> {
    let [trace] = &run.task[..] else {
        let what = "`agent view` shows one trace";
        return Err(Failure::new("usage", Fault::Caller, what)
            .hint("`spillgate agent view TRACE`; a prompt file that is called `view` is ./view")
            .code(2));
    };
    Ok(AgentView {
        trace: PathBuf::from(trace),
        part: None,
    })
}

fn run(common: &Common, file: &Path, run: &AgentRun, out: &Output) -> Result<u8, Failure> {
    let plan = Plan::read(file, &over::settings(run), run.agent_config.as_deref())?;
    let settings = Layers::load(common, &LimitArgs::default())?.settings;
    let task = match task::task(&run.task, &mut task::Stdin) {
        // What would be run can be asked without something to do.
        Err(_) if run.dry_run && run.task.is_empty() => None,
        task => Some(task?),
    };
    if let Some(task) = &task {
        fits(&plan.agent, task)?;
    }
    check(&plan)?;
    if run.dry_run {
        return dry_run::show(&plan, task.as_deref(), &settings, out);
    }
    let task = task.expect("invariant: only a dry run has none");
    ready(&plan, &settings)?;
    let parts = Parts::new(&plan, run, settings)?;
    let ended = parts.run(&plan, task);
    parts.live.end();
    parts.stay.room().remove();
    let (trace, session, signal) = ended?;
    let shown = |path: &PathBuf| path.display().to_string();
    let over = Over {
        trace: &trace,
        session,
        signal,
        kept: run
            .keep
            .then(|| parts.stay.room().path().display().to_string()),
        trace_file: run.watching.trace.as_ref().map(shown),
    };
    if !run.watching.quiet && !out.json {
        over.told().iter().for_each(|line| out.note(line));
    }
    over.print(out)
}

/// The working parts of a run.
struct Parts {
    settings: Settings,
    stay: Stay,
    live: Arc<Live>,
    trace: Option<TraceFile>,
    is_kept: bool,
}

impl Parts {
    fn new(plan: &Plan, run: &AgentRun, settings: Settings) -> Result<Self, Failure> {
        let watching = &run.watching;
        let trace = watching.trace.as_deref().map(TraceFile::at).transpose()?;
        let has_log = std::env::var_os("SPILLGATE_LOG").is_some();
        log_to_stderr(if watching.verbose { "info" } else { "error" });
        let parent = plan.agent.tool_output.store_dir.value.clone();
        let parent = parent.unwrap_or_else(std::env::temp_dir);
        let cleared = clear_leftovers(&parent);
        if cleared > 0 {
            tracing::info!(cleared, "directories of killed runs were removed");
        }
        let room = Room::open(&parent)?;
        if run.keep {
            room.keep();
        }
        let look = Look::of(watching.quiet, watching.verbose, has_log);
        Ok(Self {
            settings,
            stay: Stay::in_room(room),
            live: Arc::new(Live::new(look, watching.verbose)),
            trace,
            is_kept: run.keep,
        })
    }

    /// Runs the agent: its trace, its session, and the exit code of the signal that
    /// cancelled it.
    fn run(&self, plan: &Plan, task: String) -> Result<(Trace, String, Option<u8>), Failure> {
        let stop = Stop::listen(self.stay.room())?;
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.enable_all().build()?;
        let lead = Lead::new(
            self.settings.clone(),
            Arc::clone(self.stay.room()),
            self.is_kept,
        );
        let ended = runtime.block_on(async {
            let mut cancelled = stop.cancelled();
            let ready = tokio::select! {
                ready = lead.ready(plan, task, &self.live) => ready?,
                _ = cancelled.wait_for(|cancelled| *cancelled) => return Err(cancelled_early(&stop)),
            };
            let session = ready.session.clone();
            let journal = lead.journal(&ready, None);
            let until = Until {
                timeout: plan.agent.timeout.value,
                cancelled: Some(stop.cancelled()),
            };
            let running = lead.run(ready, &journal, &self.live, until);
            let ran = follow::follow(running, &journal, &self.live, self.trace.as_ref()).await;
            ran.map(|_| (journal.trace(), session, stop.code()))
        });
        runtime.block_on(lead.close());
        runtime.shutdown_timeout(LAST);
        ended
    }
}

fn cancelled_early(stop: &Stop) -> Failure {
    Failure::new("cancelled", Fault::Caller, "cancelled")
        .hint("its tools were not there yet")
        .code(stop.code().unwrap_or(1))
}

/// Checks all that can be checked before something is started.
fn check(plan: &Plan) -> Result<(), Failure> {
    sources::servers(&plan.agent)?;
    sources::described(&plan.agent)?;
    plan.below.iter().try_for_each(|plan| check(plan))
}

/// Checks that all models can be asked.
fn ready(plan: &Plan, settings: &Settings) -> Result<(), Failure> {
    Asked::ready(plan, settings)?;
    plan.below.iter().try_for_each(|plan| ready(plan, settings))
}

/// Checks a task that has to be JSON.
fn fits(agent: &Agent, task: &str) -> Result<(), Failure> {
    if agent.input_format.value == InputFormat::Text {
        return Ok(());
    }
    let wrong = |what: String| {
        let message = format!("the task is not what the agent takes: {what}");
        Failure::new("usage", Fault::Caller, message)
            .hint("`input` of the prompt file says what it has to be")
            .code(2)
    };
    let value: serde_json::Value =
        serde_json::from_str(task).map_err(|error| wrong(format!("it is no JSON: {error}")))?;
    let Some(schema) = &agent.input_schema.value else {
        return Ok(());
    };
    let validator = jsonschema::validator_for(schema).map_err(|error| wrong(error.to_string()))?;
    match validator.iter_errors(&value).next() {
        None => Ok(()),
        Some(error) => Err(wrong(format!("{error} at '{}'", error.instance_path()))),
    }
}
