//! Handles messages that cannot be read: cut off, not UTF-8, not JSON.
//!
//! If the request that the message answers can still be determined, that request is answered with
//! an error that names the server. Otherwise the message passes unchanged if there is only one
//! server, and the request waits until the watchdog gives it up.

use std::sync::Arc;

use spillgate_transport::{ConnectionError, Frame, Item, ServerEvent};
use spillgate_upstream::RequestFailure;

use crate::aggregate::plain;
use crate::session::Session;
use crate::upstream::Upstream;

/// Most characters of such a message that the log shows, if there are several servers.
const MOST_SHOWN: usize = 200;

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
            // The message may be complete, and the client can read it.
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

    /// Drops what one of several servers wrote that is no message: a client of five servers must
    /// not fail because of one of them.
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
