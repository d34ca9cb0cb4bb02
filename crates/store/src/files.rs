//! The store on disk: the layout of its files and their permissions.
//!
//! ```text
//! <base>/                      0700
//!   session-<uuid>/            0700   one producer's run
//!     <uuid>                   0600   the view
//!     <uuid>.raw               0600   the raw bytes, where they differ
//!     <uuid>.lines             0600   the view's line index
//!     <uuid>.json              0600   the manifest, renamed into place last
//!     <uuid>.gone              0600   the tombstone of a removed artifact
//!     <tool>_<time>_<hash>.txt        a link to the text, for other programs
//!     .draft-<uuid>*           0600   a draft, locked by its writer
//! ```
//!
//! The store builds paths from parsed UUIDs only and follows no symbolic link, so no handle leads
//! out of the base (docs/spec/behaviour.md, "Storing").

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use spillgate_artifact::{ByteSource, Clock, FileId, Handle, Manifest, SessionId, Timestamp};

use crate::alias;
use crate::disk::{Disk, Later, SyncWhen, Synced};
use crate::draft::FileDraft;
use crate::manifest;
use crate::open::{
    entries, make_directory, make_session, open_existing, read_small, to_json, write_whole,
};
use crate::room::{Room, Space};
use crate::survey::Survey;
use crate::tombstone::Tombstone;
use crate::{Absent, ArtifactStore, Draft, Gone, Listed, StoreError, Stored};

/// How long the artifacts of a store live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Until quota or age removes them. Each artifact is synced to the disk at the time that
    /// [`SyncWhen`] gives.
    Durable,
    /// Until the store is dropped, which removes its session's directory.
    Session,
}

/// Keeps artifacts in files below a base directory. Any number of processes may write and read the
/// same base.
#[derive(Debug)]
pub struct FileStore {
    base: PathBuf,
    session: SessionId,
    lifetime: Lifetime,
    clock: Arc<dyn Clock>,
    disk: Disk,
    when: SyncWhen,
    /// Set by the first artifact that is synced after its receipt; `None` inside if its thread
    /// could not be started.
    later: OnceLock<Option<Arc<Later>>>,
    /// Whether to create the base if it does not exist.
    makes_base: bool,
    /// Keeps the store within its quota; `None` means no limit.
    room: Option<Arc<Room>>,
}

impl FileStore {
    /// Returns a store below `base`. The first write creates the directory.
    #[must_use]
    pub fn new(base: impl Into<PathBuf>, lifetime: Lifetime, clock: Arc<dyn Clock>) -> Self {
        Self {
            base: base.into(),
            session: SessionId::random(),
            lifetime,
            clock,
            disk: Disk::default(),
            when: SyncWhen::default(),
            later: OnceLock::new(),
            makes_base: true,
            room: None,
        }
    }

    /// Returns the store restricted to a base that exists: if the base disappears, writes fail
    /// instead of creating it again.
    #[must_use]
    pub fn in_existing_base(mut self) -> Self {
        self.makes_base = false;
        self
    }

    /// Returns the store with another time for syncing durable artifacts.
    #[must_use]
    pub fn synced(mut self, when: SyncWhen) -> Self {
        self.when = when;
        self
    }

    /// Returns the store with a quota that all processes share that use this base.
    #[must_use]
    pub fn within(self, space: Space) -> Self {
        let room = Room::new(self.base.clone(), Arc::clone(&self.clock), space);
        self.in_room(Arc::new(room))
    }

    pub(crate) fn in_room(mut self, room: Arc<Room>) -> Self {
        self.room = Some(room);
        self
    }

    pub(crate) fn room(&self) -> Option<&Arc<Room>> {
        self.room.as_ref()
    }

    #[cfg(test)]
    pub(crate) fn on(mut self, disk: Disk) -> Self {
        self.disk = disk;
        self
    }

    /// How to sync the next draft.
    fn next_synced(&self) -> Synced {
        let before = || Synced::Before(self.disk.clone());
        match (self.lifetime, self.when) {
            (Lifetime::Session, _) => Synced::Never,
            (Lifetime::Durable, SyncWhen::Before) => before(),
            (Lifetime::Durable, SyncWhen::After) => {
                let start = || Later::start(self.disk.clone()).ok().map(Arc::new);
                let later = self.later.get_or_init(start).as_ref();
                later.map_or_else(before, Later::for_draft)
            }
        }
    }

    /// The directory that holds all sessions.
    #[must_use]
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// The session that new artifacts belong to.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.session
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn sessions(&self) -> Result<Vec<(SessionId, PathBuf)>, StoreError> {
        let named = |entry: fs::DirEntry| {
            let session = entry.file_name().to_str()?.parse().ok()?;
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            is_directory.then(|| (session, entry.path()))
        };
        Ok(entries(&self.base)?.into_iter().filter_map(named).collect())
    }

