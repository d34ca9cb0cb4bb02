//! Stores artifacts: the bytes of results, durably or in memory.
//!
//! A caller writes a result to a [`Draft`]. Only [`Draft::commit`] makes it an artifact, and only a
//! commit makes a [`Receipt`]. So nobody can show a handle whose bytes are not safely stored
//! (docs/spec/behaviour.md, "Invariants", 1). A draft that is dropped without a commit leaves
//! nothing behind.
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
//! let receipt = draft.commit(facts_of(b"all of it"), b"index")?;
//! let stored = store.open(receipt.handle())?;
//! assert_eq!(stored.raw.bytes(0, u64::MAX)?, b"all of it");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ahead;
mod alias;
mod base;
mod books;
pub mod conformance;
mod disk;
mod draft;
mod error;
mod files;
mod hashing;
mod leftovers;
mod manifest;
mod memory;
mod open;
mod retention;
mod room;
mod survey;
mod tombstone;
mod upkeep;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use spillgate_artifact::{ByteSource, Facts, Handle, Manifest, Timestamp};

pub use disk::SyncWhen;
pub use error::{Absent, StoreError};
pub use files::{FileSource, FileStore, Lifetime};
pub use hashing::Hashing;
pub use memory::MemoryStore;
pub use open::open_regular;
pub use retention::{Retention, Swept, sweep};
pub use room::Space;
pub use survey::{Survey, Unreadable};
pub use tombstone::Gone;
pub use upkeep::{Notes, Upkeep};

/// Keeps artifacts. This is the smallest set of methods that a store needs. All of them may be
/// called from several threads and, for stores of files, from several processes at once.
pub trait ArtifactStore: Send + Sync + fmt::Debug {
    /// Begins a new artifact.
    fn draft(&self) -> Result<Box<dyn Draft>, StoreError>;

    /// Opens the parts of a stored artifact and records that it was used.
    fn open(&self, handle: Handle) -> Result<Stored, StoreError>;

    /// Returns the manifest of a stored artifact.
    fn manifest(&self, handle: Handle) -> Result<Manifest, StoreError>;

    /// Lists all artifacts, oldest first.
    fn list(&self) -> Result<Vec<Listed>, StoreError>;

    /// Lists all artifacts, and separately those too damaged for their manifest to be read.
    fn survey(&self) -> Result<Survey, StoreError> {
        let listed = self.list()?;
        Ok(Survey {
            listed,
            damaged: Vec::new(),
        })
    }

    /// Removes an artifact, damaged or not, and remembers why and when.
    fn remove(&self, handle: Handle, why: Gone, at: Timestamp) -> Result<(), StoreError>;

    /// Exempts an artifact from quota and age, or ends the exemption.
    fn pin(&self, handle: Handle, pinned: bool) -> Result<(), StoreError>;
}

/// An artifact that is being written. Dropping it without a commit discards it.
pub trait Draft: Send + fmt::Debug {
    /// Appends bytes to a part.
    fn write(&mut self, part: Part, bytes: &[u8]) -> Result<(), StoreError>;

    /// Empties the view so that it can be written again in another form.
    fn discard_view(&mut self) -> Result<(), StoreError>;

    /// Reads a part back.
    fn read(&self, part: Part) -> Result<Arc<dyn ByteSource>, StoreError>;

    /// Declares that no more bytes of `part` follow, so the store can start slow work such as a
    /// sync. Failures show in the commit.
    fn complete(&mut self, part: Part) {
        let _ = part;
    }

    /// Makes the artifact durable and returns its receipt. `index` is the view's line index. If no
    /// view part was written, the raw bytes serve as the view.
    fn commit(self: Box<Self>, facts: Facts, index: &[u8]) -> Result<Receipt, StoreError>;
}

/// Bytes that were written to a draft while they arrived. The draft holds these bytes and nothing
/// else.
#[derive(Debug)]
pub struct SpooledBytes {
    /// The draft, or what remains of the bytes if the store failed to take them.
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

/// Bytes that the store failed to take.
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
    /// The bytes as they came in.
    Raw,
    /// The readable text, if it differs from the raw bytes.
    View,
}

/// Proof that an artifact is stored. Only a store can make one.
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

    /// The manifest that was stored with it.
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
    /// The bytes as they came in.
    pub raw: Arc<dyn ByteSource>,
    /// The readable text; the raw bytes if they serve as the view.
    pub view: Arc<dyn ByteSource>,
    /// The view's line index, as it was passed to the commit.
    pub index: Vec<u8>,
    /// The file by which other programs can open the text. `None` if the manifest names none
    /// ([`Facts::file_name`]) or the store has no files.
    pub file: Option<PathBuf>,
}

/// One artifact in a store's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The artifact's manifest.
    pub manifest: Manifest,
    /// When it was last opened; when it was stored if it never was.
    pub used: Timestamp,
    /// Bytes of raw part, view and index.
    pub bytes: u64,
}
