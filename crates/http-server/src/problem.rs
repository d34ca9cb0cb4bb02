//! Refusals of requests, as HTTP responses.

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use serde_json::Value;
use spillgate_mcp::{RequestId, error_code, frame};

/// A refusal of a request: an HTTP status, with a JSON-RPC error as the body.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    status: StatusCode,
    code: i64,
    message: String,
    id: Option<RequestId>,
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

    /// Returns a refusal with this status, for a reason for which JSON-RPC has no error code.
    pub(crate) fn http(status: StatusCode, message: impl Into<String>) -> Self {
        Self::new(status, error_code::SERVER_ERROR, message)
    }

    /// Returns a refusal with status 400.
    pub(crate) fn bad(code: i64, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// Sets the id of the request that the refusal answers.
    pub(crate) fn of(self, id: Option<RequestId>) -> Self {
        Self { id, ..self }
    }

    /// Sets the time after which the client may try again.
    pub(crate) fn again_in(self, seconds: u64) -> Self {
        self.with(RETRY_AFTER, &seconds.max(1).to_string())
    }

    /// Sets the challenge that tells the client how to authenticate.
    pub(crate) fn challenge(self, challenge: &str) -> Self {
        self.with(WWW_AUTHENTICATE, challenge)
    }

    /// Returns a refusal with status 405.
    pub(crate) fn method(allow: &str) -> Self {
        let message = format!("here, only {allow} is served");
        Self::http(StatusCode::METHOD_NOT_ALLOWED, message).with(ALLOW, allow)
    }

    /// Returns the refusal in the form of the API for programs: problem details (RFC 9457).
    pub(crate) fn into_details(self) -> axum::response::Response {
        let problem = spillgate_http_api::Problem::refused(self.status, &self.message);
        let mut response = problem.into_response();
        response.headers_mut().extend(self.headers);
        response
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

/// Returns a JSON-RPC error.
pub(crate) fn error_frame(id: Option<&RequestId>, code: i64, message: &str) -> Vec<u8> {
    let id = id.map_or("null", RequestId::as_json);
    let message = Value::from(message);
    frame::error(id, format_args!(r#"{{"code":{code},"message":{message}}}"#))
}
