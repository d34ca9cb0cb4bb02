//! Sends a request to one server after another until one of them succeeds.
//!
//! The request keeps the client's id, so its progress, its cancellation and responses of any size
//! are handled as for any other request. The next server is asked only if the previous one refuses
//! or does not answer.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use spillgate_mcp::{Envelope, messages};
use spillgate_upstream::Slot;

use crate::error::method_not_found;
use crate::session::Session;
use crate::session::in_flight::InFlightRequest;
use crate::session::incoming::Incoming;

/// The remaining attempts of a request.
#[derive(Debug)]
pub(crate) struct Attempts {
    /// The request.
    pub(crate) incoming: Incoming,
    /// The servers that have not been asked.
    pub(crate) left: VecDeque<Slot>,
    /// The first refusal.
    pub(crate) refused: Option<Bytes>,
}

impl Session {
    /// Sends the request to the next server. If no server is left, the client receives the first
    /// refusal.
    pub(crate) fn attempt(self: Arc<Self>, mut attempts: Attempts) -> BoxFuture<'static, ()> {
        async move {
            let frame = attempts.incoming.frame.clone();
            let Some(envelope) = messages(&frame).into_iter().next() else {
                return;
            };
            let upstream = loop {
                let Some(slot) = attempts.left.pop_front() else {
                    return self.refuse(&envelope, attempts.refused).await;
                };
                if let Some(upstream) = self.upstreams.get(slot) {
                    break upstream;
                }
            };
            let incoming = attempts.incoming.clone();
            self.expect(&upstream, &envelope, None, &incoming.headers);
            if let Some(key) = envelope.key() {
                self.in_flight.look(&key, |waiting| {
                    waiting.details.attempts = Some(Box::new(attempts));
                });
            }
            self.pass(&upstream, &incoming, Some(&envelope)).await;
        }
        .boxed()
    }

    async fn refuse(&self, envelope: &Envelope<'_>, refused: Option<Bytes>) {
        let Some(id) = envelope.id else { return };
        let method = envelope.method.as_deref().unwrap_or_default();
        let frame = match refused {
            Some(refused) => refused.to_vec(),
            None => method_not_found(id.get(), method),
        };
        self.to_client(frame).await;
    }

    /// Sends the request to another server after one did not answer or refused with `refused`.
    /// Returns whether another server was left.
    pub(crate) fn tries_another(
        &self,
        waiting: &mut InFlightRequest,
        refused: Option<Bytes>,
    ) -> bool {
        let attempts = waiting
            .details
            .attempts
            .take()
            .filter(|_| !self.is_closing());
        let Some(mut attempts) = attempts else {
            return false;
        };
        if attempts.refused.is_none() {
            attempts.refused = refused;
        }
        if attempts.left.is_empty() && attempts.refused.is_none() {
            return false; // no other server can be asked, so the failure of this one is reported
        }
        let attempt = self.arc().attempt(*attempts);
        self.work(attempt);
        true
    }
}
