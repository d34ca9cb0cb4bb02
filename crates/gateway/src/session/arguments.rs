//! Sends requests to their servers and resolves references in arguments.
//!
//! Also answers some requests in place of a server.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use serde_json::value::RawValue;
use spillgate_mcp::{Envelope, Generation, frame, messages, meta};
use spillgate_transport::ServerEvent;
use spillgate_upstream::RequestOutcome;
use tokio::task::spawn_blocking;

use crate::aggregate;
use crate::error::internal;
use crate::references::{self, Resolved};
use crate::resources;
use crate::session::found_tools::list_params;
use crate::session::in_flight::CallParams;
use crate::session::incoming::Incoming;
use crate::session::tool_access;
use crate::session::{Session, asked_mode};
use crate::telemetry::metrics::Reference;
use crate::upstream::Upstream;
use spillgate_retrieval::{QUERY, READ};

impl Session {
    /// Forwards a request to its server.
    pub(crate) async fn forward(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        incoming: &Incoming,
        envelope: &Envelope<'_>,
        call: Option<&CallParams<'_>>,
    ) {
        self.expect(upstream, envelope, call, &incoming.headers);
        let gateway = self.gateway();
        let rewriting = self.rewriting(&gateway, upstream);
        if rewriting.may_refer(&incoming.frame).is_none() {
            return self.carry(upstream, incoming, Some(envelope)).await;
        }
        // Runs in the background, because the client may cancel the request during the look-up.
        let (session, upstream) = (Arc::clone(self), Arc::clone(upstream));
        let incoming = incoming.clone();
        let mut carried = async move {
            let envelopes = messages(&incoming.frame);
            session.carry(&upstream, &incoming, envelopes.first()).await;
        }
        .boxed();
        // Run it now as far as possible, so that the request is registered before later messages
        // that concern it.
        if (&mut carried).now_or_never().is_none() {
            self.work(carried);
        }
    }

