//! Lets the requests of many clients share one process of a server.
//!
//! A stateless request (MCP 2026-07-28) belongs to no session, so all such requests share one
//! process of a server. Clients do not know of each other: their ids and progress tokens are
//! replaced by numbers on the way to the server and restored on the way back.

mod routes;

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use serde_json::value::RawValue;
use spillgate_mcp::{ByteEdits, RequestId, frame, messages, object, span_in};
use spillgate_transport::{
    Connection, ConnectionError, Connector, Item, Message, RestartBackoff, ServerEvent, ServerSpec,
    Sink, Transport,
};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;

use self::routes::{Params, Route, Routes};
use crate::running_bridge::RunningBridge;

/// Opens connections that share the processes of servers.
#[derive(Debug)]
pub struct SharedServers {
    connector: Arc<dyn Connector>,
    processes: AsyncMutex<HashMap<String, Process>>,
}

/// The running process of a server or its single connection, and the history of its restarts.
#[derive(Debug, Default)]
struct Process {
    running: Option<LiveConnection>,
    /// The configuration with which the running server was opened.
    spec: Option<ServerSpec>,
    backoff: RestartBackoff,
}

#[derive(Debug, Clone)]
struct LiveConnection {
    connection: Arc<dyn Connection>,
    switch: Arc<Switch>,
}

/// Distributes the events of a shared server, and records how the server ended.
#[derive(Debug)]
struct Switch {
    routes: Arc<Routes>,
    /// The bridge, if some clients speak another generation than the server.
    bridge: OnceLock<Arc<RunningBridge>>,
}

impl Switch {
    fn ended(&self) -> Option<String> {
        let bridge = self.bridge.get().and_then(|bridge| bridge.ended());
        bridge.or_else(|| self.routes.ended())
    }
}

impl Sink for Switch {
    fn take(&self, event: ServerEvent) -> BoxFuture<'_, ()> {
        async move {
            let Some(bridge) = self.bridge.get() else {
                return self.routes.take(event).await;
            };
            let Some(event) = event.or_failure(&self.routes.server) else {
                return;
            };
            if let Item::Gone(how) = &event.item {
                let gone = Item::Gone(how.clone());
                self.routes.ends(gone).await;
            } else if self.routes.waits_for(&event) {
                return self.routes.take(event).await;
            }
            bridge.take(event).await;
        }
        .boxed()
    }
}

impl SharedServers {
    /// Creates the shared servers. Each server is opened through `connector` when the first request
    /// needs it.
    #[must_use]
    pub fn new(connector: Arc<dyn Connector>) -> Self {
        Self {
            connector,
            processes: AsyncMutex::default(),
        }
    }

    async fn share(
        &self,
        server: &ServerSpec,
        sink: Arc<dyn Sink>,
    ) -> Result<SharedConnection, ConnectionError> {
        let mut processes = self.processes.lock().await;
        let process = processes.entry(server.name.clone()).or_default();
        let LiveConnection { connection, switch } = self.running(process, server, None).await?;
        let routes = Arc::clone(&switch.routes);
        routes.clients.lock().push(Arc::downgrade(&sink));
        Ok(SharedConnection {
            connection,
            routes,
            sink,
        })
    }

    /// Returns the bridge to a legacy server, which all exchanges share. For a local server, the
    /// bridge uses the running process; over HTTP and SSE, it has its own connection.
    pub(crate) async fn bridge(
        &self,
        server: &ServerSpec,
    ) -> Result<Arc<RunningBridge>, ConnectionError> {
        let mut processes = self.processes.lock().await;
        let process = processes.entry(server.name.clone()).or_default();
        let first = match server.transport {
            Transport::Command(_) => None,
            Transport::Http(_) | Transport::Sse(_) => Some(RunningBridge::for_many(server)),
        };
        let LiveConnection { connection, switch } = self.running(process, server, first).await?;
        let bridge = switch
            .bridge
            .get_or_init(|| RunningBridge::for_many(server));
        bridge.connect(&connection);
        Ok(Arc::clone(bridge))
    }

    /// Returns the running server, after opening it if necessary. If the server is opened here, it
    /// uses `bridge` from the start.
    async fn running(
        &self,
        process: &mut Process,
        server: &ServerSpec,
        bridge: Option<Arc<RunningBridge>>,
    ) -> Result<LiveConnection, ConnectionError> {
        let running = process.running.as_ref();
        if let Some(how) = running.and_then(|running| running.switch.ended()) {
            process.running = None;
            process.backoff.end(&how, Instant::now());
        }
        if let Some(running) = &process.running {
            return Ok(running.clone());
        }
        process.backoff.open(Instant::now())?;
        let switch = Arc::new(Switch {
            routes: Arc::new(Routes::new(&server.name)),
            bridge: bridge.map(OnceLock::from).unwrap_or_default(),
        });
        let to = Arc::clone(&switch) as Arc<dyn Sink>;
        let opened = self.connector.open(server, to).await;
        let connection = opened.inspect_err(|error| {
            process.backoff.end(&error.to_string(), Instant::now());
        })?;
        process.spec = Some(server.clone());
        Ok(process
            .running
            .insert(LiveConnection { connection, switch })
            .clone())
    }

