//! An agent after all layers are resolved.

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

/// An agent: a prompt, and everything that holds for its runs, each setting with
/// who decided it.
#[derive(Clone)]
pub struct Agent {
    /// The prompt file.
    pub path: PathBuf,
    /// What it is called.
    pub name: Set<String>,
    /// What it is for.
    pub description: Set<Option<String>>,
    /// The system prompt.
    pub system: String,
    /// Its models, the first one first; there is one at least.
    pub models: Set<Vec<Target>>,
    /// Providers that the files configure, by name.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Windows and prices that the files configure, by `provider/model`.
    pub model_settings: BTreeMap<String, ModelConfig>,
    /// Where its tools come from, in the order in which they are named.
    pub tools: Vec<ToolSource>,
    /// The prompt files of the agents that it may call.
    pub agents: Set<Vec<PathBuf>>,
    /// Model turns, the last one included.
    pub max_turns: Set<u32>,
    /// Calls that are made of one reply.
    pub max_tool_calls_per_turn: Set<u32>,
    /// Tokens that a reply may have; none is what is known of the model.
    pub max_output_tokens: Set<Option<u64>>,
    /// Tokens of the context; none is what is known of the model.
    pub context_window: Set<Option<u64>>,
    /// Tokens of the context that are kept free.
    pub context_window_buffer: Set<u64>,
    /// Bytes over which a result is stored; none is no limit.
    pub tool_response_max_bytes: Set<Option<u64>>,
    /// What becomes of oversized results.
    pub tool_output: ToolOutputs,
    /// The format of the report.
    pub output_format: Set<OutputFormat>,
    /// The JSON Schema of a JSON report.
    pub output_schema: Set<Option<Value>>,
    /// The format of a task.
    pub input_format: Set<InputFormat>,
    /// The JSON Schema of a JSON task.
    pub input_schema: Set<Option<Value>>,
    /// How long a model may take for a reply; none is as its provider has it.
    pub llm_timeout: Set<Option<Duration>>,
    /// How long a call of a tool may take.
    pub tool_timeout: Set<Duration>,
    /// How long it may take; none is [`DEFAULT_RUN_TIME`](crate::DEFAULT_RUN_TIME) for
    /// the agent that is run, and as long as the run for those below it.
    pub timeout: Set<Option<Duration>>,
    /// What the whole run may use, where this is the agent that is run.
    pub run: RunRules,
    /// Results that are kept for the same call again.
    pub cache: CacheRules,
    /// Whether it has `agent__batch`.
    pub batch: Set<bool>,
    /// Whether it has `agent__task_status`.
    pub task_status: Set<bool>,
    /// Tries after a failed request to a model; none is as its provider has it.
    pub max_retries: Set<Option<u32>>,
    pub(crate) rows: Vec<Row>,
}

/// Limits of a whole run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRules {
    /// Requests to models.
    pub max_requests: Set<u64>,
    /// Their tokens; none is no limit.
    pub max_total_tokens: Set<Option<u64>>,
    /// What they cost; none is no limit.
    pub max_cost: Set<Option<Cost>>,
    /// Agents below one another.
    pub max_depth: Set<u32>,
}

/// Where tools come from.
#[derive(Debug, Clone)]
pub struct ToolSource {
    /// What kind of source it is.
    pub kind: SourceKind,
    /// Patterns (globs) of the tools that are meant; none means all.
    pub only: Vec<String>,
    /// The server, if it is one.
    pub server: Option<McpServer>,
    /// The guarded tools, if it is those.
    pub guarded: Option<GuardedTools>,
    /// What the configuration says of it.
    pub entry: Entry,
}

/// Kinds of sources of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A server of `mcpServers`.
    Mcp,
    /// A tool of `restTools`.
    Rest,
    /// A service of `openapiSpecs`.
    OpenApi,
    /// Guarded tools: an entry of `guardedTools`, or those that need none.
    Guarded,
}

impl SourceKind {
    /// The section that it stands in.
    pub fn section(self) -> &'static str {
        match self {
            Self::Mcp => "mcpServers",
            Self::Rest => "restTools",
            Self::OpenApi => "openapiSpecs",
            Self::Guarded => "guardedTools",
        }
    }
}

/// What becomes of oversized results.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutputs {
    /// Whether they are stored, or cut.
    pub enabled: Set<bool>,
    /// How the model looks into a stored one.
    pub profile: Set<Retrieval>,
    /// Where they are kept; none is for the caller to choose.
    pub store_dir: Set<Option<PathBuf>>,
    /// The models that extract; without any said, those of the session.
    pub models: Set<Vec<Target>>,
    /// How extraction works.
    pub extraction: Extraction,
}

/// Results that are kept for the same call again.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheRules {
    /// How long, where no pattern matches; none is not at all.
    pub ttl: Set<Option<Duration>>,
    /// How long results of some tools are kept (none is not at all), by patterns of
    /// `TOOL` or `HOST/TOOL`; the longest that matches holds. Empty where `ttl` was
    /// switched off over the file.
    pub tools: Vec<(String, Option<Duration>)>,
    /// Bytes that it may hold; none is for the caller to choose.
    pub max_bytes: Set<Option<u64>>,
    /// Where it is; none is for the caller to choose.
    pub dir: Set<Option<PathBuf>>,
}

/// A setting for eyes: no secret is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The key.
    pub key: String,
    /// Its value; of what came from a variable, the variable.
    pub value: String,
    /// Who decided it.
    pub source: Source,
}

impl Agent {
    /// Every setting with its value and source: what `--dry-run` shows.
    pub fn settings(&self) -> &[Row] {
        &self.rows
    }
}

impl fmt::Debug for Agent {
    /// What may be shown of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Agent {}", self.path.display())?;
        for row in &self.rows {
            writeln!(f, "  {} = {} ({})", row.key, row.value, row.source)?;
        }
        Ok(())
    }
}
