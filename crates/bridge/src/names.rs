//! What are things called in the two generations?

/// `_meta`: the version that a request is made in.
pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// `_meta`: who makes a request.
pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// `_meta`: what the client can do for this request.
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// `_meta`: from which level on this request wants log messages.
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// `_meta` of a notification: the `subscriptions/listen` that it belongs to.
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// `_meta` of a result: who made it.
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The `_meta` keys of a request that only the modern generation knows. Servers
/// that speak both take them for a modern request even in a legacy session
/// (the Python SDK refuses it, rmcp checks the version), so they must go.
pub(crate) const MODERN_KEYS: [&str; 4] = [
    PROTOCOL_VERSION,
    CLIENT_INFO,
    CLIENT_CAPABILITIES,
    LOG_LEVEL,
];

/// The requests that may be answered with `input_required` (schema 2026-07-28).
pub(crate) const MAY_ASK: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// The requests whose results say how long they may be kept (schema 2026-07-28).
pub(crate) const CACHEABLE: [&str; 6] = [
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "server/discover",
];

/// What a server may ask of a client: in 2025-11-25 as a request, in 2026-07-28
/// within a result.
pub(crate) const QUESTIONS: [&str; 3] =
    ["elicitation/create", "sampling/createMessage", "roots/list"];

/// The log levels, the most talkative first (RFC 5424).
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

/// Where a log level stands in [`LEVELS`].
pub(crate) fn level(name: &str) -> Option<usize> {
    LEVELS.iter().position(|known| *known == name)
}

/// The parameter of a request that HTTP requests repeat in `Mcp-Name`.
pub(crate) fn named_by(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        _ => None,
    }
}