    /// The file by which other programs can open an artifact's text.
    fn named_file(&self, manifest: &Manifest) -> Option<PathBuf> {
        let directory = self.directory(manifest.handle.session)?;
        let name = manifest.facts.file_name.as_ref()?;
        Some(directory.join(name.as_str()))
    }

    /// The directory of a session; `None` if it is missing or not a directory.
    pub(crate) fn directory(&self, session: SessionId) -> Option<PathBuf> {
        let path = self.base.join(session.to_string());
        let is_directory = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
        is_directory.then_some(path)
    }

    fn paths(&self, handle: Handle) -> Result<Paths, StoreError> {
        let directory = self.directory(handle.session);
        directory
            .map(|directory| Paths::new(&directory, handle.file))
            .ok_or(StoreError::Absent {
                handle,
                why: Absent::Never,
            })
    }

    fn absent(handle: Handle, paths: &Paths) -> StoreError {
        let tombstone = read_small(&paths.gone)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Tombstone>(&bytes).ok());
        StoreError::Absent {
            handle,
            why: tombstone.map_or(Absent::Never, Absent::from),
        }
    }

    /// Reads the manifest, which exists exactly as long as the artifact does.
    pub(crate) fn manifest_bytes(handle: Handle, paths: &Paths) -> Result<Vec<u8>, StoreError> {
        read_small(&paths.manifest).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Self::absent(handle, paths),
            io::ErrorKind::InvalidInput => StoreError::Damaged {
                path: paths.manifest.clone(),
                what: error.to_string(),
            },
            _ => StoreError::io(&paths.manifest, error),
        })
    }

    pub(crate) fn load(handle: Handle, paths: &Paths) -> Result<Manifest, StoreError> {
        manifest::parse(
            handle,
            &paths.manifest,
            &Self::manifest_bytes(handle, paths)?,
        )
    }

    /// Explains why a file of a stored artifact could not be opened. The artifact may have been
    /// removed a moment ago.
    fn unopened(handle: Handle, paths: &Paths, path: &Path, error: StoreError) -> StoreError {
        let is_missing = matches!(&error, StoreError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound);
        match is_missing {
            true if fs::symlink_metadata(&paths.manifest).is_err() => Self::absent(handle, paths),
            true => StoreError::Damaged {
                path: path.to_owned(),
                what: "the file is missing".to_owned(),
            },
            false => error,
        }
    }
}

impl ArtifactStore for FileStore {
    fn draft(&self) -> Result<Box<dyn Draft>, StoreError> {
        let directory = self.base.join(self.session.to_string());
        let mut attempts = 3;
        loop {
            match self.makes_base {
                true => make_directory(&directory)?,
                false => make_session(&directory)?,
            }
            attempts -= 1;
            if let Some(room) = &self.room {
                room.keep_reserve()?;
            }
            let room = self.room.clone();
            match FileDraft::create(&directory, self.session, self.next_synced(), room) {
                // Another draft was dropped and removed the empty directory.
                Err(StoreError::Io { source, .. })
                    if source.kind() == io::ErrorKind::NotFound && attempts > 0 => {}
                draft => return Ok(Box::new(draft?)),
            }
        }
    }

    fn open(&self, handle: Handle) -> Result<Stored, StoreError> {
        let paths = self.paths(handle)?;
        let bytes = Self::manifest_bytes(handle, &paths)?;
        let manifest = manifest::parse(handle, &paths.manifest, &bytes)?;
        manifest::check(&manifest, &paths.manifest, &bytes)?;
        let unopened = |path: &Path, error| Self::unopened(handle, &paths, path, error);
        let source = |path: &Path| -> Result<Arc<dyn ByteSource>, StoreError> {
            let opened = FileSource::open(path).map_err(|error| unopened(path, error))?;
            Ok(Arc::new(opened))
        };
        let view = source(&paths.view)?;
        let raw = match manifest.facts.view.is_raw {
            true => Arc::clone(&view),
            false => source(&paths.raw)?,
        };
        if raw.len() != manifest.facts.raw_bytes {
            return Err(StoreError::Damaged {
                path: paths.raw,
                what: format!("{} bytes of {}", raw.len(), manifest.facts.raw_bytes),
            });
        }
        if view.len() != manifest.facts.view.bytes && !manifest.facts.view.is_raw {
            return Err(StoreError::Damaged {
                path: paths.view,
                what: format!("{} bytes of {}", view.len(), manifest.facts.view.bytes),
            });
        }
        let index = read_small(&paths.lines)
            .map_err(|error| unopened(&paths.lines, StoreError::io(&paths.lines, error)))?;
        manifest::check_index(&manifest, &paths.lines, &index)?;
        // Ignore failures: a read-only store can still be read.
        let touched = open_existing(&paths.manifest)
            .and_then(|file| file.set_modified(self.clock.now().system_time()));
        drop(touched);
        Ok(Stored {
            file: self.named_file(&manifest),
            manifest,
            raw,
            view,
            index,
        })
    }

