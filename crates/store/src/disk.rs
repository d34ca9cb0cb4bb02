//! Syncs the files of an artifact to the disk, before or after its receipt is returned.
//!
//! A file that was written is at first only in the system's memory: it survives the process that
//! wrote it, but not a loss of power. A sync writes it to the disk and takes milliseconds, so files
//! are synced in parallel with other work: before the receipt is returned ([`Disk::begin`]), or
//! after it ([`Later`]).

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use spillgate_artifact::Handle;

use crate::StoreError;

/// When a durable artifact is synced to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncWhen {
    /// Before its receipt is returned. A handle that was shown survives a loss of power.
    #[default]
    Before,
    /// Immediately after its receipt is returned, from a thread. A handle that was shown survives
    /// the end of the process, even if the process is killed. A loss of power within a few
    /// milliseconds may lose the artifact or damage it; damage is detected and reported.
    After,
}

/// Maximum number of artifacts that wait for their sync. Each holds up to four open files. If the
/// queue is full, the next artifact waits for a place in it.
const MOST_WAITING: usize = 16;

/// The function that syncs a file or a directory. Tests replace it to make syncs fail.
type Sync = dyn Fn(&Path, &File) -> io::Result<()> + Send + std::marker::Sync;

/// Syncs files and directories to the disk.
#[derive(Clone)]
pub(crate) struct Disk(Arc<Sync>);

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Disk")
    }
}

impl Default for Disk {
    fn default() -> Self {
        Self(Arc::new(|_, file| match file.metadata()?.is_dir() {
            // `fdatasync` may not sync the names in a directory.
            true => file.sync_all(),
            false => file.sync_data(),
        }))
    }
}

/// A file that has to be synced.
#[derive(Debug)]
pub(crate) struct Due {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
}

/// A sync that is running in a thread.
#[derive(Debug)]
pub(crate) struct Syncing(JoinHandle<Result<(), StoreError>>);

impl Syncing {
    pub(crate) fn wait(self) -> Result<(), StoreError> {
        self.0
            .join()
            .expect("invariant: the thread makes one call to the system")
    }
}

impl Disk {
    #[cfg(test)]
    pub(crate) fn of(
        sync: impl Fn(&Path, &File) -> io::Result<()> + Send + std::marker::Sync + 'static,
    ) -> Self {
        Self(Arc::new(sync))
    }

    pub(crate) fn sync(&self, path: &Path, file: &File) -> Result<(), StoreError> {
        (self.0)(path, file).map_err(|error| StoreError::io(path, error))
    }

    pub(crate) fn sync_directory(&self, path: &Path) -> Result<(), StoreError> {
        let directory = File::open(path).map_err(|error| StoreError::io(path, error))?;
        self.sync(path, &directory)
    }

    /// Syncs a file in a thread of its own.
    pub(crate) fn begin(&self, due: Due) -> io::Result<Syncing> {
        let disk = self.clone();
        let work = move || disk.sync(&due.path, &due.file);
        Ok(Syncing(Builder::new().spawn(work)?))
    }
}

/// When the files of a draft are synced.
#[derive(Debug, Clone)]
pub(crate) enum Synced {
    /// Never, because the files are removed with their session.
    Never,
    /// Before the receipt.
    Before(Disk),
    /// After the receipt.
    After(Arc<Later>),
}

impl Synced {
    pub(crate) fn is_before(&self) -> bool {
        matches!(self, Self::Before(_))
    }
}

/// An artifact whose files have their final names but may not be on the disk yet.
#[derive(Debug)]
struct Placed {
    handle: Handle,
    directory: PathBuf,
    files: Vec<Due>,
}

/// Syncs artifacts in a thread after their files have their final names, in the order in which the
/// artifacts arrive.
#[derive(Debug)]
pub(crate) struct Later {
    disk: Disk,
    /// `None` while the value is being dropped.
    waiting: Mutex<Option<SyncSender<Placed>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Set after a sync has failed. Later drafts are then synced before their receipt, so that the
    /// caller receives the next error.
    in_doubt: Arc<AtomicBool>,
}

impl Later {
    pub(crate) fn start(disk: Disk) -> io::Result<Self> {
        let (waiting, placed) = sync_channel(MOST_WAITING);
        let in_doubt = Arc::new(AtomicBool::new(false));
        let (its_disk, doubt) = (disk.clone(), Arc::clone(&in_doubt));
        let work = move || its_disk.keep_up(&placed, &doubt);
        Ok(Self {
            disk,
            waiting: Mutex::new(Some(waiting)),
            thread: Mutex::new(Some(Builder::new().spawn(work)?)),
            in_doubt,
        })
    }

