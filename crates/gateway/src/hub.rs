//! What do all clients of a gateway share?

use std::sync::{Arc, Mutex};

use spillgate_wire::Sink;
use tokio::sync::Semaphore;

use crate::catalogue::Catalogue;
use crate::gateway::{Gateway, Server};
use crate::locked;
use crate::own::OwnTools;
use crate::session::Session;

/// Oversized results that are worked on at once: each is in memory meanwhile.
const AT_ONCE: usize = 4;

/// The servers behind a gateway and what it does with their results: one for
/// all clients.
#[derive(Debug)]
pub struct Hub {
    gateway: Mutex<Arc<Gateway>>,
    servers: Vec<Arc<Server>>,
    pub(crate) catalogue: Catalogue,
    pub(crate) at_once: Arc<Semaphore>,
}

impl Hub {
    /// A hub that serves by these settings.
    #[must_use]
    pub fn new(gateway: Gateway) -> Arc<Self> {
        let servers = gateway.servers.iter().cloned().map(Arc::new).collect();
        Arc::new(Self {
            servers,
            gateway: Mutex::new(Arc::new(gateway)),
            catalogue: Catalogue::default(),
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
        })
    }

    /// One connection of a client: standard streams, or a session over HTTP.
    #[must_use]
    pub fn session(self: &Arc<Self>, to: Arc<dyn Sink>) -> Arc<Session> {
        let gateway = self.gateway();
        let own = OwnTools::new(
            &gateway.offloader,
            gateway.extractor.as_ref(),
            gateway.list_tools,
        );
        Session::new(Arc::clone(self), to, own, &self.servers)
    }

    /// One stateless request over HTTP (MCP 2026-07-28).
    #[must_use]
    pub fn exchange(self: &Arc<Self>, to: Arc<dyn Sink>) -> Arc<Session> {
        self.session(to)
    }

    /// The settings in force.
    pub(crate) fn gateway(&self) -> Arc<Gateway> {
        Arc::clone(&locked(&self.gateway))
    }
}
