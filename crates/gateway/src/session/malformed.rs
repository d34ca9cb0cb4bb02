//! Handles messages that cannot be read: truncated, not UTF-8, not JSON.
//!
//! If it can still be seen which request the message answers, this request is answered with an
//! error that names the server. Otherwise the message passes unchanged if there is only one server,
//! and the request waits until the watchdog gives it up.

use std::sync::Arc;

use spillgate_transport::{ConnectionError, Frame, Item, ServerEvent};
use spillgate_upstream::{Owner, RequestFailure};

use crate::aggregate::plain;
use crate::session::Session;
use crate::upstream::Upstream;

/// Maximum length, in characters, of the part of an unreadable message that is logged if there are
/// several servers.
const MOST_SHOWN: usize = 200;

/// Bytes of the message that are searched for secrets before it is cut.
const MOST_READ: usize = 16 << 10;

impl Session {
    /// Handles an unreadable message.
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
        let answered = frame.unreadable_answer(event.of.as_ref());
        if !self.is_solo() && answered.is_none() {
            return self.noise(upstream, frame);
        }
        if matches!(frame, Frame::Spooled(spooled) if spooled.is_opaque()) {
            // The message was not parsed. It may be complete, so let the client read it.
            drop(answered.as_ref().and_then(|key| self.in_flight.take(key)));
            let of = event.of.or(answered);
            return self.to.take(ServerEvent { of, ..event }).await;
        }
        let waiting = answered.and_then(|key| self.in_flight.take(&key));
        self.hub().metrics().unreadable(upstream.name());
        upstream.log_stray_output(frame, waiting.is_some());
        match waiting {
            Some(waiting) => {
                let error = ConnectionError::unreadable(frame.len());
                let why = RequestFailure::Failed(error);
                self.unanswered(upstream, waiting, why).await;
            }
            None => self.to.take(event).await,
        }
    }

    /// Drops the output of one of several servers that is not a message, because a client of
    /// several servers must not fail because of one of them.
    pub(crate) fn noise(&self, upstream: &Upstream, frame: &Frame) {
        self.hub().metrics().unreadable(upstream.name());
        let (server, bytes) = (upstream.name(), frame.len());
        let start = match frame {
            Frame::Memory(frame) => &frame[..frame.len().min(MOST_READ)],
            _ => &[],
        };
        // Secrets are marked before the text is cut: a part of one cannot be recognised.
        let start = String::from_utf8_lossy(start);
        let text = plain(&self.gateway().offloader.redacted(&start), MOST_SHOWN);
        if upstream.is_first_stray_output() {
            tracing::warn!(
                server,
                bytes,
                text,
                "the server sends text that is not an MCP message; that text is dropped. A server that runs as a program should write its log to standard error. Further cases are logged at the level `debug`"
            );
        } else {
            tracing::debug!(
                server,
                bytes,
                text,
                "the server wrote text that is not an MCP message; it is dropped"
            );
        }
    }
}
