//! Names of methods, `_meta` keys and log levels that the bridge needs to translate between the two
//! generations of MCP.

use spillgate_mcp::meta::{CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION};

/// The `_meta` keys of a request that exist only in the modern generation. They must be removed,
/// because servers of both generations treat a request with these keys as modern even in a legacy
/// session: the Python SDK refuses it, and rmcp checks the version.
pub(crate) const MODERN_KEYS: [&str; 4] = [
    PROTOCOL_VERSION,
    CLIENT_INFO,
    CLIENT_CAPABILITIES,
    LOG_LEVEL,
];

/// The requests that may be answered with `input_required` (schema 2026-07-28).
pub(crate) const MAY_ASK: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// The requests whose results state how long they may be cached (schema 2026-07-28).
pub(crate) const CACHEABLE: [&str; 6] = [
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "server/discover",
];

/// The questions that a server may put to a client. In 2025-11-25 they are requests; in 2026-07-28
/// they are parts of results.
pub(crate) const QUESTIONS: [&str; 3] =
    ["elicitation/create", "sampling/createMessage", "roots/list"];

/// The log levels, most verbose first (RFC 5424).
pub(crate) const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// Returns the position of a log level in [`LEVELS`].
pub(crate) fn level(name: &str) -> Option<usize> {
    LEVELS.iter().position(|known| *known == name)
}

/// Returns the name of the parameter that HTTP requests of this method repeat in `Mcp-Name`.
pub(crate) fn named_by(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        _ => None,
    }
}
