//! An index that says which server owns each tool, prompt and resource.

use std::collections::{BTreeMap, HashMap};

use crate::aggregate::{Kind, prefixed};
use parking_lot::Mutex;

/// Maps the client's name for an entry to its server and the server's own name for it.
type Owners = HashMap<String, (String, String)>;

/// What the latest lists of several servers contained. A list is the same for every client (MCP
/// 2026-07-28), so all clients share this index.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    kinds: Mutex<BTreeMap<Kind, Owners>>,
}

impl Catalogue {
    /// Records a complete list. If two entries have the same name, the first one is used.
    pub(crate) fn learn(
        &self,
        kind: Kind,
        owners: impl Iterator<Item = (String, (String, String))>,
    ) {
        let mut listed = HashMap::new();
        for (shown, owner) in owners {
            listed.entry(shown).or_insert(owner);
        }
        self.kinds.lock().insert(kind, listed);
    }

    /// Returns current names of entries to which the old name `old` may refer, with or without a
    /// server's name as a prefix. The result is sorted and short.
    pub(crate) fn similar(&self, kind: Kind, old: &str) -> Vec<String> {
        const MOST: usize = 5;
        let kinds = self.kinds.lock();
        let Some(known) = kinds.get(&kind) else {
            return Vec::new();
        };
        let is_meant =
            |(server, name): &(String, String)| name == old || prefixed(server, name) == old;
        let meant = known.iter().filter(|(_, owner)| is_meant(owner));
        let mut names: Vec<String> = meant.map(|(shown, _)| shown.clone()).collect();
        names.sort();
        names.truncate(MOST);
        names
    }

    pub(crate) fn knows(&self, kind: Kind) -> bool {
        self.kinds.lock().contains_key(&kind)
    }

    pub(crate) fn find(&self, kind: Kind, shown: &str) -> Option<(String, String)> {
        self.kinds.lock().get(&kind)?.get(shown).cloned()
    }

    /// Returns the client's name for an entry whose name at the server is `own`.
    pub(crate) fn shown(&self, kind: Kind, server: &str, own: &str) -> Option<String> {
        let kinds = self.kinds.lock();
        let mut all = kinds.get(&kind)?.iter();
        let of = all.find(|(_, (owner, name))| owner == server && name == own)?;
        Some(of.0.clone())
    }

    /// Returns the server whose template matches a URI best. This is the template that shares the
    /// longest prefix with the URI.
    pub(crate) fn find_template(&self, uri: &str) -> Option<(String, String)> {
        let kinds = self.kinds.lock();
        let templates = kinds.get(&Kind::Templates)?;
        let beginning = |template: &str| template.find('{').unwrap_or(template.len());
        let fitting = templates
            .iter()
            .filter(|(template, _)| uri.starts_with(&template[..beginning(template)]));
        let best = fitting.max_by_key(|(template, _)| (beginning(template), template.as_str()));
        best.map(|(_, owner)| owner.clone())
    }

    /// Removes a list that may have changed.
    pub(crate) fn forget(&self, kind: Kind) {
        self.kinds.lock().remove(&kind);
    }

    /// Removes all lists.
    pub(crate) fn forget_all(&self) {
        self.kinds.lock().clear();
    }
}
