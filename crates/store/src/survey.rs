//! Lists everything in a store on disk, including damaged artifacts.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use spillgate_artifact::{Handle, Timestamp};

use crate::files::{FileStore, Paths};
use crate::open::readable_entries;
use crate::place::ArtifactDirectory;
use crate::{Listed, StoreError};

/// All artifacts of a store.
#[derive(Debug, Default)]
pub struct Survey {
    /// Artifacts with a readable manifest, oldest first.
    pub listed: Vec<Listed>,
    /// Artifacts without a readable manifest, least recently used first.
    pub damaged: Vec<Unreadable>,
}

/// An artifact whose manifest cannot be used.
#[derive(Debug)]
pub struct Unreadable {
    /// Its handle, derived from the names of its files.
    pub handle: Handle,
    /// What is wrong with the manifest.
    pub why: StoreError,
    /// When the artifact was last opened or, if it was never opened, stored.
    pub used: Timestamp,
    /// Total bytes of the raw part, the view and the index.
    pub bytes: u64,
}

/// When an artifact was made, when its text was written, and its handle.
pub(crate) type Order = (Timestamp, Option<SystemTime>, Handle);

impl FileStore {
    /// Returns the total bytes of all artifacts, including artifacts whose manifest cannot be read.
    pub(crate) fn usage(&self) -> Result<u64, StoreError> {
        let all = self.swept_candidates()?;
        Ok(all.iter().map(|one| one.bytes).sum())
    }

    pub(crate) fn look_over(&self) -> Result<Survey, StoreError> {
        let mut survey = Survey::default();
        for (place, directory) in self.places()? {
            for handle in manifests(place, &directory)? {
                survey.add(self, handle, &Paths::new(&directory, handle));
            }
        }
        survey.listed.sort_by_cached_key(|one| self.order(one));
        survey.damaged.sort_by_key(|one| (one.used, one.handle));
        Ok(survey)
    }

    /// Returns the key by which artifacts are ordered, oldest first. A manifest records its time in
    /// whole seconds. Within a second, the artifacts are ordered by the modification times of their
    /// files.
    pub(crate) fn order(&self, one: &Listed) -> Order {
        let handle = one.manifest.handle;
        (one.manifest.facts.created, self.written(handle), handle)
    }

    /// Returns when the readable text of an artifact was written.
    fn written(&self, handle: Handle) -> Option<SystemTime> {
        let paths = self.paths(handle).ok()?;
        let modified = |path| fs::symlink_metadata(path).and_then(|found| found.modified());
        modified(&paths.view).or_else(|_| modified(&paths.raw)).ok()
    }
}

/// Returns the handles of the artifacts in a directory: every name that has a manifest.
pub(crate) fn manifests(
    place: ArtifactDirectory,
    directory: &Path,
) -> Result<Vec<Handle>, StoreError> {
    let id = |entry: fs::DirEntry| -> Option<Handle> {
        let name = entry.file_name();
        place.handle(name.to_str()?.strip_suffix(".json")?)
    };
    Ok(readable_entries(directory)?
        .into_iter()
        .filter_map(id)
        .collect())
}

impl Survey {
    pub(crate) fn add(&mut self, store: &FileStore, handle: Handle, paths: &Paths) {
        let used = || {
            let found = fs::symlink_metadata(&paths.manifest);
            found.and_then(|found| found.modified()).map(Timestamp::new)
        };
        let bytes = paths.bytes();
        match store.load(handle, paths) {
            Ok(manifest) => self.listed.push(Listed {
                used: used().unwrap_or(manifest.facts.created),
                bytes,
                manifest,
            }),
            // The artifact was removed a moment ago.
            Err(StoreError::Absent { .. }) => {}
            Err(why) => self.damaged.push(Unreadable {
                handle,
                why,
                used: used().unwrap_or(Timestamp::new(std::time::UNIX_EPOCH)),
                bytes,
            }),
        }
    }
}
