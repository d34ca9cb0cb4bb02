//! Reports a modern server's changes to a legacy client.
//!
//! A modern server reports changes only on `subscriptions/listen` streams. One such stream covers
//! all changes that the client wants to receive. If the client wants other changes, a new stream is
//! opened. The old stream ends only after the new one is acknowledged, so that no change is missed.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::json;
use spillgate_mcp::{Envelope, ObjectView, RequestId, error_code, frame};

use super::{Request, ToModern};
use crate::json::{cancelled, complaint};
use crate::refusal::{self, RefusalReply};
use crate::steps::Steps;
use spillgate_mcp::meta::SUBSCRIPTION_ID;

/// The changes that the client wants to receive, and the streams that report them.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// Whether the client is ready to receive changes of lists.
    begun: bool,
    uris: BTreeSet<String>,
    /// The stream that the server has acknowledged.
    current: Option<RequestId>,
    /// The stream that will replace `current`.
    next: Option<RequestId>,
    /// Whether the wanted changes were modified while `next` was being opened.
    stale: bool,
    /// Whether the stream broke. The next request then opens a new stream.
    broken: bool,
    /// Subscriptions that are answered when their stream is acknowledged.
    waiting: Vec<PendingSubscription>,
}

#[derive(Debug)]
struct PendingSubscription {
    id: String,
    key: RequestId,
    uri: String,
    /// The stream that includes this subscription.
    with: Option<RequestId>,
}

impl Subscriptions {
    /// Handles the end of a stream. Returns whether this stream was still being opened.
    pub(super) fn lost(&mut self, key: &RequestId) -> bool {
        if self.current.as_ref() == Some(key) {
            self.current = None;
            self.broken = true;
        }
        self.next.as_ref() == Some(key)
    }

    /// Removes all subscriptions. Returns the open streams.
    pub(super) fn end(&mut self) -> Vec<RequestId> {
        let ended = std::mem::take(self);
        ended.current.into_iter().chain(ended.next).collect()
    }

    /// Removes all streams after the server has ended. Returns the requests that wait for a stream.
    pub(super) fn forget(&mut self) -> Vec<(String, RequestId)> {
        self.broken = self.current.take().is_some();
        self.next = None;
        let waiting = std::mem::take(&mut self.waiting);
        for one in &waiting {
            self.uris.remove(&one.uri);
        }
        waiting.into_iter().map(|one| (one.id, one.key)).collect()
    }
}

impl ToModern {
    /// Begins to listen for changes of lists, because the client is now ready. Legacy clients
    /// receive these changes without a subscription.
    pub(super) fn begin_listening(&mut self, steps: &mut Steps) {
        self.listening.begun = true;
        self.listen(steps);
    }

    /// Opens a new stream if the old one broke. Called once per client request, which limits the
    /// number of attempts.
    pub(super) fn listen_again(&mut self, steps: &mut Steps) {
        if std::mem::take(&mut self.listening.broken) {
            self.listen(steps);
        }
    }

    pub(super) fn subscribe(&mut self, request: &Request<'_>, steps: &mut Steps) {
        let Some(uri) = self.uri_of(request, steps) else {
            return;
        };
        if !self.has("resources", "subscribe") {
            let message = format!(
                "the server `{}` does not tell of changed resources",
                self.config.server
            );
            let why = RefusalReply::new(
                error_code::METHOD_NOT_FOUND,
                "client",
                message,
                "read the resource again when it is needed",
            );
            return self.refuse(request, &why, steps);
        }
        let limits = &self.config.limits;
        if self.listening.uris.len() >= limits.resources
            || self.listening.waiting.len() >= limits.calls
        {
            return self.refuse(
                request,
                &refusal::too_many("subscribed resources", limits.resources),
                steps,
            );
        }
        self.listening.uris.insert(uri.clone());
        let waiting = PendingSubscription {
            id: request.id.to_owned(),
            key: request.key.clone(),
            uri,
            with: None,
        };
        self.listening.waiting.push(waiting);
        self.listen(steps);
    }

    pub(super) fn unsubscribe(&mut self, request: &Request<'_>, steps: &mut Steps) {
        let Some(uri) = self.uri_of(request, steps) else {
            return;
        };
        if self.listening.uris.remove(&uri) {
            self.listen(steps);
        }
        self.answer(request, "{}", steps);
    }

    fn uri_of(&self, request: &Request<'_>, steps: &mut Steps) -> Option<String> {
        let uri = request.params().text("uri");
        if uri.is_none() {
            let why = RefusalReply::new(
                error_code::INVALID_PARAMS,
                "client",
                "`uri` must be a text",
                "name the resource",
            );
            self.refuse(request, &why, steps);
        }
        uri
    }

