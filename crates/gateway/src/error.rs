//! Whose fault was it?
//!
//! Every error names the server that it is about, and in `data.fault` who has to
//! act: the `client`, the `upstream` server or the `gateway`.

use std::io;

use serde_json::{Value, json};
use spillgate_wire::{Envelope, Key, LinkError, Refusal, messages};

/// The code that JSON-RPC leaves to implementations.
const SERVER_ERROR: i64 = -32000;
/// The code of a request that took too long, as the SDKs have it.
const TIMED_OUT: i64 = -32001;
const PARSE_ERROR: i64 = -32700;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;

/// The gateway could not start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The way to the only server could not be opened.
    #[error("the server `{server}` {error}")]
    Open {
        /// Its name.
        server: String,
        /// Why.
        error: LinkError,
    },
    /// The gateway's own standard streams failed.
    #[error("the gateway's standard input or output failed: {0}")]
    Stdio(#[source] io::Error),
}

/// For a request that the server cannot answer any more.
pub(crate) fn upstream_gone(id: &str, server: &str, how: &str) -> Vec<u8> {
    let message = format!("the upstream server `{server}` {how} before it answered");
    upstream(id, SERVER_ERROR, server, &message)
}

/// For a request that did not reach the server.
pub(crate) fn not_sent(id: &str, server: &str, error: &LinkError) -> Vec<u8> {
    upstream(
        id,
        SERVER_ERROR,
        server,
        &format!("the upstream server `{server}` {error}"),
    )
}

/// For a request that the server has not answered in time.
pub(crate) fn too_slow(id: &str, server: &str, how: &str) -> Vec<u8> {
    upstream(
        id,
        TIMED_OUT,
        server,
        &format!("the upstream server `{server}` {how}"),
    )
}

fn upstream(id: &str, code: i64, server: &str, message: &str) -> Vec<u8> {
    let data = json!({"fault": "upstream", "server": server});
    error_frame(id, &json!({"code": code, "message": message, "data": data}))
}

/// For a request that the server refused on the level of HTTP: its own answer, if
/// the body is one.
pub(crate) fn refused(of: &Key, refusal: &Refusal) -> Vec<u8> {
    if messages(&refusal.body)
        .first()
        .is_some_and(Envelope::is_response)
    {
        let mut line: Vec<u8> = refusal.body.trim_ascii_end().to_vec();
        for byte in &mut line {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        line.push(b'\n');
        return line;
    }
    let what = match refusal.status {
        401 | 403 => "does not let the gateway in",
        404 => "knows no such endpoint or session",
        429 => "wants fewer requests",
        500.. => "failed",
        _ => "refused the request",
    };
    let message = format!(
        "the upstream server {what} (HTTP status {})",
        refusal.status
    );
    let data = json!({"fault": "upstream", "status": refusal.status});
    error_frame(
        of.as_json(),
        &json!({"code": SERVER_ERROR, "message": message, "data": data}),
    )
}

/// For a question to all servers that none of them answered.
pub(crate) fn nobody_answered(id: &str, method: &str, why: &str) -> Vec<u8> {
    let message = format!("no server behind this gateway answered `{method}`: {why}");
    let data = json!({"fault": "upstream"});
    error_frame(
        id,
        &json!({"code": SERVER_ERROR, "message": message, "data": data}),
    )
}

/// For parameters that cannot be meant.
pub(crate) fn invalid_params(id: &str, message: &str) -> Vec<u8> {
    let data = json!({"fault": "client"});
    error_frame(
        id,
        &json!({"code": INVALID_PARAMS, "message": message, "data": data}),
    )
}

/// For a method that no server has.
pub(crate) fn method_not_found(id: &str, method: &str) -> Vec<u8> {
    let message = format!(
        "no server behind this gateway has the method `{}`",
        method.escape_debug()
    );
    let data = json!({"fault": "client"});
    error_frame(
        id,
        &json!({"code": METHOD_NOT_FOUND, "message": message, "data": data}),
    )
}

/// For what is no message.
pub(crate) fn no_message() -> Vec<u8> {
    let message = "this is no JSON-RPC message";
    let data = json!({"fault": "client"});
    error_frame(
        "null",
        &json!({"code": PARSE_ERROR, "message": message, "data": data}),
    )
}

/// For a call of our own tools that a bug kept from being answered.
pub(crate) fn internal(id: &str) -> Vec<u8> {
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
