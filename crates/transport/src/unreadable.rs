//! Turns unreadable messages (cut off, not UTF-8, not JSON) into failures of the requests that they
//! answer.

use spillgate_mcp::RequestId;

use crate::{ConnectionError, Frame, Item, ServerEvent};

impl ConnectionError {
    /// The error for an unreadable message of `bytes` bytes.
    #[must_use]
    pub fn unreadable(bytes: u64) -> Self {
        Self::NotMcp(format!("a message of {bytes} bytes that cannot be read"))
    }
}

impl Frame {
    /// The request that this unreadable message answers; `None` if unknown. `of` is the request on
    /// whose response stream it came.
    #[must_use]
    pub fn unreadable_answer(&self, of: Option<&RequestId>) -> Option<RequestId> {
        let on_stream = || of.filter(|_| self.is_answer()).cloned();
        self.broken_answer().or_else(on_stream)
    }

    /// Logs an unreadable message of `server`. Logs only its length, because the content is
    /// private. A response logs as a warning; anything else as debug, because a server that writes
    /// its log to standard output produces many.
    pub fn log_unreadable(&self, server: &str, is_answer: bool) {
        let bytes = self.len();
        if is_answer {
            tracing::warn!(server, bytes, "an answer that cannot be read");
        } else {
            tracing::debug!(server, bytes, "a message that cannot be read");
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
