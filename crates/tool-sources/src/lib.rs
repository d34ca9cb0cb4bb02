//! The sources of an agent's tools.
//!
//! Tools come from MCP servers, which are connected in the same way as by the gateway
//! ([`McpTools`]); from descriptions of HTTP requests ([`RestTool`]); from OpenAPI documents
//! ([`OpenApi`]); and from this process, which contains the guarded tools ([`GuardedTools`]). All
//! of these sources implement [`Host`](spillgate_agent::Host): a call returns bytes of any size,
//! and whether the call failed. The agent's session decides what happens to the bytes.
//!
//! ```text
//! tools: ["files", "git/log*", "weather"] ──▶ choose ──▶ names, each of one tool
//!                                               │
//!                 McpTools ── Upstream ── one server each
//!                 RestTools ── Plan ── HTTP          OpenApi ── Plan
//! ```

mod guarded;
mod mcp;
mod names;
mod openapi;
mod rest;
mod tool_selection;

pub use guarded::GuardedTools;
pub use mcp::{Leftovers, McpError, McpTools, OPENING};
pub use openapi::{OpenApi, OpenApiError};
pub use rest::{BodyForm, DEFAULT_TIMEOUT, MOST_BYTES, RestError, RestTool, RestTools, Verb};
pub use tool_selection::{SelectedTools, ToolSelection, ToolSelectionError, choose};
