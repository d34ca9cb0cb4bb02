//! Stores artifacts: the bytes of results, durably or in memory.
//!
//! A caller writes a result to a [`Draft`]. Only [`Draft::commit`] turns the draft into an
//! artifact, and only a commit returns a [`Receipt`]. A caller that has a handle to show has
//! therefore stored its bytes (docs/spec/behaviour.md, "Invariants", 1). A draft that is dropped
//! without a commit leaves nothing behind.
//!
//! The crate has two stores, [`FileStore`] and [`MemoryStore`]. Every store runs the test suite in
//! [`conformance`].
//!
//! ```
//! use spillgate_store::{ArtifactStore, MemoryStore, Part};
//! # use spillgate_store::conformance::facts_of;
//!
//! let store = MemoryStore::default();
//! let mut draft = store.draft()?;
//! draft.write(Part::Raw, b"all of it")?;
//! let receipt = draft.commit(facts_of(b"all of it"), b"index", Default::default())?;
//! let stored = store.open(receipt.handle())?;
//! assert_eq!(stored.raw.bytes(0, u64::MAX)?, b"all of it");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ahead;
mod alias;
mod base;
mod books;
pub mod conformance;
mod derived;
mod disk;
mod draft;
mod error;
mod files;
mod hashing;
mod key;
mod leftovers;
mod manifest;
mod memory;
mod names;
mod newest;
mod open;
mod partition;
mod place;
mod recent;
mod retention;
mod room;
mod sealed;
mod share;
mod shared;
mod survey;
mod tier;
mod tombstone;
mod upkeep;

use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use spillgate_artifact::{ByteSource, Facts, Handle, HandleForm, Manifest, SessionId, Timestamp};

pub use derived::Derived;
pub use disk::SyncWhen;
pub use error::{Absent, Locked, Remote, StoreError};
pub use files::{FileSource, FileStore, Lifetime};
pub use hashing::Hashing;
pub use key::{KEY_VARIABLE, StoreKey, StoreKeyError, keep_key_from};
pub use manifest::check_index;
pub use memory::MemoryStore;
pub use names::{ContentName, ContentNameError, Names};
pub use open::open_regular;
pub use partition::{NoPartition, Partition, PartitionKey};
pub use retention::{Candidate, Retention, Swept, sweep};
pub use room::Space;
pub use share::{Share, ShareRecords, ShareSide};
pub use shared::{Owners, SharedStore};
pub use survey::{Survey, Unreadable};
pub use tier::{ArtifactFiles, Piece};
pub use tombstone::{Gone, RemovalObserver, Tombstone};
pub use upkeep::{Notes, Upkeep};

/// Stores artifacts. This is the smallest set of methods that a store needs. All methods may be
/// called from several threads at the same time and, for stores on disk, from several processes.
pub trait ArtifactStore: Send + Sync + fmt::Debug {
    /// Begins a new artifact.
    fn draft(&self) -> Result<Box<dyn Draft>, StoreError>;

    /// Opens the parts of a stored artifact and records that it was used.
    fn open(&self, handle: Handle) -> Result<Stored, StoreError>;

    /// Opens the parts of a stored artifact without recording that it was used, for a search through
    /// many of them: which ones the quota removes must not depend on the order of the search.
    fn peek(&self, handle: Handle) -> Result<Stored, StoreError> {
        self.open(handle)
    }

    /// Returns the manifest of a stored artifact.
    fn manifest(&self, handle: Handle) -> Result<Manifest, StoreError>;

    /// Returns the proof that an artifact is stored.
    fn receipt(&self, handle: Handle) -> Result<Receipt, StoreError> {
        let manifest = self.manifest(handle)?;
        Ok(Receipt { manifest })
    }

    /// Lists all artifacts, oldest first.
    fn list(&self) -> Result<Vec<Listed>, StoreError>;

    /// Lists all artifacts, with the artifacts whose manifest cannot be read in a separate list.
    fn survey(&self) -> Result<Survey, StoreError> {
        let listed = self.list()?;
        Ok(Survey {
            listed,
            damaged: Vec::new(),
        })
    }

