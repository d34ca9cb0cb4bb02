//! The state that all clients of a gateway share: settings, servers, metrics.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use spillgate_bridge::{
    BridgeObserver, BridgedConnector, Bridging, KnownGenerations, SharedServers,
};
use spillgate_offload::Ledger;
use spillgate_transport::{ServerEvent, ServerSpec, Sink};
use spillgate_upstream::{Server, TracePropagator};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::aggregate::index::Catalogue;
use crate::aggregate::{Kind, Known, SessionKind};
use crate::builtin_tools::BuiltinTools;
use crate::builtin_tools::calls::Turns;
use crate::gateway::Gateway;
use crate::session::Session;
use crate::telemetry::metrics::{Metrics, ServerState};
use crate::upstream::instrumented::{Processes, WatchedConnector, WatchedLedger};
use crate::upstream::upstream_set::Memory;

/// Maximum number of oversized results that are processed at the same time. Each needs several
/// times its size in memory.
const AT_ONCE: usize = 4;

/// Maximum total size, in KiB, of the responses from all servers that wait to be processed. When it
/// is reached, we stop reading from the servers. Up to this size, a large response to one client
/// does not delay the responses that the same server sends to other clients.
const ROOM_KIB: u32 = 32 << 10;

/// The servers of a gateway and the handling of their results, shared by all clients.
#[derive(Debug)]
pub struct Hub {
    gateway: Mutex<Arc<Gateway>>,
    servers: Mutex<Vec<Arc<Server>>>,
    /// The sessions that must be informed about a new configuration.
    sessions: Mutex<Vec<Weak<Session>>>,
    /// The servers that all stateless requests use.
    shared: Arc<SharedServers>,
    /// What the responses to stateless requests have shown about the servers.
    memory: Memory,
    /// The state of the built-in tools for all stateless requests.
    builtin_tools: Arc<BuiltinTools>,
    /// Which protocol generation each server speaks.
    pub(crate) generations: Arc<KnownGenerations>,
    /// The server processes.
    processes: Arc<Processes>,
    /// The last known greetings and lists of each server.
    known: Arc<Known>,
    /// The name of an only server and the number of its tools. Its list passes through and is not kept.
    listed: Mutex<Option<(String, usize)>>,
    /// The session that requests the lists of several servers for all stateless requests.
    scout: Mutex<Option<Arc<Session>>>,
    /// Stateless requests that listen for changes.
    listeners: Mutex<Vec<Weak<Session>>>,
    metrics: Arc<Metrics>,
    traces: OnceLock<Arc<dyn TracePropagator>>,
    pub(crate) catalogue: Catalogue,
    at_once: Arc<Semaphore>,
    /// Limits how many expensive operations run at the same time.
    pub(crate) turns: Arc<Turns>,
    room: Arc<Semaphore>,
}

/// What all hubs of a process have in common: what is counted and limited for the whole process.
#[derive(Debug)]
struct Machine {
    processes: Arc<Processes>,
    metrics: Arc<Metrics>,
    at_once: Arc<Semaphore>,
    turns: Arc<Turns>,
    room: Arc<Semaphore>,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            processes: Arc::default(),
            metrics: Arc::default(),
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
            turns: Arc::default(),
            room: Arc::new(Semaphore::new(ROOM_KIB as usize)),
        }
    }
}

/// A server as a person who looks at the gateway sees it.
#[derive(Debug, Clone)]
pub struct ServerSeen {
    /// Its name, and how it is reached.
    pub spec: ServerSpec,
    /// Whether it is open.
    pub state: ServerState,
    /// The number of its tools, if its list is known.
    pub tools: Option<usize>,
}

impl Hub {
    /// Returns a hub with these settings.
    #[must_use]
    pub fn new(gateway: Gateway) -> Arc<Self> {
        Self::with(gateway, Machine::default())
    }

    /// Returns another hub in the same process, for clients that share nothing with those of this one:
    /// no store, no server and no session. The two have the metrics and the limits in common that are
    /// for the whole process.
    #[must_use]
    pub fn beside(&self, gateway: Gateway) -> Arc<Self> {
        let machine = Machine {
            processes: Arc::clone(&self.processes),
            metrics: Arc::clone(&self.metrics),
            at_once: Arc::clone(&self.at_once),
            turns: Arc::clone(&self.turns),
            room: Arc::clone(&self.room),
        };
        let hub = Self::with(gateway, machine);
        if let Some(traces) = self.traces.get() {
            hub.trace_by(Arc::clone(traces));
        }
        hub
    }

