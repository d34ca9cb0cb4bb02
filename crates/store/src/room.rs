//! Keeps a store within its quota and part of the disk free while artifacts are stored.
//!
//! Every artifact is entered in the [`Books`] before it gets its name. A process that serves many
//! clients evicts from a thread of its own as soon as the store is nearly full, down to a sixteenth
//! below the quota, so that storing need not wait. An artifact that would exceed the quota waits
//! until there is room or nothing removable is left.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use spillgate_artifact::{Clock, Handle, Timestamp};

use crate::books::Books;
use crate::files::{FileStore, Lifetime};
use crate::{Retention, StoreError, Swept, sweep};

/// How much a store of files may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    /// Bytes of all artifacts. `None` means no limit.
    pub quota: Option<u64>,
    /// Bytes of the disk to leave free, capped at a twentieth of the disk.
    pub reserve: u64,
    /// Whether a thread of this process evicts as soon as the store is nearly full. Otherwise the
    /// owner of the store evicts after each artifact.
    pub evicts: bool,
}

/// Eviction leaves one part in `SLACK` of the quota free, so that it need not begin again with the
/// next artifact.
const SLACK: u64 = 16;

/// Eviction begins when less than one part in `NEARLY` of the quota is free.
const NEARLY: u64 = 32;

/// Longest wait for room of an artifact that would exceed the quota. Eviction removes some thousand
/// artifacts a second.
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
    /// Bytes that this process entered and has not put in place yet.
    pending: AtomicU64,
    passes: Mutex<Passes>,
    ended: Condvar,
    /// Held by the thread that frees disk space.
    freeing: Mutex<()>,
}

/// Eviction passes of this process. They run one after the other.
#[derive(Debug, Default)]
struct Passes {
    is_running: bool,
    begun: u64,
    ended: u64,
}

/// A pass that is running. Dropping it ends the pass, also after a panic.
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
    pub(crate) fn new(base: PathBuf, clock: Arc<dyn Clock>, space: Space) -> Self {
        Self {
            books: Books::of(&base),
            base,
            clock,
            space,
            pending: AtomicU64::new(0),
            passes: Mutex::default(),
            ended: Condvar::new(),
            freeing: Mutex::default(),
        }
    }

    pub(crate) fn books(&self) -> &Books {
        &self.books
    }

    /// Enters an artifact of `bytes` bytes, then waits for room if the store is over its quota.
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
                tracing::debug!(%error, "the bytes of an artifact could not be entered");
                return Ok(admitted);
            }
        };
        admitted.is_entered = true;
        if let Some(quota) = self.space.quota.filter(|_| self.space.evicts)
            // An artifact that never fits does not evict everything else.
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

    /// Counts bytes again whose removal failed.
    pub(crate) fn come_back(&self, bytes: u64) {
        drop(self.books.change(|entry| entry.add(bytes)));
    }

    /// Subtracts bytes that are about to be removed.
    pub(crate) fn leave(&self, bytes: u64) {
        let left = self.books.change(|entry| {
            entry.bytes = entry.bytes.map(|total| total.saturating_sub(bytes));
        });
        drop(left);
    }

    /// Counts the artifacts on the disk plus what this process is about to place. What comes or
    /// goes during the count may be counted twice or although it is gone, until the next count.
    /// What another process entered before the count and had not placed yet is left out until then.
    pub(crate) fn count(self: &Arc<Self>) -> Result<u64, StoreError> {
        self.count_with(0)
    }

    /// Counts like [`Room::count`]. If another count finished first, adds `bytes` to that count's
    /// result, because it may have begun after an artifact of this size was entered.
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

    /// Starts an eviction thread; waits for it while the store is over its quota.
    fn relieve(self: &Arc<Self>, quota: u64) {
        let until = Instant::now() + PATIENCE;
        let mut passes = self.passes();
        // A pass that is running may not have seen everything, so wait for the next.
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
                tracing::warn!(%error, "the store could not be brought within its quota");
            }
        };
        passes.is_running = Builder::new().name("evict".to_owned()).spawn(pass).is_ok();
        passes.begun += u64::from(passes.is_running);
    }

    /// Brings the store to a sixteenth below its quota, minus what this process is about to place.
    pub(crate) fn evict(
        self: &Arc<Self>,
        spared: Option<Handle>,
        most: Option<usize>,
        now: Timestamp,
    ) -> Result<Vec<Swept>, StoreError> {
        self.count()?;
        // Count at most half the quota of what is about to be placed, so that enough remains.
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

    /// Fails if the disk has less free space than the reserve and removing artifacts does not help.
    pub(crate) fn keep_reserve(self: &Arc<Self>) -> Result<(), StoreError> {
        let Some(missing) = self.missing() else {
            return Ok(());
        };
        let freeing = self.freeing.lock();
        // Another thread may have made room meanwhile.
        if self.missing().is_some() {
            let bytes = self.store().usage()?;
            // Others have filled the disk: even removing everything would not free enough.
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

    /// Bytes that are free, and bytes missing to the reserve; `None` if none are missing.
    fn missing(&self) -> Option<(u64, u64)> {
        let disk = rustix::fs::statvfs(&self.base).ok()?;
        let reserve = self.space.reserve.min(disk.f_blocks * disk.f_frsize / 20);
        let free = disk.f_bavail * disk.f_frsize;
        (free < reserve).then(|| (free, reserve - free))
    }

    fn passes(&self) -> MutexGuard<'_, Passes> {
        self.passes.lock()
    }

    /// The same store, opened to remove from it.
    fn store(self: &Arc<Self>) -> FileStore {
        let clock = Arc::clone(&self.clock);
        FileStore::new(&self.base, Lifetime::Durable, clock).in_room(Arc::clone(self))
    }
}

/// An artifact that is entered in the books. Dropping it removes the entry unless it was kept.
#[derive(Debug)]
pub(crate) struct Admitted {
    room: Arc<Room>,
    bytes: u64,
    is_entered: bool,
    is_kept: bool,
}

impl Admitted {
    /// Keeps the entry: the artifact has its final name now.
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
