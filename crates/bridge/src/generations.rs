//! The generation of MCP that each server speaks, as far as known.

use std::collections::HashMap;

use parking_lot::Mutex;
use spillgate_transport::ServerSpec;

use crate::Bridging;

/// Facts about a gateway's servers that its clients found out.
#[derive(Debug, Default)]
pub struct KnownGenerations(Mutex<HashMap<String, ServerGenerations>>);

#[derive(Debug)]
struct ServerGenerations {
    spec: ServerSpec,
    rule: Bridging,
    speaks: SpokenGenerations,
}

/// The generations that a server speaks; `None` if not known yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SpokenGenerations {
    /// Whether it speaks `initialize`, as in 2025-11-25 and older.
    pub(crate) legacy: Option<bool>,
    /// Whether it speaks 2026-07-28.
    pub(crate) modern: Option<bool>,
}

impl KnownGenerations {
    /// Adopts the servers of a configuration. Facts about a server that is reached as before are
    /// kept.
    pub fn adopt<'a>(&self, servers: impl Iterator<Item = (&'a ServerSpec, Bridging)>) {
        let mut all = self.0.lock();
        let adopted = servers.map(|(spec, rule)| {
            let name = spec.name.clone();
            let before = all.get(&name).filter(|known| known.spec == *spec);
            let known = ServerGenerations {
                spec: spec.clone(),
                rule,
                speaks: before.map(|known| known.speaks).unwrap_or_default(),
            };
            (name, known)
        });
        *all = adopted.collect();
    }

    /// Returns when this server is bridged.
    pub(crate) fn rule(&self, server: &str) -> Bridging {
        let all = self.0.lock();
        all.get(server).map(|known| known.rule).unwrap_or_default()
    }

    /// Returns whether this server is known not to speak 2026-07-28.
    #[must_use]
    pub fn is_legacy_only(&self, server: &str) -> bool {
        self.of(server).modern == Some(false)
    }

    /// Returns what this server speaks.
    pub(crate) fn of(&self, server: &str) -> SpokenGenerations {
        let all = self.0.lock();
        all.get(server)
            .map(|known| known.speaks)
            .unwrap_or_default()
    }

    /// Records what was found out.
    pub(crate) fn note(&self, server: &str, found: SpokenGenerations) {
        if let Some(known) = self.0.lock().get_mut(server) {
            known.speaks.legacy = found.legacy.or(known.speaks.legacy);
            known.speaks.modern = found.modern.or(known.speaks.modern);
        }
    }

    /// Returns whether another server of the gateway is modern, so that the gateway as a whole
    /// counts as modern whatever this server speaks.
    pub(crate) fn another_is_modern(&self, server: &str) -> bool {
        let all = self.0.lock();
        let mut others = all.iter().filter(|(name, _)| *name != server);
        others.any(|(_, known)| known.speaks.modern == Some(true))
    }
}
