//! Caches facts about files, such as line counts, for as long as the files do not change.

use parking_lot::Mutex;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

/// Maximum number of files in the cache: a model reads the same few files repeatedly.
const KNOWN: usize = 8;

/// Identifies a file and its content: device, inode, size in bytes, and the times when its content
/// and its inode last changed (seconds, nanoseconds). The second time reveals every change, because
/// no program can set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    file: (u64, u64),
    bytes: u64,
    changed: [(i64, i64); 2],
}

impl From<&Metadata> for Identity {
    fn from(found: &Metadata) -> Self {
        Self {
            file: (found.dev(), found.ino()),
            bytes: found.len(),
            changed: [
                (found.mtime(), found.mtime_nsec()),
                (found.ctime(), found.ctime_nsec()),
            ],
        }
    }
}

/// A cache of one value per file, for the most recently used files.
#[derive(Debug)]
pub struct FileCache<T>(Mutex<Vec<(Identity, Arc<T>)>>);

impl<T> Default for FileCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> FileCache<T> {
    /// Returns the value cached for this file.
    pub fn get(&self, identity: &Identity) -> Option<Arc<T>> {
        let mut known = self.0.lock();
        let at = known.iter().position(|(known, _)| known == identity)?;
        // Moves the entry to the end. The least recently used entry is at the beginning and is
        // evicted first.
        known[at..].rotate_left(1);
        known.last().map(|(_, found)| Arc::clone(found))
    }

    /// Caches a value for a file. Replaces the value that was cached for an earlier state of the
    /// same file.
    pub fn keep(&self, identity: Identity, found: T) -> Arc<T> {
        let found = Arc::new(found);
        let mut known = self.0.lock();
        known.retain(|(known, _)| known.file != identity.file);
        if known.len() >= KNOWN {
            known.remove(0);
        }
        known.push((identity, Arc::clone(&found)));
        found
    }
}
