//! Removes files that killed writers left behind.

use std::fs;
use std::path::Path;
use std::time::Duration;

use spillgate_artifact::FileId;

use crate::StoreError;
use crate::alias;
use crate::draft::DRAFT_PREFIX;
use crate::files::FileStore;
use crate::open::{entries, open_existing};

impl FileStore {
    /// Removes files that no living writer owns, that no manifest names and that nobody touched for
    /// `idle`. Returns how many it removed. An `idle` of some seconds makes it safe while other
    /// processes write: a writer locks its file an instant after it creates it, not atomically.
    pub fn remove_leftovers(&self, idle: Duration) -> Result<usize, StoreError> {
        let before = self.now().system_time() - idle;
        let mut removed = 0;
        for (_, directory) in self.sessions()? {
            let names: Vec<String> = entries(&directory)?
                .iter()
                .filter_map(|entry| entry.file_name().into_string().ok())
                .collect();
            let leftover = |name: &&String| {
                is_leftover(&directory, name) && touched(&directory.join(name)) <= Some(before)
            };
            for name in names.iter().filter(leftover) {
                removed += usize::from(fs::remove_file(directory.join(name)).is_ok());
            }
            // Fails, as intended, unless the directory is empty.
            drop(fs::remove_dir(&directory));
        }
        Ok(removed)
    }
}

/// When a file was last written; `None` if it is gone.
fn touched(path: &Path) -> Option<std::time::SystemTime> {
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
    let Some(id) = id.get(..36).and_then(|id| id.parse::<FileId>().ok()) else {
        return false; // not ours
    };
    let exists = |suffix: &str| directory.join(format!("{id}{suffix}")).exists();
    let in_place = !name.starts_with(DRAFT_PREFIX) && exists(".json");
    let raw_names = [
        format!("{DRAFT_PREFIX}{id}"),
        format!("{id}.raw"),
        id.to_string(),
    ];
    !in_place && !raw_names.iter().any(|raw| is_owned(&directory.join(raw)))
}

/// Whether a living writer holds the file. A writer keeps its raw file locked until the manifest is
/// in place.
fn is_owned(path: &Path) -> bool {
    open_existing(path).is_ok_and(|file| file.try_lock_shared().is_err())
}
