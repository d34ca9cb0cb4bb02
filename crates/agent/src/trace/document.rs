//! The document that `--trace` writes.

use serde::{Deserialize, Serialize};
use spillgate_artifact::Timestamp;
use spillgate_extract::Op;
use spillgate_llm::Target;

use super::Accounting;
use crate::report::{Ending, Report};
use crate::settings::Window;

/// Version of the document. A reader refuses a higher one.
pub const TRACE_VERSION: u32 = 1;

/// A session as a document. It is complete at the end of the session, and at any time up to that
/// moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// [`TRACE_VERSION`].
    pub version: u32,
    /// The agent's name.
    pub agent: String,
    /// The first bytes of its task, as many as are kept of a reply.
    pub task: String,
    /// Bytes of the whole task.
    pub task_bytes: u64,
    /// Its settings.
    pub setup: Setup,
    /// When it began.
    pub started: Timestamp,
    /// When it ended; `None` while it runs, and if it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// Its report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    /// Its account.
    pub accounting: Accounting,
    /// Its operations.
    pub root: Op,
}

/// The settings of a session that explain what it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The models, in the order in which they are asked.
    pub models: Vec<Target>,
    /// The context window.
    pub window: Window,
    /// Most model turns, including the final one.
    pub max_turns: u32,
    /// Most calls made of one reply.
    pub calls_per_turn: u32,
    /// Format of the report: `text`, `markdown` or `json`.
    pub format: String,
    /// Number of tools.
    pub tools: usize,
    /// The tool that reads stored results; `None` if nothing is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<String>,
}
