//! A store in memory, for tests and for programs without a disk.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use spillgate_artifact::{
    ByteSource, Facts, FileId, Handle, HandleForm, Manifest, SessionId, Timestamp, Word,
};

use crate::derived::DerivedBytes;
use crate::tombstone::Tombstone;
use crate::{Absent, ArtifactStore, Draft, Gone, Listed, Part, Receipt, StoreError, Stored};

/// Keeps artifacts in memory until the store is dropped.
#[derive(Debug)]
pub struct MemoryStore {
    session: SessionId,
    shelf: Arc<Mutex<Shelf>>,
}

#[derive(Debug, Default)]
struct Shelf {
    stored: HashMap<Handle, Stored>,
    gone: HashMap<Handle, Tombstone>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self {
            session: SessionId::random(),
            shelf: Arc::default(),
        }
    }
}

impl MemoryStore {
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock()
    }
}

impl Shelf {
    /// Returns a handle that no artifact has or had.
    fn unused(&self, form: HandleForm, session: SessionId) -> Handle {
        loop {
            let handle = match form {
                HandleForm::Short => Handle::Short(Word::random()),
                HandleForm::Long => Handle::Long {
                    session,
                    file: FileId::random(),
                },
            };
            if !self.stored.contains_key(&handle) && !self.gone.contains_key(&handle) {
                return handle;
            }
        }
    }

    fn absent(&self, handle: Handle) -> StoreError {
        let gone = self.gone.get(&handle).cloned();
        StoreError::Absent {
            handle,
            why: gone.map_or(Absent::Never, Absent::from),
        }
    }
}

impl ArtifactStore for MemoryStore {
    fn draft(&self) -> Result<Box<dyn Draft>, StoreError> {
        Ok(Box::new(MemoryDraft {
            session: self.session,
            shelf: Arc::clone(&self.shelf),
            raw: Vec::new(),
            view: None,
        }))
    }

    fn open(&self, handle: Handle) -> Result<Stored, StoreError> {
        let shelf = self.shelf();
        let found = shelf.stored.get(&handle).cloned();
        found.ok_or_else(|| shelf.absent(handle))
    }

    fn manifest(&self, handle: Handle) -> Result<Manifest, StoreError> {
        Ok(self.open(handle)?.manifest)
    }

    fn list(&self) -> Result<Vec<Listed>, StoreError> {
        let mut listed: Vec<Listed> = self
            .shelf()
            .stored
            .values()
            .map(|stored| Listed {
                used: stored.manifest.facts.created,
                bytes: stored.manifest.facts.raw_bytes,
                manifest: stored.manifest.clone(),
            })
            .collect();
        listed.sort_by_key(|one| (one.manifest.facts.created, one.manifest.handle));
        Ok(listed)
    }

    fn remove(&self, handle: Handle, why: Gone, at: Timestamp) -> Result<(), StoreError> {
        let mut shelf = self.shelf();
        let Some(stored) = shelf.stored.remove(&handle) else {
            return Err(shelf.absent(handle));
        };
        let tombstone = Tombstone::of(Some(&stored.manifest), why, at);
        shelf.gone.insert(handle, tombstone);
        Ok(())
    }

    fn pin(&self, handle: Handle, pinned: bool) -> Result<(), StoreError> {
        let mut shelf = self.shelf();
        match shelf.stored.get_mut(&handle) {
            Some(stored) => stored.manifest.pinned = pinned,
            None => return Err(shelf.absent(handle)),
        }
        Ok(())
    }
}

#[derive(Debug)]
struct MemoryDraft {
    session: SessionId,
    shelf: Arc<Mutex<Shelf>>,
    raw: Vec<u8>,
    view: Option<Vec<u8>>,
}

impl Draft for MemoryDraft {
    fn write(&mut self, part: Part, bytes: &[u8]) -> Result<(), StoreError> {
        match part {
            Part::Raw => self.raw.extend_from_slice(bytes),
            Part::View => self.view.get_or_insert_default().extend_from_slice(bytes),
        }
        Ok(())
    }

    fn discard_view(&mut self) -> Result<(), StoreError> {
        self.view = None;
        Ok(())
    }

    fn read(&self, part: Part) -> Result<Arc<dyn ByteSource>, StoreError> {
        Ok(Arc::new(match part {
            Part::Raw => self.raw.clone(),
            Part::View => self.view.clone().unwrap_or_default(),
        }))
    }

    fn commit(
        self: Box<Self>,
        facts: Facts,
        index: &[u8],
        form: HandleForm,
    ) -> Result<Receipt, StoreError> {
        let mut shelf = self.shelf.lock();
        let handle = shelf.unused(form, self.session);
        let manifest = Manifest::new(handle, facts);
        let raw: Arc<dyn ByteSource> = Arc::new(self.raw);
        let stored = Stored {
            file: None,
            manifest: manifest.clone(),
            view: self.view.map_or_else(|| Arc::clone(&raw), |v| Arc::new(v)),
            raw,
            index: index.to_vec(),
            derived: Some(Arc::<DerivedBytes>::default()),
            is_shared: false,
        };
        shelf.stored.insert(handle, stored);
        drop(shelf);
        Ok(Receipt { manifest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conforms() {
        crate::conformance::run(&|| Box::new(MemoryStore::default()));
    }
}
