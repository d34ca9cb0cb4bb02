//! Who keeps the bytes, and how can one be sure?
//!
//! A result is written to a [`Draft`]; only [`Draft::commit`] makes it an
//! artifact, and only a commit makes a [`Receipt`]. So nobody can show a handle
//! whose bytes are not safely stored (SPEC 2, invariant 1). A draft that is
//! dropped leaves nothing behind.
//!
//! Two stores here, [`FileStore`] and [`MemoryStore`]; every store runs the
//! suite in [`conformance`].
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

/// Keeps artifacts. The smallest set of methods that a store must have; all of
/// them work from several threads and, for files, several processes at once.
pub trait ArtifactStore: Send + Sync + fmt::Debug {
    /// Begins a new artifact.
    fn draft(&self) -> Result<Box<dyn Draft>, StoreError>;

    /// The parts of a stored artifact, and a note that it was used.
    fn open(&self, handle: Handle) -> Result<Stored, StoreError>;

    /// What is known of a stored artifact.
    fn manifest(&self, handle: Handle) -> Result<Manifest, StoreError>;

    /// All artifacts, oldest first.
    fn list(&self) -> Result<Vec<Listed>, StoreError>;

    /// All artifacts, and those that are damaged so badly that nothing is known of them.
    fn survey(&self) -> Result<Survey, StoreError> {
        let listed = self.list()?;
        Ok(Survey {
            listed,
            damaged: Vec::new(),
        })
    }

    /// Lets an artifact go and remembers why and when. One that is damaged goes, too.
    fn remove(&self, handle: Handle, why: Gone, at: Timestamp) -> Result<(), StoreError>;

    /// Exempts an artifact from quota and age, or ends the exemption.
    fn pin(&self, handle: Handle, pinned: bool) -> Result<(), StoreError>;
}

/// An artifact in the making. Dropped without a commit, it never was.
pub trait Draft: Send + fmt::Debug {
    /// Appends to a part.
    fn write(&mut self, part: Part, bytes: &[u8]) -> Result<(), StoreError>;

    /// Empties the view, so that it can be made in another way.
    fn discard_view(&mut self) -> Result<(), StoreError>;

    /// Reads a part back.
    fn read(&self, part: Part) -> Result<Arc<dyn ByteSource>, StoreError>;

    /// Says that no more bytes of `part` come: what a store has to wait for can
    /// begin. A failure shows in the commit.
    fn complete(&mut self, part: Part) {
        let _ = part;
    }

    /// Makes it durable and gives the receipt. `index` is the view's line
    /// index. Without a view part the raw bytes serve as the view.
    fn commit(self: Box<Self>, facts: Facts, index: &[u8]) -> Result<Receipt, StoreError>;
}

/// Bytes that went into a draft while they came: all of them, and nothing else.
#[derive(Debug)]
pub struct SpooledBytes {
    /// The draft, or what is left of them.
    pub kept: Result<Box<dyn Draft>, LostBytes>,
    /// How many.
    pub bytes: u64,
    /// SHA-256 of them, in hex.
    pub sha256: String,
}

impl SpooledBytes {
    /// Reads them back; `None` if they are lost.
    pub fn source(&self) -> Result<Option<Arc<dyn ByteSource>>, StoreError> {
        let draft = self.kept.as_ref().ok();
        draft.map(|draft| draft.read(Part::Raw)).transpose()
    }
}

/// Bytes that the store failed to take.
#[derive(Debug)]
pub struct LostBytes {
    /// The first of them, some 64 KB.
    pub head: Vec<u8>,
    /// The last of them, as many.
    pub tail: Vec<u8>,
    /// Why.
    pub error: StoreError,
}

/// Which bytes of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What came in.
    Raw,
    /// The readable text, where it differs.
    View,
}

/// Proof that an artifact is stored. Only a store can make one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    manifest: Manifest,
}

impl Receipt {
    /// The artifact's name.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.manifest.handle
    }

    /// What was stored with it.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

/// The parts of a stored artifact.
#[derive(Debug, Clone)]
pub struct Stored {
    /// What is known of it.
    pub manifest: Manifest,
    /// What came in.
    pub raw: Arc<dyn ByteSource>,
    /// The readable text; the raw bytes where they serve as such.
    pub view: Arc<dyn ByteSource>,
    /// The view's line index, as it was given to the commit.
    pub index: Vec<u8>,
    /// The file by which other programs can open the text, if the manifest names one
    /// ([`Facts::file_name`]) and the store has files.
    pub file: Option<PathBuf>,
}

/// One artifact of a store's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// What is known of it.
    pub manifest: Manifest,
    /// When it was last opened, or stored.
    pub used: Timestamp,
    /// Bytes it takes up: raw, view and index.
    pub bytes: u64,
}
