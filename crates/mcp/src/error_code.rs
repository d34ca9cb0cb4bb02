//! Error codes of JSON-RPC and of MCP.

/// The message is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The message is not a request, or the request is not allowed here.
pub const INVALID_REQUEST: i64 = -32600;
/// The method is unknown.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// Parameters are missing or invalid.
pub const INVALID_PARAMS: i64 = -32602;
/// The responder has a bug.
pub const INTERNAL_ERROR: i64 = -32603;
/// A server error; JSON-RPC leaves its meaning to implementations.
pub const SERVER_ERROR: i64 = -32000;
/// The request timed out. The MCP SDKs use this code; no specification defines it.
pub const TIMED_OUT: i64 = -32001;
/// The resource does not exist. Used in versions up to 2025-11-25.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// The user must visit a page first. Used in version 2025-11-25 only.
pub const URL_ELICITATION_REQUIRED: i64 = -32042;
/// A header contradicts the body. Used since version 2026-07-28.
pub const HEADER_MISMATCH: i64 = -32020;
/// The client lacks a capability. Used since version 2026-07-28.
pub const MISSING_CAPABILITY: i64 = -32021;
/// The protocol version is not supported. Used since version 2026-07-28.
pub const UNSUPPORTED_VERSION: i64 = -32022;