    fn with(gateway: Gateway, machine: Machine) -> Arc<Self> {
        let Machine {
            processes,
            metrics,
            at_once,
            turns,
            room,
        } = machine;
        let gateway = watched(gateway, &metrics, &processes);
        let servers: Vec<Arc<Server>> = gateway.servers.iter().cloned().map(Arc::new).collect();
        let generations = Arc::new(KnownGenerations::default());
        generations.adopt(servers.iter().map(rule));
        let known = Arc::new(Known::new(gateway.several.known.clone()));
        if servers.len() > 1 {
            known.adopt(&servers);
        }
        Arc::new(Self {
            processes,
            known,
            listed: Mutex::default(),
            scout: Mutex::default(),
            listeners: Mutex::default(),
            servers: Mutex::new(servers),
            sessions: Mutex::default(),
            shared: Arc::new(SharedServers::new(Arc::clone(&gateway.connector))),
            memory: Memory::default(),
            builtin_tools: Arc::new(builtin_tools_of(&gateway).for_stateless()),
            gateway: Mutex::new(Arc::new(gateway)),
            generations,
            metrics,
            traces: OnceLock::new(),
            catalogue: Catalogue::default(),
            at_once,
            turns,
            room,
        })
    }

    /// Returns a session for one client connection, on standard streams or over HTTP.
    #[must_use]
    pub fn session(self: &Arc<Self>, to: Arc<dyn Sink>) -> Arc<Session> {
        let gateway = self.gateway();
        let builtin_tools = Arc::new(builtin_tools_of(&gateway));
        let session = Session::new(
            Arc::clone(self),
            BridgedConnector::session(
                Arc::clone(&gateway.connector),
                Arc::clone(&self.generations),
                Arc::clone(&self.metrics) as Arc<dyn BridgeObserver>,
            ),
            to,
            builtin_tools,
            Memory::default(),
            SessionKind::Client,
        );
        keep_weak(&self.sessions, &session);
        session
    }

    /// Returns a session for one stateless request over HTTP (MCP 2026-07-28). All such sessions
    /// share the server processes.
    #[must_use]
    pub fn exchange(self: &Arc<Self>, to: Arc<dyn Sink>) -> Arc<Session> {
        self.stateless(to, SessionKind::Exchange)
    }

    /// Returns the session that requests the lists of several servers for all stateless requests.
    pub(crate) fn scout(self: &Arc<Self>) -> Arc<Session> {
        let mut scout = self.scout.lock();
        let new = || {
            let session = self.stateless(Arc::new(Nobody), SessionKind::Scout);
            keep_weak(&self.sessions, &session);
            session
        };
        Arc::clone(scout.get_or_insert_with(new))
    }

    fn stateless(self: &Arc<Self>, to: Arc<dyn Sink>, kind: SessionKind) -> Arc<Session> {
        let connector = BridgedConnector::exchange(
            &self.shared,
            Arc::clone(&self.generations),
            Arc::clone(&self.metrics) as Arc<dyn BridgeObserver>,
        );
        Session::new(
            Arc::clone(self),
            connector,
            to,
            Arc::clone(&self.builtin_tools),
            self.memory.clone(),
            kind,
        )
    }

    /// Records that a stateless request listens for changes.
    pub(crate) fn listens(&self, session: &Arc<Session>) {
        keep_weak(&self.listeners, session);
    }

    pub(crate) fn listeners(&self) -> Vec<Arc<Session>> {
        let listeners = self.listeners.lock();
        listeners.iter().filter_map(Weak::upgrade).collect()
    }

    /// Returns the last known greetings and lists of each server.
    pub(crate) fn known(&self) -> &Arc<Known> {
        &self.known
    }

    /// Applies new settings. Limits change immediately. Each session then switches to the new
    /// servers, and its client is informed if its lists have changed.
    pub async fn reload(&self, gateway: Gateway) {
        let gateway = watched(gateway, &self.metrics, &self.processes);
        let servers: Vec<Arc<Server>> = {
            let known = self.servers();
            // A server whose configuration is unchanged keeps its connections.
            let same = |one: &Server| known.iter().find(|server| ***server == *one).cloned();
            let all = gateway.servers.iter();
            all.map(|one| same(one).unwrap_or_else(|| Arc::new(one.clone())))
                .collect()
        };
        self.servers.lock().clone_from(&servers);
        *self.gateway.lock() = Arc::new(gateway);
        self.generations.adopt(servers.iter().map(rule));
        self.known.adopt(&servers);
        self.catalogue.forget_all();
        let specs: Vec<&ServerSpec> = servers.iter().map(|server| &server.spec).collect();
        self.shared.keep_only(&specs).await;
        let sessions: Vec<Arc<Session>> = {
            let mut sessions = self.sessions.lock();
            sessions.retain(|session| session.strong_count() > 0);
            sessions.iter().filter_map(Weak::upgrade).collect()
        };
        for session in sessions {
            session.adopt(&servers).await;
        }
    }

    /// Closes the servers that stateless requests share. Sessions are closed separately.
    pub async fn close(&self, hurried: bool) {
        let scout = self.scout.lock().take();
        if let Some(scout) = scout {
            scout.close(hurried).await;
        }
        self.shared.close(hurried).await;
    }

