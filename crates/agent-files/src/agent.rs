//! The resolved agent.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use spillgate_extract::ExtractionSettings as Extraction;
use spillgate_llm::{ModelConfig, ProviderConfig, Target};

use crate::entry::Entry;
use crate::guarded::GuardedTools;
use crate::keys::{InputFormat, OutputFormat, Retrieval};
use crate::sections::McpServer;
use crate::source::{Set, Source};
use crate::values::Cost;

/// An agent: a prompt and all settings of its runs, each with its source.
#[derive(Clone)]
pub struct Agent {
    /// The prompt file.
    pub path: PathBuf,
    /// The name.
    pub name: Set<String>,
    /// The description for other agents.
    pub description: Set<Option<String>>,
    /// The system prompt.
    pub system: String,
    /// The models in order of preference; at least one.
    pub models: Set<Vec<Target>>,
    /// Providers configured in files, by name.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Context windows and prices configured in files, by `provider/model`.
    pub model_settings: BTreeMap<String, ModelConfig>,
    /// The sources of its tools, in the order in which they are named.
    pub tools: Vec<ToolSource>,
    /// The prompt files of the agents that it may call.
    pub agents: Set<Vec<PathBuf>>,
    /// Maximum model turns, the last one included.
    pub max_turns: Set<u32>,
    /// Maximum tool calls of one reply.
    pub max_tool_calls_per_turn: Set<u32>,
    /// Maximum tokens of a reply; `None` uses the known value of the model.
    pub max_output_tokens: Set<Option<u64>>,
    /// Tokens of the context window; `None` uses the known value of the model.
    pub context_window: Set<Option<u64>>,
    /// Tokens of the context window to keep free.
    pub context_window_buffer: Set<u64>,
    /// Bytes above which a result is stored; `None` is no limit.
    pub tool_response_max_bytes: Set<Option<u64>>,
    /// How oversized results are handled.
    pub tool_output: ToolOutputs,
    /// The format of the report.
    pub output_format: Set<OutputFormat>,
    /// The JSON Schema of a JSON report.
    pub output_schema: Set<Option<Value>>,
    /// The format of a task.
    pub input_format: Set<InputFormat>,
    /// The JSON Schema of a JSON task.
    pub input_schema: Set<Option<Value>>,
    /// Timeout of a model's reply; `None` uses the provider's.
    pub llm_timeout: Set<Option<Duration>>,
    /// Timeout of a tool call.
    pub tool_timeout: Set<Duration>,
    /// Timeout of a run; `None` is [`DEFAULT_RUN_TIME`](crate::DEFAULT_RUN_TIME) for the agent that
    /// the user runs, and the time of the whole run for its sub-agents.
    pub timeout: Set<Option<Duration>>,
    /// Limits of the whole run, if the user runs this agent.
    pub run: RunRules,
    /// Cache of results for repeated calls.
    pub cache: CacheRules,
    /// Whether the agent has `agent__batch`.
    pub batch: Set<bool>,
    /// Whether the agent has `agent__task_status`.
    pub task_status: Set<bool>,
    /// Retries after a failed model request; `None` uses the provider's.
    pub max_retries: Set<Option<u32>>,
    pub(crate) rows: Vec<Row>,
}

/// Limits of a whole run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRules {
    /// Maximum model requests.
    pub max_requests: Set<u64>,
    /// Maximum tokens of these requests; `None` is no limit.
    pub max_total_tokens: Set<Option<u64>>,
    /// Maximum cost of these requests; `None` is no limit.
    pub max_cost: Set<Option<Cost>>,
    /// Maximum depth of nested agents.
    pub max_depth: Set<u32>,
}

/// A source of tools.
#[derive(Debug, Clone)]
pub struct ToolSource {
    /// The kind of the source.
    pub kind: SourceKind,
    /// Glob patterns that select tools; empty selects all.
    pub only: Vec<String>,
    /// The server, for an MCP source.
    pub server: Option<McpServer>,
    /// The settings, for guarded tools.
    pub guarded: Option<GuardedTools>,
    /// The configuration of the source.
    pub entry: Entry,
}

/// Kinds of tool sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A server of `mcpServers`.
    Mcp,
    /// A tool of `restTools`.
    Rest,
    /// A service of `openapiSpecs`.
    OpenApi,
    /// Guarded tools: an entry of `guardedTools`, or the tools that need no entry.
    Guarded,
}

impl SourceKind {
    /// Returns the configuration section of this kind.
    pub fn section(self) -> &'static str {
        match self {
            Self::Mcp => "mcpServers",
            Self::Rest => "restTools",
            Self::OpenApi => "openapiSpecs",
            Self::Guarded => "guardedTools",
        }
    }
}

/// How oversized results are handled.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutputs {
    /// Whether they are stored; otherwise they are cut.
    pub enabled: Set<bool>,
    /// How the model looks into a stored result.
    pub profile: Set<Retrieval>,
    /// The store directory; `None` lets the caller choose.
    pub store_dir: Set<Option<PathBuf>>,
    /// The models for extraction; defaults to those of the session.
    pub models: Set<Vec<Target>>,
    /// The settings of extraction.
    pub extraction: Extraction,
}

/// Cache of results for repeated calls.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheRules {
    /// How long results are kept if no pattern matches; `None` keeps none.
    pub ttl: Set<Option<Duration>>,
    /// How long results of some tools are kept (`None` keeps none), by patterns of `TOOL` or
    /// `HOST/TOOL`; the longest matching pattern applies. Empty if a nearer layer than the file
    /// switched `cache` off.
    pub tools: Vec<(String, Option<Duration>)>,
    /// Maximum bytes of the cache; `None` lets the caller choose.
    pub max_bytes: Set<Option<u64>>,
    /// The cache directory; `None` lets the caller choose.
    pub dir: Set<Option<PathBuf>>,
}

/// A setting for display, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The key.
    pub key: String,
    /// The value; if it came from a variable, the variable.
    pub value: String,
    /// The source of the value.
    pub source: Source,
}

impl Agent {
    /// Returns every setting with its value and source, as `--dry-run` shows them.
    pub fn settings(&self) -> &[Row] {
        &self.rows
    }
}

impl fmt::Debug for Agent {
    /// Shows the settings without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Agent {}", self.path.display())?;
        for row in &self.rows {
            writeln!(f, "  {} = {} ({})", row.key, row.value, row.source)?;
        }
        Ok(())
    }
}
