//! Builders for the MCP messages that Spillgate itself sends. Each frame is one JSON object without
//! a line end.
//!
//! Callers pass ids, results, parameters and errors as JSON text. The text is written unchanged.

use std::fmt::Display;

use serde_json::Value;

/// Returns the response to the request `id`.
pub fn response(id: impl Display, result: impl Display) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes()
}

/// Returns the error response to the request `id`. Pass `null` if the id is unknown.
pub fn error(id: impl Display, error: impl Display) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
}

/// Returns a response to the request `id`. `member` is its last member as JSON: `"result":…` or
/// `"error":…`.
pub fn answer(id: impl Display, member: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},{member}}}"#).into_bytes()
}

/// Returns a request, with optional parameters.
pub fn request(id: impl Display, method: &str, params: Option<&str>) -> Vec<u8> {
    call(&format!(r#""id":{id},"#), method, params)
}

/// Returns a notification, with optional parameters.
#[must_use]
pub fn notification(method: &str, params: Option<&str>) -> Vec<u8> {
    call("", method, params)
}

/// Returns the notification that cancels the request `id`, with an optional reason.
pub fn cancelled(id: impl Display, reason: Option<&str>) -> Vec<u8> {
    let reason = reason.map(|reason| format!(r#","reason":{}"#, Value::from(reason)));
    let params = format!(r#"{{"requestId":{id}{}}}"#, reason.unwrap_or_default());
    notification("notifications/cancelled", Some(&params))
}

/// Appends a line end to the frame.
#[must_use]
pub fn line(mut frame: Vec<u8>) -> Vec<u8> {
    frame.push(b'\n');
    frame
}

fn call(id: &str, method: &str, params: Option<&str>) -> Vec<u8> {
    let params = params.map(|all| format!(r#","params":{all}"#));
    let params = params.unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0",{id}"method":"{method}"{params}}}"#).into_bytes()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::*;

    #[test]
    fn frames_are_spelled_as_they_always_were() {
        let all = [
            response("\"a\"", r#"{"x":1.0}"#),
            error("null", json!({"code": -1, "message": "no"})),
            answer(7, r#""result":{}"#),
            request(1, "ping", None),
            request(1, "tools/call", Some(r#"{"name":"x"}"#)),
            notification("notifications/tools/list_changed", None),
            cancelled("7", Some("no \"need\"")),
            cancelled("7", None),
        ];
        let all = all.map(|frame| String::from_utf8(line(frame)).unwrap());
        assert_snapshot!(all.concat(), @r#"
        {"jsonrpc":"2.0","id":"a","result":{"x":1.0}}
        {"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}
        {"jsonrpc":"2.0","id":7,"result":{}}
        {"jsonrpc":"2.0","id":1,"method":"ping"}
        {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}
        {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
        {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"no \"need\""}}
        {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}
        "#);
    }
}
