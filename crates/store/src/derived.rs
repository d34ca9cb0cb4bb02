//! Bytes that were computed from an artifact and are kept beside it, so that they need not be
//! computed again.

use std::fmt;
use std::fs;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use spillgate_artifact::ByteSource;

use crate::StoreError;
use crate::files::{FileSource, Paths};
use crate::key::{ArtifactKey, Sealed};
use crate::open::write_whole;
use crate::room::Room;
use crate::sealed::{SealedSource, sealed};

/// Bytes of the checksum before the kept bytes.
const SUM: usize = 4;

/// The place for bytes that are computed from one artifact. They go with the artifact. Whoever reads
/// them must be able to compute them again: they may be missing at any time.
pub trait Derived: Send + Sync + fmt::Debug {
    /// Returns the bytes that were kept last; `None` if there are none, or if they are damaged.
    fn read(&self) -> Option<Vec<u8>>;

    /// Keeps bytes in place of those that were kept before.
    ///
    /// # Errors
    ///
    /// Fails if the artifact is gone, or if the store may not be written or is full.
    fn keep(&self, bytes: &[u8]) -> Result<(), StoreError>;
}

/// A file beside an artifact, encrypted as the artifact is.
#[derive(Debug)]
pub(crate) struct DerivedFile {
    pub(crate) paths: Paths,
    pub(crate) key: Option<ArtifactKey>,
    /// The accounting of the store's space.
    pub(crate) room: Option<Arc<Room>>,
}

impl Derived for DerivedFile {
    fn read(&self) -> Option<Vec<u8>> {
        let path = &self.paths.derived;
        let source: Arc<dyn ByteSource> = match &self.key {
            Some(key) => Arc::new(SealedSource::open(path, key, Sealed::Derived).ok()?),
            None => Arc::new(FileSource::open(path).ok()?),
        };
        let bytes = source.bytes(0, u64::MAX).ok()?;
        let (sum, kept) = bytes.split_first_chunk::<SUM>()?;
        (crc32fast::hash(kept).to_le_bytes() == *sum).then(|| kept.to_vec())
    }

    fn keep(&self, bytes: &[u8]) -> Result<(), StoreError> {
        let path = &self.paths.derived;
        let mut file = crc32fast::hash(bytes).to_le_bytes().to_vec();
        file.extend_from_slice(bytes);
        if let Some(key) = &self.key {
            let sealed = sealed(key, Sealed::Derived, &file);
            file = sealed.map_err(|error| StoreError::io(path, error))?;
        }
        let size = || fs::symlink_metadata(path).map_or(0, |found| found.len());
        let before = size();
        if let Some(room) = &self.room {
            room.keep_reserve()?;
            room.come_back(file.len() as u64);
        }
        let written = write_whole(path, &file, None);
        if let Some(room) = &self.room {
            room.leave(match written {
                Ok(()) => before,
                Err(_) => file.len() as u64,
            });
        }
        written?;
        // The artifact was removed meanwhile.
        if fs::symlink_metadata(&self.paths.manifest).is_err() {
            let left = size();
            if fs::remove_file(path).is_ok()
                && let Some(room) = &self.room
            {
                room.leave(left);
            }
            return Err(StoreError::io(path, io::ErrorKind::NotFound.into()));
        }
        Ok(())
    }
}

/// Keeps bytes in memory.
#[derive(Debug, Default)]
pub(crate) struct DerivedBytes(Mutex<Option<Vec<u8>>>);

impl Derived for DerivedBytes {
    fn read(&self) -> Option<Vec<u8>> {
        self.0.lock().clone()
    }

    fn keep(&self, bytes: &[u8]) -> Result<(), StoreError> {
        *self.0.lock() = Some(bytes.to_vec());
        Ok(())
    }
}
