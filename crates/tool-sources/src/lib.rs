//! The sources of an agent's tools.
//!
//! Tools come from MCP servers, which are reached as the gateway reaches its own ([`McpTools`]);
//! from descriptions of HTTP requests ([`RestTool`]); from OpenAPI documents ([`OpenApi`]); and
//! from this process, the guarded ones ([`GuardedTools`]). All of them are
//! [`Host`](spillgate_agent::Host)s: a call returns bytes of any size and whether it failed. The
//! session decides what becomes of the bytes.
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
