//! One process for the requests of many clients.
//!
//! A stateless request (MCP 2026-07-28) belongs to no session, so all of them
//! share one process of a server. Clients know nothing of each other: their ids
//! and progress tokens are numbered anew on the way there and put back on the
//! way to the client.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_wire::{
    Envelope, Frame, Item, Key, Link, LinkError, Message, Opener, Parcel, ServerSpec, Sink, Splice,
    Spooled, Via, messages, object, span_in,
};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;

use crate::bridging::Live;
use crate::gateway::Server;
use crate::locked;
use crate::rest::Rest;
use crate::upstream::notice;

/// The member of `_meta` by which a notification says to which subscription it
/// belongs: the id of the request that opened it.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Opens ways that share their processes.
#[derive(Debug)]
pub(crate) struct Shared {
    ways: Arc<dyn Opener>,
    processes: AsyncMutex<HashMap<String, Process>>,
}

/// A server's process or its one connection, while it runs, and how it fared.
#[derive(Debug, Default)]
struct Process {
    running: Option<Running>,
    /// How it was reached.
    spec: Option<ServerSpec>,
    rest: Rest,
}

#[derive(Debug, Clone)]
struct Running {
    link: Arc<dyn Link>,
    switch: Arc<Switch>,
}

/// What comes from a shared server: to whom it goes, and how that server ended.
#[derive(Debug, Default)]
struct Switch {
    routes: Arc<Routes>,
    /// The bridge, where clients are of another generation than the server.
    bridge: OnceLock<Arc<Live>>,
}

impl Switch {
    fn ended(&self) -> Option<String> {
        let bridge = self.bridge.get().and_then(|bridge| bridge.ended());
        bridge.or_else(|| self.routes.ended())
    }
}

impl Sink for Switch {
    fn take(&self, parcel: Parcel) -> BoxFuture<'_, ()> {
        async move {
            let Some(bridge) = self.bridge.get() else {
                return self.routes.take(parcel).await;
            };
            if let Item::Gone(how) = &parcel.item {
                let gone = Item::Gone(how.clone());
                self.routes.ends(gone).await;
            } else if self.routes.waits_for(&parcel) {
                return self.routes.take(parcel).await;
            }
            bridge.take(parcel).await;
        }
        .boxed()
    }
}

impl Shared {
    pub(crate) fn new(ways: Arc<dyn Opener>) -> Self {
        Self {
            ways,
            processes: AsyncMutex::default(),
        }
    }

    async fn share(&self, server: &ServerSpec, sink: Arc<dyn Sink>) -> Result<Handle, LinkError> {
        let mut processes = self.processes.lock().await;
        let process = processes.entry(server.name.clone()).or_default();
        let Running { link, switch } = self.running(process, server, None).await?;
        let routes = Arc::clone(&switch.routes);
        locked(&routes.clients).push(Arc::downgrade(&sink));
        Ok(Handle { link, routes, sink })
    }

    /// The bridge to a legacy server, which all exchanges share: over the process
    /// that runs, or a connection of its own.
    pub(crate) async fn bridge(&self, server: &ServerSpec) -> Result<Arc<Live>, LinkError> {
        let mut processes = self.processes.lock().await;
        let process = processes.entry(server.name.clone()).or_default();
        let first = match server.via {
            Via::Command(_) => None,
            Via::Http(_) | Via::Sse(_) => Some(Live::for_many(server)),
        };
        let Running { link, switch } = self.running(process, server, first).await?;
        let bridge = switch.bridge.get_or_init(|| Live::for_many(server));
        bridge.connect(&link);
        Ok(Arc::clone(bridge))
    }

