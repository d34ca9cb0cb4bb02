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

impl FileStore {
    /// Returns the total bytes of all artifacts, including artifacts whose manifest cannot be read.
    pub(crate) fn usage(&self) -> Result<u64, StoreError> {
        let mut bytes = 0;
        for (place, directory) in self.places()? {
            for handle in manifests(place, &directory)? {
                bytes += Paths::new(&directory, handle).bytes();
            }
        }
        Ok(bytes)
    }

    pub(crate) fn look_over(&self) -> Result<Survey, StoreError> {
        let mut survey = Survey::default();
        for (place, directory) in self.places()? {
            for handle in manifests(place, &directory)? {
                survey.add(self, &directory, handle);
            }
        }
        // A manifest records its time in whole seconds. Within a second, the artifacts are ordered
        // by the modification times of their files.
        survey.listed.sort_by_cached_key(|one| {
            let handle = one.manifest.handle;
            (one.manifest.facts.created, self.written(handle), handle)
        });
        survey.damaged.sort_by_key(|one| (one.used, one.handle));
        Ok(survey)
    }

    /// Returns when the readable text of an artifact was written.
    fn written(&self, handle: Handle) -> Option<SystemTime> {
        let paths = self.paths(handle).ok()?;
        let modified = |path| fs::symlink_metadata(path).and_then(|found| found.modified());
        modified(&paths.view).or_else(|_| modified(&paths.raw)).ok()
    }
}

/// Returns the handles of the artifacts in a directory: every name that has a manifest.
fn manifests(place: ArtifactDirectory, directory: &Path) -> Result<Vec<Handle>, StoreError> {
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
    fn add(&mut self, store: &FileStore, directory: &Path, handle: Handle) {
        let paths = Paths::new(directory, handle);
        let used = || {
            let found = fs::symlink_metadata(&paths.manifest);
            found.and_then(|found| found.modified()).map(Timestamp::new)
        };
        let bytes = paths.bytes();
        match store.load(handle, &paths) {
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

impl Paths {
    /// Returns the total bytes of the raw part, the view, the index and what is derived from them.
    pub(crate) fn bytes(&self) -> u64 {
        let size = |path: &Path| fs::symlink_metadata(path).map_or(0, |found| found.len());
        size(&self.view) + size(&self.raw) + size(&self.lines) + size(&self.derived)
    }
}
