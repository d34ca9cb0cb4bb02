//! Keeps a store within its quota, and a part of the disk free, while artifacts are stored.
//!
//! Every artifact is counted in the [`Books`] before it gets its name. In a process that serves
//! many clients, storing should not have to wait: as soon as the store is nearly full, a separate
//! thread evicts artifacts until a sixteenth of the quota is free. A writer whose artifact would
//! exceed the quota waits until there is room or no more artifacts can be removed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use spillgate_artifact::{Clock, Handle, Timestamp};

use crate::books::Books;
use crate::files::{FileStore, Lifetime};
use crate::{RemovalObserver, Retention, StoreError, Swept, sweep};

/// How much space a store on disk may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    /// Maximum bytes of all artifacts together. `None` means no limit.
    pub quota: Option<u64>,
    /// Bytes of the disk that must stay free, but at most a twentieth of the disk.
    pub reserve: u64,
    /// Whether a thread of this process evicts as soon as the store is nearly full. Otherwise the
    /// owner of the store evicts after each artifact.
    pub evicts: bool,
}

/// Eviction continues until the quota divided by this number is free, so that the next artifact
/// does not start it again.
const SLACK: u64 = 16;

/// Eviction starts when less than the quota divided by this number is free.
const NEARLY: u64 = 32;

/// Maximum time that an artifact that would exceed the quota waits for room. Eviction removes a few
/// thousand artifacts per second.
const PATIENCE: Duration = Duration::from_secs(30);

/// Interval between two checks for room.
const LOOK: Duration = Duration::from_millis(20);

/// Space accounting of one store in this process.
#[derive(Debug)]
pub(crate) struct Room {
    base: PathBuf,
    clock: Arc<dyn Clock>,
    space: Space,
    books: Books,
    /// Bytes of the artifacts that this process is storing: they are already counted in the books,
    /// but their files do not have their final names.
    pending: AtomicU64,
    passes: Mutex<Passes>,
    ended: Condvar,
    /// Held by the thread that frees disk space.
    freeing: Mutex<()>,
    observer: Option<Arc<dyn RemovalObserver>>,
}

/// Eviction passes of this process. Only one pass runs at a time.
#[derive(Debug, Default)]
struct Passes {
    is_running: bool,
    begun: u64,
    ended: u64,
}

/// A pass that is running. Dropping this value ends the pass, even after a panic.
struct Running(Arc<Room>);

impl Drop for Running {
    fn drop(&mut self) {
        let mut passes = self.0.passes();
        passes.is_running = false;
        passes.ended += 1;
        self.0.ended.notify_all();
    }
}

impl Room {
    pub(crate) fn new(
        base: PathBuf,
        clock: Arc<dyn Clock>,
        space: Space,
        observer: Option<Arc<dyn RemovalObserver>>,
    ) -> Self {
        Self {
            books: Books::of(&base),
            base,
            clock,
            space,
            pending: AtomicU64::new(0),
            passes: Mutex::default(),
            ended: Condvar::new(),
            freeing: Mutex::default(),
            observer,
        }
    }

    pub(crate) fn space(&self) -> Space {
        self.space
    }

    pub(crate) fn observer(&self) -> Option<&Arc<dyn RemovalObserver>> {
        self.observer.as_ref()
    }

    pub(crate) fn books(&self) -> &Books {
        &self.books
    }

    /// Adds an artifact of `bytes` bytes to the books. If the store then exceeds its quota, waits
    /// for room.
    pub(crate) fn admit(self: &Arc<Self>, bytes: u64) -> Result<Admitted, StoreError> {
        self.pending.fetch_add(bytes, Ordering::Relaxed);
        let mut admitted = Admitted {
            room: Arc::clone(self),
            bytes,
            is_entered: false,
            is_kept: false,
        };
        let total = match self.enter(bytes) {
            Ok(total) => total,
            Err(error @ StoreError::Newer { .. }) => return Err(error),
            // A failure to count must not prevent storing.
            Err(error) => {
                tracing::debug!(%error, "the size of an artifact could not be added to the size of the store");
                return Ok(admitted);
            }
        };
        admitted.is_entered = true;
        if let Some(quota) = self.space.quota.filter(|_| self.space.evicts)
            // An artifact that is larger than the whole quota must not evict all others.
            && bytes <= quota
            && total > quota - quota / NEARLY
        {
            self.relieve(quota);
        }
        Ok(admitted)
    }

    fn enter(self: &Arc<Self>, bytes: u64) -> Result<u64, StoreError> {
        match self.books.change(|entry| entry.add(bytes))?.bytes {
            Some(total) => Ok(total),
            None => self.count_with(bytes),
        }
    }

    /// Adds the bytes of an artifact again, after removing it has failed.
    pub(crate) fn come_back(&self, bytes: u64) {
        drop(self.books.change(|entry| entry.add(bytes)));
    }

    /// Subtracts the bytes of an artifact that is about to be removed.
    pub(crate) fn leave(&self, bytes: u64) {
        let left = self.books.change(|entry| {
            entry.bytes = entry.bytes.map(|total| total.saturating_sub(bytes));
        });
        drop(left);
    }

    /// Counts the bytes of the artifacts on the disk and of those that this process is about to
    /// store. Until the next count, the result may be wrong: artifacts added during the count may
    /// be included twice, artifacts removed during it may still be included, and artifacts that
    /// another process was storing when the count began are missing.
    pub(crate) fn count(self: &Arc<Self>) -> Result<u64, StoreError> {
        self.count_with(0)
    }