    /// Returns how to sync the next draft: before its receipt if a sync has failed, otherwise after
    /// it.
    pub(crate) fn for_draft(self: &Arc<Self>) -> Synced {
        match self.in_doubt.load(Ordering::Relaxed) {
            true => Synced::Before(self.disk.clone()),
            false => Synced::After(Arc::clone(self)),
        }
    }

    /// Queues an artifact whose files have their final names. If the queue has closed, syncs the
    /// artifact on the calling thread.
    pub(crate) fn take(
        &self,
        handle: Handle,
        directory: PathBuf,
        files: Vec<Due>,
    ) -> Result<(), StoreError> {
        let waiting = self.waiting.lock();
        let waiting = waiting.clone();
        let placed = Placed {
            handle,
            directory,
            files,
        };
        let left = match waiting {
            Some(waiting) => waiting.send(placed).err().map(|error| error.0),
            None => Some(placed),
        };
        left.map_or(Ok(()), |placed| self.disk.bring(&placed))
    }
}

/// Waits until all queued artifacts are synced.
impl Drop for Later {
    fn drop(&mut self) {
        drop(self.waiting.get_mut().take());
        if let Some(thread) = self.thread.get_mut().take() {
            drop(thread.join());
        }
    }
}

impl Disk {
    fn keep_up(&self, all: &Receiver<Placed>, in_doubt: &AtomicBool) {
        for placed in all {
            if let Err(error) = self.bring(&placed) {
                in_doubt.store(true, Ordering::Relaxed);
                let handle = placed.handle;
                tracing::error!(%handle, %error, "the directory of a stored output could not be synced: the output may not survive a power failure");
            }
        }
    }

