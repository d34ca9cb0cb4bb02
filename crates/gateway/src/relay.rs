//! The way of a frame, in both directions.

use std::collections::HashMap;
use std::future::ready;
use std::io;
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use spillgate_artifact::TokenBudget;
use spillgate_extract::Extractor;
use spillgate_offload::Offloader;
use spillgate_query::Engine;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio::task::{JoinError, JoinHandle, JoinSet, spawn_blocking};

use crate::error::{internal, upstream_gone};
use crate::own::{LIST_CHANGED, ListTools, OwnTools};
use crate::own_calls::{Cancelled, OwnCalls};
use crate::pending::{Asked, CallParams, Pending, asked};
use crate::progress::{self, Progress};
use crate::references::{self, Resolved};
use crate::resources::{self, Era};
use crate::rewrite::{Learnt, Rewriting};
use crate::tools::{self, TOOL_OUTPUT, Tools};
use crate::upstream::{Ended, ServerCommand, Upstream};
use crate::{GatewayError, locked};
use spillgate_wire::{Envelope, Frames, Key, Output, input, messages, object, output};

/// Oversized results that are worked on at once: each is in memory meanwhile.
const AT_ONCE: usize = 4;

/// A gateway in front of one server.
#[derive(Debug, Clone)]
pub struct Gateway {
    /// What stores oversized results.
    pub offloader: Offloader,
    /// The server.
    pub server: ServerCommand,
    /// Tokens of a page of a stored result, unless a call asks otherwise.
    pub page: TokenBudget,
    /// When the gateway's own tools are listed.
    pub list_tools: ListTools,
    /// What runs jq filters.
    pub engine: Engine,
    /// What answers `tool_output`; `None` where there is no such tool.
    pub extractor: Option<Extractor>,
}

impl Gateway {
    fn tools(&self) -> Tools {
        Tools {
            offloader: self.offloader.clone(),
            page: self.page,
            engine: self.engine.clone(),
            extractor: self.extractor.clone(),
        }
    }
}

/// Relays between the process's standard streams and the server until either
/// ends; gives the exit code for the process: 0 when the client closed, 1 when
/// the server ended by itself, 128 + n on signal n.
pub async fn run(gateway: Gateway) -> Result<u8, GatewayError> {
    // Before the server: once it runs, a signal has to end it as well.
    let mut signals = Signals::new().map_err(GatewayError::Stdio)?;
    let from_client = Frames::new(input().map_err(GatewayError::Stdio)?);
    let to_client = output().map_err(GatewayError::Stdio)?;
    let (mut upstream, stdin, stdout) = Upstream::start(&gateway.server)?;
    let relay = Arc::new(Relay::new(gateway, to_client));
    let mut client = tokio::spawn(Arc::clone(&relay).pump_client(from_client, stdin));
    let mut server = tokio::spawn(Arc::clone(&relay).pump_server(stdout));
    let mut code = 0;
    let mut server_ended = false;
    loop {
        tokio::select! {
            signal = signals.next() => {
                upstream.end(ready(())).await;
                return Ok(signal);
            }
            _ = &mut client => break,
            _ = &mut server, if !server_ended => {
                server_ended = true;
                code = 1;
                relay.fail_pending(upstream.how_it_ended().await).await;
            }
        }
    }
    let server = (!server_ended).then_some(server);
    finish(upstream, server, &relay, &mut signals).await;
    Ok(code)
}

/// After the client has closed: what is under way may still be answered, unless
/// a signal comes.
async fn finish(
    upstream: Upstream,
    server: Option<JoinHandle<()>>,
    relay: &Relay,
    signals: &mut Signals,
) {
    if upstream.end(signals.next()).await == Ended::Hurried {
        return;
    }
    let last_answers = async {
        if let Some(server) = server {
            drop(server.await);
        }
        relay.own_calls.finish().await;
        // What the server was asked last and never answered.
        relay.fail_pending("ended".to_owned()).await;
    };
    tokio::select! {
        () = last_answers => {}
        _ = signals.next() => {}
    }
}