    /// Ends the processes of servers that are no longer among `servers`.
    pub async fn keep_only(&self, servers: &[&ServerSpec]) {
        let mut gone = Vec::new();
        self.processes.lock().await.retain(|name, process| {
            let is_same =
                |spec: &&ServerSpec| spec.name == *name && process.spec.as_ref() == Some(*spec);
            let stays = servers.iter().any(is_same);
            if !stays {
                gone.extend(process.running.take());
            }
            stays
        });
        join_all(gone.iter().map(|running| running.connection.close(false))).await;
    }

    /// Ends all processes. If `hurried` is true, does not wait until they have finished their work.
    pub async fn close(&self, hurried: bool) {
        let processes: Vec<Process> = self
            .processes
            .lock()
            .await
            .drain()
            .map(|(_, p)| p)
            .collect();
        let connections = processes
            .iter()
            .filter_map(|process| process.running.as_ref());
        join_all(connections.map(|running| running.connection.close(hurried))).await;
    }
}

impl Connector for SharedServers {
    fn open<'a>(
        &'a self,
        server: &'a ServerSpec,
        sink: Arc<dyn Sink>,
    ) -> BoxFuture<'a, Result<Arc<dyn Connection>, ConnectionError>> {
        match &server.transport {
            Transport::Command(_) => async move {
                let handle = self.share(server, sink).await?;
                Ok(Arc::new(handle) as Arc<dyn Connection>)
            }
            .boxed(),
            // Over HTTP, requests of different clients are separate anyway, so nothing has to be
            // shared.
            Transport::Http(_) | Transport::Sse(_) => self.connector.open(server, sink),
        }
    }
}

/// A client's connection to the shared process.
#[derive(Debug)]
struct SharedConnection {
    connection: Arc<dyn Connection>,
    routes: Arc<Routes>,
    sink: Arc<dyn Sink>,
}

impl SharedConnection {
    fn is_ours(&self, route: &Route) -> bool {
        Arc::ptr_eq(&route.sink, &self.sink)
    }

    /// Returns the number of this client's request in the process.
    fn number_of(&self, key: &RequestId) -> Option<RequestId> {
        let waiting = self.routes.waiting.lock();
        let mut all = waiting.iter();
        let found = all.find(|(_, route)| self.is_ours(route) && route.key == *key);
        found.map(|(number, _)| number.clone())
    }

    /// Returns the message with its ids and tokens replaced by numbers; `None` if it refers to a
    /// request that is not pending in the process.
    fn numbered(&self, message: Message) -> Option<Message> {
        let [envelope] = &*messages(&message.frame) else {
            return Some(message);
        };
        let mut splice = ByteEdits::default();
        let mut replace = |theirs: &RawValue, ours: &RequestId| {
            splice.replace(span_in(&message.frame, theirs.get()), ours.as_json());
        };
        let params = envelope.params.and_then(object::<Params<'_>>);
        let mut id = None;
        match (envelope.method.as_deref(), envelope.id, envelope.key()) {
            (Some("notifications/cancelled"), ..) => {
                let theirs = params?.request?;
                replace(theirs, &self.number_of(&RequestId::of(theirs)?)?);
            }
            (Some(_), Some(theirs), Some(key)) => {
                let number = RequestId::number(self.routes.numbers.fetch_add(1, Ordering::Relaxed));
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
                self.routes.waiting.lock().insert(number.clone(), route);
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

    /// Cancels a request that nobody waits for.
    async fn let_go(&self, number: &RequestId) {
        if self.routes.waiting.lock().remove(number).is_none() {
            return;
        }
        let frame = frame::line(frame::cancelled(number.as_json(), None));
        let cancelled = Message::notice(frame.into(), Some("notifications/cancelled"));
        if let Err(error) = self.connection.send(cancelled).await {
            tracing::debug!(%error, "a cancellation could not be sent to the server");
        }
    }
}

impl Connection for SharedConnection {
    fn send(&self, message: Message) -> BoxFuture<'_, Result<(), ConnectionError>> {
        async move {
            if let Some(how) = self.routes.ended() {
                return Err(ConnectionError::Gone(how));
            }
            match self.numbered(message) {
                Some(message) => self.connection.send(message).await,
                None => Ok(()),
            }
        }
        .boxed()
    }

    fn listen(&self, _: Option<String>) -> BoxFuture<'_, Result<(), ConnectionError>> {
        std::future::ready(Ok(())).boxed()
    }

    fn abandon(&self, of: &RequestId) -> BoxFuture<'_, ()> {
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
            let numbers: Vec<RequestId> = {
                let waiting = self.routes.waiting.lock();
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

impl Drop for SharedConnection {
    fn drop(&mut self) {
        let waiting = &self.routes.waiting;
        waiting
            .lock()
            .retain(|_, route| !Arc::ptr_eq(&route.sink, &self.sink));
        let is_other = |client: &Weak<dyn Sink>| {
            let client = client.upgrade();
            client.is_some_and(|client| !Arc::ptr_eq(&client, &self.sink))
        };
        self.routes.clients.lock().retain(is_other);
    }
}
