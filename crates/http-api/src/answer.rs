//! Answers in JSON or as plain text.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, VARY};
use axum::http::{HeaderValue, Response, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use spillgate_artifact::Handle;
use spillgate_offload::Presentation;

use crate::call::Call;

/// A text for a model, as its tools would return it.
#[derive(Debug, Serialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "the fields are named in JSON")]
pub(crate) struct Text {
    /// The stored result that the text is about.
    pub(crate) handle: String,
    /// The text.
    pub(crate) text: String,
    /// Tokens of the text.
    pub(crate) tokens: u64,
}

impl Text {
    pub(crate) fn of(handle: Handle, shown: &Presentation) -> Self {
        Self {
            handle: handle.to_string(),
            text: shown.text().to_owned(),
            tokens: shown.tokens(),
        }
    }

    /// Returns the response: JSON, or the text alone if the caller accepts only plain text.
    pub(crate) fn respond(self, call: &Call) -> Response<Body> {
        let accept = call.header("accept");
        let is_plain = accept.starts_with("text/plain") && !accept.contains("json");
        let mut response = match is_plain {
            true => with_type("text/plain; charset=utf-8", self.text.into_bytes()),
            false => json(StatusCode::OK, &self),
        };
        let vary = HeaderValue::from_static("accept");
        response.headers_mut().insert(VARY, vary);
        response
    }
}

/// Returns a response in JSON.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    let body = serde_json::to_vec(value).expect("invariant: plain data is JSON");
    let mut response = with_type("application/json", body);
    *response.status_mut() = status;
    response
}

/// Returns a response with a body of a type.
pub(crate) fn with_type(kind: &'static str, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
