//! The sources of an agent's tools.
//!
//! From MCP servers, reached as the gateway reaches its own ([`McpTools`]); from
//! descriptions of HTTP requests ([`RestTool`]); from OpenAPI documents
//! ([`OpenApi`]); from this process, the guarded ones ([`GuardedTools`]). All are [`Host`](spillgate_agent::Host)s: what they give is bytes, of any
//! size, and whether it is a failure; what becomes of it is the session's.
//!
//! ```text
//! tools: ["files", "git/log*", "weather"] ──▶ choose ──▶ names that are each of one tool
//!                                               │
//!                 McpTools ── Upstream ── server, each its own
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
