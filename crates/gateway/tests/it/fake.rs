//! Servers that are functions, and a client that collects what it receives.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use spillgate_artifact::TokenBudget;
use spillgate_gateway::{Gateway, Hub, Incoming, ListTools, Session, Several, ToolSearch};
use spillgate_mcp::RequestId;
use spillgate_offload::{NoLedger, Offloader, Policy};
use spillgate_query::{Child, Engine};
use spillgate_retrieval::audience;
use spillgate_store::{ArtifactStore, MemoryStore};
use spillgate_testkit::StoppedClock;
use spillgate_text::Tokenizer;
use spillgate_transport::{
    Connection, ConnectionError, Connector, Frame, FrameReader, Item, Message, Refusal,
    ServerCommand, ServerEvent, ServerSpec, Sink, Transport,
};
use spillgate_upstream::Server;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

/// A server's reaction to a message: frames to send, or the end of the server.
pub(crate) type Answer = Arc<dyn Fn(&Value) -> Vec<Value> + Send + Sync>;

/// Returns the size above which a frame is not held in memory, if the test or this run of the suite
/// sets one. The suite also runs with a small size, because results must become the same regardless
/// of where their bytes are.
fn spool_at(of_test: Option<usize>) -> Option<usize> {
    let of_run = std::env::var(crate::SPOOL_AT).ok();
    of_test.or_else(|| Some(of_run?.parse().expect("a number of bytes")))
}

/// Returns a frame with this text, which need not be JSON.
pub(crate) fn raw(frame: &str) -> Value {
    json!({"raw": frame})
}

/// Lets the server end.
pub(crate) fn the_end() -> Value {
    json!("the end")
}

/// Returns a frame that is treated as too large for memory.
pub(crate) fn large(frame: &Value) -> Value {
    json!({"large": frame})
}

/// Lets the server answer that it does not know the session of this request.
pub(crate) fn no_session(of: &Value) -> Value {
    json!({"no session": of})
}

/// Lets the server stop reading.
pub(crate) fn stuck() -> Value {
    json!("stuck")
}

/// Returns a frame that is sent later than the others.
pub(crate) fn after(seconds: u64, frame: &Value) -> Value {
    json!({"after": seconds, "say": frame})
}

async fn event_of(frame_reader: &FrameReader, said: Value) -> ServerEvent {
    let not_message = |of: Option<&Value>, item| ServerEvent {
        of: of.map(|id| RequestId::of(&to_raw_value(id).unwrap()).unwrap()),
        event: None,
        item,
    };
    if said == the_end() {
        return not_message(None, Item::Gone("exited with status 7".to_owned()));
    }
    if let Some(of) = said.get("no session") {
        let refusal = Refusal {
            status: 404,
            content_type: None,
            challenge: None,
            session_lost: true,
            server: None,
            body: "".into(),
        };
        return not_message(Some(of), Item::Refused(refusal));
    }
    if let Some(frame) = said.get("large") {
        let frame_reader = FrameReader::new(Arc::new(MemoryStore::default())).spooling_at(64);
        let mut taking = frame_reader.begin();
        for block in frame.to_string().as_bytes().chunks(64) {
            taking.feed(block).await.unwrap();
        }
        let frame = taking.finish().await;
        assert!(matches!(frame, Frame::Spooled(_)));
        return not_message(None, Item::Message(frame));
    }
    match said.get("raw").and_then(Value::as_str) {
        Some(raw) => taken_in(frame_reader, raw).await,
        None => taken_in(frame_reader, &said.to_string()).await,
    }
}

/// Servers by name.
#[derive(Default)]
pub(crate) struct Servers {
    answers: BTreeMap<String, Answer>,
    /// The number of servers that will end while they are opened.
    pub(crate) stillborn: Arc<AtomicUsize>,
    /// The store for the servers' large messages and for the gateway's results.
    store: Arc<MemoryStore>,
    /// The messages that each server received, and when the server was opened.
    pub(crate) log: Arc<Mutex<Vec<String>>>,
    /// The size, in bytes, above which frames are not held in memory.
    spool_at: Option<usize>,
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Servers")
    }
}

