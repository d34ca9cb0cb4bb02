//! What do all clients of a gateway share?

use std::sync::{Arc, Mutex, Weak};

use spillgate_wire::Sink;
use tokio::sync::Semaphore;

use crate::bridging::{Bridged, Eras};
use crate::catalogue::Catalogue;
use crate::gateway::{Gateway, Server};
use crate::locked;
use crate::own::OwnTools;
use crate::roster::Memory;
use crate::session::Session;
use crate::shared::Shared;

/// Oversized results that are worked on at once: each is in memory meanwhile.
const AT_ONCE: usize = 4;

/// The servers behind a gateway and what it does with their results: one for
/// all clients.
#[derive(Debug)]
pub struct Hub {
    gateway: Mutex<Arc<Gateway>>,
    servers: Mutex<Vec<Arc<Server>>>,
    /// Those that a new configuration is told to.
    sessions: Mutex<Vec<Weak<Session>>>,
    /// The servers of all stateless requests.
    shared: Arc<Shared>,
    /// What all stateless requests learnt of the servers.
    memory: Memory,
    /// Our tools as all stateless requests see them.
    own: Arc<OwnTools>,
    /// Which generation of the protocol each server speaks.
    pub(crate) eras: Arc<Eras>,
    pub(crate) catalogue: Catalogue,
    pub(crate) at_once: Arc<Semaphore>,
}

impl Hub {
    /// A hub that serves by these settings.
    #[must_use]
    pub fn new(gateway: Gateway) -> Arc<Self> {
        let servers: Vec<Arc<Server>> = gateway.servers.iter().cloned().map(Arc::new).collect();
        let eras = Arc::new(Eras::default());
        eras.adopt(&servers);
        Arc::new(Self {
            servers: Mutex::new(servers),
            sessions: Mutex::default(),
            shared: Arc::new(Shared::new(Arc::clone(&gateway.ways))),
            memory: Memory::default(),
            own: Arc::new(own_tools_of(&gateway)),
            gateway: Mutex::new(Arc::new(gateway)),
            eras,
            catalogue: Catalogue::default(),
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
        })
    }

    /// One connection of a client: standard streams, or a session over HTTP.
    #[must_use]
    pub fn session(self: &Arc<Self>, to: Arc<dyn Sink>) -> Arc<Session> {
        let gateway = self.gateway();
        let own = Arc::new(own_tools_of(&gateway));
        let session = Session::new(
            Arc::clone(self),
            Bridged::session(Arc::clone(&gateway.ways), Arc::clone(&self.eras)),
            to,
            own,
            Memory::default(),
        );
        let mut sessions = locked(&self.sessions);
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(Arc::downgrade(&session));
        session
    }

    /// One stateless request over HTTP (MCP 2026-07-28). All of them share the
    /// servers that are processes.
    #[must_use]
    pub fn exchange(self: &Arc<Self>, to: Arc<dyn Sink>) -> Arc<Session> {
        let ways = Bridged::exchange(&self.shared, Arc::clone(&self.eras));
        Session::new(
            Arc::clone(self),
            ways,
            to,
            Arc::clone(&self.own),
            self.memory.clone(),
        )
    }

    /// Takes over other settings: limits at once, servers as clients can bear it.
    pub async fn reload(&self, gateway: Gateway) {
        let servers: Vec<Arc<Server>> = {
            let known = self.servers();
            // What stays as it is keeps its links.
            let same = |one: &Server| known.iter().find(|server| ***server == *one).cloned();
            let all = gateway.servers.iter();
            all.map(|one| same(one).unwrap_or_else(|| Arc::new(one.clone())))
                .collect()
        };
        locked(&self.servers).clone_from(&servers);
        *locked(&self.gateway) = Arc::new(gateway);
        self.eras.adopt(&servers);
        self.catalogue.forget_all();
        self.shared.keep_only(&servers).await;
        let sessions: Vec<Arc<Session>> = {
            let mut sessions = locked(&self.sessions);
            sessions.retain(|session| session.strong_count() > 0);
            sessions.iter().filter_map(Weak::upgrade).collect()
        };
        for session in sessions {
            session.adopt(&servers).await;
        }
    }

    /// Ends what stateless requests share. Sessions are closed by themselves.
    pub async fn close(&self, hurried: bool) {
        self.shared.close(hurried).await;
    }

    /// The settings in force.
    pub(crate) fn gateway(&self) -> Arc<Gateway> {
        Arc::clone(&locked(&self.gateway))
    }

    /// The servers for a new client.
    pub(crate) fn servers(&self) -> Vec<Arc<Server>> {
        locked(&self.servers).clone()
    }
}

fn own_tools_of(gateway: &Gateway) -> OwnTools {
    OwnTools::new(
        &gateway.offloader,
        gateway.extractor.as_ref(),
        gateway.list_tools,
    )
}