    /// Syncs the files, then the directory with their names.
    fn bring(&self, placed: &Placed) -> Result<(), StoreError> {
        for due in &placed.files {
            self.sync(&due.path, &due.file)?;
        }
        self.sync_directory(&placed.directory)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use spillgate_artifact::{HandleForm, SystemClock};

    use super::*;
    use crate::conformance::facts_of;
    use crate::{ArtifactStore, FileStore, Lifetime, Part, Receipt};

    /// A directory in which a test stores artifacts, and a record of the syncs.
    struct Bench {
        base: tempfile::TempDir,
        /// For each sync, the role of the synced file and whether the manifest was in place.
        seen: Arc<Mutex<Vec<(String, bool)>>>,
    }

    impl Bench {
        fn new() -> Self {
            let base = tempfile::tempdir().unwrap();
            let seen = Arc::default();
            Self { base, seen }
        }

        /// Returns a store whose disk calls `sync` with the role of each file.
        fn store(
            &self,
            when: SyncWhen,
            sync: impl Fn(&str) -> io::Result<()> + Send + std::marker::Sync + 'static,
        ) -> FileStore {
            let (seen, base) = (Arc::clone(&self.seen), self.base.path().to_owned());
            let disk = Disk::of(move |path, _| {
                let paths = |directory: &Path| {
                    let entries = std::fs::read_dir(directory).into_iter().flatten();
                    entries
                        .map(|entry| entry.unwrap().path())
                        .collect::<Vec<_>>()
                };
                let all = paths(&base);
                let mut files = all.iter().flat_map(|directory| paths(directory));
                let is_there = files.any(|path| role(&path) == "manifest");
                let name = role(path);
                seen.lock().push((name.to_owned(), is_there));
                sync(name)
            });
            FileStore::new(self.base.path(), Lifetime::Durable, Arc::new(SystemClock))
                .synced(when)
                .on(disk)
        }

        fn seen(&self) -> Vec<(String, bool)> {
            let mut seen = std::mem::take(&mut *self.seen.lock());
            seen.sort();
            seen
        }
    }

    /// Returns the role of a file, derived from its name.
    fn role(path: &Path) -> &'static str {
        let name = path.file_name().unwrap().to_string_lossy();
        let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix);
        match (name.starts_with(".draft-"), suffix) {
            _ if name.len() == 1 => "directory",
            (true, "view") => "view",
            (_, "lines") => "lines",
            (true, "json") => "manifest's draft",
            (true, _) => "raw",
            (false, "json") => "manifest",
            (false, _) => "placed",
        }
    }

    const ALL: [&str; 5] = ["directory", "lines", "manifest's draft", "raw", "view"];

    fn commit(store: &FileStore) -> Result<Receipt, StoreError> {
        let mut draft = store.draft()?;
        draft.write(Part::Raw, b"raw")?;
        draft.complete(Part::Raw);
        draft.write(Part::View, b"view")?;
        draft.complete(Part::View);
        let mut facts = facts_of(b"raw");
        (facts.view.is_raw, facts.view.bytes) = (false, 4);
        draft.commit(facts, b"index", HandleForm::Short)
    }

    #[test]
    fn all_is_on_the_disk_before_a_manifest_is_there() {
        let bench = Bench::new();
        let store = bench.store(SyncWhen::Before, |_| Ok(()));
        commit(&store).unwrap();
        // Only the directory is synced after the manifest is in place. That sync covers all names.
        let want = ALL.map(|name| (name.to_owned(), name == "directory"));
        assert_eq!(bench.seen(), want);
    }

    #[test]
    fn bytes_after_a_sync_has_begun_are_synced_again() {
        let bench = Bench::new();
        let store = bench.store(SyncWhen::Before, |_| Ok(()));
        let mut draft = store.draft().unwrap();
        for part in [&b"one"[..], b"two"] {
            draft.write(Part::Raw, part).unwrap();
            draft.complete(Part::Raw);
        }
        draft.write(Part::Raw, b"three").unwrap();
        draft
            .commit(facts_of(b"onetwothree"), b"", HandleForm::Short)
            .unwrap();
        let raw = bench.seen().into_iter().filter(|(name, _)| name == "raw");
        assert_eq!(raw.count(), 3);
    }

    #[test]
    fn a_sync_that_fails_leaves_no_artifact() {
        for failing in ALL {
            let bench = Bench::new();
            let store = bench.store(SyncWhen::Before, move |name| match name == failing {
                true => Err(io::ErrorKind::StorageFull.into()),
                false => Ok(()),
            });
            let error = commit(&store).unwrap_err();
            assert!(
                matches!(error, StoreError::Full { .. }),
                "{failing}: {error}"
            );
            assert!(store.list().unwrap().is_empty(), "{failing}");
            let left = std::fs::read_dir(bench.base.path()).unwrap().count();
            assert_eq!(left, 0, "{failing}");
        }
    }

    #[test]
    fn a_receipt_that_does_not_wait_can_be_used_at_once() {
        let bench = Bench::new();
        let gate = Arc::new(Mutex::new(()));
        let (closed, held) = (Arc::clone(&gate), gate.lock());
        let store = bench.store(SyncWhen::After, move |_| {
            drop(closed.lock());
            Ok(())
        });
        let receipt = commit(&store).unwrap();
        // Opens the artifact as another process, or a later one, would.
        let clock = Arc::new(SystemClock);
        let other = FileStore::new(bench.base.path(), Lifetime::Durable, clock);
        let stored = other.open(receipt.handle()).unwrap();
        assert_eq!(stored.raw.bytes(0, 9).unwrap(), b"raw");
        assert_eq!(stored.view.bytes(0, 9).unwrap(), b"view");
        drop(held);
        // Dropping the store waits for the disk.
        drop(store);
        let seen = bench.seen();
        assert!(seen.iter().all(|(_, is_there)| *is_there), "{seen:?}");
        let names: Vec<&str> = seen.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ALL);
    }

    #[test]
    fn after_a_failure_somebody_waits_and_is_told() {
        for failing in ALL {
            let bench = Bench::new();
            let store = bench.store(SyncWhen::After, move |name| match name == failing {
                true => Err(io::ErrorKind::StorageFull.into()),
                false => Ok(()),
            });
            let mut receipts = vec![commit(&store).unwrap()];
            let error = loop {
                match commit(&store) {
                    Ok(receipt) => receipts.push(receipt),
                    Err(error) => break error,
                }
                assert!(receipts.len() < 10_000, "{failing}: nobody is told");
                std::thread::sleep(Duration::from_millis(1));
            };
            assert!(
                matches!(error, StoreError::Full { .. }),
                "{failing}: {error}"
            );
            // Every artifact with a receipt is still stored; artifacts whose commit failed are not.
            assert_eq!(store.list().unwrap().len(), receipts.len());
            assert!(commit(&store).is_err(), "{failing}");
        }
    }
}
