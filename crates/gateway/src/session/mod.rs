//! A client's session: handles frames from the client and sends them to the servers.

pub(crate) mod answers;
pub(crate) mod arguments;
pub(crate) mod asked_mode;
pub(crate) mod attempts;
pub(crate) mod builtin_calls;
pub(crate) mod found_tools;
pub(crate) mod in_flight;
pub(crate) mod incoming;
pub(crate) mod malformed;
pub(crate) mod questions;
pub(crate) mod standard;
pub(crate) mod tool_access;

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use futures_util::future::join_all;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_artifact::SessionId;
use spillgate_mcp::{Envelope, Generation, RequestId, messages, object, span_in};
use spillgate_offload::History;
use spillgate_transport::{Connector, ServerEvent, Sink};
use spillgate_upstream::{InFlight, Server, invalid_params};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{JoinSet, block_in_place};

use crate::aggregate::listening::{self, Listening};
use crate::aggregate::{Kind, Lane, Outbox, SessionKind, Told};
use crate::builtin_tools::{BuiltinTools, calls::BuiltinCalls};
use crate::gateway::Gateway;
use crate::hub::Hub;
use crate::results::client_view::Client;
use crate::session::in_flight::{CallParams, RequestDetails};
use crate::session::incoming::Incoming;
use crate::upstream::Upstream;
use crate::upstream::upstream_set::{Memory, UpstreamSet};
use crate::{GatewayError, aggregate};

/// A client and its servers.
#[derive(Debug)]
pub struct Session {
    hub: Arc<Hub>,
    /// The name of this session in records, which no client knows or sends.
    id: SessionId,
    /// The settings of the hub, and the same settings for this session.
    gateway: Mutex<Option<[Arc<Gateway>; 2]>>,
    /// Opens connections to the servers.
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) to: Arc<dyn Sink>,
    pub(crate) builtin_tools: Arc<BuiltinTools>,
    pub(crate) builtin_calls: BuiltinCalls,
    pub(crate) in_flight: InFlight<RequestDetails>,
    pub(crate) upstreams: UpstreamSet,
    /// What is known about the client program.
    pub(crate) client: Client,
    /// The previews that the client was shown.
    pub(crate) history: Arc<History>,
    /// Whether there has never been more than one server, so that nothing is renamed, merged or
    /// mapped.
    is_solo: AtomicBool,
    /// Whether there was one server at the beginning. The ids of the requests that it sent then are
    /// not marked with the server.
    began_solo: bool,
    /// The client's subscription streams, if there are several servers.
    pub(crate) listening: Listening,
    /// Whether the client has disconnected, so that servers are expected to end.
    closing: AtomicBool,
    /// Tasks in the background.
    work: Mutex<JoinSet<()>>,
    /// A counter for the ids of the gateway's own requests.
    pub(crate) questions: AtomicU64,
    pub(crate) kind: SessionKind,
    /// The messages that wait to be sent to several servers.
    pub(crate) outbox: Arc<Outbox>,
    /// The information that the client gave about itself, if there are several servers.
    pub(crate) said: Mutex<Told>,
    me: Weak<Session>,
}

#[derive(Deserialize)]
struct CancelParams<'a> {
    #[serde(borrow, rename = "requestId")]
    request: &'a RawValue,
}

