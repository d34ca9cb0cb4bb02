//! Reads agents from prompt files and configuration files.
//!
//! ```text
//! options ─┐
//! prompt file ──► Settings ─┐
//!                           ├─► resolve ─► Agent: the final values and their sources
//! .ai-agent.json ─► sections ┘
//! ```
//!
//! [`PromptFile`] is a prompt with frontmatter, [`ConfigFile`] a `.ai-agent.json`. Only
//! [`resolve()`] decides which of their values apply. Both files are parsed into a tree with
//! positions and from there into types (`spillgate_config`), so that every error names file, line,
//! column and key, and all errors are reported together. `docs/agent-files.md` is the reference.

mod agent;
mod config;
mod entry;
mod expand;
mod guarded;
mod keys;
mod problem;
mod prompt;
mod read;
mod refused;
mod resolve;
mod schema;
mod sections;
mod source;
mod values;
mod wrong;

pub use agent::{Agent, CacheRules, Row, RunRules, SourceKind, ToolOutputs, ToolSource};
pub use config::ConfigFile;
pub use entry::Entry;
pub use expand::Lookup;
pub use guarded::{
    GuardedSearch, GuardedShell, GuardedTool, GuardedTools, GuardedWeb, Overflow, SearchService,
    WritableBelow,
};
pub use keys::{Input, InputFormat, Output, OutputFormat, Retrieval, Settings, ToolOutput};
pub use problem::{FileError, Problems};
pub use prompt::PromptFile;
pub use resolve::{
    DEFAULT_BUFFER, DEFAULT_CALLS_PER_TURN, DEFAULT_MAX_DEPTH, DEFAULT_MAX_REQUESTS,
    DEFAULT_MAX_TURNS, DEFAULT_RUN_TIME, DEFAULT_TOOL_TIMEOUT, resolve,
};
pub use schema::{ai_agent_schema, prompt_file_schema};
pub use sections::{Cache, McpKind, McpServer};
pub use source::{Set, Source};
pub use spillgate_config::{MAX_FILE_BYTES, Position};
pub use values::{
    Bytes, CacheFor, Cost, Count, CountOrNone, Models, Names, NumberError, Time, Whole,
};