/// The signals that end a gateway.
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The exit code for the next signal.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => 128 + 15,
            _ = self.interrupt.recv() => 128 + 2,
            _ = self.hangup.recv() => 128 + 1,
        }
    }
}

struct Relay {
    gateway: Gateway,
    pending: Pending,
    client: AsyncMutex<Output>,
    own: OwnTools,
    own_calls: OwnCalls,
    /// How the server ended, once it has.
    gone: Mutex<Option<String>>,
    at_once: Arc<Semaphore>,
    learnt: Learnt,
}

#[derive(Deserialize)]
struct CancelParams<'a> {
    #[serde(borrow, rename = "requestId")]
    request: &'a RawValue,
}

impl Relay {
    fn new(gateway: Gateway, client: Output) -> Self {
        Self {
            own: OwnTools::new(
                &gateway.offloader,
                gateway.extractor.as_ref(),
                gateway.list_tools,
            ),
            gateway,
            pending: Pending::default(),
            client: AsyncMutex::new(client),
            own_calls: OwnCalls::default(),
            gone: Mutex::default(),
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
            learnt: Learnt::default(),
        }
    }

    /// Client to server, until the client closes.
    async fn pump_client(self: Arc<Self>, mut frames: Frames, server: ChildStdin) {
        let mut server = Some(server);
        while let Ok(Some(frame)) = frames.next().await {
            if self.answered_here(&frame) {
                continue;
            }
            let Some(frame) = self.resolved(frame).await else {
                continue;
            };
            if let Some(to) = &mut server
                && to.write_all(&frame).await.is_err()
            {
                server = None; // it is gone: `pump_server` will say how
            }
            let how = locked(&self.gone).clone();
            if let Some(how) = how {
                self.fail_pending(how).await;
            }
        }
    }

    /// Notes what a frame asks for; true if it is not the server's to answer.
    fn answered_here(self: &Arc<Self>, frame: &[u8]) -> bool {
        let envelopes = messages(frame);
        if let [only] = &*envelopes
            && self.is_for_us(only)
        {
            return true;
        }
        for envelope in &envelopes {
            if let (Some(method), Some(id), Some(key)) =
                (&envelope.method, envelope.id, envelope.key())
            {
                self.pending
                    .add(key, id.get(), asked(method, envelope.params));
            }
        }
        false
    }

    fn is_for_us(self: &Arc<Self>, envelope: &Envelope<'_>) -> bool {
        match envelope.method.as_deref() {
            Some("notifications/cancelled") => {
                let params: Option<CancelParams<'_>> = envelope.params.and_then(object);
                let Some(key) = params.and_then(|params| Key::of(params.request)) else {
                    return false;
                };
                // Nobody waits for its answer, and mostly none comes.
                self.pending.take(&key);
                self.own_calls.end(&key)
            }
            Some("tools/call") => {
                let Some(params) = envelope.params.and_then(object::<CallParams<'_>>) else {
                    return false;
                };
                if !self.own.has(&params.name) || self.is_upstreams(params.arguments) {
                    return false;
                }
                let (Some(id), Some(key)) = (envelope.id, envelope.key()) else {
                    return true; // a call without an id wants no answer
                };
                self.call_own(key, id.get().to_owned(), &params);
                true
            }
            Some("resources/read") => {
                let uri = resources::asked(envelope.params);
                let offloader = &self.gateway.offloader;
                let uri =
                    uri.filter(|uri| resources::is_ours(offloader, uri, self.own.server_is_one()));
                let (Some(uri), Some(id)) = (uri, envelope.id) else {
                    return false;
                };
                self.read_own(id.get().to_owned(), uri, Era::of(envelope.params));
                true
            }
            Some(method) => {
                let answer = self.learnt.known.listed(method, envelope.params);
                let (Some(result), Some(id)) = (answer, envelope.id) else {
                    return false;
                };
                let id = id.get().to_owned();
                self.answer(id, move |_| format!("\"result\":{result}"));
                true
            }
            None => false,
        }
    }

