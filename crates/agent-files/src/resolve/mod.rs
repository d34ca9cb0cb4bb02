//! Resolves all layers of settings to an agent.
//!
//! The command line takes precedence over the frontmatter, the frontmatter over `defaults` of the
//! files, and these over the built-in defaults. All errors are reported together.

mod cache;
mod form;
mod layers;
mod sources;
mod tool_output;

use std::path::{Path, PathBuf};
use std::time::Duration;

use spillgate_llm::Target;
use spillgate_offload::DEFAULT_MAX_BYTES;

use crate::agent::{Agent, Row, RunRules};
use crate::config::ConfigFile;
use crate::keys::Settings;
use crate::problem::{FileError, Problems};
use crate::prompt::PromptFile;
use crate::source::{Set, Source};
use crate::values::{Models, Names, Time, Whole};
use layers::Layers;

/// Default maximum number of model turns (the same as in ai-agent).
pub const DEFAULT_MAX_TURNS: u32 = 10;
/// Default maximum number of calls in one reply (the same as in ai-agent).
pub const DEFAULT_CALLS_PER_TURN: u32 = 10;
/// Default number of tokens of the context window to keep free (the same as in ai-agent).
pub const DEFAULT_BUFFER: u64 = 8192;
/// Default timeout of a tool call (the same as in ai-agent).
pub const DEFAULT_TOOL_TIMEOUT: Duration = Duration::from_secs(300);
/// Default timeout of a run. The value is Spillgate's own: ai-agent has no limit for a run, or for
/// all its sub-agents together.
pub const DEFAULT_RUN_TIME: Duration = Duration::from_secs(30 * 60);
/// Default maximum number of model requests of a whole run. The value is Spillgate's own: it is
/// enough for two levels of agents with 10 turns each and some extractions.
pub const DEFAULT_MAX_REQUESTS: u64 = 200;
/// Default maximum depth of nested agents, not counting the first agent. It limits how often a task
/// can be passed on to another agent. The value is Spillgate's own.
pub const DEFAULT_MAX_DEPTH: u32 = 3;

/// Names that agents cannot have, because tools of the session have these names.
const RESERVED: [&str; 2] = ["tool_output", "get_continuation"];

/// Resolves the agent of a prompt file. `over` (the command line) takes precedence over the file,
/// and the file over `files`, which are in the order of precedence.
///
/// # Errors
/// All problems: unknown names, incompatible values, missing files, and unset variables that are
/// needed.
pub fn resolve(
    over: &Settings,
    prompt: &PromptFile,
    files: &[ConfigFile],
) -> Result<Agent, Problems> {
    let mut run = Run {
        layers: Layers {
            over,
            prompt,
            files,
        },
        problems: Problems::default(),
        rows: Vec::new(),
    };
    let agent = run.agent();
    run.problems.sort();
    run.problems.or(Agent {
        rows: run.rows,
        ..agent
    })
}

/// The resolution in progress, with the errors and rows collected so far.
struct Run<'l> {
    layers: Layers<'l>,
    problems: Problems,
    rows: Vec<Row>,
}