impl Servers {
    /// Returns the servers with a different size above which frames are not held in memory.
    pub(crate) fn spooling_at(self, bytes: usize) -> Self {
        Self {
            spool_at: Some(bytes),
            ..self
        }
    }

    pub(crate) fn with(
        mut self,
        name: &str,
        answer: impl Fn(&Value) -> Vec<Value> + Send + Sync + 'static,
    ) -> Self {
        self.answers.insert(name.to_owned(), Arc::new(answer));
        self
    }
}

impl Connector for Servers {
    fn open<'a>(
        &'a self,
        server: &'a ServerSpec,
        sink: Arc<dyn Sink>,
    ) -> BoxFuture<'a, Result<Arc<dyn Connection>, ConnectionError>> {
        let frame_reader = FrameReader::new(Arc::clone(&self.store) as Arc<dyn ArtifactStore>);
        let link = FakeLink {
            frame_reader: match spool_at(self.spool_at) {
                Some(bytes) => frame_reader.spooling_at(bytes),
                None => frame_reader,
            },
            name: server.name.clone(),
            answer: Arc::clone(&self.answers[&server.name]),
            log: Arc::clone(&self.log),
            sink,
        };
        link.note("opened");
        let left = self.stillborn.load(Ordering::Relaxed);
        self.stillborn
            .store(left.saturating_sub(1), Ordering::Relaxed);
        async move {
            if left > 0 {
                let end = event_of(&link.frame_reader, the_end()).await;
                link.sink.take(end).await;
            }
            Ok(Arc::new(link) as Arc<dyn Connection>)
        }
        .boxed()
    }
}

/// Returns the event that the frame reader makes of a frame.
async fn taken_in(frame_reader: &FrameReader, frame: &str) -> ServerEvent {
    let mut taking = frame_reader.begin();
    for block in frame.as_bytes().chunks(10_000) {
        taking.feed(block).await.unwrap();
    }
    ServerEvent {
        of: None,
        event: None,
        item: Item::Message(taking.finish().await),
    }
}

struct FakeLink {
    frame_reader: FrameReader,
    name: String,
    answer: Answer,
    log: Arc<Mutex<Vec<String>>>,
    sink: Arc<dyn Sink>,
}

impl FakeLink {
    fn note(&self, what: &str) {
        self.log
            .lock()
            .unwrap()
            .push(format!("{}: {what}", self.name));
    }
}

impl fmt::Debug for FakeLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Connection for FakeLink {
    fn send(&self, message: Message) -> BoxFuture<'_, Result<(), ConnectionError>> {
        let frame: Value = serde_json::from_slice(&message.frame).unwrap();
        self.note(&frame.to_string());
        for (name, value) in &message.headers {
            self.note(&format!("{name}: {value}"));
        }
        let all = (self.answer)(&frame);
        if all.contains(&stuck()) {
            return std::future::pending().boxed();
        }
        let (sink, frame_reader) = (Arc::clone(&self.sink), self.frame_reader.clone());
        // Runs in a task and in order, like a real connection.
        tokio::spawn(async move {
            for mut said in all {
                if let Some(seconds) = said.get("after").and_then(Value::as_u64) {
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                    said = said["say"].take();
                }
                sink.take(event_of(&frame_reader, said).await).await;
            }
        });
        async { Ok(()) }.boxed()
    }

    fn listen(&self, _: Option<String>) -> BoxFuture<'_, Result<(), ConnectionError>> {
        async { Ok(()) }.boxed()
    }

    fn abandon(&self, _: &RequestId) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    fn close(&self, _: bool) -> BoxFuture<'_, ()> {
        self.note("closed");
        async {}.boxed()
    }
}