impl Session {
    pub(crate) fn new(
        hub: Arc<Hub>,
        connector: Arc<dyn Connector>,
        to: Arc<dyn Sink>,
        builtin_tools: Arc<BuiltinTools>,
        memory: Memory,
        kind: SessionKind,
    ) -> Arc<Self> {
        let servers = hub.servers();
        let turns = Arc::clone(&hub.turns);
        let session = Arc::new_cyclic(|me| Self {
            hub,
            id: SessionId::random(),
            gateway: Mutex::default(),
            connector,
            to,
            builtin_tools,
            builtin_calls: BuiltinCalls::new(turns, kind),
            in_flight: InFlight::default(),
            upstreams: UpstreamSet::new(&servers, memory),
            client: Client::default(),
            history: Arc::default(),
            is_solo: AtomicBool::new(servers.len() == 1),
            began_solo: servers.len() == 1,
            listening: Listening::default(),
            closing: AtomicBool::new(false),
            work: Mutex::default(),
            questions: AtomicU64::default(),
            kind,
            outbox: Arc::default(),
            said: Mutex::default(),
            me: Weak::clone(me),
        });
        if !session.is_scout() {
            session.hub.metrics().session_opened();
        }
        spillgate_upstream::watch(&session);
        session
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Returns the current settings. What is stored and read with them is recorded as this session's.
    pub(crate) fn gateway(&self) -> Arc<Gateway> {
        let of_all = self.hub.gateway();
        if self.is_stateless() {
            return of_all;
        }
        let mut known = self.gateway.lock();
        if let Some([base, own]) = &*known
            && Arc::ptr_eq(base, &of_all)
        {
            return Arc::clone(own);
        }
        let own = of_all.in_session(self.id);
        let own = own.map_or_else(|| Arc::clone(&of_all), Arc::new);
        *known = Some([of_all, Arc::clone(&own)]);
        own
    }

    /// Returns the results that this client was shown. `None` for a stateless request, because the
    /// client of it is not known.
    pub(crate) fn known_history(&self) -> Option<&Arc<History>> {
        (self.kind == SessionKind::Client).then_some(&self.history)
    }

    /// Whether this session is one stateless request. Earlier requests of its client, such as those
    /// for lists, may have been answered by another process.
    pub(crate) fn is_stateless(&self) -> bool {
        self.kind != SessionKind::Client
    }

    /// Returns this session as a shared pointer, for background tasks.
    pub(crate) fn arc(&self) -> Arc<Self> {
        self.me
            .upgrade()
            .expect("invariant: a session lives in an `Arc`")
    }

    /// Whether there has only been one server, so that nothing is renamed, merged or mapped.
    pub(crate) fn is_solo(&self) -> bool {
        self.is_solo.load(Ordering::Acquire)
    }

    /// Returns the server if there is only one.
    pub(crate) fn only(&self) -> Option<Arc<Upstream>> {
        self.is_solo().then(|| self.upstreams.first())?
    }

    /// Returns the server that was the only one at the beginning, if it is still used.
    pub(crate) fn began_with(&self) -> Option<Arc<Upstream>> {
        self.upstreams.get(0).filter(|_| self.began_solo)
    }

    /// Starts all servers that are processes, so that they are starting while the client sends its
    /// greeting. Fails only if there is a single server and it cannot be opened.
    pub async fn start(self: &Arc<Self>) -> Result<(), GatewayError> {
        let all = self.upstreams.all();
        let opened = all.iter().map(|upstream| upstream.open(self, false));
        for (upstream, opened) in all.iter().zip(join_all(opened).await) {
            let Err(error) = opened else { continue };
            if self.is_solo() {
                let server = upstream.name().to_owned();
                return Err(GatewayError::Open { server, error });
            }
            tracing::warn!(server = upstream.name(), %error, "a server could not be started or reached; the others are served without it");
        }
        Ok(())
    }

    /// Handles one frame from the client: a request, a notification, a response or a batch.
    /// Responses are sent to the session's sink.
    pub async fn take(self: &Arc<Self>, incoming: Incoming) {
        let envelopes = messages(&incoming.frame);
        let only = self.only();
        let refusals = only
            .as_ref()
            .and_then(|only| tool_access::of_many(only, &incoming.frame, &envelopes));
        if let Some(refusals) = refusals {
            for refusal in refusals {
                self.to_client(refusal).await;
            }
            return;
        }
        match (&*envelopes, only) {
            ([one], _) if !is_batch(&incoming.frame) => self.one(one, &incoming).await,
            ([], None) => self.to_client(aggregate::refuse()).await,
            (many, Some(only)) => {
                let parts = parts(&incoming.frame);
                if asked_mode::of_headers(&incoming.headers).is_err()
                    || parts.iter().any(|part| self.has_to_do_with(&only, part))
                {
                    return self.each(parts, &incoming).await;
                }
                for envelope in many {
                    let call = CallParams::of(envelope);
                    self.expect(&only, envelope, call.as_ref(), &incoming.headers);
                }
                self.pass(&only, &incoming, None).await;
            }
            (_, None) => self.each(parts(&incoming.frame), &incoming).await,
        }
    }

    /// Handles the messages of a batch one by one. Their responses are also sent one by one.
    async fn each(self: &Arc<Self>, parts: Vec<Bytes>, incoming: &Incoming) {
        for frame in parts {
            if let [one] = &*messages(&frame) {
                let headers = incoming.headers.clone();
                let frame = frame.clone();
                self.one(one, &Incoming { frame, headers }).await;
            }
        }
    }

    async fn one(self: &Arc<Self>, envelope: &Envelope<'_>, incoming: &Incoming) {
        let call = CallParams::of(envelope);
        self.client.note(envelope, call.as_ref());
        let asked = asked_mode::of(envelope, call.as_ref(), &incoming.headers);
        if let (Err(what), Some(id), true) = (asked, envelope.id, envelope.method.is_some()) {
            return self.to_client(invalid_params(id.get(), &what)).await;
        }
        match &call {
            Some(call) if self.is_call_by_name(call) => {
                return self.call_by_name(envelope, call, incoming).await;
            }
            Some(call) if self.is_builtin_call(call) => {
                // A call without an id is a notification, which expects no response.
                if let (Some(key), Some(id)) = (envelope.key(), envelope.id) {
                    self.call_own(key, id.get(), call, &incoming.headers);
                }
                return;
            }
            Some(call) if envelope.id.is_some() => {
                if let (Some(what), Some(id)) = (self.why_refused(call), envelope.id) {
                    let generation = Generation::of_meta(call.meta);
                    return self.refuse_call(id.get(), generation, what).await;
                }
            }
            // If the message has an id, it is a request with this method name, and the server
            // answers it.
            None if envelope.method.as_deref() == Some("notifications/cancelled")
                && envelope.id.is_none() =>
            {
                return self.cancelled(envelope, incoming).await;
            }
            None if self.answers_itself(envelope) => return,
            _ => {}
        }
        let Some(only) = self.only() else {
            return aggregate::route(self, envelope, incoming).await;
        };
        match (tool_access::of_one(&only, envelope), envelope.id) {
            (Some(what), Some(id)) => self.to_client(invalid_params(id.get(), &what)).await,
            (Some(_), None) => {} // expects no answer
            (None, _) => self.forward(&only, incoming, envelope, call.as_ref()).await,
        }
    }

    /// Runs a task in the background, without delaying other messages.
    pub(crate) fn work(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut work = self.work.lock();
        while work.try_join_next().is_some() {}
        work.spawn(task);
    }

    /// Passes a frame on unchanged. If this fails, its requests are answered with an error.
    pub(crate) async fn pass(
        self: &Arc<Self>,
        upstream: &Upstream,
        incoming: &Incoming,
        envelope: Option<&Envelope<'_>>,
    ) {
        let message = incoming.message(envelope);
        upstream.pass(self, message, envelope).await;
    }

    async fn cancelled(self: &Arc<Self>, envelope: &Envelope<'_>, incoming: &Incoming) {
        let params: Option<CancelParams<'_>> = envelope.params.and_then(object);
        let key = params.and_then(|params| RequestId::of(params.request));
        if key.as_ref().is_some_and(|key| self.builtin_calls.end(key)) {
            return;
        }
        if let Some(key) = &key
            && listening::withdraw(self, key).await
        {
            return;
        }
        // The client no longer waits for the response, and servers usually send none.
        let asked = key.and_then(|key| self.in_flight.take(&key));
        let upstream = match (self.only(), asked) {
            (Some(only), _) => Some(only),
            (None, asked) => asked.and_then(|waiting| self.upstreams.get(waiting.slot)),
        };
        match upstream {
            Some(upstream) if self.is_solo() => {
                self.pass(&upstream, incoming, Some(envelope)).await;
            }
            Some(upstream) => self.post(&upstream, Lane::Messages, incoming),
            None => {}
        }
    }

    /// Opens the stream for messages that belong to no request, or resumes a broken stream after
    /// the event `after`.
    pub async fn listen(self: &Arc<Self>, after: Option<String>) {
        // Connections to several servers manage their streams themselves.
        if let Some(upstream) = self.only()
            && let Some(connection) = upstream.connection()
            && let Err(error) = connection.listen(after.clone()).await
        {
            tracing::warn!(server = upstream.name(), %error, "the server offers no stream for its own requests and notifications");
        }
    }

    /// Called when the client closed the response stream of a request. In MCP 2026-07-28, this
    /// cancels the request.
    pub async fn abandon(self: &Arc<Self>, of: &RequestId) {
        if self.builtin_calls.end(of) || listening::withdraw(self, of).await {
            return;
        }
        let Some(waiting) = self.in_flight.take(of) else {
            return;
        };
        let upstream = self.upstreams.get(waiting.slot);
        let connection = upstream.and_then(|upstream| upstream.connection());
        if let Some(connection) = connection {
            connection.abandon(of).await;
        }
    }

    /// Called in a session (up to MCP 2025-11-25) when nobody reads the response stream of a request
    /// any more and its response cannot be fetched later. In these versions this does not cancel
    /// the server's work, but the gateway stops its own work on the response, which would be wasted.
    pub fn unread(&self, of: &RequestId) {
        self.builtin_calls.interrupt(of);
    }

    /// Called when the client has disconnected. Requests in flight may still be answered, unless
    /// `hurried` is true. All requests that remain are then answered with an error.
    pub async fn close(self: &Arc<Self>, hurried: bool) {
        self.outbox.close(hurried).await;
        self.closing.store(true, Ordering::Relaxed);
        let all = self.upstreams.all();
        let open = all.iter().filter_map(|upstream| upstream.connection());
        join_all(open.map(|connection| async move { connection.close(hurried).await })).await;
        if hurried {
            self.builtin_calls.interrupt_all();
            return;
        }
        let mut work = mem::take(&mut *self.work.lock());
        while work.join_next().await.is_some() {}
        self.builtin_calls.finish().await;
        for upstream in self.upstreams.all().iter() {
            upstream.fail_all(self, "ended").await;
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Whether all servers have ended and were not reopened. While one of several servers is
    /// running, the session can still be used.
    #[must_use]
    pub fn has_lost_its_servers(&self) -> bool {
        let all = self.upstreams.all();
        let mut all = all.iter();
        all.all(|upstream| upstream.how_it_ended().is_some())
    }

    /// Waits until the only server has ended, and returns how it ended; `None` if there are
    /// several.
    pub async fn ended(&self) -> Option<String> {
        Some(self.only()?.ended().await)
    }

    /// Switches to the servers of a new configuration, and informs the client that the lists have
    /// changed. If there was a single server, there may now be several. The session never returns
    /// to single-server mode, because names that were changed must stay valid.
    pub(crate) async fn adopt(self: &Arc<Self>, servers: &[Arc<Server>]) {
        if servers.len() != 1 {
            self.is_solo.store(false, Ordering::Release);
        }
        let change = self.upstreams.adopt(servers);
        for upstream in &change.gone {
            let how = "was taken out of the configuration";
            if let Some(connection) = upstream.note_end(how) {
                self.work(async move { connection.close(false).await });
            }
            upstream.fail_all(self, how).await;
        }
        if change.has_new || !change.gone.is_empty() {
            for kind in [Kind::Tools, Kind::Prompts, Kind::Resources] {
                self.tell_changed(kind).await;
            }
        }
    }

    /// Sends the client one of our own frames. A response is sent on the stream of its request.
    pub(crate) async fn to_client(&self, frame: Vec<u8>) {
        let of = match &*messages(&frame) {
            [one] if one.is_response() => one.key(),
            _ => None,
        };
        self.to.take(ServerEvent::message(frame).of(of)).await;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.is_scout() {
            self.hub.metrics().session_closed();
        }
        for upstream in self.upstreams.all().iter() {
            self.note_recovery(upstream); // this session no longer waits for the server
        }
    }
}

/// Runs work that may wait for a store, without delaying other tasks of this thread if possible: other
/// threads of the runtime take them.
pub(crate) fn in_place<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        // There is one client, and it waits for this.
        _ => work(),
    }
}

fn is_batch(frame: &[u8]) -> bool {
    frame.trim_ascii_start().starts_with(b"[")
}

/// Returns the messages of a batch, each as a frame.
fn parts(frame: &Bytes) -> Vec<Bytes> {
    if !is_batch(frame) {
        return Vec::new();
    }
    let batch: Vec<&RawValue> = serde_json::from_slice(frame).unwrap_or_default();
    let part = |raw: &RawValue| frame.slice(span_in(frame, raw.get()));
    batch.into_iter().map(part).collect()
}
