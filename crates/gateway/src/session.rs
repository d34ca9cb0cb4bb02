//! A client, as the gateway sees it: the way of a frame from it to a server.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_wire::{Envelope, Key, LinkError, Message, Parcel, Sink, messages, object};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::error::{invalid_params, not_sent, upstream_gone};
use crate::gateway::Server;
use crate::hub::Hub;
use crate::own::OwnTools;
use crate::own_calls::OwnCalls;
use crate::pending::{Answered, Asked, Pending, Waiting};
use crate::upstream::{Slot, Upstream, notice};
use crate::{GatewayError, locked, progress, several, watchdog};

/// A frame from a client.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// Its bytes.
    pub frame: Bytes,
    /// Headers that came with it, names in lower case: `mcp-*` but for the
    /// session's id, `traceparent`, `tracestate`, `baggage`.
    pub headers: Vec<(String, String)>,
}

impl Incoming {
    /// A frame that came without headers.
    #[must_use]
    pub fn new(frame: impl Into<Bytes>) -> Self {
        Self {
            frame: frame.into(),
            headers: Vec::new(),
        }
    }
}

/// A client and its servers.
#[derive(Debug)]
pub struct Session {
    hub: Arc<Hub>,
    pub(crate) to: Arc<dyn Sink>,
    pub(crate) own: OwnTools,
    pub(crate) own_calls: OwnCalls,
    pub(crate) pending: Pending,
    pub(crate) upstreams: Vec<Arc<Upstream>>,
    /// Told when a request is sent: somebody has to see that it is answered.
    pub(crate) asked: Arc<Notify>,
    /// Work aside from the relaying.
    work: Mutex<JoinSet<()>>,
    /// Numbers the gateway's own requests.
    questions: AtomicU64,
    me: Weak<Session>,
}

#[derive(Deserialize)]
pub(crate) struct CallParams<'a> {
    pub(crate) name: String,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    pub(crate) meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CancelParams<'a> {
    #[serde(borrow, rename = "requestId")]
    request: &'a RawValue,
}

