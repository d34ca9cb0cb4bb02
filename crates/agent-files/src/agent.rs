//! The resolved agent: every setting has its final value and the source of that value.

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
    /// The sources of the agent's tools, in the order in which `tools` names them.
    pub tools: Vec<ToolSource>,
    /// The prompt files of the agents that this agent may call.
    pub agents: Set<Vec<PathBuf>>,
    /// Maximum number of model turns, including the last one.
    pub max_turns: Set<u32>,
    /// Maximum number of tool calls that are made from one reply.
    pub max_tool_calls_per_turn: Set<u32>,
    /// Maximum length of a reply, in tokens; `None` uses the model's known maximum.
    pub max_output_tokens: Set<Option<u64>>,
    /// Size of the context window, in tokens; `None` uses the model's known window.
    pub context_window: Set<Option<u64>>,
    /// Tokens of the context window to keep free.
    pub context_window_buffer: Set<u64>,
    /// Results of more bytes than this are stored; `None` means no limit.
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
    /// Timeout of a model's reply; `None` uses the provider's timeout.
    pub llm_timeout: Set<Option<Duration>>,
    /// Timeout of a tool call.
    pub tool_timeout: Set<Duration>,
    /// Timeout of a run; `None` is [`DEFAULT_RUN_TIME`](crate::DEFAULT_RUN_TIME) for the agent that
    /// the user runs, and the time of the whole run for its sub-agents.
    pub timeout: Set<Option<Duration>>,
    /// Limits of the whole run. They apply if the user runs this agent.
    pub run: RunRules,
    /// The rules of the cache for tool results.
    pub cache: CacheRules,
    /// Whether the agent has `agent__batch`.
    pub batch: Set<bool>,
    /// Whether the agent has `agent__task_status`.
    pub task_status: Set<bool>,
    /// Maximum number of retries after a failed model request; `None` uses the provider's number.
    pub max_retries: Set<Option<u32>>,
    pub(crate) rows: Vec<Row>,
}

/// Limits of a whole run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRules {
    /// Maximum number of requests to models.
    pub max_requests: Set<u64>,
    /// Maximum number of tokens of these requests; `None` means no limit.
    pub max_total_tokens: Set<Option<u64>>,
    /// Maximum cost of these requests; `None` means no limit.
    pub max_cost: Set<Option<Cost>>,
    /// Maximum number of levels of sub-agents.
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
    /// Whether oversized results are stored; otherwise their middle is cut out.
    pub enabled: Set<bool>,
    /// How the model reads a stored result.
    pub profile: Set<Retrieval>,
    /// The store directory; `None` lets the caller choose.
    pub store_dir: Set<Option<PathBuf>>,
    /// The models for extraction; defaults to those of the session.
    pub models: Set<Vec<Target>>,
    /// The settings of extraction.
    pub extraction: Extraction,
}

/// The rules of the cache for tool results, which are returned when the same call is made again.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheRules {
    /// How long results are cached if no pattern matches; `None` disables caching.
    pub ttl: Set<Option<Duration>>,
    /// How long the results of some tools are cached (`None` disables caching), by patterns of
    /// `TOOL` or `HOST/TOOL`; the longest matching pattern applies. The list is empty if a source
    /// that takes precedence over the file sets `cache` to `off`.
    pub tools: Vec<(String, Option<Duration>)>,
    /// Maximum size of the cache, in bytes; `None` lets the caller choose.
    pub max_bytes: Set<Option<u64>>,
    /// The cache directory; `None` lets the caller choose.
    pub dir: Set<Option<PathBuf>>,
}

/// A setting for display, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The key.
    pub key: String,
    /// The value, or the variable that supplied it.
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
