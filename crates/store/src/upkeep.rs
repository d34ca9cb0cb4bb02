//! Maintains a store on disk: quota, age limit, old tombstones, leftover files.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use spillgate_artifact::{Handle, Timestamp};

use crate::files::FileStore;
use crate::open::readable_entries;
use crate::{Retention, StoreError, sweep};

/// The limits of a store's upkeep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upkeep {
    /// Maximum time since the last use of an artifact. `None` means no limit.
    pub max_age: Option<Duration>,
    /// Limits of the tombstones.
    pub notes: Notes,
    /// Interval between two checks of age and leftovers. The quota is checked on every call.
    pub every: Duration,
    /// A draft is treated as abandoned if nothing was written to it for this long.
    pub idle: Duration,
    /// Maximum number of artifacts that one pass removes.
    pub most: usize,
}

/// How many tombstones are kept, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notes {
    /// Maximum age of a tombstone. `None` means no limit.
    pub max_age: Option<Duration>,
    /// Maximum number of tombstones; the newest are kept. `None` means no limit.
    pub most: Option<usize>,
}

/// How many times as long as one check of age and leftovers the pause before the next one is at
/// least. In a store with a million artifacts a check takes many seconds.
const PAUSE: u64 = 100;

impl FileStore {
    /// Evicts artifacts if the store exceeds its quota. If `upkeep.every` has passed since the last
    /// time, also removes artifacts that are too old and files of killed writers. Never removes
    /// `spared`, whose handle was shown a moment ago.
    pub fn keep_up(
        &self,
        upkeep: &Upkeep,
        spared: Option<Handle>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Some(room) = self.room().filter(|_| self.base().is_dir()) else {
            return Ok(());
        };
        let mut is_due = false;
        // Several processes may call this at the same time. Only one of them does the work.
        room.books().change(|entry| {
            is_due = entry.is_due(upkeep.every, now);
            if is_due {
                entry.swept = Some(now);
            }
        })?;
        let most = Some(upkeep.most);
        // The steps are independent of each other: if eviction fails, old artifacts are still
        // removed.
        let counted = if is_due {
            room.count().map(drop)
        } else {
            Ok(())
        };
        let evicted = match room.is_over() {
            true => room.evict(spared, most, now).map(drop),
            false => Ok(()),
        };
        if !is_due {
            return evicted;
        }
        let begun = Instant::now();
        let retention = Retention {
            max_age: upkeep.max_age,
            most,
            ..Retention::default()
        };
        let swept = sweep(self, retention, spared, now).map(drop);
        let notes = self.remove_old_notes(upkeep.notes, now).map(drop);
        let leftovers = self.remove_leftovers(upkeep.idle).map(drop);
        let names = self.remove_dead_names().map(drop);
        let pause = begun.elapsed().as_secs() * PAUSE;
        room.books().change(|entry| entry.pause = pause)?;
        let removed = counted.and(evicted).and(swept).and(notes);
        removed.and(leftovers).and(names)
    }

    /// Removes tombstones that are too old, and the oldest tombstones if there are too many.
    /// Returns the number of removed tombstones. The store then treats their handles as unknown.
    pub fn remove_old_notes(&self, notes: Notes, now: Timestamp) -> Result<usize, StoreError> {
        let mut all: Vec<(SystemTime, PathBuf)> = Vec::new();
        for (_, directory) in self.places()? {
            let gone = readable_entries(&directory)?
                .into_iter()
                .filter_map(|entry| {
                    let path = entry.path();
                    path.extension().filter(|suffix| *suffix == "gone")?;
                    let written = entry.metadata().and_then(|found| found.modified());
                    Some((written.ok()?, path))
                });
            all.extend(gone);
        }
        all.sort_by_key(|note| std::cmp::Reverse(note.0));
        let is_old = |written: SystemTime| {
            let age = Timestamp::new(written).age_at(now);
            notes.max_age.is_some_and(|max| age > max)
        };
        let most = notes.most.unwrap_or(usize::MAX);
        let mut removed = 0;
        for (at, (written, path)) in all.into_iter().enumerate() {
            if at < most && !is_old(written) {
                continue;
            }
            removed += usize::from(fs::remove_file(&path).is_ok());
            if let Some(directory) = path.parent() {
                // This fails, as intended, if the directory is not empty.
                drop(fs::remove_dir(directory));
            }
        }
        Ok(removed)
    }
}
