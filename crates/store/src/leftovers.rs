//! Removes the unfinished files that killed processes left in a store.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::StoreError;
use crate::alias;
use crate::draft::DRAFT_PREFIX;
use crate::files::FileStore;
use crate::open::{entries, open_existing};
use crate::place::stem_in;

impl FileStore {
    /// Removes files that belong to no running writer and no stored artifact and that were last
    /// written at least `idle` ago. Returns the number of removed files. `idle` should be a few
    /// seconds if other processes write at the same time, because a writer creates its file and
    /// locks it in two steps.
    pub fn remove_leftovers(&self, idle: Duration) -> Result<usize, StoreError> {
        let before = self.now().system_time() - idle;
        let is_draft = |name: &str| name.starts_with(DRAFT_PREFIX);
        let mut removed = leftovers_in(self.base(), before, is_draft)?;
        for (_, directory) in self.places()? {
            removed += leftovers_in(&directory, before, |_| true)?;
            // This fails, as intended, if the directory is not empty.
            drop(fs::remove_dir(&directory));
        }
        Ok(removed)
    }
}

/// Removes the unfinished files of a directory that were last written before `before`, of those
/// whose name `may` accepts. Returns their number.
fn leftovers_in(
    directory: &Path,
    before: SystemTime,
    may: impl Fn(&str) -> bool,
) -> Result<usize, StoreError> {
    let names: Vec<String> = entries(directory)?
        .iter()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let is_old = |name: &str| touched(&directory.join(name)) <= Some(before);
    let unfinished = |name: &&String| may(name) && is_leftover(directory, name) && is_old(name);
    let removed = |name: &String| usize::from(fs::remove_file(directory.join(name)).is_ok());
    Ok(names.iter().filter(unfinished).map(removed).sum())
}

/// Returns when a file was last written; `None` if it does not exist.
fn touched(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path)
        .and_then(|found| found.modified())
        .ok()
}

fn is_leftover(directory: &Path, name: &str) -> bool {
    if alias::is_dangling(directory, name) {
        return true;
    }
    let id = match name.strip_prefix(DRAFT_PREFIX) {
        Some(id) => id,
        None if [".json", ".gone"].iter().any(|kept| name.ends_with(kept)) => return false,
        None => name,
    };
    let Some(id) = stem_in(id) else {
        return false; // the store did not create this file
    };
    let exists = |suffix: &str| directory.join(format!("{id}{suffix}")).exists();
    let in_place = !name.starts_with(DRAFT_PREFIX) && exists(".json");
    let locked = [
        name.to_owned(),
        format!("{DRAFT_PREFIX}{id}"),
        format!("{id}.raw"),
        format!("{id}.lines"),
        id.to_owned(),
    ];
    !in_place && !locked.iter().any(|name| is_owned(&directory.join(name)))
}

/// Returns whether a running writer owns the file. A writer keeps its raw file, its index and its
/// manifest locked until the manifest has its name.
fn is_owned(path: &Path) -> bool {
    open_existing(path).is_ok_and(|file| file.try_lock_shared().is_err())
}
