//! The keys of agent files and the types of their values.
//!
//! The frontmatter of a prompt file, `defaults` in `.ai-agent.json` and the command line share one
//! table of keys. The doc comments of these types are the texts of the JSON Schemas.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::values::{CacheFor, Cost, Count, CountOrNone, Models, Names, Time, Whole};

/// Keys that `defaults` rejects, because every sub-agent would inherit them.
pub(crate) const OF_ONE_AGENT: [&str; 3] = ["name", "description", "agents"];

/// What a prompt file says of its agent between its `---` lines. `defaults` of
/// `.ai-agent.json` has the same keys.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "Prompt file")]
pub struct Settings {
    /// The JSON Schema of the file, for editors.
    #[serde(rename = "$schema")]
    pub json_schema: Option<String>,
    /// What the agent is called: letters, digits, `_` and `-`; by default the name of
    /// its file.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]{1,64}$"))]
    pub name: Option<String>,
    /// What it is for: what another agent is told that may call it.
    pub description: Option<String>,
    /// The models, `provider/model`: the first one answers, the next one where it
    /// fails.
    pub models: Option<Models>,
    /// Its tools: names of `mcpServers`, `restTools`, `openapiSpecs` and `guardedTools`,
    /// or `NAME/PATTERN` for those tools of one whose names match. `guarded` needs no
    /// entry.
    pub tools: Option<Names>,
    /// Other prompt files that it may call as tools; paths from this file's directory.
    pub agents: Option<Names>,
    /// Times that the model is asked, the last one included; by default 10.
    pub max_turns: Option<Whole<1, 1000>>,
    /// Calls that are made of one reply; by default 10.
    pub max_tool_calls_per_turn: Option<Whole<1, 1000>>,
    /// Tokens that a reply may have; by default what is known of the model.
    pub max_output_tokens: Option<Count>,
    /// Tokens of the model's context; by default what is known of the model.
    pub context_window: Option<Count>,
    /// Tokens of the context that are kept free; by default 8192.
    pub context_window_buffer: Option<CountOrNone>,
    /// Bytes of a result over which it is stored and a handle is shown; by default
    /// 12288, 0 is no limit.
    pub tool_response_max_bytes: Option<CountOrNone>,
    /// What becomes of oversized results; `false` cuts them.
    #[schemars(with = "Option<ToolOutputSchema>")]
    pub tool_output: Option<ToolOutput>,
    /// What the report has to be.
    pub output: Option<Output>,
    /// What a task has to be, where another agent calls this one.
    pub input: Option<Input>,
    /// How long a model may take for a reply; by default as its provider has it.
    pub llm_timeout: Option<Time>,
    /// How long a call of a tool may take; by default 5 minutes.
    pub tool_timeout: Option<Time>,
    /// How long it may take; by default 30 minutes, for a sub-agent as long as the run.
    pub timeout: Option<Time>,
    /// Requests to models of the whole run, sub-agents and extractions included; by
    /// default 200. Counts in the file of the agent that is run.
    pub max_requests: Option<Count>,
    /// Tokens of all of them; by default any number.
    pub max_total_tokens: Option<Count>,
    /// US dollars that they may cost; by default any amount.
    pub max_cost: Option<Cost>,
    /// Agents below one another, the first not counted; by default 3.
    pub max_depth: Option<Whole<0, 100>>,
    /// How long results of tools are kept for the same call again; by default off.
    pub cache: Option<CacheFor>,
    /// Whether it has `agent__batch`, several calls in one; by default yes.
    pub batch: Option<bool>,
    /// Whether it has `agent__task_status`, a word on how it goes; by default yes.
    pub task_status: Option<bool>,
    /// Tries after a failed request to a model; by default as its provider has it.
    pub max_retries: Option<Whole<0, 100>>,
}

/// What becomes of oversized results, and how they are looked into.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(
    default,
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a table, true or false"
)]
pub struct ToolOutput {
    /// Whether oversized results are stored; `false` cuts their middle out. By
    /// default yes.
    pub enabled: Option<bool>,
    /// How the model looks into a stored result; by default `handle`.
    pub profile: Option<Retrieval>,
    /// The directory in which a run's results are kept.
    pub store_dir: Option<PathBuf>,
    /// The models that extract; by default those of the session.
    pub models: Option<Models>,
    /// Chunks up to which every chunk is read; by default 1.
    pub max_chunks: Option<Count>,
    /// Chunks that are read at most; by default 64.
    pub max_chunks_hard: Option<Count>,
    /// Percent of a chunk that the next one repeats; by default 10.
    pub overlap_percent: Option<Whole<0, 50>>,
    /// Bytes of an average line over which grepping makes no sense; by default 1000.
    pub avg_line_bytes_threshold: Option<Count>,
    /// Tokens of a chunk at most; by default 0: as many as the model takes.
    pub chunk_tokens: Option<CountOrNone>,
    /// Chunks that are read at once; by default 4.
    pub parallel: Option<Count>,
    /// Whether reading stops at the first verified answer; by default no.
    pub early_stop: Option<bool>,
    /// Tokens of an answer; by default 4096.
    pub answer_tokens: Option<Count>,
    /// Tokens of passages, where no model extracts; by default 1000.
    pub passage_tokens: Option<Count>,
    /// Tokens of the two ends of what is cut; by default 2500.
    pub truncate_tokens: Option<Count>,
    /// Times that the read-grep child is asked; by default 15.
    pub max_turns: Option<Whole<1, 1000>>,
    /// Calls that it may make in one reply; by default 10.
    pub max_tool_calls_per_turn: Option<Whole<1, 1000>>,
    /// Tokens of one answer of its tools; by default 4000.
    pub tool_tokens: Option<Count>,
}

/// What `toolOutput` can be.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it is a schema and nothing else")]
pub(crate) enum ToolOutputSchema {
    /// `false` cuts oversized results instead of storing them.
    Switch(bool),
    /// Each by itself.
    Settings(Box<ToolOutput>),
}

/// How the model looks into a stored result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Retrieval {
    /// By its handle and a question, with `tool_output`.
    #[default]
    Handle,
    /// Page by page, with `get_continuation`.
    Continuation,
}

/// What the report has to be.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(
    default,
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a table such as {format: markdown}"
)]
pub struct Output {
    /// Its format; by default `markdown`.
    pub format: Option<OutputFormat>,
    /// The JSON Schema of a JSON report.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub schema: Option<Value>,
    /// The file that has it; a path from this file's directory.
    pub schema_ref: Option<PathBuf>,
}

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    /// Plain text.
    Text,
    /// Markdown.
    #[default]
    Markdown,
    /// One JSON value.
    Json,
}

/// What a task has to be.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(
    default,
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a table such as {format: text}"
)]
pub struct Input {
    /// Its format; by default `text`.
    pub format: Option<InputFormat>,
    /// The JSON Schema of a JSON task: the arguments that another agent calls with.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub schema: Option<Value>,
    /// The file that has it; a path from this file's directory.
    pub schema_ref: Option<PathBuf>,
}

/// The format of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InputFormat {
    /// Plain text.
    #[default]
    Text,
    /// A JSON value.
    Json,
}
