//! The way of a frame, in both directions.

mod large;

use std::collections::HashMap;
use std::future::ready;
use std::io;
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use spillgate_artifact::{Origin, TokenBudget};
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
use crate::intercept::intercept;
use crate::own::{LIST_CHANGED, ListTools, OwnTools};
use crate::own_calls::{Cancelled, OwnCalls};
use crate::pending::{Asked, Pending};
use crate::progress::{self, Progress};
use crate::tools::{self, TOOL_OUTPUT, Tools};
use crate::upstream::{Ended, ServerCommand, Upstream};
use crate::{GatewayError, capabilities, listing, locked};
use spillgate_wire::Splice;
use spillgate_wire::{
    Envelope, Frame, Frames, Intake, Key, Output, input, messages, object, output,
};

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
}

#[derive(Deserialize)]
struct CallParams<'a> {
    name: String,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
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
        }
    }

    /// Client to server, until the client closes.
    async fn pump_client(self: Arc<Self>, mut frames: Frames, server: ChildStdin) {
        let mut server = Some(server);
        while let Ok(Some(frame)) = frames.next().await {
            if self.answered_here(&frame) {
                continue;
            }
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
            _ => false,
        }
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
        let intake = Intake::new(Arc::clone(self.gateway.offloader.store()));
        while let Ok(Some(frame)) = frames.take_in(&intake).await {
            let mut frame = match frame {
                Frame::Memory(bytes) => Vec::from(bytes),
                Frame::Spooled(spooled) => {
                    working.spawn(Arc::clone(&self).pass_large(*spooled));
                    continue;
                }
                Frame::Pieces(_) => continue, // these go to clients only
            };
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
                let rewrite = move || rewriter.rewrite(&original, &answers);
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
                Some(Asked::Capabilities) if !self.own.is_announced() => {}
                Some(asked) if self.may_change(&asked, frame) => {
                    answers.insert(key, asked);
                }
                Some(_) => self.gateway.offloader.ledger().inline(frame.len() as u64),
            }
        }
        answers
    }

    fn may_change(&self, asked: &Asked, frame: &[u8]) -> bool {
        match self.origin(asked) {
            Some(origin) => {
                let limits = self.gateway.offloader.limits(&origin);
                !limits.admit_any(frame.len() as u64)
            }
            None => *asked == Asked::ToolsList || self.own.is_announced(),
        }
    }

    fn origin(&self, asked: &Asked) -> Option<Origin> {
        let Asked::ToolsCall { tool, arguments } = asked else {
            return None;
        };
        Some(Origin {
            server: Some(self.gateway.server.name.clone()),
            tool: tool.clone(),
            arguments: arguments.clone(),
            call_id: None,
        })
    }

    /// The frame as the client gets it, unless that is how it came.
    fn rewrite(&self, frame: &[u8], answers: &HashMap<Key, Asked>) -> Option<Vec<u8>> {
        let mut whole = Splice::default();
        for envelope in messages(frame) {
            let asked = envelope.key().and_then(|key| answers.get(&key));
            let (Some(asked), Some(result)) = (asked, envelope.result) else {
                continue;
            };
            whole.merge(match (self.origin(asked), asked) {
                (Some(origin), _) => {
                    let (splice, stored) =
                        intercept(&self.gateway.offloader, origin, frame, result);
                    if stored {
                        self.own.note_stored();
                    }
                    splice
                }
                (None, Asked::Capabilities) => capabilities::announce(frame, result),
                (None, _) => self.list(frame, result),
            });
        }
        (!whole.is_empty()).then(|| whole.apply(frame))
    }

    /// The changes to a list of tools, whose cost is entered.
    fn list(&self, frame: &[u8], result: &RawValue) -> Splice {
        let (splice, ours) = listing::extend(frame, result, &self.own);
        if let Some(ours) = ours {
            let server = Some(self.gateway.server.name.clone());
            self.gateway.offloader.listed(server, &ours);
        }
        splice
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

fn asked(method: &str, params: Option<&RawValue>) -> Asked {
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
