//! How is a client told that its request was refused?

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use serde::Serialize;
use serde_json::value::RawValue;
use spillgate_wire::Key;

/// JSON-RPC: the body is no JSON.
pub(crate) const PARSE_ERROR: i64 = -32700;
/// JSON-RPC: no request, or one that may not be made here.
pub(crate) const INVALID_REQUEST: i64 = -32600;
/// JSON-RPC: parameters are missing or wrong.
pub(crate) const INVALID_PARAMS: i64 = -32602;
/// JSON-RPC: nobody knows the method.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC, for servers to define: what HTTP's status says already.
pub(crate) const REFUSED: i64 = -32000;
/// MCP 2026-07-28: a header and the body say different things.
pub(crate) const HEADER_MISMATCH: i64 = -32020;
/// MCP 2026-07-28: the client lacks a capability.
pub(crate) const MISSING_CAPABILITY: i64 = -32021;
/// MCP 2026-07-28: nobody speaks that version.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;

/// A refusal: a status, and a JSON-RPC error as the body.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    status: StatusCode,
    code: i64,
    message: String,
    id: Option<Key>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: i64, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            id: None,
            headers: Vec::new(),
        }
    }

    /// What the transport refuses.
    pub(crate) fn http(status: StatusCode, message: impl Into<String>) -> Self {
        Self::new(status, REFUSED, message)
    }

    /// 400.
    pub(crate) fn bad(code: i64, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// The request that it is about.
    pub(crate) fn of(self, id: Option<Key>) -> Self {
        Self { id, ..self }
    }

    /// When to come again.
    pub(crate) fn again_in(self, seconds: u64) -> Self {
        self.with(RETRY_AFTER, &seconds.max(1).to_string())
    }

    /// How to show who one is.
    pub(crate) fn challenge(self, challenge: &str) -> Self {
        self.with(WWW_AUTHENTICATE, challenge)
    }

    /// 405.
    pub(crate) fn method(allow: &str) -> Self {
        let message = format!("here, only {allow} is served");
        Self::http(StatusCode::METHOD_NOT_ALLOWED, message).with(ALLOW, allow)
    }

    fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> axum::response::Response {
        let body = error_frame(self.id.as_ref(), self.code, &self.message);
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.extend(self.headers);
        response
    }
}

/// A JSON-RPC error.
pub(crate) fn error_frame(id: Option<&Key>, code: i64, message: &str) -> Vec<u8> {
    #[derive(Serialize)]
    struct Frame<'a> {
        jsonrpc: &'static str,
        id: Option<&'a RawValue>,
        error: Error<'a>,
    }
    #[derive(Serialize)]
    struct Error<'a> {
        code: i64,
        message: &'a str,
    }
    let id = id.and_then(|id| serde_json::from_str(id.as_json()).ok());
    let error = Error { code, message };
    let frame = Frame {
        jsonrpc: "2.0",
        id,
        error,
    };
    serde_json::to_vec(&frame).expect("invariant: texts and numbers can be written as JSON")
}
