//! Messages that cannot be read (cut off, not UTF-8, no JSON), as failures of the requests that
//! they were to answer.

use spillgate_mcp::RequestId;

use crate::{ConnectionError, Frame, Item, ServerEvent};

impl ConnectionError {
    /// What is said of an unreadable message of so many bytes.
    #[must_use]
    pub fn unreadable(bytes: u64) -> Self {
        Self::NotMcp(format!("a message of {bytes} bytes that cannot be read"))
    }
}

impl Frame {
    /// The request that this unreadable message was to answer; `None` where nobody knows. `of`
    /// is the request on whose response stream it came.
    #[must_use]
    pub fn unreadable_answer(&self, of: Option<&RequestId>) -> Option<RequestId> {
        let on_stream = || of.filter(|_| self.is_answer()).cloned();
        self.broken_answer().or_else(on_stream)
    }

    /// Logs that this message of `server` cannot be read. Lengths only: what a server says is
    /// nobody's business here. One that writes its log where its messages belong writes many.
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
    /// This event of `server`; an unreadable message as the failure of the request that it was
    /// to answer. `None` where nobody knows what it was to answer: that is only logged.
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
