//! Members of `_meta` and headers that the protocol names.

/// The version that a request is made in.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Who makes a request.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// What the client can do for this request.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// From which level on this request wants log messages.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Of a notification: the `subscriptions/listen` that it belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// Of a result: who made it.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The HTTP header that names the version, in lower case.
pub const VERSION_HEADER: &str = "mcp-protocol-version";
/// The HTTP header that names the session, in lower case.
pub const SESSION_HEADER: &str = "mcp-session-id";
