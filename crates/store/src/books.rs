//! Counts the bytes of a store, for all processes that share the store.
//!
//! The count is in one small file in the base directory, which is changed in place under a lock. A
//! change takes a few microseconds, needs no additional space on a full disk, and is immediately
//! visible to every process. The file is not synced, because a sync would take milliseconds. An
//! artifact's bytes are added to the count before the artifact gets its name. If a writer is
//! killed, the count may therefore be too high, but never too low. The next full count of the store
//! corrects it (ADR 17).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spillgate_artifact::Timestamp;

use crate::StoreError;
use crate::open::open_regular;

/// Name of the file in the base.
const NAME: &str = ".store";

/// The newest store format that this version can read.
const FORMAT: u32 = 1;

/// Length of the file in bytes. The file is padded with spaces so that a change needs no space on
/// the disk.
const LENGTH: usize = 256;

/// The file that records the bytes of a store.
#[derive(Debug)]
pub(crate) struct Books {
    path: PathBuf,
}

/// Content of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Format of the store's layout.
    format: u32,
    /// Bytes of all artifacts; `None` before the first count.
    pub(crate) bytes: Option<u64>,
    /// Number of full counts recorded so far. If this number changes while a process is counting,
    /// the process discards its own result.
    #[serde(default)]
    pub(crate) counts: u64,
    /// Sum of all bytes that were ever added; removals do not reduce it. The difference between two
    /// readings is the number of bytes added in between.
    #[serde(default)]
    pub(crate) came: u64,
    /// When old artifacts and leftover files were last removed.
    pub(crate) swept: Option<Timestamp>,
    /// Least seconds from `swept` to the next time, so that the removals of a large store take only a
    /// small part of the time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) pause: u64,
    /// The id of the valid list of the newest artifacts ([`crate::recent`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) recent: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(pause: &u64) -> bool {
    *pause == 0
}

impl Default for Entry {
    fn default() -> Self {
        Self {
            format: FORMAT,
            bytes: None,
            counts: 0,
            came: 0,
            swept: None,
            pause: 0,
            recent: None,
        }
    }
}

impl Entry {
    /// Adds the bytes of an artifact.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.came = self.came.wrapping_add(bytes);
        self.bytes = self.bytes.map(|total| total.saturating_add(bytes));
    }

    /// Whether the last sweep was at least `every` and the pause ago. A sweep is also due if the
    /// recorded time is in the future.
    pub(crate) fn is_due(&self, every: Duration, now: Timestamp) -> bool {
        let every = every.max(Duration::from_secs(self.pause));
        self.swept
            .is_none_or(|swept| swept > now || swept.age_at(now) >= every)
    }
}

impl Books {
    pub(crate) fn of(base: &Path) -> Self {
        let path = base.join(NAME);
        Self { path }
    }

    /// Whether the file exists.
    pub(crate) fn exist(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok()
    }

    /// Reads the file. Returns the default entry if the file does not exist.
    pub(crate) fn read(&self) -> Result<Entry, StoreError> {
        self.read_with(Entry::clone)
    }

    /// Reads the file and calls `look` while no process can change it.
    pub(crate) fn read_with<T>(&self, look: impl FnOnce(&Entry) -> T) -> Result<T, StoreError> {
        match open_regular(&self.path, OpenOptions::new().read(true)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(look(&Entry::default())),
            file => {
                let file = file.map_err(|error| self.failed(error))?;
                file.lock_shared().map_err(|error| self.failed(error))?;
                let read = file.try_clone().map_err(|error| self.failed(error))?;
                let looked = look(&self.parse(read)?);
                drop(file);
                Ok(looked)
            }
        }
    }

    /// Changes the file under an exclusive lock and returns its new content.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Entry)) -> Result<Entry, StoreError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let file = open_regular(&self.path, &mut options).map_err(|error| self.failed(error))?;
        file.lock().map_err(|error| self.failed(error))?;
        let read = file.try_clone().map_err(|error| self.failed(error))?;
        let before = self.parse(read)?;
        let mut after = before.clone();
        change(&mut after);
        if after != before {
            let text = serde_json::to_string(&after).unwrap_or_default();
            let text = format!("{text:<width$}\n", width = LENGTH - 1);
            let written = file.write_all_at(text.as_bytes(), 0);
            written.map_err(|error| self.failed(error))?;
        }
        Ok(after)
    }

    /// Parses the content. An empty or incomplete file gives the default entry, so that the bytes
    /// are counted again.
    fn parse(&self, file: File) -> Result<Entry, StoreError> {
        #[derive(Deserialize)]
        struct Versioned {
            format: u32,
        }
        // The content is read as bytes, because a file that is not UTF-8 must not stop the upkeep
        // of the store permanently.
        let mut text = Vec::new();
        let read = file.take(LENGTH as u64).read_to_end(&mut text);
        read.map_err(|error| self.failed(error))?;
        match serde_json::from_slice(&text).ok() {
            Some(Versioned { format }) if format > FORMAT => Err(StoreError::Newer {
                path: self.path.clone(),
                format,
            }),
            _ => Ok(serde_json::from_slice(&text).unwrap_or_default()),
        }
    }

    fn failed(&self, error: io::Error) -> StoreError {
        StoreError::io(&self.path, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn books_that_are_missing_are_empty_and_those_that_cannot_be_read_an_error() {
        let base = tempfile::tempdir().unwrap();
        let books = Books::of(base.path());
        assert!(books.read().unwrap() == Entry::default());
        std::fs::write(base.path().join(NAME), b"{\"format\":1,\xff").unwrap();
        assert!(books.read().unwrap() == Entry::default());
        books.change(|entry| entry.bytes = Some(7)).unwrap();
        assert_eq!(books.read().unwrap().bytes, Some(7));
        std::fs::remove_file(base.path().join(NAME)).unwrap();
        std::fs::create_dir(base.path().join(NAME)).unwrap();
        assert!(books.read().is_err());
    }
}
