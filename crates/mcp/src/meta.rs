//! Names of `_meta` members and HTTP headers that the protocol defines.

/// The protocol version that a request uses.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The name and version of the client that sends the request.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The client's capabilities for this request.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The lowest level of log messages that this request asks for.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// In a notification: the id of the `subscriptions/listen` request that the notification belongs
/// to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// In a result: the name and version of the server that produced the result.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The HTTP header with the protocol version, in lower case.
pub const VERSION_HEADER: &str = "mcp-protocol-version";
/// The HTTP header with the session id, in lower case.
pub const SESSION_HEADER: &str = "mcp-session-id";
