//! The JSON document that `--trace` writes: what a run did, and its totals.

use serde::{Deserialize, Serialize};
use spillgate_artifact::Timestamp;
use spillgate_extract::Op;
use spillgate_llm::Target;

use super::Accounting;
use crate::report::{Ending, Report};
use crate::settings::Window;

/// Version of the document. Readers reject documents of a higher version.
pub const TRACE_VERSION: u32 = 1;

/// A session as a document. It can be written at the end of the session, or earlier with everything
/// up to that moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// [`TRACE_VERSION`].
    pub version: u32,
    /// The agent's name.
    pub agent: String,
    /// The beginning of the task, cut to the same maximum length in bytes as recorded replies.
    pub task: String,
    /// Size of the whole task, in bytes.
    pub task_bytes: u64,
    /// The settings of the session.
    pub setup: Setup,
    /// When the session began.
    pub started: Timestamp,
    /// When the session ended; `None` while it runs, or if it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// How the session ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// The report of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    /// The account of the session.
    pub accounting: Accounting,
    /// The operations of the session.
    pub root: Op,
}

/// The settings that explain what a session did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The models, in the order in which they are asked.
    pub models: Vec<Target>,
    /// The context window.
    pub window: Window,
    /// Maximum number of model turns, including the final one.
    pub max_turns: u32,
    /// Maximum number of calls made for one reply.
    pub calls_per_turn: u32,
    /// Format of the report: `text`, `markdown` or `json`.
    pub format: String,
    /// Number of tools.
    pub tools: usize,
    /// The tool that reads stored results; `None` if results are not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<String>,
}