    /// The server as it runs, opened if need be; then with this bridge from the
    /// start.
    async fn running(
        &self,
        process: &mut Process,
        server: &ServerSpec,
        bridge: Option<Arc<Live>>,
    ) -> Result<Running, LinkError> {
        let running = process.running.as_ref();
        if let Some(how) = running.and_then(|running| running.switch.ended()) {
            process.running = None;
            process.rest.end(&how, Instant::now());
        }
        if let Some(running) = &process.running {
            return Ok(running.clone());
        }
        process.rest.open(Instant::now())?;
        let switch = Arc::new(Switch {
            bridge: bridge.map(OnceLock::from).unwrap_or_default(),
            ..Switch::default()
        });
        let to = Arc::clone(&switch) as Arc<dyn Sink>;
        let opened = self.ways.open(server, to).await;
        let link = opened.inspect_err(|error| {
            process.rest.end(&error.to_string(), Instant::now());
        })?;
        process.spec = Some(server.clone());
        Ok(process.running.insert(Running { link, switch }).clone())
    }

    /// Ends the processes of servers that are not among these any more.
    pub(crate) async fn keep_only(&self, servers: &[Arc<Server>]) {
        let mut gone = Vec::new();
        self.processes.lock().await.retain(|name, process| {
            let is_same = |server: &Arc<Server>| {
                server.spec.name == *name && process.spec.as_ref() == Some(&server.spec)
            };
            let stays = servers.iter().any(is_same);
            if !stays {
                gone.extend(process.running.take());
            }
            stays
        });
        join_all(gone.iter().map(|running| running.link.close(false))).await;
    }

    pub(crate) async fn close(&self, hurried: bool) {
        let processes: Vec<Process> = self
            .processes
            .lock()
            .await
            .drain()
            .map(|(_, p)| p)
            .collect();
        let links = processes
            .iter()
            .filter_map(|process| process.running.as_ref());
        join_all(links.map(|running| running.link.close(hurried))).await;
    }
}

impl Opener for Shared {
    fn open<'a>(
        &'a self,
        server: &'a ServerSpec,
        sink: Arc<dyn Sink>,
    ) -> BoxFuture<'a, Result<Arc<dyn Link>, LinkError>> {
        match &server.via {
            Via::Command(_) => async move {
                let handle = self.share(server, sink).await?;
                Ok(Arc::new(handle) as Arc<dyn Link>)
            }
            .boxed(),
            // By HTTP each request is by itself already.
            Via::Http(_) | Via::Sse(_) => self.ways.open(server, sink),
        }
    }
}

/// A request that waits for the process, and whose it is.
#[derive(Debug, Clone)]
struct Route {
    sink: Arc<dyn Sink>,
    key: Key,
    /// The id and the progress token as the client spelled them.
    id: String,
    token: Option<String>,
}

/// Where what comes from a process goes.
#[derive(Debug)]
struct Routes {
    waiting: Mutex<HashMap<Key, Route>>,
    clients: Mutex<Vec<Weak<dyn Sink>>>,
    numbers: AtomicU64,
    ended: Mutex<Option<String>>,
}

/// Requests past a bridge get numbers from here on; those of a bridge are small.
const FIRST_NUMBER: u64 = 1 << 32;

impl Default for Routes {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            clients: Mutex::default(),
            numbers: AtomicU64::new(FIRST_NUMBER),
            ended: Mutex::default(),
        }
    }
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<HashMap<String, &'a RawValue>>,
    #[serde(borrow, default, rename = "progressToken")]
    token: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestId")]
    request: Option<&'a RawValue>,
}

impl Routes {
    fn ended(&self) -> Option<String> {
        locked(&self.ended).clone()
    }

