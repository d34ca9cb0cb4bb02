//! The generations of MCP that each server speaks, as far as known.

use std::collections::HashMap;

use parking_lot::Mutex;
use spillgate_transport::ServerSpec;

use crate::Bridging;

/// Which protocol generations the gateway's servers speak, as far as answers to its clients have
/// shown.
#[derive(Debug, Default)]
pub struct KnownGenerations(Mutex<HashMap<String, ServerGenerations>>);

#[derive(Debug)]
struct ServerGenerations {
    spec: ServerSpec,
    rule: Bridging,
    speaks: SpokenGenerations,
}

/// The generations that a server speaks. `None` means unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SpokenGenerations {
    /// Whether the server speaks `initialize`, as in 2025-11-25 and older.
    pub(crate) legacy: Option<bool>,
    /// Whether the server speaks 2026-07-28.
    pub(crate) modern: Option<bool>,
}

impl KnownGenerations {
    /// Replaces the servers by those of a configuration. What is known about a server is kept if
    /// its transport has not changed.
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

    /// Returns the rule for bridging this server.
    pub(crate) fn rule(&self, server: &str) -> Bridging {
        let all = self.0.lock();
        all.get(server).map(|known| known.rule).unwrap_or_default()
    }

    /// Returns whether this server is known not to support 2026-07-28.
    #[must_use]
    pub fn is_legacy_only(&self, server: &str) -> bool {
        self.of(server).modern == Some(false)
    }

    /// Returns the generations that this server is known to speak.
    pub(crate) fn of(&self, server: &str) -> SpokenGenerations {
        let all = self.0.lock();
        all.get(server)
            .map(|known| known.speaks)
            .unwrap_or_default()
    }

    /// Records what an answer has shown about this server.
    pub(crate) fn note(&self, server: &str, found: SpokenGenerations) {
        if let Some(known) = self.0.lock().get_mut(server) {
            known.speaks.legacy = found.legacy.or(known.speaks.legacy);
            known.speaks.modern = found.modern.or(known.speaks.modern);
        }
    }

    /// Returns whether another server of the gateway is modern. The gateway as a whole then counts
    /// as modern, regardless of this server.
    pub(crate) fn another_is_modern(&self, server: &str) -> bool {
        let all = self.0.lock();
        let mut others = all.iter().filter(|(name, _)| *name != server);
        others.any(|(_, known)| known.speaks.modern == Some(true))
    }
}
