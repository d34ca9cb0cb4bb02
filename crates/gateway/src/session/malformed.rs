//! Takes messages that cannot be read: cut off, not UTF-8, no JSON.
//!
//! If it can still be known which request it was to answer, that request is
//! answered with an error that names the server. Otherwise the message passes as
//! it came where nothing stands in between, and the request waits until the
//! watchdog gives it up.

use std::sync::Arc;

use spillgate_transport::{ConnectionError, Frame, Item, ServerEvent};
use spillgate_upstream::RequestFailure;

use crate::aggregate::plain;
use crate::session::Session;
use crate::upstream::Upstream;

/// Characters of what is no message that the log shows, where several servers are
/// behind the gateway.
const MOST_SHOWN: usize = 200;

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
        let answered = frame.unreadable_answer(event.of.as_ref());
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
        upstream.log_stray_output(frame, waiting.is_some());
        match waiting {
            Some(waiting) => {
                let error = ConnectionError::unreadable(frame.len());
                let why = RequestFailure::Failed(error);
                self.not_answered(upstream, waiting, why).await;
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
        if upstream.is_first_stray_output() {
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