    /// Counts like [`Room::count`]. If another count ended meanwhile, keeps its result and adds
    /// `bytes`, because that count may lack the artifact of this size that is about to be stored.
    fn count_with(self: &Arc<Self>, bytes: u64) -> Result<u64, StoreError> {
        let before = self.books.read()?;
        let pending = self.pending.load(Ordering::Relaxed);
        let counted = self.store().usage()? + pending;
        let after = self.books.change(|entry| {
            if entry.counts != before.counts {
                entry.bytes = entry.bytes.map(|total| total.saturating_add(bytes));
                return;
            }
            let came = entry.came.wrapping_sub(before.came);
            entry.bytes = Some(counted.saturating_add(came));
            entry.counts += 1;
        })?;
        Ok(after.bytes.unwrap_or(counted))
    }

    /// Starts an eviction thread. Waits for it as long as the store exceeds its quota.
    fn relieve(self: &Arc<Self>, quota: u64) {
        let until = Instant::now() + PATIENCE;
        let mut passes = self.passes();
        // A pass that is already running may have missed artifacts, so wait for the next pass.
        let enough = passes.begun + 1;
        if !passes.is_running {
            self.begin(&mut passes);
        }
        let is_over = || {
            let total = self.books.read().ok().and_then(|entry| entry.bytes);
            total.is_some_and(|total| total > quota)
        };
        while is_over() && passes.ended < enough && Instant::now() < until {
            if !passes.is_running {
                self.begin(&mut passes);
            }
            self.ended.wait_for(&mut passes, LOOK);
        }
    }

    fn begin(self: &Arc<Self>, passes: &mut Passes) {
        let room = Arc::clone(self);
        let pass = move || {
            let running = Running(room);
            let room = &running.0;
            if let Err(error) = room.evict(None, None, room.clock.now()) {
                tracing::warn!(%error, "the store is over its quota and nothing could be evicted");
            }
        };
        passes.is_running = Builder::new().name("evict".to_owned()).spawn(pass).is_ok();
        passes.begun += u64::from(passes.is_running);
    }

    /// Evicts until a sixteenth of the quota, and the bytes that this process is about to store,
    /// are free.
    pub(crate) fn evict(
        self: &Arc<Self>,
        spared: Option<Handle>,
        most: Option<usize>,
        now: Timestamp,
    ) -> Result<Vec<Swept>, StoreError> {
        self.count()?;
        // The bytes that are about to be stored count for at most half the quota, so that enough
        // older artifacts stay.
        let most_pending = self.space.quota.map_or(0, |quota| quota / 2);
        let pending = self.pending.load(Ordering::Relaxed).min(most_pending);
        let slack = self.space.quota.map_or(0, |quota| quota / SLACK);
        let retention = Retention {
            max_bytes: self.space.quota,
            headroom: slack + pending,
            most,
            ..Retention::default()
        };
        sweep(&self.store(), retention, spared, now)
    }

    /// Whether the artifacts take more than the quota.
    pub(crate) fn is_over(&self) -> bool {
        let total = self.books.read().ok().and_then(|entry| entry.bytes);
        matches!((total, self.space.quota), (Some(total), Some(quota)) if total > quota)
    }

    /// Fails if the disk has less free space than the reserve and removing artifacts does not free
    /// enough.
    pub(crate) fn keep_reserve(self: &Arc<Self>) -> Result<(), StoreError> {
        let Some(missing) = self.missing() else {
            return Ok(());
        };
        let freeing = self.freeing.lock();
        // Another thread may have made room meanwhile.
        if self.missing().is_some() {
            let bytes = self.store().usage()?;
            // Other programs have filled the disk: removing all artifacts would not free enough.
            if bytes < missing.1 {
                return Err(self.reserve(missing));
            }
            let retention = Retention {
                max_bytes: Some(bytes),
                headroom: missing.1.saturating_mul(2),
                ..Retention::default()
            };
            sweep(&self.store(), retention, None, self.clock.now())?;
        }
        drop(freeing);
        match self.missing() {
            None => Ok(()),
            Some(missing) => Err(self.reserve(missing)),
        }
    }

    fn reserve(&self, (free, missing): (u64, u64)) -> StoreError {
        StoreError::Reserve {
            path: self.base.clone(),
            free,
            reserve: free + missing,
        }
    }

    /// If the free space of the disk is below the reserve, returns the free bytes and the number of
    /// bytes that are missing; otherwise `None`.
    fn missing(&self) -> Option<(u64, u64)> {
        let disk = rustix::fs::statvfs(&self.base).ok()?;
        let reserve = self.space.reserve.min(disk.f_blocks * disk.f_frsize / 20);
        let free = disk.f_bavail * disk.f_frsize;
        (free < reserve).then(|| (free, reserve - free))
    }

    fn passes(&self) -> MutexGuard<'_, Passes> {
        self.passes.lock()
    }

    /// Opens the store once more, to remove artifacts from it.
    fn store(self: &Arc<Self>) -> FileStore {
        let clock = Arc::clone(&self.clock);
        FileStore::new(&self.base, Lifetime::Durable, clock).in_room(Arc::clone(self))
    }
}

/// An artifact whose bytes are counted in the books. Dropping this value subtracts them again,
/// unless [`keep`](Self::keep) was called.
#[derive(Debug)]
pub(crate) struct Admitted {
    room: Arc<Room>,
    bytes: u64,
    is_entered: bool,
    is_kept: bool,
}

impl Admitted {
    /// Leaves the bytes in the books, because the artifact has its final name.
    pub(crate) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.room.pending.fetch_sub(self.bytes, Ordering::Relaxed);
        if self.is_entered && !self.is_kept {
            self.room.leave(self.bytes);
        }
    }
}
