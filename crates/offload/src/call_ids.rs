//! The ids by which callers ask for more of a result.
//!
//! `get_continuation` takes a `tool_call_id`: the id that the caller gave the call, a short number
//! (models corrupt long ids), or the handle. The manifest stores the id, so that it outlives this
//! process.

use std::collections::HashMap;
use std::ops::ControlFlow;

use parking_lot::{Mutex, MutexGuard};
use spillgate_artifact::{Handle, Origin};
use spillgate_store::{ArtifactStore, Listed, StoreError};

/// The ids that this process assigned or received.
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    short: bool,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    handles: HashMap<String, Handle>,
    /// The last short id; 0 before the first.
    last: Option<u64>,
}

impl CallIds {
    /// Creates a registry; with `short`, it numbers results whose callers give no id.
    pub(crate) fn new(short: bool) -> Self {
        Self {
            short,
            known: Mutex::default(),
        }
    }

    /// Returns the id for a new result; `None` if its handle is its only id.
    pub(crate) fn name(&self, origin: &Origin, store: &dyn ArtifactStore) -> Option<String> {
        if origin.call_id.is_some() || !self.short {
            return origin.call_id.clone();
        }
        // Listing a large store takes long, so it happens without the lock.
        let is_first = self.known().last.is_none();
        let counted = is_first.then(|| highest(store));
        let mut known = self.known();
        let next = known.last.or(counted).unwrap_or(0) + 1;
        known.last = Some(next);
        Some(next.to_string())
    }

    /// Records the artifact of an id.
    pub(crate) fn note(&self, name: String, handle: Handle) {
        self.known().handles.insert(name, handle);
    }

    /// Finds the artifact of an id: one of this process, otherwise the newest stored one.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be listed.
    pub(crate) fn find(
        &self,
        name: &str,
        store: &dyn ArtifactStore,
    ) -> Result<Option<Handle>, StoreError> {
        let noted = self.known().handles.get(name).copied();
        if noted.is_some() {
            return Ok(noted);
        }
        let mut newest = None;
        store.newest(&mut |one| {
            if id_of(&one) != Some(name) {
                return ControlFlow::Continue(());
            }
            newest = Some(one.manifest.handle);
            ControlFlow::Break(())
        })?;
        Ok(newest)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock()
    }
}

fn id_of(listed: &Listed) -> Option<&str> {
    listed.manifest.facts.origin.call_id.as_deref()
}

/// Returns the highest number that the store uses as an id.
fn highest(store: &dyn ArtifactStore) -> u64 {
    let listed = store.list().unwrap_or_default();
    let numbers = listed.iter().filter_map(|one| id_of(one)?.parse().ok());
    numbers.max().unwrap_or(0)
}
