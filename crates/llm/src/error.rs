//! Why a model did not answer, and whose fault it was.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Target;

/// A model gave no reply. Never holds a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{target}: {message}{}", request_id.as_ref().map(|id| format!(" (request {id})")).unwrap_or_default())]
pub struct LlmError {
    /// What sort of failure.
    pub kind: ErrorKind,
    /// Who failed.
    pub target: Target,
    /// What happened, in one line: for an answer of the provider's, its status and
    /// words.
    pub message: String,
    /// The provider's id of the exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// How long the provider asks to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
}

impl LlmError {
    /// A failure of `target`.
    #[must_use]
    pub fn new(kind: ErrorKind, target: Target, message: impl Into<String>) -> Self {
        Self {
            kind,
            target,
            message: message.into(),
            request_id: None,
            retry_after: None,
        }
    }
}

/// Sorts of failures; what can be done about each differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The key is missing or was refused, or its account is used up.
    Auth,
    /// The provider wants fewer requests (429).
    RateLimited,
    /// The provider failed (5xx, overloaded).
    Provider,
    /// No answer in time.
    Timeout,
    /// The provider could not be reached, or the connection broke.
    Connection,
    /// The answer ended before its end.
    CutOff,
    /// The answer is not what the protocol says.
    BadReply,
    /// The request is longer than the model's context.
    ContextLength,
    /// The provider refused the request (other 4xx).
    BadRequest,
    /// Nobody was asked: the run has used up what it may.
    Spent,
}

impl ErrorKind {
    /// Whether the same request may succeed a little later.
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::RateLimited
                | Self::Provider
                | Self::Timeout
                | Self::Connection
                | Self::CutOff
                | Self::BadReply
        )
    }
}
