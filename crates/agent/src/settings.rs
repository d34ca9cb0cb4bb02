//! What a session is told before it begins.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spillgate_llm::ToolSpec;

/// Model turns of a session, unless told otherwise (ai-agent's default).
pub const DEFAULT_MAX_TURNS: u32 = 10;

/// Calls that are made of one reply, unless told otherwise (ai-agent's default).
pub const DEFAULT_CALLS_PER_TURN: u32 = 10;

/// Calls that are under way at the same time.
pub const CONCURRENCY: usize = 4;

/// Turns of nothing but paging (`get_continuation`) that are not counted: without a bound
/// a model that only pages never ends.
pub const MAX_PAGING_TURNS: u32 = 50;

/// The room of a conversation, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The model's context: prompt and reply together.
    pub window: u64,
    /// Kept free for what is counted otherwise elsewhere. ai-agent's default is
    /// 8,192.
    pub buffer: u64,
    /// What a reply may have.
    pub max_output: u64,
}

impl Window {
    /// What the conversation may have: `window − buffer − max output`.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.window
            .saturating_sub(self.buffer)
            .saturating_sub(self.max_output)
    }
}

/// A session that is to be led.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The system prompt: a prompt file's words.
    pub system: String,
    /// The task, as the user's message.
    pub task: String,
    /// What the report has to be.
    pub format: Format,
    /// Model turns, the final one included.
    pub max_turns: u32,
    /// Calls that are made of one reply.
    pub calls_per_turn: u32,
    /// The room of the conversation.
    pub window: Window,
    /// Which tools of the session's own there are.
    pub offers: Offers,
    /// The tools of the hosts, in the order in which the model is told of them.
    pub tools: Vec<ToolSpec>,
    /// The tool that leads into stored results: `tool_output`, listed once there are some,
    /// or `get_continuation`, which is always listed.
    pub retrieval: Option<ToolSpec>,
}

/// Which tools of its own a session offers beside the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offers {
    /// `agent__task_status`.
    pub status: bool,
    /// `agent__batch`.
    pub batch: bool,
}

/// What a report has to be.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Plain text.
    Text,
    /// Markdown.
    Markdown,
    /// A JSON value; of this schema, if there is one.
    Json(Option<Value>),
}

impl Format {
    /// Its name, as in the wrapper and in `agent__final_report`.
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
