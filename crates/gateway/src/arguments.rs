//! The way of a call to its server: by way of what its arguments refer to; and
//! what the gateway answers in a server's place.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use spillgate_wire::{Envelope, Parcel, messages};
use tokio::task::spawn_blocking;

use crate::denial;
use crate::error::internal;
use crate::gateway::Gateway;
use crate::incoming::Incoming;
use crate::metrics::Reference;
use crate::pending::CallParams;
use crate::references::{self, Resolved};
use crate::resources::{self, Era};
use crate::seen::Outcome;
use crate::session::Session;
use crate::several::result_frame;
use crate::upstream::Upstream;

impl Session {
    /// Passes a request on to its server.
    pub(crate) async fn forward(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        incoming: &Incoming,
        envelope: &Envelope<'_>,
        call: Option<&CallParams<'_>>,
    ) {
        self.expect(upstream, envelope, call);
        self.carry(upstream, incoming, Some(envelope)).await;
    }

    /// Passes a message on to its server, a call with what its arguments refer to. Who
    /// waits for its answer is noted already.
    pub(crate) async fn carry(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        incoming: &Incoming,
        envelope: Option<&Envelope<'_>>,
    ) {
        let is_call = |one: &&Envelope<'_>| one.method.as_deref() == Some("tools/call");
        let Some(envelope) = envelope.filter(is_call) else {
            return self.pass(upstream, incoming, envelope).await;
        };
        let resolved = match self.hub().gateway().offloader.policy().allows_references() {
            true => {
                let era = Era::of(envelope.params);
                self.resolved(upstream, &incoming.frame, era).await
            }
            false => Some(incoming.frame.clone()),
        };
        let Some(frame) = resolved else { return };
        let mut headers = incoming.headers.clone();
        if frame != incoming.frame {
            // They say what the arguments were; the link says what they are.
            headers.retain(|(name, _)| !name.starts_with("mcp-") || name == "mcp-protocol-version");
        }
        let incoming = Incoming { frame, headers };
        self.pass(upstream, &incoming, Some(envelope)).await;
    }

    /// The frame with the references in a call's arguments resolved; `None` if
    /// one was wrong, which the client has been told.
    async fn resolved(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        frame: &Bytes,
        era: Era,
    ) -> Option<Bytes> {
        if self.hub().is_relay() {
            return Some(frame.clone());
        }
        let gateway = self.hub().gateway();
        let refers = self.rewriting(&gateway, upstream).may_refer(frame);
        let Some((key, id, origin, arguments)) = refers else {
            return Some(frame.clone());
        };
        let (original, learnt) = (frame.clone(), Arc::clone(&upstream.learnt));
        let work = move || {
            let text = std::str::from_utf8(&original[arguments]).ok();
            let arguments: Option<&RawValue> =
                text.and_then(|text| serde_json::from_str(text).ok());
            arguments.map_or(Resolved::AsIs, |arguments| {
                let Gateway {
                    offloader, engine, ..
                } = &*gateway;
                let schemas = &learnt.schemas;
                references::resolve(offloader, engine, schemas, &origin, &original, arguments)
            })
        };
        let answer = match spawn_blocking(work).await {
            Ok(Resolved::AsIs) => return Some(frame.clone()),
            Ok(Resolved::Frame(frame)) => {
                self.hub().metrics().reference(Reference::Resolved);
                return Some(frame.into());
            }
            Ok(Resolved::Refused(result)) => result_frame(&id, &era.complete(&result)),
            Err(_) => internal(&id),
        };
        self.hub().metrics().reference(Reference::Refused);
        if let Some(mut waiting) = self.pending.take(&key) {
            waiting.end(Outcome::Invalid);
        }
        self.to_client(answer).await;
        None
    }

    /// Whether a message of a batch is more than passed on by this gateway.
    pub(crate) fn has_to_do_with(&self, upstream: &Upstream, frame: &Bytes) -> bool {
        let envelopes = messages(frame);
        let [one] = &*envelopes else { return false };
        let gateway = self.hub().gateway();
        match one.method.as_deref() {
            Some("tools/call") => {
                CallParams::of(one).is_some_and(|call| self.is_own_call(&call))
                    || denial::of_one(upstream, one).is_some()
                    || self
                        .rewriting(&gateway, upstream)
                        .may_refer(frame)
                        .is_some()
            }
            Some("resources/read") => {
                let is_one = self.own.server_is_one();
                let uri = resources::asked(one.params);
                uri.is_some_and(|uri| resources::is_ours(&gateway.offloader, &uri, is_one))
            }
            _ => false,
        }
    }

    /// Whether a request is answered here: for a resource of ours, or a list of
    /// resources that no server has.
    pub(crate) fn answers_itself(self: &Arc<Self>, envelope: &Envelope<'_>) -> bool {
        let (Some(method), Some(id)) = (envelope.method.as_deref(), envelope.id) else {
            return false;
        };
        if method == "resources/read" {
            let gateway = self.hub().gateway();
            let is_one = self.own.server_is_one();
            let uri = resources::asked(envelope.params);
            let Some(uri) = uri.filter(|uri| resources::is_ours(&gateway.offloader, uri, is_one))
            else {
                return false;
            };
            let era = Era::of(envelope.params);
            self.answer(envelope, id.get(), move |gateway| {
                resources::read(&gateway.offloader, gateway.page, &uri, era)
            });
            return true;
        }
        let first = self.roster.first();
        let listed = first.and_then(|first| first.learnt.known.listed(method, envelope.params));
        let Some(result) = listed else { return false };
        self.answer(envelope, id.get(), move |_| format!("\"result\":{result}"));
        true
    }

    /// Answers a request aside from the relaying; `members` gives its result or
    /// error.
    fn answer(
        self: &Arc<Self>,
        envelope: &Envelope<'_>,
        id: &str,
        members: impl FnOnce(&Gateway) -> String + Send + 'static,
    ) {
        let (session, id, of) = (Arc::clone(self), id.to_owned(), envelope.key());
        self.work(async move {
            let gateway = session.hub().gateway();
            let frame = match spawn_blocking(move || members(&gateway)).await {
                Ok(members) => {
                    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{members}}}\n").into_bytes()
                }
                Err(_) => internal(&id),
            };
            session.to.take(Parcel::message(frame).of(of)).await;
        });
    }
}
