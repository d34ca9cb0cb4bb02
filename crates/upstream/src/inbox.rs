//! Passes a server's messages and failures to the server's owner.

use std::fmt;
use std::sync::{Arc, Weak};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use spillgate_mcp::RequestId;
use spillgate_transport::{ConnectionError, Frame, Item, Refusal, ServerEvent, Sink};

use crate::{InFlightRequest, Owner, RequestFailure, Slot, Upstream};

/// The sink for a server's events.
pub(crate) struct Inbox<O> {
    pub(crate) owner: Weak<O>,
    pub(crate) slot: Slot,
    pub(crate) life: u64,
}

impl<O> fmt::Debug for Inbox<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut inbox = f.debug_struct("Inbox");
        inbox.field("slot", &self.slot).field("life", &self.life);
        inbox.finish_non_exhaustive()
    }
}

impl<O: Owner> Sink for Inbox<O> {
    fn take(&self, event: ServerEvent) -> BoxFuture<'_, ()> {
        async move {
            // If the owner is gone, nobody waits for the event.
            let Some(owner) = self.owner.upgrade() else {
                return;
            };
            // Events of an earlier run of the server are dropped, because the end of that run was
            // recorded and its requests were answered.
            if let Some(upstream) = owner.upstream(self.slot)
                && upstream.is_current(self.life)
            {
                upstream.take(&owner, event).await;
            }
        }
        .boxed()
    }
}

impl<O: Owner> Upstream<O> {
    async fn take(self: &Arc<Self>, owner: &Arc<O>, event: ServerEvent) {
        match event.item {
            Item::Failed(error) => self.failed(owner, event.of, error).await,
            Item::Refused(refusal) => self.refused(owner, event.of, refusal).await,
            Item::Gone(how) => {
                if !owner.is_closing() {
                    tracing::warn!(server = self.name(), how, "the server ended");
                }
                // The requests are removed before the end is recorded, because new requests are
                // added once the server is started again.
                let lost = self.waiting(owner);
                drop(self.note_end(&how));
                self.fail(owner, lost, &how).await;
            }
            _ => owner.received(self, event).await,
        }
    }

    async fn failed(&self, owner: &O, of: Option<RequestId>, error: ConnectionError) {
        let Some(waiting) = of.and_then(|key| owner.in_flight().take(&key)) else {
            tracing::warn!(server = self.name(), %error, "a message to or from a server could not be transferred");
            return;
        };
        let why = RequestFailure::Failed(error);
        owner.unanswered(self, waiting, why).await;
    }

    async fn refused(self: &Arc<Self>, owner: &Arc<O>, of: Option<RequestId>, refusal: Refusal) {
        let waiting = of.as_ref().and_then(|key| owner.in_flight().take(key));
        if !refusal.session_lost {
            return owner.refused(self, of, waiting, refusal).await;
        }
        // The next message opens a new session.
        let how = "does not know our session any more";
        tracing::warn!(
            server = self.name(),
            how,
            "the server has lost the session; the next message starts a new one"
        );
        let lost = self.waiting(owner);
        let connection = self.note_end(how);
        owner.refused(self, of, waiting, refusal).await;
        let (upstream, whose) = (Arc::clone(self), Arc::clone(owner));
        // Runs in its own task, because the current task belongs to the connection and ends with
        // it.
        owner.work(async move {
            upstream.fail(&whose, lost, how).await;
            drop(connection);
        });
    }

    /// Answers with an error every request that this server will no longer answer.
    pub async fn fail_all(&self, owner: &O, how: &str) {
        let lost = self.waiting(owner);
        self.fail(owner, lost, how).await;
    }

    /// Removes and returns the requests that wait for this server.
    fn waiting(&self, owner: &O) -> Vec<(RequestId, InFlightRequest<O::Details>)> {
        let slot = self.slot;
        owner.in_flight().drain(|waiting| waiting.slot == slot)
    }

    async fn fail(
        &self,
        owner: &O,
        lost: Vec<(RequestId, InFlightRequest<O::Details>)>,
        how: &str,
    ) {
        for (_, waiting) in lost {
            let why = RequestFailure::Failed(ConnectionError::Gone(how.to_owned()));
            owner.unanswered(self, waiting, why).await;
        }
    }

    /// Logs a server's output that is not a message. The owner passes the output on unchanged.
    pub fn log_stray_output(&self, frame: &Frame, is_answer: bool) {
        frame.log_unreadable(self.name(), is_answer);
        if !is_answer && self.is_first_stray_output() {
            tracing::warn!(
                server = self.name(),
                "the server sends text that is not an MCP message; that text is passed on, and the client may fail on it. A server that runs as a program should write its log to standard error"
            );
        }
    }
}
