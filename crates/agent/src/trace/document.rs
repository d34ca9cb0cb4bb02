//! What does `--trace` write?

use serde::{Deserialize, Serialize};
use spillgate_artifact::Timestamp;
use spillgate_extract::Op;
use spillgate_llm::Target;

use super::Accounting;
use crate::report::{Ending, Report};
use crate::settings::Window;

/// The version of the document: a reader refuses a higher one.
pub const TRACE_VERSION: u32 = 1;

/// A session as a document: complete at its end, and at any time up to then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// [`TRACE_VERSION`].
    pub version: u32,
    /// The agent's name.
    pub agent: String,
    /// The first bytes of its task, as many as of a reply.
    pub task: String,
    /// Bytes of the whole task.
    pub task_bytes: u64,
    /// What it was told beside.
    pub setup: Setup,
    /// When it began.
    pub started: Timestamp,
    /// When it ended; `None` while it runs, and where it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// Its report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    /// What it came to.
    pub accounting: Accounting,
    /// What was done.
    pub root: Op,
}

/// The settings of a session that matter for what it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Who is asked, in this order.
    pub models: Vec<Target>,
    /// The room of the conversation.
    pub window: Window,
    /// Model turns, the final one included.
    pub max_turns: u32,
    /// Calls that are made of one reply.
    pub calls_per_turn: u32,
    /// What the report has to be: `text`, `markdown` or `json`.
    pub format: String,
    /// How many tools there are.
    pub tools: usize,
    /// The tool that leads into stored results; `None` where nothing is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<String>,
}
