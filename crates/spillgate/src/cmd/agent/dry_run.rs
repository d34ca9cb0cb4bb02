//! `--dry-run`: prints what would run and starts nothing.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use spillgate_agent_files::{Agent, DEFAULT_RUN_TIME, Source, SourceKind, ToolSource};
use spillgate_llm::Target;

use super::asked::{Asked, catalogue, window};
use super::plan::Plan;
use super::view::harmless;
use super::words::{count, number, one_line};
use crate::failure::Failure;
use crate::output::Output;
use crate::settings::Settings;

/// Maximum length of a shown value, in characters.
const VALUE: usize = 200;

/// Prints what would run; starts nothing.
pub(super) fn show(
    plan: &Plan,
    task: Option<&str>,
    settings: &Settings,
    out: &Output,
) -> Result<u8, Failure> {
    match out.json {
        true => {
            let mut object = object(plan, settings);
            object["task"] = json!(task);
            out.object(&object)?;
        }
        false => out.text(&text(plan, task, settings))?,
    }
    Ok(0)
}

fn object(plan: &Plan, settings: &Settings) -> Value {
    let agent = &plan.agent;
    let sources = agent.tools.iter().map(|source| {
        json!({
            "name": source.entry.name(),
            "kind": source.kind,
            "file": source.entry.file(),
            "line": source.entry.place().line,
            "only": source.only,
            "what": source.entry.shown(),
        })
    });
    let models = models(agent, settings);
    let models = models.into_iter().map(|model| {
        json!({
            "model": model.target, "extracts": model.extracts, "window": model.window,
            "max_output": model.max_output, "buffer": model.buffer, "known": model.is_known,
        })
    });
    let below = plan.below.iter().map(|plan| object(plan, settings));
    json!({
        "agent": agent.name.value,
        "file": agent.path,
        "prompt": agent.system,
        "settings": agent.settings(),
        "models": models.collect::<Vec<_>>(),
        "ready": not_ready(plan, settings).is_none(),
        "not_ready": not_ready(plan, settings),
        "tools": sources.collect::<Vec<_>>(),
        "agents": below.collect::<Vec<_>>(),
    })
}

fn text(plan: &Plan, task: Option<&str>, settings: &Settings) -> String {
    let mut text = String::new();
    about(&mut text, plan, settings, true);
    let task = task.map_or("none is given".to_owned(), |task| one_line(task, VALUE));
    write!(text, "\ntask: {task}\n").expect("writing to a string");
    text
}

/// `is_run`: whether this is the agent that is run, not one that it may call.
fn about(text: &mut String, plan: &Plan, settings: &Settings, is_run: bool) {
    let agent = &plan.agent;
    let prompt = harmless(&agent.system);
    let prompt = prompt.lines().map(str::to_owned).collect();
    let models = models(agent, settings);
    let mut models: Vec<String> = models.iter().map(Model::line).collect();
    let why = not_ready(plan, settings);
    models.extend(why.map(|why| format!("not ready: {}", why.replace('\n', "\n  "))));
    let mut tools: Vec<String> = agent.tools.iter().flat_map(source).collect();
    tools.extend(plan.below.iter().map(|below| {
        let (name, path) = (&below.agent.name.value, below.agent.path.display());
        format!("{name} (an agent, {path})")
    }));
    if tools.is_empty() {
        tools.push("none, except the tools that every session offers".to_owned());
    }
    let parts = [
        ("prompt", prompt),
        ("settings", rows(agent, is_run)),
        ("models", models),
        ("tools from", tools),
    ];
    let name = &agent.name.value;
    writeln!(text, "{name} ({})", agent.path.display()).expect("writing to a string");
    for (title, lines) in parts {
        write!(text, "\n{title}:\n").expect("writing to a string");
        for line in lines {
            writeln!(text, "  {line}").expect("writing to a string");
        }
    }
    for below in &plan.below {
        text.push_str("\n────\n");
        about(text, below, settings, false);
    }
}