    /// The route that a message belongs to, and the message as its client knows
    /// it.
    fn route(&self, frame: &Bytes, envelope: &Envelope<'_>) -> Option<(Route, Bytes)> {
        let back = |ours: &RawValue, theirs: &str| {
            let mut splice = Splice::default();
            splice.replace(span_in(frame, ours.get()), theirs);
            Bytes::from(splice.apply(frame))
        };
        if envelope.is_response() {
            let ours = envelope.id?;
            let route = locked(&self.waiting).remove(&Key::of(ours)?)?;
            let frame = back(ours, &route.id);
            return Some((route, frame));
        }
        let params = envelope.params.and_then(object::<Params<'_>>);
        let waiting = locked(&self.waiting);
        let of = |ours: &RawValue| Some(waiting.get(&Key::of(ours)?)?.clone());
        if let Some(params) = params {
            if let Some(ours) = params.token
                && let Some(route) = of(ours)
            {
                let frame = back(ours, route.token.as_deref()?);
                return Some((route, frame));
            }
            let subscription = params.meta.as_ref().and_then(|meta| meta.get(SUBSCRIPTION));
            if let Some(ours) = subscription {
                let route = of(ours)?;
                let frame = back(ours, &route.id);
                return Some((route, frame));
            }
        }
        // Nothing tells whose it is, unless there is only one that it can be.
        let mut all = waiting.values();
        let only = all.next().filter(|_| waiting.len() == 1)?;
        Some((only.clone(), frame.clone()))
    }
}

impl Sink for Routes {
    fn take(&self, parcel: Parcel) -> BoxFuture<'_, ()> {
        async move {
            let frame = match parcel.item {
                Item::Message(Frame::Memory(frame)) => frame,
                Item::Message(Frame::Spooled(spooled)) => return self.large(*spooled).await,
                other => return self.ends(other).await,
            };
            for envelope in messages(&frame) {
                let Some((route, frame)) = self.route(&frame, &envelope) else {
                    tracing::debug!(method = ?envelope.method, "is for nobody");
                    continue;
                };
                let parcel = Parcel::message(frame).of(Some(route.key));
                route.sink.take(parcel).await;
            }
        }
        .boxed()
    }
}

impl Routes {
    /// Whether it answers what a client asked past the bridge.
    fn waits_for(&self, parcel: &Parcel) -> bool {
        let waiting = locked(&self.waiting);
        let frame = match &parcel.item {
            Item::Message(Frame::Memory(frame)) => &frame[..],
            Item::Message(Frame::Spooled(spooled)) => spooled.stand_in(),
            _ => return false,
        };
        let is_asked = |one: &Envelope<'_>| {
            one.is_response() && one.key().is_some_and(|key| waiting.contains_key(&key))
        };
        !waiting.is_empty() && messages(frame).iter().any(is_asked)
    }

    /// A message too large for the memory: only its id is changed.
    async fn large(&self, mut spooled: Spooled) {
        let found = match &*spooled.messages() {
            [one] if one.is_response() => one.id.and_then(|ours| {
                let route = locked(&self.waiting).remove(&Key::of(ours)?)?;
                Some((route, span_in(spooled.stand_in(), ours.get())))
            }),
            _ => None,
        };
        let Some((route, ours)) = found else {
            tracing::warn!("a large message that says nobody's id is lost");
            return;
        };
        spooled.replace(ours, route.id.as_bytes());
        let parcel = Parcel {
            of: Some(route.key),
            event: None,
            item: Item::Message(Frame::Spooled(Box::new(spooled))),
        };
        route.sink.take(parcel).await;
    }

    async fn ends(&self, item: Item) {
        let Item::Gone(how) = item else { return };
        *locked(&self.ended) = Some(how.clone());
        locked(&self.waiting).clear();
        let clients = std::mem::take(&mut *locked(&self.clients));
        for client in clients.iter().filter_map(Weak::upgrade) {
            let gone = Parcel {
                of: None,
                event: None,
                item: Item::Gone(how.clone()),
            };
            client.take(gone).await;
        }
    }
}

/// One client's share of a process.
#[derive(Debug)]
struct Handle {
    link: Arc<dyn Link>,
    routes: Arc<Routes>,
    sink: Arc<dyn Sink>,
}

impl Handle {
    fn is_ours(&self, route: &Route) -> bool {
        Arc::ptr_eq(&route.sink, &self.sink)
    }

