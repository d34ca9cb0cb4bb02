//! Finds the clients to which a legacy server's notification is forwarded.

use bytes::Bytes;
use spillgate_mcp::{ByteEdits, Envelope, ObjectView, RequestId};

use super::{Call, ToLegacy};
use crate::DeclaredCapabilities;
use crate::json::{add_meta, put_for};
use crate::names::level;
use crate::steps::Steps;
use spillgate_mcp::meta::SUBSCRIPTION_ID;

impl ToLegacy {
    /// Handles a notification from the server.
    pub(super) fn on_notification(
        &mut self,
        method: &str,
        envelope: &Envelope<'_>,
        frame: &Bytes,
        of: Option<&RequestId>,
        steps: &mut Steps,
    ) {
        let params = envelope.params.and_then(ObjectView::of).unwrap_or_default();
        match method {
            "notifications/progress" => self.progress(&params, frame, steps),
            "notifications/message" => self.logged(&params, frame, of, steps),
            "notifications/cancelled" => {
                if let Some(id) = params.get("requestId") {
                    self.take_back(id.get());
                }
            }
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/resources/updated" => {
                self.changed(method, envelope, &params, frame, steps);
            }
            // These notifications belong to mechanisms of the legacy generation that a modern
            // client does not use.
            "notifications/elicitation/complete" | "notifications/tasks/status" => {}
            _ => self.other(frame, of, steps),
        }
    }

    /// Passes progress on to its call. The progress token is the number that we gave to the call.
    fn progress(&self, params: &ObjectView<'_>, frame: &Bytes, steps: &mut Steps) {
        let Some(token) = params.get("progressToken") else {
            return;
        };
        let call = RequestId::of(token).and_then(|number| self.calls.get(&number));
        let Some(call) = call.filter(|call| !call.asking) else {
            return;
        };
        if let Some(theirs) = &call.request.token {
            let mut splice = ByteEdits::default();
            put_for(&mut splice, frame, token, theirs);
            let of = Some(call.request.key.clone());
            steps.client(call.request.from, of, splice.apply(frame));
        }
    }

    /// Passes a log message on to one request that wants it: the request on whose stream it
    /// arrived, otherwise the newest request, if all calls are from one client.
    fn logged(
        &self,
        params: &ObjectView<'_>,
        frame: &Bytes,
        of: Option<&RequestId>,
        steps: &mut Steps,
    ) {
        let at = params.text("level").and_then(|name| level(&name));
        let wants = |call: &&Call| {
            !call.asking
                && call
                    .request
                    .level
                    .is_some_and(|from| at.is_none_or(|at| at >= from))
        };
        let call = match of.and_then(|of| self.calls.get(of)) {
            Some(call) => Some(call).filter(wants),
            None if self.is_of_one() => self.calls.values().filter(wants).last(),
            None => None,
        };
        if let Some(call) = call {
            let of = Some(call.request.key.clone());
            steps.client(call.request.from, of, frame.clone());
        }
    }

    /// Returns whether all calls in progress are from one client.
    fn is_of_one(&self) -> bool {
        let mut all = self.calls.values().map(|call| call.request.from);
        let first = all.next();
        all.all(|from| Some(from) == first)
    }

    /// Passes a notification of a change on to each stream that wants it, with the id of the
    /// stream.
    fn changed(
        &self,
        method: &str,
        envelope: &Envelope<'_>,
        params: &ObjectView<'_>,
        frame: &Bytes,
        steps: &mut Steps,
    ) {
        let uri = params.text("uri").unwrap_or_default();
        for listen in self.listens.iter().filter(|listen| listen.acknowledged) {
            let is_wanted = match method {
                "notifications/tools/list_changed" => listen.lists.tools,
                "notifications/prompts/list_changed" => listen.lists.prompts,
                "notifications/resources/list_changed" => listen.lists.resources,
                _ => listen.uris.contains(&uri),
            };
            let tag = format!(r#""{SUBSCRIPTION_ID}":{}"#, listen.request.id);
            let splice = add_meta(frame, envelope, &tag, &[SUBSCRIPTION_ID]);
            if let Some(splice) = splice.filter(|_| is_wanted) {
                let of = Some(listen.request.key.clone());
                steps.client(listen.request.from, of, splice.apply(frame));
            }
        }
    }

    /// Passes an unknown notification on to the call on whose stream it arrived, or to the only
    /// client.
    fn other(&self, frame: &Bytes, of: Option<&RequestId>, steps: &mut Steps) {
        match of.and_then(|of| self.calls.get(of)) {
            Some(call) if !call.asking => {
                let of = Some(call.request.key.clone());
                steps.client(call.request.from, of, frame.clone());
            }
            _ if self.config.declare == DeclaredCapabilities::FirstRequest => {
                steps.client(self.last, None, frame.clone());
            }
            _ => {}
        }
    }
}