/// Formats settings in columns: key, value, source.
fn rows(agent: &Agent, is_run: bool) -> Vec<String> {
    /// Maximum width of the value column, in characters. A longer value shifts the source only in
    /// its own row.
    const WIDE: usize = 40;
    let rows = agent.settings().iter();
    let shown: Vec<_> = rows
        .map(|row| {
            let value = match (&*row.key, &*row.value) {
                ("contextWindow" | "maxOutputTokens", "-") => "the model's".to_owned(),
                ("timeout", "-") if is_run => minutes(DEFAULT_RUN_TIME),
                (_, value) => one_line(value, VALUE),
            };
            (&row.key, value, &row.source)
        })
        .collect();
    let width = |text: &str| text.chars().count();
    let key = shown.iter().map(|row| width(row.0)).max().unwrap_or(0);
    let value = shown.iter().map(|row| width(&row.1)).max().unwrap_or(0);
    let value = value.min(WIDE);
    let line =
        |row: &(&String, String, &Source)| format!("{:key$}  {:value$}  {}", row.0, row.1, row.2);
    shown.iter().map(line).collect()
}

fn minutes(time: Duration) -> String {
    format!("{}m", time.as_secs() / 60)
}

/// Describes a source of tools in two lines: where it is defined, and its entry.
fn source(source: &ToolSource) -> [String; 2] {
    let only = match &source.only[..] {
        [] => String::new(),
        only => format!(", of it {}", only.join(", ")),
    };
    let (entry, kind) = (&source.entry, kind(source.kind));
    let (file, line) = (entry.file().display(), entry.place().line);
    [
        format!("{} ({kind}, {file}:{line}{only})", entry.name()),
        format!("  {}", one_line(&entry.shown().to_string(), 5 * VALUE)),
    ]
}

fn kind(kind: SourceKind) -> &'static str {
    match kind {
        SourceKind::Mcp => "an MCP server",
        SourceKind::Rest => "an HTTP request",
        SourceKind::OpenApi => "an OpenAPI document",
        SourceKind::Guarded => "guarded tools",
    }
}

/// A model that would be called.
struct Model {
    target: Target,
    extracts: bool,
    window: u64,
    max_output: u64,
    buffer: u64,
    limit: u64,
    is_known: bool,
}

impl Model {
    fn line(&self) -> String {
        let what = match (self.extracts, self.is_known) {
            (true, _) => ", extracts",
            (false, true) => "",
            (false, false) => ", whose context window is unknown: set it",
        };
        format!(
            "{}: {} of context: {} for a reply, {} of buffer (at most an eighth), {} for the conversation{what}",
            self.target,
            count(self.window, "token", "tokens"),
            number(self.max_output),
            number(self.buffer),
            number(self.limit),
        )
    }
}

/// Lists the models of an agent, and its extraction models if they differ.
fn models(agent: &Agent, settings: &Settings) -> Vec<Model> {
    let catalogue = catalogue(agent, settings);
    let one = |target: &Target, extracts: bool| {
        let (limits, _, is_known) = catalogue.limits(target);
        let window = window(agent, limits.window, limits.max_output);
        Model {
            target: target.clone(),
            extracts,
            window: window.window,
            max_output: window.max_output,
            buffer: window.buffer,
            limit: window.limit(),
            is_known,
        }
    };
    let own = &agent.models.value;
    let mut models: Vec<Model> = own.iter().map(|target| one(target, false)).collect();
    let extracts = &agent.tool_output.models.value;
    if extracts != own {
        models.extend(extracts.iter().map(|target| one(target, true)));
    }
    models
}

/// Returns why the models of an agent cannot be called, or `None` if they can.
fn not_ready(plan: &Plan, settings: &Settings) -> Option<String> {
    let failure = Asked::ready(plan, settings).err()?;
    Some(failure.text().to_owned())
}