    /// The number under which the process knows a request of this client.
    fn number_of(&self, key: &Key) -> Option<Key> {
        let waiting = locked(&self.routes.waiting);
        let mut all = waiting.iter();
        let found = all.find(|(_, route)| self.is_ours(route) && route.key == *key);
        found.map(|(number, _)| number.clone())
    }

    /// The message as the process is to know it; `None` if it concerns nothing
    /// that it knows.
    fn numbered(&self, message: Message) -> Option<Message> {
        let [envelope] = &*messages(&message.frame) else {
            return Some(message);
        };
        let mut splice = Splice::default();
        let mut replace = |theirs: &RawValue, ours: &Key| {
            splice.replace(span_in(&message.frame, theirs.get()), ours.as_json());
        };
        let params = envelope.params.and_then(object::<Params<'_>>);
        let mut id = None;
        match (envelope.method.as_deref(), envelope.id, envelope.key()) {
            (Some("notifications/cancelled"), ..) => {
                let theirs = params?.request?;
                replace(theirs, &self.number_of(&Key::of(theirs)?)?);
            }
            (Some(_), Some(theirs), Some(key)) => {
                let number = Key::number(self.routes.numbers.fetch_add(1, Ordering::Relaxed));
                replace(theirs, &number);
                let meta = params.and_then(|params| params.meta);
                let token = meta.and_then(|meta| meta.get("progressToken").copied());
                if let Some(token) = token {
                    replace(token, &number);
                }
                let route = Route {
                    sink: Arc::clone(&self.sink),
                    key,
                    id: theirs.get().to_owned(),
                    token: token.map(|token| token.get().to_owned()),
                };
                locked(&self.routes.waiting).insert(number.clone(), route);
                id = Some(number);
            }
            _ => {}
        }
        let frame = splice.apply(&message.frame).into();
        Some(Message {
            frame,
            id,
            ..message.clone()
        })
    }

    /// Lets go of a request that nobody waits for.
    async fn let_go(&self, number: &Key) {
        if locked(&self.routes.waiting).remove(number).is_none() {
            return;
        }
        let frame = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{}}}}}\n",
            number.as_json()
        );
        let cancelled = notice(frame.into(), Some("notifications/cancelled"));
        if let Err(error) = self.link.send(cancelled).await {
            tracing::debug!(%error, "could not be told that nobody waits");
        }
    }
}

impl Link for Handle {
    fn send(&self, message: Message) -> BoxFuture<'_, Result<(), LinkError>> {
        async move {
            if let Some(how) = self.routes.ended() {
                return Err(LinkError::Gone(how));
            }
            match self.numbered(message) {
                Some(message) => self.link.send(message).await,
                None => Ok(()),
            }
        }
        .boxed()
    }

    fn listen(&self, _: Option<String>) -> BoxFuture<'_, Result<(), LinkError>> {
        std::future::ready(Ok(())).boxed()
    }

    fn abandon(&self, of: &Key) -> BoxFuture<'_, ()> {
        let number = self.number_of(of);
        async move {
            if let Some(number) = number {
                self.let_go(&number).await;
            }
        }
        .boxed()
    }

    fn close(&self, _: bool) -> BoxFuture<'_, ()> {
        async move {
            let numbers: Vec<Key> = {
                let waiting = locked(&self.routes.waiting);
                let ours = waiting.iter().filter(|(_, route)| self.is_ours(route));
                ours.map(|(number, _)| number.clone()).collect()
            };
            for number in numbers {
                self.let_go(&number).await;
            }
        }
        .boxed()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let waiting = &self.routes.waiting;
        locked(waiting).retain(|_, route| !Arc::ptr_eq(&route.sink, &self.sink));
        let is_other = |client: &Weak<dyn Sink>| {
            let client = client.upgrade();
            client.is_some_and(|client| !Arc::ptr_eq(&client, &self.sink))
        };
        locked(&self.routes.clients).retain(is_other);
    }
}
