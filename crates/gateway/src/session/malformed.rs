//! What becomes of a message that cannot be read: cut off, not UTF-8, no JSON?
//!
//! If it can still be known which request it was to answer, that request is
//! answered with an error that names the server. Otherwise the message passes as
//! it came where nothing stands in between, and the request waits until the
//! watchdog gives it up.

use std::sync::Arc;

use spillgate_mcp::RequestId;
use spillgate_wire::{ConnectionError, Frame, Item, ServerEvent};

use crate::aggregate::plain;
use crate::session::Session;
use crate::upstream::Upstream;

/// Characters of what is no message that the log shows, where several servers are
/// behind the gateway.
const MOST_SHOWN: usize = 200;

/// What is said of such a message.
fn error(bytes: u64) -> ConnectionError {
    ConnectionError::NotMcp(format!("a message of {bytes} bytes that cannot be read"))
}

/// The request that an unreadable message was to answer, and what is said of it;
/// `None` where nobody knows. `of` is the request on whose stream it came.
fn answered(frame: &Frame, of: Option<&RequestId>) -> Option<RequestId> {
    let on_stream = || of.filter(|_| frame.is_answer()).cloned();
    frame.broken_answer().or_else(on_stream)
}

/// An unreadable message as the failure of the request that it was to answer;
/// what is whole stays. `None` for one of which nobody knows what it was to
/// answer: it is only said in the log.
pub(crate) fn as_failure(server: &str, event: ServerEvent) -> Option<ServerEvent> {
    let Item::Message(frame) = &event.item else {
        return Some(event);
    };
    if frame.is_message() {
        return Some(event);
    }
    let answered = answered(frame, event.of.as_ref());
    note(server, frame, answered.is_some());
    let error = error(frame.len());
    answered.map(|key| ServerEvent {
        of: Some(key),
        event: event.event,
        item: Item::Failed(error),
    })
}

/// Lengths only: what a server says is nobody's business here. One that writes its
/// log where its messages belong writes many.
fn note(server: &str, frame: &Frame, is_answer: bool) {
    let bytes = frame.len();
    if is_answer {
        tracing::warn!(server, bytes, "an answer that cannot be read");
    } else {
        tracing::debug!(server, bytes, "a message that cannot be read");
    }
}

impl Session {
    /// Takes a message that is none.
    pub(crate) async fn unreadable(self: &Arc<Self>, upstream: &Upstream, event: ServerEvent) {
        let Item::Message(frame) = &event.item else {
            return;
        };
        if frame.is_blank() {
            if self.is_solo() {
                self.to.take(event).await;
            }
            return;
        }
        let answered = answered(frame, event.of.as_ref());
        if !self.is_solo() && answered.is_none() {
            return self.noise(upstream, frame);
        }
        if matches!(frame, Frame::Spooled(spooled) if spooled.is_opaque()) {
            // It may well be whole, and the client can read it.
            drop(answered.as_ref().and_then(|key| self.in_flight.take(key)));
            let of = event.of.or(answered);
            return self.to.take(ServerEvent { of, ..event }).await;
        }
        let waiting = answered.and_then(|key| self.in_flight.take(&key));
        self.hub().metrics().unreadable(upstream.name());
        note(upstream.name(), frame, waiting.is_some());
        if waiting.is_none() && upstream.is_first_noise() {
            tracing::warn!(
                server = upstream.name(),
                "it writes what is no message of MCP where its messages belong; that is passed on as it is, and a client may stumble over it: the server should write its log to standard error"
            );
        }
        match waiting {
            Some(waiting) => {
                let error = error(frame.len());
                self.not_answered(upstream, waiting, &error).await;
            }
            None => self.to.take(event).await,
        }
    }

    /// Takes what one of several servers wrote that is no message: it ends here, for a
    /// client of five servers should not stumble over what one of them writes.
    pub(crate) fn noise(&self, upstream: &Upstream, frame: &Frame) {
        self.hub().metrics().unreadable(upstream.name());
        let (server, bytes) = (upstream.name(), frame.len());
        let start = match frame {
            Frame::Memory(frame) => &frame[..frame.len().min(4 * MOST_SHOWN)],
            _ => &[],
        };
        let text = plain(&String::from_utf8_lossy(start), MOST_SHOWN);
        if upstream.is_first_noise() {
            tracing::warn!(
                server,
                bytes,
                text,
                "it writes what is no message of MCP where its messages belong; that is left out (more of it is said at the level `debug`): the server should write its log to standard error"
            );
        } else {
            tracing::debug!(server, bytes, text, "what is no message of MCP is left out");
        }
    }
}
