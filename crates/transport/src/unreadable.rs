//! Turns unreadable messages (truncated, not UTF-8, not JSON) into failures of the requests that
//! they answer.

use spillgate_mcp::RequestId;

use crate::{ConnectionError, Frame, Item, ServerEvent};

impl ConnectionError {
    /// Returns the error for an unreadable message of `bytes` bytes.
    #[must_use]
    pub fn unreadable(bytes: u64) -> Self {
        Self::NotMcp(format!("a message of {bytes} bytes that cannot be read"))
    }
}

impl Frame {
    /// Returns the request that this unreadable message answers; `None` if unknown. `of` is the
    /// request on whose stream the message arrived.
    #[must_use]
    pub fn unreadable_answer(&self, of: Option<&RequestId>) -> Option<RequestId> {
        let on_stream = || of.filter(|_| self.is_answer()).cloned();
        self.broken_answer().or_else(on_stream)
    }

    /// Logs an unreadable message of `server`. Only its length is logged, because the content is
    /// private. The level is warning for a response and debug for all other output, because a
    /// server that logs to standard output produces much of it.
    pub fn log_unreadable(&self, server: &str, is_answer: bool) {
        let bytes = self.len();
        if is_answer {
            tracing::warn!(
                server,
                bytes,
                "a server sent a response that cannot be parsed"
            );
        } else {
            tracing::debug!(
                server,
                bytes,
                "a server sent a message that cannot be parsed"
            );
        }
    }
}

impl ServerEvent {
    /// Replaces an unreadable message of `server` with the failure of the request that it answers.
    /// `None` if that request is unknown; the message is then only logged.
    #[must_use]
    pub fn or_failure(self, server: &str) -> Option<Self> {
        let Item::Message(frame) = &self.item else {
            return Some(self);
        };
        if frame.is_message() {
            return Some(self);
        }
        let answered = frame.unreadable_answer(self.of.as_ref());
        frame.log_unreadable(server, answered.is_some());
        let error = ConnectionError::unreadable(frame.len());
        answered.map(|key| Self {
            of: Some(key),
            event: self.event,
            item: Item::Failed(error),
        })
    }
}
