//! Names of `_meta` members and HTTP headers that the protocol defines.

/// The protocol version that a request is made in.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The client that makes a request.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The client's capabilities for this request.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The lowest level of log messages that this request asks for.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// In a notification: the `subscriptions/listen` request that it belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// In a result: the server that made it.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The HTTP header with the protocol version, in lower case.
pub const VERSION_HEADER: &str = "mcp-protocol-version";
/// The HTTP header with the session id, in lower case.
pub const SESSION_HEADER: &str = "mcp-session-id";
