//! What is done for a store of files now and then: quota, age, old notes, leftovers.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use spillgate_artifact::{Handle, Timestamp};

use crate::files::FileStore;
use crate::open::readable_entries;
use crate::{Retention, StoreError, sweep};

/// How a store of files is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upkeep {
    /// Time since last use after which an artifact goes. `None` is no limit.
    pub max_age: Option<Duration>,
    /// How long it is remembered what became of an artifact.
    pub notes: Notes,
    /// Age and leftovers are looked at once in so long; the quota each time.
    pub every: Duration,
    /// A draft untouched for so long has no writer any more.
    pub idle: Duration,
    /// Artifacts that are removed at once at most.
    pub most: usize,
}

/// How many notes of what became of artifacts are kept, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notes {
    /// `None` is no limit.
    pub max_age: Option<Duration>,
    /// The newest so many. `None` is no limit.
    pub most: Option<usize>,
}

impl FileStore {
    /// Lets go what is over the quota, and now and then what is too old and what killed
    /// writers left. `spared` is never let go: its handle was shown a moment ago.
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
        // Several may ask at the same time; one does it.
        room.books().change(|entry| {
            is_due = entry.is_due(upkeep.every, now);
            if is_due {
                entry.swept = Some(now);
            }
        })?;
        let most = Some(upkeep.most);
        // Each on its own: what cannot be evicted may still be too old.
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

    /// Removes notes of what became of artifacts: those that are too old, and the oldest
    /// where there are too many; returns how many. Their handles are then as unknown as
    /// any other.
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
                // Stays when anything is in it.
                drop(fs::remove_dir(directory));
            }
        }
        Ok(removed)
    }
}