    /// Limits the number of server processes for all clients together. A process above this limit
    /// is refused. Must be called before the first process starts.
    pub fn bound_processes(&self, most: usize) {
        self.processes.bound(most);
    }

    /// Returns the metrics.
    #[must_use]
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Links the spans of all requests to their clients' traces. Must be called before the first
    /// request; a second call is ignored.
    pub fn trace_by(&self, traces: Arc<dyn TracePropagator>) {
        drop(self.traces.set(traces));
    }

    /// Returns the state of each server, by name.
    #[must_use]
    pub fn health(&self) -> BTreeMap<String, ServerState> {
        let name = |server: &Arc<Server>| server.spec.name.clone();
        let names: Vec<String> = self.servers().iter().map(name).collect();
        self.metrics.states(&names)
    }

    /// Returns the servers in the order of the configuration, for a person who looks at the gateway.
    #[must_use]
    pub fn servers_seen(&self) -> Vec<ServerSeen> {
        let seen = |server: &Arc<Server>| {
            let spec = server.spec.clone();
            let known = self.known.list(&spec.name, Kind::Tools);
            let known = known.map(|list| list.entries.len());
            ServerSeen {
                state: self.metrics.server(&spec.name).state(),
                tools: known.or_else(|| self.listed_by(&spec.name)),
                spec,
            }
        };
        self.servers().iter().map(seen).collect()
    }

    /// Records how many tools the only server has listed.
    pub(crate) fn listed(&self, server: &str, tools: usize) {
        *self.listed.lock() = Some((server.to_owned(), tools));
    }

    fn listed_by(&self, server: &str) -> Option<usize> {
        let listed = self.listed.lock();
        let (_, tools) = listed.as_ref().filter(|(name, _)| name == server)?;
        Some(*tools)
    }

    /// Returns the names by which the clients with a session introduced themselves; `None` for one
    /// that has not yet. Stateless requests have no session.
    #[must_use]
    pub fn clients_seen(&self) -> Vec<Option<String>> {
        let sessions = self.sessions.lock();
        let open = sessions.iter().filter_map(Weak::upgrade);
        let open = open.filter(|one| one.kind == SessionKind::Client && !one.is_closing());
        open.map(|one| one.client.name().map(str::to_owned))
            .collect()
    }

    pub(crate) fn traces(&self) -> Option<&dyn TracePropagator> {
        self.traces.get().map(|traces| &**traces)
    }

    /// Waits until a response of `bytes` bytes may be held in memory until it is processed.
    pub(crate) async fn room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let kib = u32::try_from(bytes >> 10).unwrap_or(ROOM_KIB);
        let kib = kib.clamp(1, ROOM_KIB);
        let room = Arc::clone(&self.room).acquire_many_owned(kib).await;
        room.ok() // the semaphore is never closed
    }

    /// Waits until an oversized result may be processed.
    pub(crate) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.at_once).acquire_owned().await.ok() // the semaphore is never closed
    }

    /// Returns the current settings.
    pub(crate) fn gateway(&self) -> Arc<Gateway> {
        Arc::clone(&self.gateway.lock())
    }

    /// Returns the servers for a new client.
    pub(crate) fn servers(&self) -> Vec<Arc<Server>> {
        self.servers.lock().clone()
    }
}

/// Returns a server's transport and the rule for bridging it.
fn rule(server: &Arc<Server>) -> (&ServerSpec, Bridging) {
    (&server.spec, server.bridge)
}

fn keep_weak(all: &Mutex<Vec<Weak<Session>>>, session: &Arc<Session>) {
    let mut all = all.lock();
    all.retain(|session| session.strong_count() > 0);
    all.push(Arc::downgrade(session));
}

/// A sink for sessions without a client.
#[derive(Debug)]
struct Nobody;

impl Sink for Nobody {
    fn take(&self, _: ServerEvent) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

/// Returns the settings with a connector and ledgers that also update the metrics.
fn watched(gateway: Gateway, metrics: &Arc<Metrics>, processes: &Arc<Processes>) -> Gateway {
    let names = gateway.servers.iter().map(|one| one.spec.name.clone());
    let ledger: Arc<dyn Ledger> = Arc::new(WatchedLedger {
        ledger: Arc::clone(gateway.offloader.ledger()),
        metrics: Arc::clone(metrics),
        servers: names.collect(),
    });
    let connector = Arc::new(WatchedConnector {
        connector: gateway.connector,
        metrics: Arc::clone(metrics),
        processes: Arc::clone(processes),
    });
    let extractor = gateway.extractor;
    Gateway {
        offloader: gateway.offloader.with_ledger(Arc::clone(&ledger)),
        extractor: extractor.map(|extractor| extractor.with_ledger(ledger)),
        connector,
        ..gateway
    }
}

fn builtin_tools_of(gateway: &Gateway) -> BuiltinTools {
    BuiltinTools::new(
        &gateway.offloader,
        gateway.extractor.as_ref(),
        gateway.list_tools,
        gateway.tool_search.may_grow(),
    )
}