    fn manifest(&self, handle: Handle) -> Result<Manifest, StoreError> {
        Self::load(handle, &self.paths(handle)?)
    }

    fn list(&self) -> Result<Vec<Listed>, StoreError> {
        Ok(self.survey()?.listed)
    }

    fn survey(&self) -> Result<Survey, StoreError> {
        self.look_over()
    }

    fn remove(&self, handle: Handle, why: Gone, at: Timestamp) -> Result<(), StoreError> {
        let paths = self.paths(handle)?;
        let manifest = match Self::load(handle, &paths) {
            // Removal does not need the content, so a manifest that is damaged or may not be read
            // does not prevent it.
            Err(error @ (StoreError::Absent { .. } | StoreError::Newer { .. })) => {
                return Err(error);
            }
            manifest => manifest.ok(),
        };
        let bytes = paths.bytes();
        let tombstone = to_json(&Tombstone::of(manifest.as_ref(), why, at));
        // Write the tombstone first, so that a reader always finds the artifact or its tombstone.
        // On a full disk it is written last, and a reader in between gets no reason.
        let is_noted = write_whole(&paths.gone, &tombstone, None).is_ok();
        // Release the bytes before removing the files. A concurrent count may still include the
        // artifact, but then nothing subtracts it a second time.
        if let Some(room) = &self.room {
            room.leave(bytes);
        }
        // Remove the manifest first: without it the artifact is gone, even if removing the other
        // files fails.
        fs::remove_file(&paths.manifest).map_err(|error| {
            if let Some(room) = &self.room {
                room.come_back(bytes);
            }
            match is_missing(&error) {
                true => Self::absent(handle, &paths),
                false => StoreError::io(&paths.manifest, error),
            }
        })?;
        if let (Some(directory), Some(manifest)) = (paths.view.parent(), &manifest) {
            alias::unlink(directory, &paths, &manifest.facts);
        }
        let mut unlinked = Ok(());
        for part in [&paths.view, &paths.raw, &paths.lines] {
            match fs::remove_file(part) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    unlinked = Err(StoreError::io(part, error));
                }
                _ => {}
            }
        }
        if !is_noted && let Err(error) = write_whole(&paths.gone, &tombstone, None) {
            tracing::warn!(%handle, %error, "what became of a removed output could not be noted");
        }
        unlinked
    }

    fn pin(&self, handle: Handle, pinned: bool) -> Result<(), StoreError> {
        let paths = self.paths(handle)?;
        let bytes = Self::manifest_bytes(handle, &paths)?;
        manifest::parse(handle, &paths.manifest, &bytes)?;
        manifest::pin(&paths.manifest, &bytes, pinned, &self.disk)?;
        // The artifact was removed meanwhile: do not leave a manifest without its bytes.
        if fs::symlink_metadata(&paths.view).is_err_and(|error| is_missing(&error)) {
            drop(fs::remove_file(&paths.manifest));
            return Err(Self::absent(handle, &paths));
        }
        Ok(())
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        if self.lifetime == Lifetime::Session
            && let Some(directory) = self.directory(self.session)
        {
            // Nobody is left to report an error to. The next start finds what remains.
            drop(fs::remove_dir_all(directory));
        }
    }
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Paths of the files of one artifact.
#[derive(Debug)]
pub(crate) struct Paths {
    pub(crate) view: PathBuf,
    pub(crate) raw: PathBuf,
    pub(crate) lines: PathBuf,
    pub(crate) manifest: PathBuf,
    pub(crate) gone: PathBuf,
}

impl Paths {
    pub(crate) fn new(directory: &Path, file: FileId) -> Self {
        let named = |suffix: &str| directory.join(format!("{file}{suffix}"));
        Self {
            view: named(""),
            raw: named(".raw"),
            lines: named(".lines"),
            manifest: named(".json"),
            gone: named(".gone"),
        }
    }
}

/// A stored file that can be read at any offset.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    len: u64,
}

impl FileSource {
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = open_existing(path).map_err(|error| StoreError::io(path, error))?;
        Self::of(file, path)
    }

    /// Wraps an open file; errors name `path`.
    pub fn of(file: File, path: &Path) -> Result<Self, StoreError> {
        let found = file
            .metadata()
            .map_err(|error| StoreError::io(path, error))?;
        Ok(Self {
            file,
            len: found.len(),
        })
    }
}

impl ByteSource for FileSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn file(&self) -> Option<&File> {
        Some(&self.file)
    }
}