impl Session {
    pub(crate) fn new(
        hub: Arc<Hub>,
        to: Arc<dyn Sink>,
        own: OwnTools,
        servers: &[Arc<Server>],
    ) -> Arc<Self> {
        let upstreams = servers
            .iter()
            .enumerate()
            .map(|(slot, server)| Arc::new(Upstream::new(slot, Arc::clone(server))))
            .collect();
        let session = Arc::new_cyclic(|me| Self {
            hub,
            to,
            own,
            own_calls: OwnCalls::default(),
            pending: Pending::default(),
            upstreams,
            asked: Arc::default(),
            work: Mutex::default(),
            questions: AtomicU64::default(),
            me: Weak::clone(me),
        });
        watchdog::watch(&session);
        session
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// This session, for work aside.
    pub(crate) fn arc(&self) -> Arc<Self> {
        self.me
            .upgrade()
            .expect("invariant: a session lives in an `Arc`")
    }

    /// The server, where there is only one: nothing is renamed, merged or mapped
    /// then.
    pub(crate) fn only(&self) -> Option<&Arc<Upstream>> {
        match &*self.upstreams {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Opens all servers that are processes, so that they start while the client
    /// is still greeting. An error is that of the only server.
    pub async fn start(self: &Arc<Self>) -> Result<(), GatewayError> {
        let nothing = notice(Bytes::new(), Some("initialize"));
        let opened = self
            .upstreams
            .iter()
            .map(|upstream| upstream.open(self, &nothing));
        for (upstream, opened) in self.upstreams.iter().zip(join_all(opened).await) {
            let Err(error) = opened else { continue };
            if self.only().is_some() {
                let server = upstream.name().to_owned();
                return Err(GatewayError::Open { server, error });
            }
            tracing::warn!(server = upstream.name(), %error, "not opened");
        }
        Ok(())
    }

    /// Takes one frame from the client: a request, a notification, a response or
    /// a batch. What comes back goes to the session's sink.
    pub async fn take(self: &Arc<Self>, incoming: Incoming) {
        let envelopes = messages(&incoming.frame);
        match (&*envelopes, self.only()) {
            ([one], _) => self.one(one, &incoming).await,
            (many, Some(only)) => {
                for envelope in many {
                    self.expect(only, envelope);
                }
                self.pass(only, &incoming, None).await;
            }
            (many, None) => self.to_client(several::refuse_batch(many)).await,
        }
    }

    async fn one(self: &Arc<Self>, envelope: &Envelope<'_>, incoming: &Incoming) {
        match (envelope.method.as_deref(), envelope.key()) {
            (Some("notifications/cancelled"), _) => self.cancelled(envelope, incoming).await,
            (Some("tools/call"), key) if self.is_own_call(envelope) => {
                // A call without an id wants no answer.
                if let (Some(key), Some(id)) = (key, envelope.id) {
                    self.call_own(key, id.get(), envelope);
                }
            }
            _ => match self.only() {
                Some(only) => match denied(only, envelope) {
                    Some(refusal) => self.to_client(refusal).await,
                    None => {
                        self.expect(only, envelope);
                        self.pass(only, incoming, Some(envelope)).await;
                    }
                },
                None => several::route(self, envelope, incoming).await,
            },
        }
    }

    /// Notes a request that is about to go to `upstream`.
    pub(crate) fn expect(&self, upstream: &Upstream, envelope: &Envelope<'_>) {
        if let (Some(method), Some(id), Some(key)) = (&envelope.method, envelope.id, envelope.key())
        {
            let waiting = Waiting {
                id: id.get().to_owned(),
                method: method.clone().into_owned(),
                asked: asked(method, envelope.params),
                slot: upstream.slot,
                heard: Instant::now(),
                progress: progress::token_of(envelope.params),
                for_us: None,
            };
            self.pending.add(key, waiting);
            self.asked.notify_one();
        }
    }

    /// Asks a server something for the gateway's own sake; gives the frame with
    /// its answer.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        method: &str,
        params: &str,
    ) -> Result<Bytes, LinkError> {
        let (message, answer) = self.question(upstream, method, params);
        let key = message.id.clone();
        if let Err(error) = upstream.send(self, message).await {
            drop(key.and_then(|key| self.pending.take(&key)));
            return Err(error);
        }
        match answer.await {
            Ok(answered) => answered.map_err(LinkError::Gone),
            Err(_) => Err(LinkError::Gone("did not answer".to_owned())),
        }
    }

    /// Works on something aside from the relaying.
    pub(crate) fn work(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut work = locked(&self.work);
        while work.try_join_next().is_some() {}
        work.spawn(task);
    }

    /// Passes a frame on as it is; the requests in it are answered with an error
    /// should that fail.
    pub(crate) async fn pass(
        self: &Arc<Self>,
        upstream: &Upstream,
        incoming: &Incoming,
        envelope: Option<&Envelope<'_>>,
    ) {
        let message = message_of(incoming, envelope);
        let Err(error) = upstream.send(self, message).await else {
            return;
        };
        let keys = messages(&incoming.frame)
            .iter()
            .filter_map(Envelope::key)
            .collect::<Vec<_>>();
        for key in keys {
            if let Some(waiting) = self.pending.take(&key) {
                self.fail(upstream, &waiting.id, &error).await;
            }
        }
    }

    pub(crate) async fn fail(&self, upstream: &Upstream, id: &str, error: &LinkError) {
        let frame = match error {
            LinkError::Gone(how) => upstream_gone(id, upstream.name(), how),
            other => not_sent(id, upstream.name(), other),
        };
        self.to_client(frame).await;
    }

    async fn cancelled(self: &Arc<Self>, envelope: &Envelope<'_>, incoming: &Incoming) {
        let params: Option<CancelParams<'_>> = envelope.params.and_then(object);
        let key = params.and_then(|params| Key::of(params.request));
        if key.as_ref().is_some_and(|key| self.own_calls.end(key)) {
            return;
        }
        // Nobody waits for its answer, and mostly none comes.
        let asked = key.and_then(|key| self.pending.take(&key));
        let upstream = match (self.only(), asked) {
            (Some(only), _) => Some(only),
            (None, asked) => asked.and_then(|waiting| self.upstreams.get(waiting.slot)),
        };
        if let Some(upstream) = upstream {
            self.pass(upstream, incoming, Some(envelope)).await;
        }
    }

    /// A request of the gateway itself: the message to send, and where its answer
    /// comes. The id is `id`.
    pub(crate) fn question(
        &self,
        upstream: &Upstream,
        method: &str,
        params: &str,
    ) -> (Message, oneshot::Receiver<Answered>) {
        let number = self.questions.fetch_add(1, Ordering::Relaxed);
        let id = format!("\"spillgate:{number}\"");
        let frame = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n"
        );
        let (for_us, answer) = oneshot::channel();
        let frame = Bytes::from(frame);
        let mut message = notice(frame.clone(), Some(method));
        if let [envelope] = &*messages(&frame) {
            self.expect(upstream, envelope);
            message = message_of(&Incoming::new(frame.clone()), Some(envelope));
            if let Some(key) = envelope.key()
                && let Some(mut waiting) = self.pending.take(&key)
            {
                waiting.for_us = Some(for_us);
                waiting.asked = Asked::Other;
                self.pending.add(key, waiting);
            }
        }
        (message, answer)
    }

    /// The same with the parameters of an earlier request.
    pub(crate) fn question_again(
        &self,
        upstream: &Upstream,
        earlier: Message,
    ) -> (Message, oneshot::Receiver<Answered>) {
        let params = match &*messages(&earlier.frame) {
            [envelope] => envelope.params.map_or("{}", RawValue::get).to_owned(),
            _ => "{}".to_owned(),
        };
        let method = earlier.method.as_deref().unwrap_or_default();
        self.question(upstream, method, &params)
    }

    /// Opens the stream for what belongs to no request, or takes up a broken one
    /// after the event `after`.
    pub async fn listen(self: &Arc<Self>, after: Option<String>) {
        for upstream in &self.upstreams {
            if let Some(link) = upstream.link()
                && let Err(error) = link.listen(after.clone()).await
            {
                tracing::warn!(server = upstream.name(), %error, "does not let itself be listened to");
            }
        }
    }

    /// The client closed the response stream of a request: in MCP 2026-07-28, a
    /// cancellation.
    pub async fn abandon(self: &Arc<Self>, of: &Key) {
        if self.own_calls.end(of) {
            return;
        }
        let Some(waiting) = self.pending.take(of) else {
            return;
        };
        let link = self
            .upstreams
            .get(waiting.slot)
            .and_then(|upstream| upstream.link());
        if let Some(link) = link {
            link.abandon(of).await;
        }
    }

    /// The client is gone. What is under way may still be answered, unless
    /// `hurried`; then what is still unanswered is answered with an error.
    pub async fn close(self: &Arc<Self>, hurried: bool) {
        let links = self.upstreams.iter().filter_map(|upstream| upstream.link());
        let links: Vec<_> = links.collect();
        join_all(links.iter().map(|link| link.close(hurried))).await;
        if hurried {
            return;
        }
        let mut work = mem::take(&mut *locked(&self.work));
        while work.join_next().await.is_some() {}
        self.own_calls.finish().await;
        for upstream in &self.upstreams {
            self.fail_all(upstream, "ended").await;
        }
    }

    /// Whether a server has ended and was not opened again.
    #[must_use]
    pub fn has_lost_a_server(&self) -> bool {
        self.upstreams
            .iter()
            .any(|upstream| upstream.how_it_ended().is_some())
    }

    /// Answers every request that a server will not answer any more.
    pub(crate) async fn fail_all(&self, upstream: &Upstream, how: &str) {
        let slot: Slot = upstream.slot;
        for (_, waiting) in self.pending.drain(|waiting| waiting.slot == slot) {
            match waiting.for_us {
                // Whoever asked may have given up.
                Some(for_us) => drop(for_us.send(Err(how.to_owned()))),
                None => {
                    let error = upstream_gone(&waiting.id, upstream.name(), how);
                    self.to_client(error).await;
                }
            }
        }
    }

    /// Gives the client a frame of our own; one that answers a request goes on
    /// its stream.
    pub(crate) async fn to_client(&self, frame: Vec<u8>) {
        let of = match &*messages(&frame) {
            [one] if one.is_response() => one.key(),
            _ => None,
        };
        self.to.take(Parcel::message(frame).of(of)).await;
    }
}

/// The refusal of a call of a tool that the configuration does not allow.
fn denied(upstream: &Upstream, envelope: &Envelope<'_>) -> Option<Vec<u8>> {
    if envelope.method.as_deref() != Some("tools/call") {
        return None;
    }
    let call = envelope.params.and_then(object::<CallParams<'_>>)?;
    if upstream.server.tools.admits(&call.name) {
        return None;
    }
    let tool = call.name.escape_debug();
    let what = format!("the configuration of this gateway does not allow the tool `{tool}`");
    Some(invalid_params(envelope.id?.get(), &what))
}

/// A frame for a server, with what its transport may have to say of it.
pub(crate) fn message_of(incoming: &Incoming, envelope: Option<&Envelope<'_>>) -> Message {
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        name: Option<String>,
        #[serde(default)]
        uri: Option<String>,
    }
    let named = envelope
        .and_then(|envelope| envelope.params)
        .and_then(object::<Named>);
    Message {
        frame: incoming.frame.clone(),
        id: envelope
            .filter(|envelope| envelope.method.is_some())
            .and_then(Envelope::key),
        method: envelope.and_then(|one| one.method.as_deref().map(ToOwned::to_owned)),
        name: named.and_then(|named| named.name.or(named.uri)),
        headers: incoming.headers.clone(),
    }
}

pub(crate) fn asked(method: &str, params: Option<&RawValue>) -> Asked {
    match method {
        "initialize" | "server/discover" => Asked::Capabilities,
        "tools/list" => Asked::ToolsList,
        "tools/call" => match params.and_then(object::<CallParams<'_>>) {
            Some(call) => Asked::ToolsCall {
                tool: call.name,
                arguments: call.arguments.map(|raw| raw.get().to_owned()),
            },
            None => Asked::Other,
        },
        _ => Asked::Other,
    }
}