/// A sink that collects what a client receives.
#[derive(Debug)]
struct Collected(UnboundedSender<Value>);

impl Sink for Collected {
    fn take(&self, event: ServerEvent) -> BoxFuture<'_, ()> {
        let frame = match event.item {
            Item::Message(frame) => frame,
            Item::Refused(refusal) => {
                let told = json!({"refused": refusal.status}).to_string();
                Frame::Memory(told.into())
            }
            other => panic!("{other:?}"),
        };
        let to = self.0.clone();
        async move {
            let mut pieces = frame.into_pieces().unwrap();
            let mut whole = Vec::new();
            while let Some(block) = pieces.next().await.unwrap() {
                whole.extend_from_slice(&block);
            }
            let text = || json!({"raw": String::from_utf8_lossy(&whole)});
            to.send(serde_json::from_slice(&whole).unwrap_or_else(|_| text()))
                .unwrap();
        }
        .boxed()
    }
}

/// A client of a gateway whose servers are functions.
pub(crate) struct Client {
    hub: Arc<Hub>,
    gateway: Gateway,
    pub(crate) session: Arc<Session>,
    got: UnboundedReceiver<Value>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Client {
    pub(crate) fn of(servers: Servers, change: impl Fn(Server) -> Server) -> Self {
        Self::by(Policy::default(), servers, change)
    }

    /// Returns a client of a gateway with this policy.
    pub(crate) fn by(policy: Policy, servers: Servers, change: impl Fn(Server) -> Server) -> Self {
        Self::made(policy, servers, change, Several::default())
    }

    /// Returns a client of a gateway with these settings for several servers.
    pub(crate) fn several(servers: Servers, several: Several) -> Self {
        Self::made(Policy::default(), servers, |server| server, several)
    }

    /// Returns a client of a gateway with these rules for lists of tools.
    pub(crate) fn searching(
        servers: Servers,
        tool_search: ToolSearch,
        change: impl Fn(Server) -> Server,
    ) -> Self {
        let all = Self::of(servers, change);
        let gateway = Gateway {
            tool_search,
            ..all.gateway.clone()
        };
        Self::served(gateway.clone(), gateway, all.log)
    }

    fn made(
        policy: Policy,
        servers: Servers,
        change: impl Fn(Server) -> Server,
        several: Several,
    ) -> Self {
        let log = Arc::clone(&servers.log);
        let of = |name: &String| {
            change(Server::new(ServerSpec {
                name: name.clone(),
                transport: Transport::Command(ServerCommand::default()),
            }))
        };
        let gateway = Gateway {
            offloader: Offloader::new(
                Arc::clone(&servers.store) as Arc<dyn ArtifactStore>,
                policy,
                Tokenizer::Heuristic.counter(),
                audience::usual_tools(),
                Arc::new(StoppedClock::default()),
                Arc::new(NoLedger),
            ),
            servers: servers.answers.keys().map(of).collect(),
            connector: Arc::new(servers),
            page: TokenBudget::new(2500),
            list_tools: ListTools::Always,
            engine: Engine::new(Child {
                program: "false".into(),
                arguments: Vec::new(),
            }),
            extractor: None,
            several,
            tool_search: ToolSearch::default(),
        };
        Self::served(gateway.clone(), gateway, log)
    }

    /// Returns a client whose gateway has only this server at first.
    pub(crate) fn beginning_with(name: &str, servers: Servers) -> Self {
        let all = Self::of(servers, |server| server);
        let mut gateway = all.gateway.clone();
        gateway.servers.retain(|server| server.spec.name == name);
        Self::served(gateway, all.gateway, all.log)
    }

    /// Returns a client of `served`, which may later be reconfigured to some of the servers of
    /// `gateway`.
    fn served(served: Gateway, gateway: Gateway, log: Arc<Mutex<Vec<String>>>) -> Self {
        let hub = Hub::new(served);
        let (to, got) = unbounded_channel();
        let session = hub.session(Arc::new(Collected(to)));
        Self {
            hub,
            gateway,
            session,
            got,
            log,
        }
    }

    /// Returns a client whose look-ups have this time limit.
    pub(crate) fn limited_to(&self, limit: Duration) -> Self {
        let mut gateway = self.gateway.clone();
        gateway.offloader = gateway.offloader.with_lookup_timeout(limit);
        Self::served(gateway.clone(), gateway, Arc::clone(&self.log))
    }

    /// Returns a client whose requests belong to no session.
    pub(crate) fn stateless(servers: Servers) -> Self {
        Self::of(servers, |server| server).another()
    }

    /// Returns a second client with a session of the same gateway.
    pub(crate) fn second(&self) -> Self {
        let (to, got) = unbounded_channel();
        Self {
            hub: Arc::clone(&self.hub),
            gateway: self.gateway.clone(),
            session: self.hub.session(Arc::new(Collected(to))),
            got,
            log: Arc::clone(&self.log),
        }
    }

    /// Returns the number of tools of each server, as a person who looks at the gateway sees it.
    pub(crate) fn tools_seen(&self) -> Vec<Option<usize>> {
        let servers = self.hub.servers_seen().into_iter();
        servers.map(|server| server.tools).collect()
    }

    /// Returns another stateless client of the same gateway.
    pub(crate) fn another(&self) -> Self {
        let (to, got) = unbounded_channel();
        Self {
            hub: Arc::clone(&self.hub),
            gateway: self.gateway.clone(),
            session: self.hub.exchange(Arc::new(Collected(to))),
            got,
            log: Arc::clone(&self.log),
        }
    }

    /// Reconfigures the gateway to have only these servers.
    pub(crate) async fn keep(&self, names: &[&str]) {
        let mut gateway = self.gateway.clone();
        gateway
            .servers
            .retain(|server| names.contains(&&*server.spec.name));
        self.hub.reload(gateway).await;
    }

    /// Returns the handles of all stored results.
    pub(crate) fn handles(&self) -> Vec<String> {
        let listed = self.gateway.offloader.store().list().unwrap();
        let handles = listed.iter().map(|one| one.manifest.handle.to_string());
        handles.collect()
    }

    /// Returns the stored results exactly as the servers sent them.
    pub(crate) fn stored(&self) -> Vec<String> {
        let offloader = &self.gateway.offloader;
        let listed = offloader.store().list().unwrap();
        let raw = listed.iter().map(|one| {
            let artifact = offloader.artifact(one.manifest.handle).unwrap();
            String::from_utf8(artifact.raw().bytes(0, u64::MAX).unwrap()).unwrap()
        });
        raw.collect()
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    pub(crate) async fn send(&self, frame: &Value) {
        self.session.take(Incoming::new(frame.to_string())).await;
    }

    /// Returns the next frame that the client receives.
    pub(crate) async fn next(&mut self) -> Value {
        const LONG: Duration = Duration::from_secs(3600);
        timeout(LONG, self.got.recv())
            .await
            .expect("a frame")
            .expect("a session")
    }

    /// Sends a request and returns its response.
    pub(crate) async fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        self.next().await
    }

    /// Returns what the servers received since the last call, in order.
    pub(crate) fn in_order(&self) -> String {
        std::mem::take(&mut *self.log.lock().unwrap()).join("\n")
    }

    /// Waits until the servers have received these words. Returns everything that they received.
    pub(crate) async fn until_sent(&self, words: &str) -> String {
        loop {
            let log = self.log.lock().unwrap().join("\n");
            if log.contains(words) {
                return log;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Returns what the servers received since the last call, sorted.
    pub(crate) fn sent(&self) -> String {
        let mut log = std::mem::take(&mut *self.log.lock().unwrap());
        log.sort();
        log.join("\n")
    }
}
