//! Which generation does each server speak, as far as anybody found out?

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use spillgate_wire::ServerSpec;

use crate::gateway::{Bridging, Server};

/// What all clients of a gateway found out about its servers.
#[derive(Debug, Default)]
pub(crate) struct Eras(Mutex<HashMap<String, Known>>);

#[derive(Debug)]
struct Known {
    spec: ServerSpec,
    rule: Bridging,
    speaks: Speaks,
}

/// The generations that a server speaks; `None` is not known yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Speaks {
    /// `initialize`, as of 2025-11-25 and older.
    pub(crate) legacy: Option<bool>,
    /// 2026-07-28.
    pub(crate) modern: Option<bool>,
}

impl Eras {
    /// Takes over the servers of a configuration. What is known of a server that
    /// is reached as before stays known.
    pub(crate) fn adopt(&self, servers: &[Arc<Server>]) {
        let mut all = self.0.lock();
        let adopted = servers.iter().map(|server| {
            let name = server.spec.name.clone();
            let before = all.get(&name).filter(|known| known.spec == server.spec);
            let known = Known {
                spec: server.spec.clone(),
                rule: server.bridge,
                speaks: before.map(|known| known.speaks).unwrap_or_default(),
            };
            (name, known)
        });
        *all = adopted.collect();
    }

    /// When a bridge stands before this server.
    pub(crate) fn rule(&self, server: &str) -> Bridging {
        let all = self.0.lock();
        all.get(server).map(|known| known.rule).unwrap_or_default()
    }

    /// What this server speaks.
    pub(crate) fn of(&self, server: &str) -> Speaks {
        let all = self.0.lock();
        all.get(server)
            .map(|known| known.speaks)
            .unwrap_or_default()
    }

    /// Notes what was found out.
    pub(crate) fn note(&self, server: &str, found: Speaks) {
        if let Some(known) = self.0.lock().get_mut(server) {
            known.speaks.legacy = found.legacy.or(known.speaks.legacy);
            known.speaks.modern = found.modern.or(known.speaks.modern);
        }
    }

    /// Whether the gateway as a whole is modern for a reason other than this
    /// server: another of its servers is.
    pub(crate) fn another_is_modern(&self, server: &str) -> bool {
        let all = self.0.lock();
        let mut others = all.iter().filter(|(name, _)| *name != server);
        others.any(|(_, known)| known.speaks.modern == Some(true))
    }
}
