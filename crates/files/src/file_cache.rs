//! Caches what is known of files that have not changed.

use parking_lot::Mutex;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

/// Files of which something stays known: a model reads on in the same few.
const KNOWN: usize = 8;

/// By what a file and its content are told from others: device, inode, bytes, and when
/// its content and its inode changed (seconds, nanoseconds). The second of the two no
/// program can set.
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

/// What was found out about the last few files.
#[derive(Debug)]
pub struct FileCache<T>(Mutex<Vec<(Identity, Arc<T>)>>);

impl<T> Default for FileCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> FileCache<T> {
    /// What is known of this file.
    pub fn get(&self, identity: &Identity) -> Option<Arc<T>> {
        let mut known = self.0.lock();
        let at = known.iter().position(|(known, _)| known == identity)?;
        // The longest unused goes first.
        known[at..].rotate_left(1);
        known.last().map(|(_, found)| Arc::clone(found))
    }

    /// Keeps what was found out about a file, in place of what was known of it.
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
