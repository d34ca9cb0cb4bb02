//! Error replies that state what cannot be done, who caused it and what to do.

use serde_json::{Value, json};
use spillgate_mcp::{error_code, frame};
use spillgate_transport::Item;

/// A JSON-RPC error that says who is at fault and what to do.
#[derive(Debug, Clone)]
pub(crate) struct RefusalReply {
    code: i64,
    message: String,
    data: Value,
}

impl RefusalReply {
    /// Creates a refusal. `fault` is `client`, `upstream` or `gateway`.
    pub(crate) fn new(code: i64, fault: &str, message: impl Into<String>, hint: &str) -> Self {
        let data = json!({"fault": fault, "hint": hint});
        Self {
            code,
            message: message.into(),
            data,
        }
    }

    /// Adds a member to the error's `data`.
    pub(crate) fn with(mut self, name: &str, value: Value) -> Self {
        self.data[name] = value;
        self
    }

    /// Returns the refusal as a message that answers the request `id` (JSON).
    pub(crate) fn frame(&self, id: &str) -> Vec<u8> {
        let error = json!({"code": self.code, "message": self.message, "data": self.data});
        frame::error(id, error)
    }
}

pub(crate) fn not_json() -> RefusalReply {
    RefusalReply::new(
        error_code::PARSE_ERROR,
        "client",
        "this is no JSON-RPC message",
        "send one JSON object for each message",
    )
}

pub(crate) fn no_id() -> RefusalReply {
    RefusalReply::new(
        error_code::INVALID_REQUEST,
        "client",
        "the id of a request must be a text or a number",
        "send the request again with such an id",
    )
}

pub(crate) fn params_are_a_list() -> RefusalReply {
    RefusalReply::new(
        error_code::INVALID_PARAMS,
        "client",
        "`params` must be an object",
        "name the parameters",
    )
}

pub(crate) fn too_many(what: &str, most: usize) -> RefusalReply {
    RefusalReply::new(
        error_code::SERVER_ERROR,
        "client",
        format!("more than {most} {what} at once"),
        "wait for answers before sending more",
    )
}

pub(crate) fn removed(method: &str, instead: &str) -> RefusalReply {
    RefusalReply::new(
        error_code::METHOD_NOT_FOUND,
        "client",
        format!("`{method}` is not part of MCP 2026-07-28"),
        instead,
    )
}

pub(crate) fn tasks(method: &str) -> RefusalReply {
    RefusalReply::new(
        error_code::METHOD_NOT_FOUND,
        "gateway",
        format!(
            "`{method}` cannot be bridged: the client and the server speak different generations \
             of MCP, whose tasks differ"
        ),
        "call the tool without a task",
    )
}

pub(crate) fn too_large(size: usize) -> RefusalReply {
    RefusalReply::new(
        error_code::SERVER_ERROR,
        "gateway",
        format!("a result of {size} bytes arrived before the client's input and could not be kept"),
        "call again, and come back with the input sooner",
    )
}

pub(crate) fn unbridged(server: &str, bytes: u64) -> RefusalReply {
    RefusalReply::new(
        error_code::SERVER_ERROR,
        "gateway",
        format!(
            "a message of {bytes} bytes of the server `{server}` is too large to be brought over \
             from its generation of MCP to the client's"
        ),
        "call again for less of it, or use a client of the server's generation",
    )
    .with("server", Value::from(server))
    .with("bytes", Value::from(bytes))
}

pub(crate) fn gone(server: &str, how: &str) -> RefusalReply {
    RefusalReply::new(
        error_code::SERVER_ERROR,
        "upstream",
        format!("the upstream server `{server}` {how} before it answered"),
        "try again; if it stays so, look at the server's own log",
    )
    .with("server", Value::from(server))
}

pub(crate) fn no_connection(server: &str, why: &str) -> RefusalReply {
    RefusalReply::new(
        error_code::SERVER_ERROR,
        "upstream",
        format!("the upstream server `{server}` could not be opened: {why}"),
        "try again; if it stays so, look at the server's own log",
    )
    .with("server", Value::from(server))
}

/// Returns a short text that says how a request failed.
pub(crate) fn reason(item: &Item) -> String {
    match item {
        Item::Refused(refusal) => format!("it answered with HTTP status {}", refusal.status),
        Item::Ended => "its response ended before the answer".to_owned(),
        Item::Failed(error) => error.to_string(),
        Item::Gone(how) => how.clone(),
        Item::Message(_) | Item::Mark { .. } => "it did not answer".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames() {
        let text = |frame: Vec<u8>| String::from_utf8(frame).unwrap();
        insta::assert_snapshot!(text(gone("files", "exited with status 1").frame("\"a\"")), @r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32000,"data":{"fault":"upstream","hint":"try again; if it stays so, look at the server's own log","server":"files"},"message":"the upstream server `files` exited with status 1 before it answered"}}"#);
    }
}
