//! An MCP proxy in front of one or more servers.
//!
//! Frames pass byte for byte, and changes are byte edits. Greetings and lists get the entries that
//! the gateway adds, oversized results become previews and links, and references in arguments
//! become the values that they refer to. If frames were parsed into typed messages and written
//! again, unknown fields would be lost and the text of numbers would change. Therefore only the
//! envelope of a frame is parsed (docs/spec/protocol.md, "Why only envelopes are read").
//!
//! ```text
//! client ──▶ Session ─▶ builtin? ─▶ aggregate? ─▶ Upstream ─▶ bridge? ─▶ Connection ──▶ server
//! client ◀── Sink ◀─── rewrite ◀── answers ◀───────────────── Sink ◀────────────────── server
//! ```

mod aggregate;
mod builtin_tools;
mod error;
#[cfg(test)]
mod fixture;
mod gateway;
mod hub;
mod references;
mod resources;
mod results;
mod rewrite;
mod session;
mod telemetry;
mod tool_search;
mod upstream;

pub use builtin_tools::{ListTools, own_tools};
pub use error::GatewayError;
pub use gateway::{Gateway, Prefix, Several};
pub use hub::{Hub, ServerSeen};
pub use results::duplicate_text::is_twin;
pub use results::found::{Base64, Place};
pub use session::Session;
pub use session::asked_mode::{RESULTS_HEADER, RESULTS_META};
pub use session::incoming::Incoming;
pub use session::standard::{Signals, run};
pub use telemetry::metrics::{AuditLoss, Metrics, ServerState};
pub use tool_search::{DEFAULT_LIST_BUDGET, ToolList, ToolSearch};
