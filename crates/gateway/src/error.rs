//! Whose fault was it?

use std::io;

use serde_json::{Value, json};

/// The gateway could not start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The server's command could not be started.
    #[error("the server `{server}` could not be started: {source}")]
    Spawn {
        /// Its name.
        server: String,
        /// What the system said.
        source: io::Error,
    },
    /// The gateway's own standard streams failed.
    #[error("the gateway's standard input or output failed: {0}")]
    Stdio(#[source] io::Error),
}

/// A JSON-RPC error frame for a request that the server cannot answer any more.
/// The code is the one that JSON-RPC leaves to implementations.
pub(crate) fn upstream_gone(id: &str, server: &str, how: &str) -> Vec<u8> {
    const SERVER_ERROR: i64 = -32000;
    error_frame(
        id,
        &json!({
            "code": SERVER_ERROR,
            "message": format!("the upstream server `{server}` {how} before it answered"),
            "data": {"fault": "upstream", "server": server},
        }),
    )
}

/// A JSON-RPC error frame for a call of our own tools that a bug kept from being
/// answered.
pub(crate) fn internal(id: &str) -> Vec<u8> {
    const INTERNAL_ERROR: i64 = -32603;
    error_frame(
        id,
        &json!({
            "code": INTERNAL_ERROR,
            "message": "the gateway failed on this call; this is a bug in spillgate",
            "data": {"fault": "gateway"},
        }),
    )
}

fn error_frame(id: &str, error: &Value) -> Vec<u8> {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n").into_bytes()
}