    /// Calls `visit` for each artifact, newest first, until it breaks. Returns the artifacts before
    /// this end whose manifest cannot be read. A large store does not read all its manifests for a
    /// few artifacts.
    fn newest(
        &self,
        visit: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<Vec<Unreadable>, StoreError> {
        let Survey { listed, damaged } = self.survey()?;
        // Why it ended does not matter.
        let _ = listed.into_iter().rev().try_for_each(visit);
        Ok(damaged)
    }

    /// Returns what a sweep has to know about each artifact.
    fn candidates(&self) -> Result<Vec<Candidate>, StoreError> {
        self.survey().map(retention::candidates)
    }

    /// Returns the handles of all artifacts, also of damaged ones, that begin with `beginning`, in
    /// the order of their names.
    fn beginning_with(&self, beginning: &str) -> Result<Vec<Handle>, StoreError> {
        let Survey { listed, damaged } = self.survey()?;
        let listed = listed.iter().map(|one| one.manifest.handle);
        let all = listed.chain(damaged.iter().map(|one| one.handle));
        let mut found: Vec<Handle> = all
            .filter(|handle| handle.to_string().starts_with(beginning))
            .collect();
        found.sort_unstable();
        Ok(found)
    }

    /// Returns the number of all artifacts, also of damaged ones.
    fn count(&self) -> Result<usize, StoreError> {
        Ok(self.beginning_with("")?.len())
    }

    /// Removes an artifact, even a damaged one, and records why and when.
    fn remove(&self, handle: Handle, why: Gone, at: Timestamp) -> Result<(), StoreError>;

    /// Exempts an artifact from the quota and the age limit, or ends the exemption.
    fn pin(&self, handle: Handle, pinned: bool) -> Result<(), StoreError>;

    /// Returns this store as a client's session uses it; `None` if all sessions use it alike.
    fn in_session(&self, session: SessionId) -> Option<Arc<dyn ArtifactStore>> {
        let _ = session;
        None
    }
}

/// An artifact that is being written. Dropping it without a commit discards it.
pub trait Draft: Send + fmt::Debug {
    /// Appends bytes to a part.
    fn write(&mut self, part: Part, bytes: &[u8]) -> Result<(), StoreError>;

    /// Removes all bytes of the view, so that it can be written again in another form.
    fn discard_view(&mut self) -> Result<(), StoreError>;

    /// Reads a part back.
    fn read(&self, part: Part) -> Result<Arc<dyn ByteSource>, StoreError>;

    /// Declares that no more bytes of `part` follow, so that the store can start slow work such as
    /// a sync. The commit reports errors of this work.
    fn complete(&mut self, part: Part) {
        let _ = part;
    }

    /// Makes the artifact durable under a new handle of the given form and returns its receipt.
    /// `index` is the view's line index. If no view part was written, the raw bytes serve as the
    /// view.
    ///
    /// The handle is always new: two artifacts never get the same handle, even in a store that
    /// several processes use, and the handle of a removed artifact is not used again as long as the
    /// store records why that artifact was removed.
    fn commit(
        self: Box<Self>,
        facts: Facts,
        index: &[u8],
        form: HandleForm,
    ) -> Result<Receipt, StoreError>;
}

/// Bytes that were written to a draft of their own as they arrived.
#[derive(Debug)]
pub struct SpooledBytes {
    /// The draft, or the beginning and the end of the bytes if the store could not store them.
    pub kept: Result<Box<dyn Draft>, LostBytes>,
    /// Number of bytes.
    pub bytes: u64,
    /// SHA-256 of the bytes, in hex.
    pub sha256: String,
}

impl SpooledBytes {
    /// Opens the bytes for reading; `None` if they are lost.
    pub fn source(&self) -> Result<Option<Arc<dyn ByteSource>>, StoreError> {
        let draft = self.kept.as_ref().ok();
        draft.map(|draft| draft.read(Part::Raw)).transpose()
    }
}

/// The beginning and the end of bytes that the store could not store.
#[derive(Debug)]
pub struct LostBytes {
    /// The first bytes, about 64 KB.
    pub head: Vec<u8>,
    /// The last bytes, about 64 KB.
    pub tail: Vec<u8>,
    /// Why the store failed.
    pub error: StoreError,
}

/// Selects a part of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The bytes as they were received.
    Raw,
    /// The readable text, if it differs from the raw bytes.
    View,
}

/// Proof that an artifact is stored. Only a store can create a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    manifest: Manifest,
}

impl Receipt {
    /// The artifact's handle.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.manifest.handle
    }

    /// The manifest that was stored with the artifact.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

/// The parts of a stored artifact.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The artifact's manifest.
    pub manifest: Manifest,
    /// The bytes as they were received.
    pub raw: Arc<dyn ByteSource>,
    /// The readable text. If the raw bytes are the view, these are the raw bytes.
    pub view: Arc<dyn ByteSource>,
    /// The view's line index, as it was passed to the commit.
    pub index: Vec<u8>,
    /// The place for bytes that are computed from the artifact; `None` if the store has none.
    pub derived: Option<Arc<dyn Derived>>,
    /// The file through which other programs can open the text. `None` if the manifest names no
    /// file ([`Facts::file_name`]), the store has no files, or the text is encrypted.
    pub file: Option<PathBuf>,
    /// Whether another principal stored it and shared it: only the view with marks may be shown of it,
    /// and `raw` cannot be read.
    pub is_shared: bool,
}

/// One artifact in a store's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The artifact's manifest.
    pub manifest: Manifest,
    /// When the artifact was last opened or, if it was never opened, stored.
    pub used: Timestamp,
    /// Total bytes of the raw part, the view and the index, as they take space in the store.
    pub bytes: u64,
}
