//! Refusals and failures of requests, as problem details (RFC 9457).

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::Serialize;
use spillgate_lookup::LookupError;
use spillgate_offload::{RetrieveError, Unstored};
use spillgate_retrieval::NoAnswer;
use spillgate_store::{Absent, StoreError};

/// Why a request has no answer.
#[derive(Debug, Clone)]
pub struct Problem(Box<Details>);

/// Why there is no answer, and who has to change something.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct Details {
    /// The status, as in the head of the response.
    status: u16,
    /// The meaning of the status.
    title: String,
    /// The kind of the error: a word that does not change.
    kind: String,
    /// Who has to change something.
    fault: Fault,
    /// What is wrong with this request.
    detail: String,
    /// Advice on what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The text to show to a model in place of a result that could not be stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip)]
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Who has to change something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fault {
    /// The caller.
    Caller,
    /// The server, or the machine that it runs on.
    Us,
}

impl Problem {
    fn new(status: StatusCode, kind: &str, fault: Fault, detail: impl Into<String>) -> Self {
        Self(Box::new(Details {
            status: status.as_u16(),
            title: status.canonical_reason().unwrap_or_default().to_owned(),
            kind: kind.to_owned(),
            fault,
            detail: detail.into(),
            hint: None,
            text: None,
            headers: Vec::new(),
        }))
    }

    /// Returns the problem of a request that the server refused before it reached the API.
    #[must_use]
    pub fn refused(status: StatusCode, detail: &str) -> Self {
        let kind = match status {
            StatusCode::UNAUTHORIZED => "unauthorized",
            StatusCode::TOO_MANY_REQUESTS => "too_many_requests",
            _ => "refused",
        };
        Self::new(status, kind, Fault::Caller, detail)
    }

    /// Returns the problem of a request that cannot be understood.
    pub fn bad(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "bad_request",
            Fault::Caller,
            detail,
        )
    }

    /// Returns a problem for which the caller is responsible.
    pub fn callers(status: StatusCode, kind: &str, detail: impl Into<String>) -> Self {
        Self::new(status, kind, Fault::Caller, detail)
    }

    /// Returns the problem of a request that failed here.
    pub fn ours(kind: &str, detail: impl Into<String>) -> Self {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self::new(status, kind, Fault::Us, detail)
    }

    /// Returns the problem of a path without a route.
    pub(crate) fn no_route(path: &str) -> Self {
        let path: String = path.chars().take(80).collect();
        let detail = format!("there is nothing at {}{path}", crate::PREFIX);
        Self::callers(StatusCode::NOT_FOUND, "no_route", detail)
            .hint("GET /v1/openapi.json lists all paths")
    }

    /// Returns the problem of a path that has other methods.
    pub(crate) fn method(allowed: &str) -> Self {
        let detail = format!("this path has {allowed}");
        let status = StatusCode::METHOD_NOT_ALLOWED;
        Self::callers(status, "method_not_allowed", detail).header(ALLOW, allowed)
    }

    /// Adds advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        self
    }

    /// Returns the status of the response.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Returns what is wrong with the request.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Returns the advice, if there is any.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Adds the text to show in place of a result that could not be stored.
    pub(crate) fn instead(mut self, text: &str) -> Self {
        self.0.text = Some(text.to_owned());
        self
    }

    /// Adds a header to the response.
    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.0.headers.push((name, value));
        }
        self
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let (status, fault, hint) = match &error {
            StoreError::Absent { why, .. } => {
                let status = match why {
                    Absent::Never => StatusCode::NOT_FOUND,
                    Absent::Gone { .. } => StatusCode::GONE,
                };
                (
                    status,
                    Fault::Caller,
                    "GET /v1/artifacts lists what is stored",
                )
            }
            StoreError::Full { .. } | StoreError::Reserve { .. } => (
                StatusCode::INSUFFICIENT_STORAGE,
                Fault::Us,
                "free some space on the server, or lower `reserve`",
            ),
            StoreError::Locked { .. } | StoreError::Keyless { .. } => (
                StatusCode::INTERNAL_SERVER_ERROR,
                Fault::Us,
                "start the server with the key of the store in SPILLGATE_STORE_KEY",
            ),
            StoreError::Remote { .. } => (
                StatusCode::SERVICE_UNAVAILABLE,
                Fault::Us,
                "the bucket of the store does not work; try again later, or tell who runs the server",
            ),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, Fault::Us, ""),
        };
        Self::new(status, error.kind(), fault, error.to_string()).hint(hint)
    }
}

impl From<&LookupError> for Problem {
    fn from(error: &LookupError) -> Self {
        let (status, fault, hint) = match error {
            LookupError::BadPattern { .. } => (
                StatusCode::BAD_REQUEST,
                Fault::Caller,
                "escape characters that are meant literally, as in \\( or \\.",
            ),
            LookupError::PatternTooLarge | LookupError::CostlyBoundary(_) => (
                StatusCode::BAD_REQUEST,
                Fault::Caller,
                "write `*` or `+` in place of bounds such as `{0,1000}`",
            ),
            LookupError::Interrupted { .. } => (
                StatusCode::SERVICE_UNAVAILABLE,
                Fault::Caller,
                "ask for less at a time",
            ),
            LookupError::EmptyQuestion | LookupError::NoText { .. } => {
                (StatusCode::BAD_REQUEST, Fault::Caller, "")
            }
            LookupError::PastEnd { .. } => (
                StatusCode::RANGE_NOT_SATISFIABLE,
                Fault::Caller,
                "ask for a position before the end",
            ),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, Fault::Us, ""),
        };
        Self::new(status, error.kind(), fault, error.to_string()).hint(hint)
    }
}

impl From<RetrieveError> for Problem {
    fn from(error: RetrieveError) -> Self {
        match error {
            RetrieveError::Store(error) => error.into(),
            RetrieveError::Lookup(error) => (&error).into(),
            RetrieveError::Query(error) => {
                let (status, fault) = match error.is_callers() {
                    true => (StatusCode::BAD_REQUEST, Fault::Caller),
                    false => (StatusCode::INTERNAL_SERVER_ERROR, Fault::Us),
                };
                Self::new(status, error.kind(), fault, error.to_string()).hint(error.hint())
            }
            error => {
                let status = match error.hides_secrets() {
                    true => StatusCode::FORBIDDEN,
                    false => StatusCode::INTERNAL_SERVER_ERROR,
                };
                Self::new(status, "secrets", Fault::Caller, error.to_string())
            }
        }
    }
}

/// The text is the one that a model would read, which can be fuller than that of the error.
impl From<NoAnswer> for Problem {
    fn from(none: NoAnswer) -> Self {
        let Some(error) = none.error else {
            return Self::bad(none.text);
        };
        let mut problem = Self::from(error);
        let detail = none.text.split("\nhint: ").next().unwrap_or_default();
        detail.clone_into(&mut problem.0.detail);
        problem
    }
}

impl From<Unstored> for Problem {
    fn from(error: Unstored) -> Self {
        match error {
            Unstored::Failed(error) => error.into(),
            secrets @ Unstored::Secrets { .. } => {
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                Self::callers(status, "secrets_refused", secrets.to_string())
                    .hint("the server's setting `stored` in [secrets] refuses results with secrets")
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> axum::response::Response {
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        let status = StatusCode::from_u16(self.0.status);
        *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(CONTENT_TYPE, kind);
        headers.extend(self.0.headers);
        response
    }
}
