//! Lists everything in a store of files, including what is damaged.

use std::fs;
use std::path::Path;

use spillgate_artifact::{FileId, Handle, SessionId, Timestamp};

use crate::files::{FileStore, Paths};
use crate::open::readable_entries;
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
    /// Its handle, from the names of its files.
    pub handle: Handle,
    /// What is wrong with the manifest.
    pub why: StoreError,
    /// When it was last opened; when it was stored if it never was.
    pub used: Timestamp,
    /// Bytes of raw part, view and index.
    pub bytes: u64,
}

impl FileStore {
    /// Returns the bytes of all artifacts, whether or not their manifests can be read.
    pub(crate) fn usage(&self) -> Result<u64, StoreError> {
        let mut bytes = 0;
        for (_, directory) in self.sessions()? {
            for file in manifests(&directory)? {
                bytes += Paths::new(&directory, file).bytes();
            }
        }
        Ok(bytes)
    }

    pub(crate) fn look_over(&self) -> Result<Survey, StoreError> {
        let mut survey = Survey::default();
        for (session, directory) in self.sessions()? {
            for file in manifests(&directory)? {
                survey.add(session, &directory, file);
            }
        }
        let listed = &mut survey.listed;
        listed.sort_by_key(|one| (one.manifest.facts.created, one.manifest.handle));
        survey.damaged.sort_by_key(|one| (one.used, one.handle));
        Ok(survey)
    }
}

/// The artifacts of a session: every file id that has a manifest.
fn manifests(directory: &Path) -> Result<Vec<FileId>, StoreError> {
    let id = |entry: fs::DirEntry| -> Option<FileId> {
        let name = entry.file_name();
        name.to_str()?.strip_suffix(".json")?.parse().ok()
    };
    Ok(readable_entries(directory)?
        .into_iter()
        .filter_map(id)
        .collect())
}

impl Survey {
    fn add(&mut self, session: SessionId, directory: &Path, file: FileId) {
        let handle = Handle { session, file };
        let paths = Paths::new(directory, file);
        let used = || {
            let found = fs::symlink_metadata(&paths.manifest);
            found.and_then(|found| found.modified()).map(Timestamp::new)
        };
        let bytes = paths.bytes();
        match FileStore::load(handle, &paths) {
            Ok(manifest) => self.listed.push(Listed {
                used: used().unwrap_or(manifest.facts.created),
                bytes,
                manifest,
            }),
            // Removed a moment ago.
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
    /// Bytes of raw part, view and index.
    pub(crate) fn bytes(&self) -> u64 {
        let size = |path: &Path| fs::symlink_metadata(path).map_or(0, |found| found.len());
        size(&self.view) + size(&self.raw) + size(&self.lines)
    }
}
