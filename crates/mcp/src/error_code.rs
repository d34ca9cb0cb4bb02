//! The codes of errors: JSON-RPC's own, and those that MCP gives a meaning.

/// The message is no JSON.
pub const PARSE_ERROR: i64 = -32700;
/// No request, or one that may not be made here.
pub const INVALID_REQUEST: i64 = -32600;
/// Nobody knows the method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// Parameters are missing or wrong.
pub const INVALID_PARAMS: i64 = -32602;
/// Whoever answers has a bug.
pub const INTERNAL_ERROR: i64 = -32603;
/// Left to implementations.
pub const SERVER_ERROR: i64 = -32000;
/// The request took too long, as the SDKs have it.
pub const TIMED_OUT: i64 = -32001;
/// A resource that is not there, up to 2025-11-25.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// The user must visit a page first; 2025-11-25 only.
pub const URL_ELICITATION_REQUIRED: i64 = -32042;
/// A header and the body say different things; since 2026-07-28.
pub const HEADER_MISMATCH: i64 = -32020;
/// The client lacks a capability; since 2026-07-28.
pub const MISSING_CAPABILITY: i64 = -32021;
/// The version is not spoken; since 2026-07-28.
pub const UNSUPPORTED_VERSION: i64 = -32022;
