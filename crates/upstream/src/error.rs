//! Errors for requests that a server does not answer.
//!
//! Every error names the server, and `data.fault` says who must act: the `client`, the `upstream`
//! server or the `gateway`.

use serde_json::{Value, json};
use spillgate_mcp::{Envelope, error_code, frame, messages};
use spillgate_transport::{ConnectionError, Frame, Refusal};

use crate::{RequestOutcome, RequestResult};

/// The reason given when an `initialize` response or a list is too large to be held in memory.
pub const TOO_MUCH: &str = "answered with too much";

/// Why a request gets no response.
#[derive(Debug)]
pub enum RequestFailure {
    /// The server could not be reached, or it ended.
    Failed(ConnectionError),
    /// The request was not sent, although the server may be running.
    NotSent(ConnectionError),
    /// The server was silent for too long. The text says for how long.
    TooSlow(String),
}

impl RequestFailure {
    /// Returns the outcome of the request.
    #[must_use]
    pub fn outcome(&self) -> RequestOutcome {
        match self {
            Self::Failed(_) | Self::NotSent(_) => RequestOutcome::UpstreamGone,
            Self::TooSlow(_) => RequestOutcome::Timeout,
        }
    }

    /// Returns the error response to the request `id` for `server`.
    #[must_use]
    pub fn frame(&self, id: &str, server: &str) -> Vec<u8> {
        let (code, how) = match self {
            Self::Failed(ConnectionError::Gone(how)) => (
                error_code::SERVER_ERROR,
                format!("{how} before it answered"),
            ),
            Self::Failed(error) | Self::NotSent(error) => {
                (error_code::SERVER_ERROR, error.to_string())
            }
            Self::TooSlow(how) => (error_code::TIMED_OUT, how.clone()),
        };
        let message = format!("the upstream server `{server}` {how}");
        let data = json!({"fault": "upstream", "server": server});
        error_frame(id, &json!({"code": code, "message": message, "data": data}))
    }

    /// Returns the reason as text for a caller inside this program.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Failed(error) | Self::NotSent(error) => error.to_string(),
            Self::TooSlow(how) => how.clone(),
        }
    }
}

/// Returns the answer to our own request when a server refused it with an HTTP status: the body if
/// it is a JSON-RPC response, otherwise an error with the status.
pub fn refused_answer(refusal: Refusal) -> RequestResult {
    let is_response = messages(&refusal.body)
        .first()
        .is_some_and(Envelope::is_response);
    match is_response {
        true => Ok(Frame::Memory(refusal.body)),
        false => Err(format!("returned the HTTP status {}", refusal.status)),
    }
}

/// Returns the error response for invalid parameters.
#[must_use]
pub fn invalid_params(id: &str, message: &str) -> Vec<u8> {
    let data = json!({"fault": "client"});
    error_frame(
        id,
        &json!({"code": error_code::INVALID_PARAMS, "message": message, "data": data}),
    )
}

/// Returns `error` as the error response to the request `id`, with a line end.
#[must_use]
pub fn error_frame(id: &str, error: &Value) -> Vec<u8> {
    frame::line(frame::error(id, error))
}