    /// Opens a stream for all changes that are wanted now.
    fn listen(&mut self, steps: &mut Steps) {
        if self.listening.next.is_some() {
            self.listening.stale = true;
            return;
        }
        self.listening.stale = false;
        let mut filter = serde_json::Map::new();
        let lists = [
            ("tools", "toolsListChanged"),
            ("prompts", "promptsListChanged"),
            ("resources", "resourcesListChanged"),
        ];
        for (group, name) in lists {
            if self.listening.begun && self.has(group, "listChanged") {
                filter.insert(name.to_owned(), json!(true));
            }
        }
        if !self.listening.uris.is_empty() {
            filter.insert(
                "resourceSubscriptions".to_owned(),
                json!(self.listening.uris),
            );
        }
        if filter.is_empty() {
            if let Some(old) = self.listening.current.take() {
                self.cancel(&old, "nothing is subscribed to any more", steps);
            }
            return;
        }
        let more = format!(r#""notifications":{}"#, serde_json::Value::Object(filter));
        let key = self.ask_server("subscriptions/listen", &more, steps);
        for waiting in &mut self.listening.waiting {
            waiting.with.get_or_insert_with(|| key.clone());
        }
        self.listening.next = Some(key);
    }

    /// Handles the acknowledgement of a stream. It lists the changes that the server will report.
    pub(super) fn acknowledged(
        &mut self,
        envelope: &Envelope<'_>,
        of: Option<&RequestId>,
        steps: &mut Steps,
    ) {
        let params = envelope.params.and_then(ObjectView::of).unwrap_or_default();
        let key = stream_of(&params).or_else(|| of.cloned());
        if key.is_none() || key != self.listening.next {
            return;
        }
        let old = std::mem::replace(&mut self.listening.current, self.listening.next.take());
        if let Some(old) = old {
            self.cancel(&old, "another stream takes its place", steps);
        }
        let honoured: BTreeSet<String> = params
            .object("notifications")
            .and_then(|filter| filter.read("resourceSubscriptions"))
            .unwrap_or_default();
        let (ready, rest) = std::mem::take(&mut self.listening.waiting)
            .into_iter()
            .partition(|waiting| waiting.with == key);
        self.listening.waiting = rest;
        for waiting in ready {
            self.settle(waiting, &honoured, steps);
        }
        if self.listening.stale {
            self.listen(steps);
        }
    }

    /// Answers a subscription request after its stream was acknowledged.
    fn settle(
        &mut self,
        waiting: PendingSubscription,
        honoured: &BTreeSet<String>,
        steps: &mut Steps,
    ) {
        let PendingSubscription { id, key, uri, .. } = waiting;
        if honoured.contains(&uri) {
            return steps.client(self.at, Some(key), frame::response(&id, "{}"));
        }
        self.listening.uris.remove(&uri);
        let message = format!(
            "the server `{}` does not tell of changes of this resource",
            self.config.server
        );
        let why = RefusalReply::new(
            error_code::INVALID_PARAMS,
            "client",
            message,
            "read the resource again when it is needed",
        );
        steps.refuse(self.at, Some(key), &id, &why);
    }

    /// Handles an answer to `subscriptions/listen`, which ends the stream. Returns whether `key`
    /// was such a request.
    pub(super) fn listen_ended(
        &mut self,
        key: &RequestId,
        envelope: &Envelope<'_>,
        frame: &Bytes,
        steps: &mut Steps,
    ) -> bool {
        if self.listening.current.as_ref() == Some(key) {
            self.listening.current = None;
            return true;
        }
        if self.listening.next.as_ref() != Some(key) {
            return false;
        }
        let said = envelope.result.is_none().then(|| complaint(frame));
        self.listen_refused(said, steps);
        true
    }

    /// Called when the new stream could not be opened. Refuses the subscriptions that wait for it,
    /// and keeps the old stream.
    pub(super) fn listen_refused(&mut self, said: Option<String>, steps: &mut Steps) {
        let key = self.listening.next.take();
        let said = said.unwrap_or_else(|| "the stream ended".to_owned());
        let (refused, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.listening.waiting)
            .into_iter()
            .partition(|waiting| waiting.with == key);
        self.listening.waiting = rest;
        for waiting in refused {
            self.listening.uris.remove(&waiting.uri);
            let message = format!(
                "the server `{}` refused the subscription: {said}",
                self.config.server
            );
            let why = RefusalReply::new(
                error_code::SERVER_ERROR,
                "upstream",
                message,
                "try again later",
            );
            steps.refuse(self.at, Some(waiting.key), &waiting.id, &why);
        }
        if self.listening.stale {
            self.listen(steps);
        }
    }

    /// Called when a server ends a stream by cancelling its request, as servers do on stdio.
    pub(super) fn listen_cancelled(&mut self, envelope: &Envelope<'_>, steps: &mut Steps) {
        if cancelled(envelope).is_some_and(|(_, key)| self.listening.lost(&key)) {
            self.listen_refused(None, steps);
        }
    }

    /// Returns whether a change arrived on the current stream. While a stream is being replaced,
    /// both streams report the change.
    pub(super) fn is_ours(&self, envelope: &Envelope<'_>, of: Option<&RequestId>) -> bool {
        let params = envelope.params.and_then(ObjectView::of).unwrap_or_default();
        let key = stream_of(&params).or_else(|| of.cloned());
        key.is_some() && key == self.listening.current
    }
}

/// Returns the stream that a notification names.
fn stream_of(params: &ObjectView<'_>) -> Option<RequestId> {
    RequestId::of(params.object("_meta")?.get(SUBSCRIPTION_ID)?)
}
