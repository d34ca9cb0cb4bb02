//! `spillgate agent`: runs a model with tools until it reports, as a prompt file describes.
//!
//! ```text
//! arguments → plan (all files, checked) → running (signals) → agent_runner (tools, session) → ending
//!                                         └─ live view and trace meanwhile
//! ```

mod agent_runner;
mod asked;
mod dry_run;
mod ending;
mod follow;
mod guarded;
mod keeping;
mod live;
mod over;
mod plan;
mod run_directory;
mod running;
mod sources;
mod stop;
mod task;
mod view;
mod words;

use std::path::{Path, PathBuf};

use spillgate_agent_files::{Agent, InputFormat};

use self::asked::Asked;
use self::plan::Plan;
use crate::agent_args::{Agent as Arguments, AgentCommand, AgentRun, AgentView};
use crate::args::{Common, LimitArgs};
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::settings::Settings;

pub(crate) fn agent(common: &Common, agent: &Arguments, out: &Output) -> Result<u8, Failure> {
    let typed = &agent.run;
    let settings = Settings::load(common, &LimitArgs::default())?;
    match (&agent.command, &typed.file) {
        (Some(AgentCommand::View(view)), _) => view::view(view, out),
        (None, Some(word)) if word.as_os_str() == "view" => view::view(&viewed(typed)?, out),
        (None, Some(file)) => run(settings, file, typed, out),
        (None, None) => unreachable!("invariant: clap wants a file where there is no subcommand"),
    }
}

/// Reads `view TRACE` from the task. If another option comes first (`agent --json view TRACE`),
/// clap does not recognize `view` as a subcommand.
fn viewed(run: &AgentRun) -> Result<AgentView, Failure> {
    let [trace] = &run.task[..] else {
        let what = "`agent view` shows one trace";
        return Err(Failure::new("usage", Fault::Caller, what)
            .hint("`spillgate agent view TRACE`; for a prompt file called `view`, write ./view")
            .code(2));
    };
    Ok(AgentView {
        trace: PathBuf::from(trace),
        part: None,
    })
}

fn run(settings: Settings, file: &Path, run: &AgentRun, out: &Output) -> Result<u8, Failure> {
    let plan = Plan::read(file, &over::settings(run), run.agent_config.as_deref())?;
    let task = match task::task(&run.task, &mut task::Stdin) {
        // A dry run needs no task.
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
    running::run(&plan, task, run, settings, out)
}

/// Checks everything that can be checked before anything starts.
fn check(plan: &Plan) -> Result<(), Failure> {
    sources::servers(&plan.agent)?;
    sources::described(&plan.agent)?;
    guarded::tools(&plan.agent)?;
    plan.below.iter().try_for_each(|plan| check(plan))
}

/// Checks that all models can be called: their providers are known and their keys are set.
fn ready(plan: &Plan, settings: &Settings) -> Result<(), Failure> {
    Asked::ready(plan, settings)?;
    plan.below.iter().try_for_each(|plan| ready(plan, settings))
}

/// Checks a task that has to be JSON against the agent's input schema.
fn fits(agent: &Agent, task: &str) -> Result<(), Failure> {
    if agent.input_format.value == InputFormat::Text {
        return Ok(());
    }
    let wrong = |what: String| {
        let message = format!("the task does not match the agent's input: {what}");
        Failure::new("usage", Fault::Caller, message)
            .hint("`input` in the prompt file defines the form of a task")
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