    /// Answers `resources/read` of one of our links.
    fn read_own(self: &Arc<Self>, id: String, uri: String, era: Era) {
        self.answer(id, move |gateway| {
            resources::read(&gateway.offloader, gateway.page, &uri, era)
        });
    }

    /// Answers a request aside from the relaying; `members` gives its result or
    /// error.
    fn answer(
        self: &Arc<Self>,
        id: String,
        members: impl FnOnce(&Gateway) -> String + Send + 'static,
    ) {
        let relay = Arc::clone(self);
        self.own_calls.work(async move {
            let gateway = relay.gateway.clone();
            let frame = match spawn_blocking(move || members(&gateway)).await {
                Ok(members) => {
                    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{members}}}\n").into_bytes()
                }
                Err(_) => internal(&id),
            };
            relay.to_client(&frame).await;
        });
    }

    /// The frame with the references in a call's arguments resolved; `None` if
    /// one was wrong, which the client has been told. In a batch they stay.
    async fn resolved(self: &Arc<Self>, frame: Vec<u8>) -> Option<Vec<u8>> {
        let Some((key, id, origin, arguments)) = self.rewriting().may_refer(&frame) else {
            return Some(frame);
        };
        let (relay, frame) = (Arc::clone(self), Arc::new(frame));
        let original = Arc::clone(&frame);
        let work = move || {
            let gateway = &relay.gateway;
            let text = std::str::from_utf8(&original[arguments]).ok();
            let arguments: Option<&RawValue> =
                text.and_then(|text| serde_json::from_str(text).ok());
            arguments.map_or(Resolved::AsIs, |arguments| {
                let (offloader, engine) = (&gateway.offloader, &gateway.engine);
                references::resolve(
                    offloader,
                    engine,
                    &relay.learnt.schemas,
                    &origin,
                    &original,
                    arguments,
                )
            })
        };
        let answer = match spawn_blocking(work).await {
            Ok(Resolved::AsIs) => return Some(frame.to_vec()),
            Ok(Resolved::Frame(frame)) => return Some(frame),
            Ok(Resolved::Refused(result)) => {
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n").into_bytes()
            }
            Err(_) => internal(&id),
        };
        self.pending.take(&key);
        self.to_client(&answer).await;
        None
    }

    /// Whether a call of our tool is for another Spillgate behind this one.
    fn is_upstreams(&self, arguments: Option<&RawValue>) -> bool {
        let store = self.gateway.offloader.store();
        self.own.server_is_one()
            && tools::handle_of(arguments).is_none_or(|handle| store.manifest(handle).is_err())
    }

    /// Answers a call of one of our tools, aside from the relaying.
    fn call_own(self: &Arc<Self>, key: Key, id: String, params: &CallParams<'_>) {
        let cancelled = self.own_calls.begin(&key);
        let relay = Arc::clone(self);
        let tool = params.name.clone();
        let arguments = params.arguments.map(ToOwned::to_owned);
        let token = progress::token(params.meta);
        self.own_calls.work(async move {
            let turn = relay.own_calls.turn(&tool).await;
            if !relay.own_calls.is_awaited(&key) {
                return; // cancelled while it waited for its turn
            }
            let tools = relay.gateway.tools();
            let result = match &*tool {
                TOOL_OUTPUT => relay.extract(tools, arguments, token, cancelled).await,
                _ => spawn_blocking(move || tools.call(&tool, arguments.as_deref())).await,
            };
            let frame = match result {
                Ok(result) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n")
                    .into_bytes(),
                Err(_) => internal(&id),
            };
            drop(turn);
            // Unless it was cancelled meanwhile.
            if relay.own_calls.end(&key) {
                relay.to_client(&frame).await;
            }
        });
    }

    /// The result of `tool_output`. It looks into files as well as waiting for a
    /// model, so it has a thread of its own; cancelled, it is dropped at the next
    /// place where it waits.
    async fn extract(
        &self,
        tools: Tools,
        arguments: Option<Box<RawValue>>,
        token: Option<Value>,
        cancelled: Cancelled,
    ) -> Result<String, JoinError> {
        let (frames, mut told) = unbounded_channel();
        let progress = Progress::new(token, frames);
        let runtime = Handle::current();
        let call = spawn_blocking(move || {
            runtime.block_on(async {
                tokio::select! {
                    result = tools.tool_output(arguments.as_deref(), &progress) => result,
                    _ = cancelled => String::new(), // nobody reads it
                }
            })
        });
        // Ends with the call, which holds the other end: before its answer.
        while let Some(frame) = told.recv().await {
            self.to_client(&frame).await;
        }
        call.await
    }

    /// Server to client, until the server closes.
    async fn pump_server(self: Arc<Self>, stdout: ChildStdout) {
        let mut frames = Frames::new(Box::new(stdout));
        let mut working = JoinSet::new();
        while let Ok(Some(mut frame)) = frames.next().await {
            if frame.last() != Some(&b'\n') {
                frame.push(b'\n'); // the server ended amid a line
            }
            let answers = self.answers(&frame);
            if answers.is_empty() {
                self.to_client(&frame).await;
                continue;
            }
            let permit = Arc::clone(&self.at_once).acquire_owned().await;
            let (relay, frame) = (Arc::clone(&self), Arc::new(frame));
            working.spawn(async move {
                let (rewriter, original) = (Arc::clone(&relay), Arc::clone(&frame));
                let rewrite = move || rewriter.rewriting().rewrite(&original, &answers);
                // Should that fail, the client gets what the server sent.
                let rewritten = spawn_blocking(rewrite).await.ok().flatten();
                if relay.own.take_announcement() {
                    relay.to_client(LIST_CHANGED).await;
                }
                relay.to_client(rewritten.as_ref().unwrap_or(&frame)).await;
                drop(permit);
            });
            while working.try_join_next().is_some() {}
        }
        while working.join_next().await.is_some() {}
    }

    /// The requests that a frame answers and whose answers may change, by the
    /// key of their id. All requests that it answers are no longer pending.
    fn answers(&self, frame: &[u8]) -> HashMap<Key, Asked> {
        let mut answers = HashMap::new();
        for envelope in messages(frame).iter().filter(|one| one.is_response()) {
            let Some(key) = envelope.key() else {
                continue;
            };
            match self.pending.take(&key) {
                Some(Asked::Other) | None => {}
                Some(asked) if self.rewriting().may_change(&asked, frame) => {
                    answers.insert(key, asked);
                }
                Some(_) => self.gateway.offloader.ledger().inline(frame.len() as u64),
            }
        }
        answers
    }

    fn rewriting(&self) -> Rewriting<'_> {
        Rewriting {
            offloader: &self.gateway.offloader,
            server: &self.gateway.server.name,
            own: &self.own,
            learnt: &self.learnt,
        }
    }

    /// Answers every request that the server will not answer any more.
    async fn fail_pending(&self, how: String) {
        // First, so that a request which comes now is either drained here or
        // meets this note.
        *locked(&self.gone) = Some(how.clone());
        for id in self.pending.drain() {
            let error = upstream_gone(&id, &self.gateway.server.name, &how);
            self.to_client(&error).await;
        }
    }

    async fn to_client(&self, frame: &[u8]) {
        let mut client = self.client.lock().await;
        let written = client.write_all(frame).await;
        if written.and(client.flush().await).is_err() {
            tracing::debug!("the client no longer reads");
        }
    }
}
