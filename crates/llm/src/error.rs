//! Defines the reasons why a model did not answer, and which of them may be temporary.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Target;

/// Why a model gave no reply. The error never contains a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{target}: {message}{}", request_id.as_ref().map(|id| format!(" (request {id})")).unwrap_or_default())]
pub struct LlmError {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// The target that failed.
    pub target: Target,
    /// What happened, on one line. If the provider answered, this is its status and message.
    pub message: String,
    /// The id that the provider gave to the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// How long the provider asks to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
}

impl LlmError {
    /// Creates an error of `target`.
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

/// Kinds of failures. They differ in how a caller can react to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The key is missing or was rejected, or its account has no credit left.
    Auth,
    /// The provider wants fewer requests (429).
    RateLimited,
    /// The provider failed (5xx, overloaded).
    Provider,
    /// There was no answer within the time limit.
    Timeout,
    /// The provider could not be reached, or the connection broke.
    Connection,
    /// The answer was cut off.
    CutOff,
    /// The answer does not follow the protocol.
    BadReply,
    /// The request is longer than the model's context.
    ContextLength,
    /// The provider refused the request (other 4xx).
    BadRequest,
    /// The request was not sent, because the run has used up its limits.
    Spent,
}

impl ErrorKind {
    /// Returns the kind's name in traces.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::RateLimited => "rate_limited",
            Self::Provider => "provider",
            Self::Timeout => "timeout",
            Self::Connection => "connection",
            Self::CutOff => "cut_off",
            Self::BadReply => "bad_reply",
            Self::ContextLength => "context_length",
            Self::BadRequest => "bad_request",
            Self::Spent => "spent",
        }
    }

    /// Returns whether the same request may succeed if it is sent again a little later.
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