    /// Sends a message to its server. In a call, first resolves the references in the arguments.
    /// The request must already be registered as in flight.
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
        let resolved = match self.gateway().offloader.policy().allows_references() {
            true => {
                let generation = Generation::of(envelope.params);
                self.resolved(upstream, &incoming.frame, generation).await
            }
            false => Some(incoming.frame.clone()),
        };
        let Some(frame) = resolved else { return };
        let mut headers = incoming.headers.clone();
        if frame != incoming.frame {
            // These headers describe the original arguments, so the connection must derive new
            // ones.
            headers.retain(|(name, _)| !name.starts_with("mcp-") || name == meta::VERSION_HEADER);
        }
        let incoming = Incoming { frame, headers };
        self.pass(upstream, &incoming, Some(envelope)).await;
    }

    /// Returns the frame with the references in a call's arguments resolved. `None` if a reference
    /// was invalid, in which case the client has received an error, or if the client cancelled the
    /// call.
    async fn resolved(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        frame: &Bytes,
        generation: Generation,
    ) -> Option<Bytes> {
        let gateway = self.gateway();
        let refers = self.rewriting(&gateway, upstream).may_refer(frame);
        let Some((key, id, origin, arguments)) = refers else {
            return Some(frame.clone());
        };
        if !self.in_flight.has(&key) {
            return None; // cancelled before the look-up could run
        }
        let (cancelled, interrupt) = self.builtin_calls.begin(&key);
        let (original, learnt) = (frame.clone(), Arc::clone(&upstream.notes.learnt));
        let filter = memchr::memmem::find(&frame[arguments.clone()], b"query");
        let tool = filter.map_or(READ, |_| QUERY);
        if self.is_stateless() && self.is_solo() && learnt.schemas.is_empty() {
            // The client has the list of tools from another process.
            let meta = messages(frame).first().and_then(CallParams::of);
            let params = list_params(meta.and_then(|call| call.meta));
            tokio::select! {
                listed = aggregate::all_tools(self, &params) => drop(listed),
                () = cancelled.cancelled() => {}
            }
        }
        let turn = self.builtin_calls.turn_while(tool, &cancelled).await;
        let work = move || {
            let text = std::str::from_utf8(&original[arguments]).ok();
            let arguments: Option<&RawValue> =
                text.and_then(|text| serde_json::from_str(text).ok());
            arguments.map_or(Resolved::AsIs, |arguments| {
                let offloader = gateway.offloader.within(&interrupt);
                let (engine, schemas) = (&gateway.engine, &learnt.schemas);
                references::resolve(&offloader, engine, schemas, &origin, &original, arguments)
            })
        };
        let resolved = spawn_blocking(work).await;
        drop(turn);
        if !self.builtin_calls.end(&key) {
            // The client cancelled the call in the meantime.
            drop(self.in_flight.take(&key));
            return None;
        }
        let answer = match resolved {
            Ok(Resolved::AsIs) => return Some(frame.clone()),
            Ok(Resolved::Frame(frame)) => {
                self.hub().metrics().reference(Reference::Resolved);
                return Some(frame.into());
            }
            Ok(Resolved::Refused(result)) => {
                frame::line(frame::response(&id, generation.complete(&result)))
            }
            Err(_) => internal(&id),
        };
        self.hub().metrics().reference(Reference::Refused);
        if let Some(mut waiting) = self.in_flight.take(&key) {
            waiting.end(RequestOutcome::Invalid);
        }
        self.to_client(answer).await;
        None
    }

    /// Whether the gateway has to change or answer a message of a batch.
    pub(crate) fn has_to_do_with(&self, upstream: &Upstream, frame: &Bytes) -> bool {
        let envelopes = messages(frame);
        let [one] = &*envelopes else { return false };
        let gateway = self.gateway();
        match one.method.as_deref() {
            Some("tools/call") => {
                CallParams::of(one).is_some_and(|call| self.is_builtin_call(&call))
                    || tool_access::of_one(upstream, one).is_some()
                    || asked_mode::of(one, CallParams::of(one).as_ref(), &[]).is_err()
                    || self
                        .rewriting(&gateway, upstream)
                        .may_refer(frame)
                        .is_some()
            }
            Some("resources/read") => {
                let is_one = self.builtin_tools.server_is_one();
                let uri = resources::asked(one.params);
                uri.is_some_and(|uri| resources::is_ours(&gateway.offloader, &uri, is_one))
            }
            _ => false,
        }
    }

    /// Answers a request for one of our resources, or for a list of resources of a server without
    /// resources. Returns whether the request was answered.
    pub(crate) fn answers_itself(self: &Arc<Self>, envelope: &Envelope<'_>) -> bool {
        let (Some(method), Some(id)) = (envelope.method.as_deref(), envelope.id) else {
            return false;
        };
        if method == "resources/read" {
            let gateway = self.gateway();
            let is_one = self.builtin_tools.server_is_one();
            let uri = resources::asked(envelope.params);
            let Some(uri) = uri.filter(|uri| resources::is_ours(&gateway.offloader, uri, is_one))
            else {
                return false;
            };
            self.read_own(envelope, id.get(), uri);
            return true;
        }
        let first = self.upstreams.first();
        let listed =
            first.and_then(|first| first.notes.learnt.known.listed(method, envelope.params));
        let Some(result) = listed else { return false };
        let of = envelope.key();
        let frame = frame::line(frame::response(id.get(), &result));
        let session = Arc::clone(self);
        self.work(async move { session.to.take(ServerEvent::message(frame).of(of)).await });
        true
    }

    /// Answers a request to read one of our resources. This is a look-up like those of our tools.
    fn read_own(self: &Arc<Self>, envelope: &Envelope<'_>, id: &str, uri: String) {
        let Some(key) = envelope.key() else { return };
        let (generation, id) = (Generation::of(envelope.params), id.to_owned());
        let (cancelled, interrupt) = self.builtin_calls.begin(&key);
        let session = Arc::clone(self);
        self.builtin_calls.work(async move {
            let turn = session.builtin_calls.turn_while(READ, &cancelled).await;
            if !session.builtin_calls.is_awaited(&key) {
                return; // cancelled before the look-up could run
            }
            let gateway = session.gateway();
            let read = move || {
                let offloader = gateway.offloader.within(&interrupt);
                resources::read(&offloader, gateway.page, &uri, generation)
            };
            let frame = match spawn_blocking(read).await {
                Ok(member) => frame::line(frame::answer(&id, &member)),
                Err(_) => internal(&id),
            };
            drop(turn);
            session.answer_unless_cancelled(key, frame).await;
        });
    }
}
