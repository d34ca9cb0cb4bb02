//! The settings of a session.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spillgate_llm::ToolSpec;

/// Maximum number of model turns of a session, unless configured otherwise (ai-agent's default).
pub const DEFAULT_MAX_TURNS: u32 = 10;

/// Maximum number of calls made for one reply, unless configured otherwise (ai-agent's default).
pub const DEFAULT_CALLS_PER_TURN: u32 = 10;

/// Maximum number of calls in flight at the same time.
pub const CONCURRENCY: usize = 4;

/// Maximum number of turns that are not counted against the limit on turns because the model only
/// reads pages (`get_continuation`). Without this bound, a model that only reads would never end.
pub const MAX_PAGING_TURNS: u32 = 50;

/// The model's context window, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The whole context: prompt and reply together.
    pub window: u64,
    /// Tokens kept free, because providers count tokens differently than we do. ai-agent's default
    /// is 8,192.
    pub buffer: u64,
    /// Maximum length of a reply, in tokens.
    pub max_output: u64,
}

impl Window {
    /// Returns how many tokens the conversation may use: `window − buffer − max output`.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.window
            .saturating_sub(self.buffer)
            .saturating_sub(self.max_output)
    }
}

/// Everything that a session needs when it begins.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The system prompt: the text of the prompt file.
    pub system: String,
    /// The task, which is sent as the user's message.
    pub task: String,
    /// The format of the report.
    pub format: Format,
    /// Maximum number of model turns, including the final one.
    pub max_turns: u32,
    /// Maximum number of calls made for one reply.
    pub calls_per_turn: u32,
    /// The context window.
    pub window: Window,
    /// Which of the session's own tools are offered.
    pub offers: Offers,
    /// The tools of the hosts, in the order in which they are listed for the model.
    pub tools: Vec<ToolSpec>,
    /// The tool that reads stored results: `tool_output`, which is listed once a result is stored,
    /// or `get_continuation`, which is always listed.
    pub retrieval: Option<ToolSpec>,
}

/// Which of its own tools a session offers in addition to the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offers {
    /// `agent__task_status`.
    pub status: bool,
    /// `agent__batch`.
    pub batch: bool,
}

/// The format of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Plain text.
    Text,
    /// Markdown.
    Markdown,
    /// A JSON value, which must match the schema if there is one.
    Json(Option<Value>),
}

impl Format {
    /// Returns the format's name, as it is used in the wrapper and in `agent__final_report`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Markdown => "markdown",
            Self::Json(_) => "json",
        }
    }

    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::Text => "plain text".to_owned(),
            Self::Markdown => "Markdown".to_owned(),
            Self::Json(None) => "one JSON value".to_owned(),
            Self::Json(Some(schema)) => format!("one JSON value of the schema {schema}"),
        }
    }
}