impl Run<'_> {
    /// Resolves the settings, roughly in the order of the documentation. They are displayed in the
    /// same order.
    fn agent(&mut self) -> Agent {
        let name = self.name();
        let description = self.optional("description", |of| of.description.clone());
        let models = self.models();
        let tools = self.tools();
        let agents = self.agents();
        let max_turns = self.number("maxTurns", |of| of.max_turns, DEFAULT_MAX_TURNS);
        let max_tool_calls_per_turn = self.number(
            "maxToolCallsPerTurn",
            |of| of.max_tool_calls_per_turn,
            DEFAULT_CALLS_PER_TURN,
        );
        let (max_output_tokens, context_window, context_window_buffer) = self.window();
        let tool_response_max_bytes = self.cap();
        let tool_output = self.tool_output(&models);
        let (output_format, output_schema) = self.output();
        let (input_format, input_schema) = self.input();
        self.unset(&models.value, &tool_output.models.value, &tools);
        Agent {
            path: self.layers.prompt.path.clone(),
            name,
            description,
            system: self.layers.prompt.system.clone(),
            models,
            providers: self.layers.by_name(|file| &file.given.providers),
            model_settings: self.layers.by_name(|file| &file.given.models),
            tools,
            agents,
            max_turns,
            max_tool_calls_per_turn,
            max_output_tokens,
            context_window,
            context_window_buffer,
            tool_response_max_bytes,
            tool_output,
            output_format,
            output_schema,
            input_format,
            input_schema,
            llm_timeout: self.time("llmTimeout", |of| of.llm_timeout),
            tool_timeout: self.tool_timeout(),
            timeout: self.time("timeout", |of| of.timeout),
            run: self.run(),
            cache: self.cache(),
            batch: self.or("batch", |of| of.batch, true),
            task_status: self.or("taskStatus", |of| of.task_status, true),
            max_retries: self.optional("maxRetries", |of| of.max_retries.map(small)),
            rows: Vec::new(),
        }
    }

    fn run(&mut self) -> RunRules {
        let requests = |of: &Settings| of.max_requests.map(Whole::get);
        let tokens = |of: &Settings| of.max_total_tokens.map(Whole::get);
        let depth = |of: &Settings| of.max_depth.map(small);
        RunRules {
            max_requests: self.or("maxRequests", requests, DEFAULT_MAX_REQUESTS),
            max_total_tokens: self.optional("maxTotalTokens", tokens),
            max_cost: self.optional("maxCost", |of| of.max_cost),
            max_depth: self.or("maxDepth", depth, DEFAULT_MAX_DEPTH),
        }
    }

    fn cap(&mut self) -> Set<Option<u64>> {
        let bytes = |of: &Settings| of.tool_response_max_bytes.map(Whole::get);
        let set = self.or("toolResponseMaxBytes", bytes, DEFAULT_MAX_BYTES);
        set.map(|bytes| Some(bytes).filter(|&bytes| bytes > 0))
    }

    /// Records a setting for display.
    fn row<T>(&mut self, key: &str, set: &Set<T>, shown: impl FnOnce(&T) -> String) {
        let value = set.written.clone();
        self.rows.push(Row {
            key: key.to_owned(),
            value: value.unwrap_or_else(|| shown(&set.value)),
            source: set.source.clone(),
        });
    }

    fn or<T: ToString>(
        &mut self,
        key: &'static str,
        get: impl Fn(&Settings) -> Option<T>,
        default: T,
    ) -> Set<T> {
        let set = self.layers.pick(key, get);
        let set = set.unwrap_or_else(|| Set::built_in(default));
        self.row(key, &set, T::to_string);
        set
    }

    fn optional<T: ToString>(
        &mut self,
        key: &'static str,
        get: impl Fn(&Settings) -> Option<T>,
    ) -> Set<Option<T>> {
        let set = self.layers.pick(key, get).map(|set| set.map(Some));
        let set = set.unwrap_or_else(|| Set::built_in(None));
        self.row(key, &set, |value| {
            value.as_ref().map_or_else(|| "-".to_owned(), T::to_string)
        });
        set
    }

    fn number<const MIN: u64>(
        &mut self,
        key: &'static str,
        get: impl Fn(&Settings) -> Option<Whole<MIN, 1000>>,
        default: u32,
    ) -> Set<u32> {
        self.or(key, |of| get(of).map(small), default)
    }

    fn time(
        &mut self,
        key: &'static str,
        get: impl Fn(&Settings) -> Option<Time>,
    ) -> Set<Option<Duration>> {
        let set = self.optional(key, get);
        set.map(|time| time.map(Time::get))
    }

    fn tool_timeout(&mut self) -> Set<Duration> {
        let set = self.layers.pick("toolTimeout", |of| of.tool_timeout);
        let set = set.map(|set| set.map(Time::get));
        let set = set.unwrap_or_else(|| Set::built_in(DEFAULT_TOOL_TIMEOUT));
        self.row("toolTimeout", &set, |time| {
            humantime::format_duration(*time).to_string()
        });
        set
    }

    fn name(&mut self) -> Set<String> {
        let by_file = || Set::built_in(name_of(&self.layers.prompt.path));
        let set = self.layers.pick("name", |of| of.name.clone());
        let set = set.unwrap_or_else(by_file);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !(1..=64).contains(&set.value.len()) || !set.value.chars().all(is_name) {
            let what = "must be 1 to 64 letters, digits, `_` or `-`";
            self.problems.add(set.source.wrong("name", what));
        } else if RESERVED.contains(&&*set.value) || set.value.starts_with("agent__") {
            let what = "is the name of a tool that every session has";
            let error = match &set.source {
                // The name is derived from the name of the file, so the error names no key.
                Source::BuiltIn => {
                    let what = format!("its name `{}` {what}", set.value);
                    FileError::whole(&self.layers.prompt.path, what)
                        .hint("rename the file, or set `name` in it")
                }
                source => source.wrong("name", what).hint("choose another one"),
            };
            self.problems.add(error);
        }
        self.row("name", &set, Clone::clone);
        set
    }

    fn models(&mut self) -> Set<Vec<Target>> {
        let set = self.layers.pick("models", |of| of.models.clone());
        let set = set.map(|set| set.map(|Models(targets)| targets));
        let set = set.unwrap_or_else(|| Set::built_in(Vec::new()));
        if set.value.is_empty() {
            let prompt = &self.layers.prompt.path;
            let error = FileError::whole(prompt, "there is no model")
                .of("models")
                .hint(
                    "write `models: provider/model` here, or `defaults.models` in .ai-agent.json",
                );
            self.problems.add(error);
        }
        self.row("models", &set, |targets| joined(targets));
        set
    }

    fn agents(&mut self) -> Set<Vec<PathBuf>> {
        let set = self.layers.pick("agents", |of| of.agents.clone());
        let set = set.unwrap_or_else(|| Set::built_in(Names::default()));
        let written = set.written.clone();
        let source = set.source.clone();
        let set = set.map(|names| {
            let paths = names.0.iter().map(|path| source.path(Path::new(path)));
            paths.collect::<Vec<_>>()
        });
        for (index, path) in set.value.iter().enumerate() {
            if !path.is_file() {
                let shown = match &written {
                    Some(_) => "it".to_owned(),
                    None => path.display().to_string(),
                };
                let what = format!("{shown} is not a file");
                let error = self
                    .layers
                    .wrong_element(&set.source, "agents", index, what);
                let hint = "paths are relative to the directory of the file";
                self.problems.add(error.hint(hint));
            }
        }
        self.row("agents", &set, |paths| {
            let paths: Vec<String> = paths
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            or_dash(paths.join(", "))
        });
        set
    }

    /// Resolves the maximum length of a reply, the size of the context window, and the tokens to
    /// keep free.
    fn window(&mut self) -> (Set<Option<u64>>, Set<Option<u64>>, Set<u64>) {
        let output = self.optional("maxOutputTokens", |of| of.max_output_tokens.map(Whole::get));
        let window = self.optional("contextWindow", |of| of.context_window.map(Whole::get));
        let buffer = self.or(
            "contextWindowBuffer",
            |of| of.context_window_buffer.map(Whole::get),
            DEFAULT_BUFFER,
        );
        if let Some(tokens) = window.value {
            let reply = output.value.unwrap_or(1);
            let taken = buffer.value.saturating_add(reply);
            if taken >= tokens {
                let what = format!(
                    "{tokens} tokens leave no room: {} are kept free, {reply} are reserved for a reply",
                    buffer.value
                );
                let error = window.source.wrong("contextWindow", what);
                let hint = "set it higher, or contextWindowBuffer or maxOutputTokens lower";
                self.problems.add(error.hint(hint));
            }
        }
        (output, window, buffer)
    }
}

/// Converts a number whose type limits it to less than `u32::MAX`.
fn small<const MIN: u64, const MAX: u64>(number: Whole<MIN, MAX>) -> u32 {
    u32::try_from(number.get()).unwrap_or(u32::MAX)
}

fn joined(targets: &[Target]) -> String {
    let names: Vec<String> = targets.iter().map(Target::to_string).collect();
    or_dash(names.join(", "))
}

fn or_dash(text: String) -> String {
    match text.is_empty() {
        true => "-".to_owned(),
        false => text,
    }
}

fn path_or_dash(path: Option<&Path>) -> String {
    path.map_or_else(|| "-".to_owned(), |path| path.display().to_string())
}

/// Derives an agent's name from its file.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = stem.chars().map(|c| if is_name(c) { c } else { '_' });
    let name: String = name.take(64).collect();
    match name.is_empty() {
        true => "agent".to_owned(),
        false => name,
    }
}

#[cfg(test)]
mod tests;
