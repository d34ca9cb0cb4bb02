//! The current servers of a session.

use std::collections::HashMap;
use std::sync::Arc;

use spillgate_upstream::{Server, Slot};

use crate::rewrite::Learnt;
use crate::upstream::{ServerNotes, Upstream};
use parking_lot::Mutex;

/// The servers of a session, in the order of the configuration.
#[derive(Debug)]
pub(crate) struct UpstreamSet {
    members: Mutex<Members>,
    memory: Memory,
}

/// What has been learnt about servers, by name. Each session has its own memory; all stateless
/// requests share one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<HashMap<String, Arc<Learnt>>>>);

impl Memory {
    fn of(&self, server: &Server) -> Arc<Learnt> {
        let mut known = self.0.lock();
        Arc::clone(known.entry(server.spec.name.clone()).or_default())
    }
}

#[derive(Debug)]
struct Members {
    all: Arc<[Arc<Upstream>]>,
    /// The next slot. Slots are never reused, so a response to a server that was removed cannot
    /// reach another server.
    next: Slot,
}

/// What a new configuration changes.
#[derive(Debug, Default)]
pub(crate) struct Change {
    /// Servers that were removed or whose configuration changed.
    pub(crate) gone: Vec<Arc<Upstream>>,
    /// Whether servers were added.
    pub(crate) has_new: bool,
}

impl UpstreamSet {
    pub(crate) fn new(servers: &[Arc<Server>], memory: Memory) -> Self {
        let all = servers.iter().enumerate().map(|(slot, server)| {
            let learnt = memory.of(server);
            Arc::new(Upstream::new(
                slot,
                Arc::clone(server),
                ServerNotes::new(learnt),
            ))
        });
        Self {
            members: Mutex::new(Members {
                all: all.collect(),
                next: servers.len(),
            }),
            memory,
        }
    }

    pub(crate) fn all(&self) -> Arc<[Arc<Upstream>]> {
        Arc::clone(&self.members.lock().all)
    }

    /// Returns the names of the servers, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let all = self.all();
        all.iter().map(|one| one.name().to_owned()).collect()
    }

    pub(crate) fn first(&self) -> Option<Arc<Upstream>> {
        self.members.lock().all.first().cloned()
    }

    pub(crate) fn get(&self, slot: Slot) -> Option<Arc<Upstream>> {
        let members = self.members.lock();
        // A server's slot is its index until the configuration changes.
        let fits = |upstream: &&Arc<Upstream>| upstream.slot == slot;
        let at_its_place = members.all.get(slot).filter(fits);
        at_its_place
            .or_else(|| members.all.iter().find(fits))
            .cloned()
    }

    pub(crate) fn named(&self, name: &str) -> Option<Arc<Upstream>> {
        let members = self.members.lock();
        let mut all = members.all.iter();
        all.find(|upstream| upstream.name() == name).cloned()
    }

    /// Applies a new configuration. Unchanged servers keep their connections. New servers get the
    /// same greeting as the others.
    pub(crate) fn adopt(&self, servers: &[Arc<Server>]) -> Change {
        let mut members = self.members.lock();
        let mut change = Change::default();
        let mut all = Vec::new();
        for server in servers {
            let is_kept = |upstream: &&Arc<Upstream>| *upstream.server == **server;
            let kept = members.all.iter().find(is_kept).cloned();
            all.push(kept.unwrap_or_else(|| {
                change.has_new = true;
                let slot = members.next;
                members.next += 1;
                let notes = ServerNotes::new(self.memory.of(server));
                let new = Upstream::new(slot, Arc::clone(server), notes);
                if let Some(greeted) = members.all.first() {
                    new.copy_greeting_from(greeted);
                }
                Arc::new(new)
            }));
        }
        let is_gone = |upstream: &&Arc<Upstream>| !all.iter().any(|one| one.slot == upstream.slot);
        change.gone = members.all.iter().filter(is_gone).cloned().collect();
        members.all = all.into();
        change
    }
}
