//! Periodic upkeep of a store of files: quota, age, old tombstones, leftovers.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use spillgate_artifact::{Handle, Timestamp};

use crate::files::FileStore;
use crate::open::readable_entries;
use crate::{Retention, StoreError, sweep};

/// The limits of a store's upkeep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upkeep {
    /// Longest time since last use of an artifact. `None` means no limit.
    pub max_age: Option<Duration>,
    /// Limits of the tombstones.
    pub notes: Notes,
    /// Interval between two checks of age and leftovers. The quota is checked on every call.
    pub every: Duration,
    /// A draft that was not touched for this long has no writer any more.
    pub idle: Duration,
    /// Most artifacts that one pass removes.
    pub most: usize,
}

/// How many tombstones are kept, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notes {
    /// Longest age. `None` means no limit.
    pub max_age: Option<Duration>,
    /// Most tombstones kept, the newest ones. `None` means no limit.
    pub most: Option<usize>,
}

impl FileStore {
    /// Evicts what is over the quota and, once every `upkeep.every`, removes what is too old and
    /// what killed writers left. Never removes `spared`, whose handle was shown a moment ago.
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
        // Several processes may ask at the same time; one of them does the work.
        room.books().change(|entry| {
            is_due = entry.is_due(upkeep.every, now);
            if is_due {
                entry.swept = Some(now);
            }
        })?;
        let most = Some(upkeep.most);
        // The steps are independent: if eviction fails, artifacts may still be too old.
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
        let retention = Retention {
            max_age: upkeep.max_age,
            most,
            ..Retention::default()
        };
        let swept = sweep(self, retention, spared, now).map(drop);
        let notes = self.remove_old_notes(upkeep.notes, now).map(drop);
        let leftovers = self.remove_leftovers(upkeep.idle).map(drop);
        counted.and(evicted).and(swept).and(notes).and(leftovers)
    }

    /// Removes tombstones that are too old, and the oldest if there are too many. Returns how many
    /// it removed. Their handles are then unknown, like any other.
    pub fn remove_old_notes(&self, notes: Notes, now: Timestamp) -> Result<usize, StoreError> {
        let mut all: Vec<(SystemTime, PathBuf)> = Vec::new();
        for (_, directory) in self.sessions()? {
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
                // Fails, as intended, unless the directory is empty.
                drop(fs::remove_dir(directory));
            }
        }
        Ok(removed)
    }
}
