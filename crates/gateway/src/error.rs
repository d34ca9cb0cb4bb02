//! Error responses of the gateway.
//!
//! Every error names the server that it concerns. `data.fault` says who has to act: the `client`,
//! the `upstream` server or the `gateway`.

use std::io;

use serde_json::json;
use spillgate_mcp::{ByteEdits, RequestId, error_code, messages, span_in};
use spillgate_transport::{ConnectionError, Refusal};
use spillgate_upstream::error_frame;

/// The gateway could not start, or it had to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The connection to the only server could not be opened.
    #[error("the server `{server}` {error}")]
    Open {
        /// The server's name.
        server: String,
        /// The cause.
        error: ConnectionError,
    },
    /// The gateway's own standard streams failed.
    #[error("the gateway's standard input or output failed: {0}")]
    Stdio(#[source] io::Error),
}

/// Returns the response to a request that the server refused at the HTTP level. This is the
/// server's own error response if the body contains one.
pub(crate) fn refused(of: &RequestId, refusal: &Refusal) -> Vec<u8> {
    let said = messages(&refusal.body);
    if let Some(answer) = said.first().filter(|one| one.is_response()) {
        let mut splice = ByteEdits::default();
        // Servers that use an SDK may refuse a request before they have read its id, so the body
        // may contain another id.
        if let Some(id) = answer.id.filter(|_| answer.key().as_ref() != Some(of)) {
            splice.replace(span_in(&refusal.body, id.get()), of.as_json());
        }
        let mut line = splice.apply(refusal.body.trim_ascii_end());
        for byte in &mut line {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        line.push(b'\n');
        return line;
    }
    let what = match refusal.status {
        401 | 403 => "does not let the gateway in; check the header or the token that it is given",
        404 if refusal.session_lost => "knows the session no more",
        404 => "has no MCP at that address; check its url",
        405 | 501 => "takes no messages of MCP at that address; check its url",
        429 => "wants fewer requests",
        500.. => "failed",
        _ => "refused the request",
    };
    let server = refusal.server.as_deref();
    let named = server.map(|name| format!(" `{name}`")).unwrap_or_default();
    let message = format!(
        "the upstream server{named} {what} (HTTP status {})",
        refusal.status
    );
    let mut data = json!({"fault": "upstream", "status": refusal.status});
    if let Some(server) = server {
        data["server"] = server.into();
    }
    error_frame(
        of.as_json(),
        &json!({"code": error_code::SERVER_ERROR, "message": message, "data": data}),
    )
}

/// Returns the error for a request that was sent to all servers and answered by none.
pub(crate) fn nobody_answered(id: &str, method: &str, why: &str) -> Vec<u8> {
    let message = format!("no server behind this gateway answered `{method}`: {why}");
    let data = json!({"fault": "upstream"});
    error_frame(
        id,
        &json!({"code": error_code::SERVER_ERROR, "message": message, "data": data}),
    )
}

/// Returns the error for a message that is not allowed.
pub(crate) fn invalid_request(id: &str, message: &str) -> Vec<u8> {
    let data = json!({"fault": "client"});
    error_frame(
        id,
        &json!({"code": error_code::INVALID_REQUEST, "message": message, "data": data}),
    )
}

/// Returns the error for a message that was dropped because of its size. The id of the message is
/// unknown.
pub(crate) fn too_large(most: usize) -> Vec<u8> {
    let message = format!(
        "the message was dropped: it has more than {most} bytes, which is what the gateway holds in memory; \
         pass what is large by a file or by reference"
    );
    invalid_request("null", &message)
}

/// Returns the error for a method that no server supports.
pub(crate) fn method_not_found(id: &str, method: &str) -> Vec<u8> {
    let message = format!(
        "no server behind this gateway has the method `{}`",
        method.escape_debug()
    );
    let data = json!({"fault": "client"});
    error_frame(
        id,
        &json!({"code": error_code::METHOD_NOT_FOUND, "message": message, "data": data}),
    )
}

/// Returns the error for input that is not a message.
pub(crate) fn no_message() -> Vec<u8> {
    let message = "this is no JSON-RPC message";
    let data = json!({"fault": "client"});
    error_frame(
        "null",
        &json!({"code": error_code::PARSE_ERROR, "message": message, "data": data}),
    )
}

/// Returns the error for a call of a built-in tool that failed because of a bug.
pub(crate) fn internal(id: &str) -> Vec<u8> {
    error_frame(
        id,
        &json!({
            "code": error_code::INTERNAL_ERROR,
            "message": "the gateway failed on this call; this is a bug in spillgate",
            "data": {"fault": "gateway"},
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_answers_the_request_that_was_refused() {
        let of = RequestId::number(7);
        let refusal = |body: &'static str| Refusal {
            status: 404,
            content_type: None,
            challenge: None,
            session_lost: true,
            server: None,
            body: body.into(),
        };
        let cases = [
            (
                "{\"id\":7,\n\"error\":{\"code\":1}}",
                "{\"id\":7, \"error\":{\"code\":1}}\n",
            ),
            // An answer of a server that was written with the Python SDK.
            (
                r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}"#,
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32600,\"message\":\"Session not found\"}}\n",
            ),
        ];
        for (body, want) in cases {
            let line = refused(&of, &refusal(body));
            assert_eq!(String::from_utf8(line).unwrap(), want);
        }
        let line = refused(&of, &refusal(r#"{"id":1,"method":"x"}"#));
        assert!(line.starts_with(br#"{"jsonrpc":"2.0","id":7,"error":"#));
    }
}
