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

/// The settings of an agent: the frontmatter of its prompt file. `defaults` of `.ai-agent.json`
/// accepts the same keys, except `name`, `description` and `agents`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "Prompt file")]
pub struct Settings {
    /// The JSON Schema of the file, for editors.
    #[serde(rename = "$schema")]
    pub json_schema: Option<String>,
    /// The name of the agent: 1 to 64 letters, digits, `_` or `-`; by default the name of its file.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]{1,64}$"))]
    pub name: Option<String>,
    /// The purpose of the agent, as other agents that may call it see it.
    pub description: Option<String>,
    /// The models, each written `provider/model`. If a model fails, the next one in the list is
    /// asked.
    pub models: Option<Models>,
    /// The tools of the agent. `NAME` selects all tools of an entry of `mcpServers`, `restTools`,
    /// `openapiSpecs` or `guardedTools`; `NAME/PATTERN` selects its tools whose names match the
    /// pattern. `guarded` needs no entry.
    pub tools: Option<Names>,
    /// Other prompt files that the agent may call as tools; paths relative to the directory of this
    /// file.
    pub agents: Option<Names>,
    /// Maximum number of requests to the model, including the last one; by default 10.
    pub max_turns: Option<Whole<1, 1000>>,
    /// Maximum number of tool calls that are made from one reply; by default 10.
    pub max_tool_calls_per_turn: Option<Whole<1, 1000>>,
    /// Maximum length of a reply, in tokens; by default the model's maximum.
    pub max_output_tokens: Option<Count>,
    /// Size of the model's context window, in tokens; by default the model's own.
    pub context_window: Option<Count>,
    /// Tokens of the context window that are kept free; by default 8192, but at most an eighth of
    /// the window.
    pub context_window_buffer: Option<CountOrNone>,
    /// Tool results of more bytes than this are stored, and the model sees a handle; by default
    /// 12288. 0 means no limit.
    pub tool_response_max_bytes: Option<CountOrNone>,
    /// What happens to oversized tool results; `false` cuts out their middle.
    #[schemars(with = "Option<ToolOutputSchema>")]
    pub tool_output: Option<ToolOutput>,
    /// The required form of the agent's report.
    pub output: Option<Output>,
    /// The required form of the task when another agent calls this one.
    pub input: Option<Input>,
    /// Time limit for a reply of a model; by default the provider's.
    pub llm_timeout: Option<Time>,
    /// Time limit for a tool call; by default 5 minutes.
    pub tool_timeout: Option<Time>,
    /// Time limit for the agent; by default 30 minutes, and for a sub-agent the time that is left
    /// for the run.
    pub timeout: Option<Time>,
    /// Maximum number of requests to models in the whole run, including sub-agents and extractions;
    /// by default 200. Only the value of the agent that is run is used.
    pub max_requests: Option<Count>,
    /// Maximum number of tokens of all requests of the run and their replies; by default unlimited.
    pub max_total_tokens: Option<Count>,
    /// Maximum cost of all requests of the run, in US dollars; by default unlimited.
    pub max_cost: Option<Cost>,
    /// Maximum number of levels of sub-agents below the first agent; by default 3.
    pub max_depth: Option<Whole<0, 100>>,
    /// How long tool results are cached and returned for the same call; by default `off`.
    pub cache: Option<CacheFor>,
    /// Whether the model gets the tool `agent__batch`, which makes several calls in one; by default
    /// `true`.
    pub batch: Option<bool>,
    /// Whether the model gets the tool `agent__task_status`, with which it reports its progress; by
    /// default `true`.
    pub task_status: Option<bool>,
    /// Maximum number of retries after a failed request to a model; by default the provider's.
    pub max_retries: Option<Whole<0, 100>>,
}

/// What happens to oversized tool results, and how the model reads them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(
    default,
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a table, true or false"
)]
pub struct ToolOutput {
    /// Whether oversized results are stored; `false` cuts out their middle. By default `true`.
    pub enabled: Option<bool>,
    /// How the model reads a stored result; by default `handle`.
    pub profile: Option<Retrieval>,
    /// The directory in which the directory of a run is made; by default the directory for
    /// temporary files.
    pub store_dir: Option<PathBuf>,
    /// The models for extraction; by default those of the session.
    pub models: Option<Models>,
    /// Results of at most this many chunks are read completely; by default 1.
    pub max_chunks: Option<Count>,
    /// Maximum number of chunks that are read; by default 64.
    pub max_chunks_hard: Option<Count>,
    /// Percentage of a chunk that the next chunk repeats; by default 10.
    pub overlap_percent: Option<Whole<0, 50>>,
    /// Average line length in bytes above which grep is not used; by default 1000.
    pub avg_line_bytes_threshold: Option<Count>,
    /// Maximum size of a chunk, in tokens; by default 0, which means as many as the model's context
    /// window allows.
    pub chunk_tokens: Option<CountOrNone>,
    /// Maximum number of chunks that are read at the same time; by default 4.
    pub parallel: Option<Count>,
    /// Whether reading stops at the first verified answer; by default `false`.
    pub early_stop: Option<bool>,
    /// Maximum length of an answer, in tokens; by default 4096.
    pub answer_tokens: Option<Count>,
    /// Maximum length of all passages that are returned if no model extracts an answer, in tokens;
    /// by default 1000.
    pub passage_tokens: Option<Count>,
    /// Maximum tokens of a text whose middle is cut out; by default 2500.
    pub truncate_tokens: Option<Count>,
    /// Maximum number of requests to the model in the mode `read-grep`; by default 15.
    pub max_turns: Option<Whole<1, 1000>>,
    /// Maximum number of tool calls from one reply in the mode `read-grep`; by default 10.
    pub max_tool_calls_per_turn: Option<Whole<1, 1000>>,
    /// Maximum length of a tool's answer in the mode `read-grep`, in tokens; by default 4000.
    pub tool_tokens: Option<Count>,
}

/// The value of `toolOutput`: `false`, or a table of settings.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it is a schema and nothing else")]
pub(crate) enum ToolOutputSchema {
    /// `false` cuts out the middle of oversized results instead of storing them.
    Switch(bool),
    /// The settings, one by one.
    Settings(Box<ToolOutput>),
}

/// How the model reads a stored result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Retrieval {
    /// The model asks questions about the result by its handle, with the tool `tool_output`.
    #[default]
    Handle,
    /// The model reads the result page by page, with the tool `get_continuation`.
    Continuation,
}

/// The required form of the agent's report.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(
    default,
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a table such as {format: markdown}"
)]
pub struct Output {
    /// The format of the report; by default `markdown`.
    pub format: Option<OutputFormat>,
    /// The JSON Schema of a JSON report.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub schema: Option<Value>,
    /// The file that contains the schema; a path relative to the directory of this file.
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

/// The required form of a task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(
    default,
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a table such as {format: text}"
)]
pub struct Input {
    /// The format of the task; by default `text`.
    pub format: Option<InputFormat>,
    /// The JSON Schema of a JSON task, which is the arguments of another agent's call.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub schema: Option<Value>,
    /// The file that contains the schema; a path relative to the directory of this file.
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
