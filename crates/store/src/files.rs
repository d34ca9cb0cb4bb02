//! The store on disk: the layout of its files and their permissions.
//!
//! ```text
//! <base>/                      0700
//!   <letter>/                  0700   artifacts whose short handle begins with this letter
//!     <word>                   0600   the view; `<word>` is the short handle
//!     <word>.raw               0600   the raw bytes, if they differ from the view
//!     <word>.lines             0600   the view's line index; its creation reserves the handle
//!     <word>.json              0600   the manifest, renamed into place last
//!     <word>.derived           0600   what a look-up computed from the artifact ([`crate::Derived`])
//!     <word>.gone              0600   the tombstone of a removed artifact
//!   session-<uuid>/            0700   artifacts with a long handle of one run of a program
//!     <uuid>*                  0600   with the same suffixes
//!     <tool>_<time>_<hash>.txt        a link to the text, for other programs
//!   .draft-<uuid>*             0600   a draft, locked by its writer
//!   .store                     0600   the size of the store ([`crate::books`])
//!   .recent                    0600   the newest artifacts ([`crate::recent`])
//!   names/                     0700   names that follow from contents ([`crate::names`])
//! ```
//!
//! The view, the raw bytes, the line index and what is derived of an encrypted artifact are encrypted files
//! ([`crate::sealed`]), and no link leads to its text.
//!
//! The store builds paths only from parsed handles and follows no symbolic link, so no handle leads
//! out of the base directory (docs/spec/behaviour.md, "Storing").

use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use spillgate_artifact::{ByteSource, Clock, Handle, Manifest, SessionId, Timestamp, Word};

use crate::alias;
use crate::derived::DerivedFile;
use crate::disk::{Disk, Later, SyncWhen, Synced};
use crate::draft::FileDraft;
use crate::key::{ArtifactKey, Sealed};
use crate::manifest;
use crate::open::{entries, open_existing, read_small, to_json, write_whole};
use crate::place::{ArtifactDirectory, Base, stem};
use crate::room::{Room, Space};
use crate::sealed::SealedSource;
use crate::survey::{Survey, Unreadable};
use crate::tombstone::Tombstone;
use crate::{
    Absent, ArtifactStore, Candidate, Draft, Gone, Listed, RemovalObserver, StoreError, StoreKey,
    Stored,
};

/// How long the artifacts of a store live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Until the quota or the age limit removes them. [`SyncWhen`] decides when each artifact is
    /// synced to the disk.
    Durable,
    /// Until the store is dropped, which removes its session's directory.
    Session,
}

/// Keeps artifacts in files below a base directory. Any number of processes may use the same base
/// directory at the same time.
#[derive(Debug)]
pub struct FileStore {
    base: Base,
    session: SessionId,
    lifetime: Lifetime,
    clock: Arc<dyn Clock>,
    disk: Disk,
    when: SyncWhen,
    /// The key of encrypted artifacts.
    key: Option<StoreKey>,
    /// Whether new artifacts are encrypted with the key. Without a key, nothing is then stored.
    encrypts: bool,
    /// Syncs artifacts after their receipts; started by the first such artifact. Contains `None`
    /// if the thread could not be started.
    later: OnceLock<Option<Arc<Later>>>,
    /// Keeps the store within its quota. `None` means no quota.
    room: Option<Arc<Room>>,
    /// Is told of each removal.
    observer: Option<Arc<dyn RemovalObserver>>,
    /// The artifacts to remove when the store is dropped. Artifacts with a long handle are not in
    /// the list, because they are removed with their session's directory.
    own: Arc<Mutex<Vec<Word>>>,
}

impl FileStore {
    /// Returns a store below `base`. The first write creates the directory.
    #[must_use]
    pub fn new(base: impl Into<PathBuf>, lifetime: Lifetime, clock: Arc<dyn Clock>) -> Self {
        Self {
            base: Base {
                path: base.into(),
                is_made: true,
            },
            session: SessionId::random(),
            lifetime,
            clock,
            disk: Disk::default(),
            when: SyncWhen::default(),
            key: None,
            encrypts: false,
            later: OnceLock::new(),
            room: None,
            observer: None,
            own: Arc::default(),
        }
    }

    /// Returns the store restricted to an existing base directory: if the directory disappears,
    /// writes fail and do not create it again.
    #[must_use]
    pub fn in_existing_base(mut self) -> Self {
        self.base.is_made = false;
        self
    }

    /// Returns the store with another setting for when durable artifacts are synced.
    #[must_use]
    pub fn synced(mut self, when: SyncWhen) -> Self {
        self.when = when;
        self
    }

    /// Returns the store with the key of its encrypted artifacts, so that they can be read. New
    /// artifacts are not encrypted.
    #[must_use]
    pub fn decrypting(mut self, key: StoreKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Returns the store with a key with which it encrypts new artifacts and reads encrypted ones.
    /// Artifacts that are not encrypted stay readable. Without a key, the store refuses new
    /// artifacts.
    #[must_use]
    pub fn encrypting(mut self, key: Option<StoreKey>) -> Self {
        self.encrypts = true;
        self.key = key;
        self
    }

    /// Returns the store with a quota, which applies to all processes that use this base directory
    /// together.
    #[must_use]
    pub fn within(self, space: Space) -> Self {
        let room = Room::new(
            self.base.path.clone(),
            Arc::clone(&self.clock),
            space,
            self.observer.clone(),
        );
        self.in_room(Arc::new(room))
    }

    /// Returns the store with an observer, which this process tells of each removal.
    #[must_use]
    pub fn observed_by(mut self, observer: Arc<dyn RemovalObserver>) -> Self {
        self.observer = Some(observer);
        // The room evicts through a store of its own.
        match self.room.as_ref().map(|room| room.space()) {
            Some(space) => self.within(space),
            None => self,
        }
    }

    /// The key with which new artifacts are encrypted; `None` if they are not.
    pub(crate) fn key(&self) -> Option<&StoreKey> {
        self.key.as_ref().filter(|_| self.encrypts)
    }

    /// The key with which encrypted artifacts are read.
    pub(crate) fn store_key(&self) -> Option<&StoreKey> {
        self.key.as_ref()
    }

    /// Creates a directory in the base, and the base if it may be created.
    pub(crate) fn make(&self, directory: &Path) -> Result<(), StoreError> {
        self.base.make(directory)
    }

    pub(crate) fn in_room(mut self, room: Arc<Room>) -> Self {
        self.observer = room.observer().cloned();
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

    /// Returns how to sync the next draft.
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

    /// The base directory.
    #[must_use]
    pub fn base(&self) -> &Path {
        &self.base.path
    }

    /// Returns the path of an artifact's view, whether the artifact exists or not. The paths of its
    /// other files are this path with a suffix.
    #[must_use]
    pub fn view_path(&self, handle: Handle) -> PathBuf {
        self.base
            .join(ArtifactDirectory::of(handle))
            .join(stem(handle))
    }

    /// The session of the drafts and of new artifacts with a long handle.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.session
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn places(&self) -> Result<Vec<(ArtifactDirectory, PathBuf)>, StoreError> {
        let named = |entry: fs::DirEntry| {
            let place = ArtifactDirectory::parse(entry.file_name().to_str()?)?;
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            is_directory.then(|| (place, entry.path()))
        };
        Ok(entries(self.base())?
            .into_iter()
            .filter_map(named)
            .collect())
    }

    /// Returns the file through which other programs can open an artifact's text.
    fn named_file(&self, manifest: &Manifest) -> Option<PathBuf> {
        if manifest.encryption.is_some() {
            return None;
        }
        let directory = self.directory(ArtifactDirectory::of(manifest.handle))?;
        let name = manifest.facts.file_name.as_ref()?;
        Some(directory.join(name.as_str()))
    }

    /// The path of a directory for artifacts; `None` if it is missing or not a directory.
    pub(crate) fn directory(&self, place: ArtifactDirectory) -> Option<PathBuf> {
        let path = self.base.join(place);
        let is_directory = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
        is_directory.then_some(path)
    }

    pub(crate) fn paths(&self, handle: Handle) -> Result<Paths, StoreError> {
        let directory = self.directory(ArtifactDirectory::of(handle));
        directory
            .map(|directory| Paths::new(&directory, handle))
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

    /// Reads the manifest, which exists exactly as long as the artifact exists.
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

    /// Reads the manifest. Without the key of an encrypted artifact, it lacks the call's arguments.
    pub(crate) fn load(&self, handle: Handle, paths: &Paths) -> Result<Manifest, StoreError> {
        let bytes = Self::manifest_bytes(handle, paths)?;
        let mut manifest = manifest::parse(handle, &paths.manifest, &bytes)?;
        if let Ok(Some(key)) = ArtifactKey::of(&manifest, handle, self.key.as_ref()) {
            manifest::unseal(&mut manifest, &bytes, &key);
        }
        Ok(manifest)
    }

    /// Returns why a file of a stored artifact could not be opened. The artifact may have been
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

    /// Opens the parts of an artifact, and records that it was used if `is_used`.
    fn opened(&self, handle: Handle, is_used: bool) -> Result<Stored, StoreError> {
        let paths = self.paths(handle)?;
        let bytes = Self::manifest_bytes(handle, &paths)?;
        let mut manifest = manifest::parse(handle, &paths.manifest, &bytes)?;
        manifest::check(&manifest, &paths.manifest, &bytes)?;
        let key = ArtifactKey::of(&manifest, handle, self.key.as_ref())?;
        if let Some(key) = &key
            && !manifest::unseal(&mut manifest, &bytes, key)
        {
            return Err(StoreError::Damaged {
                path: paths.manifest,
                what: "it is not what was encrypted".to_owned(),
            });
        }
        let unopened = |path: &Path, error| Self::unopened(handle, &paths, path, error);
        let source = |path: &Path, part| -> Result<Arc<dyn ByteSource>, StoreError> {
            let opened: Result<Arc<dyn ByteSource>, _> = match &key {
                Some(key) => SealedSource::open(path, key, part).map(|one| Arc::new(one) as _),
                None => FileSource::open(path).map(|one| Arc::new(one) as _),
            };
            opened.map_err(|error| unopened(path, error))
        };
        let (view, raw) = if manifest.facts.view.is_raw {
            let raw = source(&paths.view, Sealed::Raw)?;
            (Arc::clone(&raw), raw)
        } else {
            let view = source(&paths.view, Sealed::View)?;
            (view, source(&paths.raw, Sealed::Raw)?)
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
        let index = source(&paths.lines, Sealed::Index)?
            .bytes(0, u64::MAX)
            .map_err(|error| StoreError::io(&paths.lines, error))?;
        manifest::check_index(&manifest, &paths.lines, &index)?;
        if is_used {
            // Errors are ignored, because a store without write access can still be read.
            let touched = open_existing(&paths.manifest)
                .and_then(|file| file.set_modified(self.clock.now().system_time()));
            drop(touched);
        }
        let room = self.room.clone();
        Ok(Stored {
            file: self.named_file(&manifest),
            manifest,
            raw,
            view,
            index,
            derived: Some(Arc::new(DerivedFile { paths, key, room })),
            is_shared: false,
        })
    }
}

impl ArtifactStore for FileStore {
    fn draft(&self) -> Result<Box<dyn Draft>, StoreError> {
        let key = self.key.clone().filter(|_| self.encrypts);
        if self.encrypts && key.is_none() {
            let path = self.base.path.clone();
            return Err(StoreError::Keyless { path });
        }
        if let Some(room) = &self.room {
            room.keep_reserve()?;
        }
        let own = (self.lifetime == Lifetime::Session).then(|| Arc::clone(&self.own));
        let (base, room) = (self.base.clone(), self.room.clone());
        let draft = FileDraft::create(base, self.session, self.next_synced(), room, own, key)?;
        Ok(Box::new(draft))
    }

    fn open(&self, handle: Handle) -> Result<Stored, StoreError> {
        self.opened(handle, true)
    }

    fn peek(&self, handle: Handle) -> Result<Stored, StoreError> {
        self.opened(handle, false)
    }

    fn manifest(&self, handle: Handle) -> Result<Manifest, StoreError> {
        self.load(handle, &self.paths(handle)?)
    }

    fn list(&self) -> Result<Vec<Listed>, StoreError> {
        Ok(self.survey()?.listed)
    }

    fn survey(&self) -> Result<Survey, StoreError> {
        self.look_over()
    }

    fn newest(
        &self,
        visit: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<Vec<Unreadable>, StoreError> {
        self.visit_newest(visit)
    }

    fn candidates(&self) -> Result<Vec<Candidate>, StoreError> {
        self.swept_candidates()
    }

    fn beginning_with(&self, beginning: &str) -> Result<Vec<Handle>, StoreError> {
        self.handles_beginning_with(beginning)
    }

    fn remove(&self, handle: Handle, why: Gone, at: Timestamp) -> Result<(), StoreError> {
        let paths = self.paths(handle)?;
        let manifest = match self.load(handle, &paths) {
            // Removal does not need the manifest's content, so it also works if the manifest is
            // damaged or may not be read.
            Err(error @ (StoreError::Absent { .. } | StoreError::Newer { .. })) => {
                return Err(error);
            }
            manifest => manifest.ok(),
        };
        let bytes = paths.bytes();
        let tombstone = to_json(&Tombstone::of(manifest.as_ref(), why, at));
        // The tombstone is written first, so that a reader always finds the artifact or its
        // tombstone. On a full disk the tombstone is written last; until then, a reader is not told
        // why the artifact is gone.
        let is_noted = write_whole(&paths.gone, &tombstone, None).is_ok();
        // The bytes are subtracted before the files are removed. If a full count runs at the same
        // time and still includes the artifact, the total becomes too high, but never too low.
        if let Some(room) = &self.room {
            room.leave(bytes);
        }
        // The manifest is removed first: without a manifest the artifact does not exist, even if
        // removing the other files fails.
        fs::remove_file(&paths.manifest).map_err(|error| {
            if let Some(room) = &self.room {
                room.come_back(bytes);
            }
            match is_missing(&error) {
                true => Self::absent(handle, &paths),
                false => StoreError::io(&paths.manifest, error),
            }
        })?;
        if let Some(observer) = &self.observer {
            observer.removed(handle, why, manifest.as_ref());
        }
        if let (Some(directory), Some(manifest)) = (paths.view.parent(), &manifest) {
            alias::unlink(directory, &paths, &manifest.facts);
        }
        let mut unlinked = Ok(());
        for part in [&paths.view, &paths.raw, &paths.lines, &paths.derived] {
            match fs::remove_file(part) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    unlinked = Err(StoreError::io(part, error));
                }
                _ => {}
            }
        }
        if !is_noted && let Err(error) = write_whole(&paths.gone, &tombstone, None) {
            tracing::warn!(%handle, %error, "the tombstone of a removed output could not be written");
        }
        unlinked
    }

    fn pin(&self, handle: Handle, pinned: bool) -> Result<(), StoreError> {
        let paths = self.paths(handle)?;
        let bytes = Self::manifest_bytes(handle, &paths)?;
        manifest::parse(handle, &paths.manifest, &bytes)?;
        manifest::pin(&paths.manifest, &bytes, pinned, &self.disk)?;
        // The artifact was removed meanwhile. A manifest must not remain without its bytes.
        if fs::symlink_metadata(&paths.view).is_err_and(|error| is_missing(&error)) {
            drop(fs::remove_file(&paths.manifest));
            return Err(Self::absent(handle, &paths));
        }
        Ok(())
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        // No caller is left to receive an error. The next start finds the files that remain.
        if self.lifetime == Lifetime::Session
            && let Some(directory) = self.directory(ArtifactDirectory::Session(self.session))
        {
            drop(fs::remove_dir_all(directory));
        }
        for word in self.own.lock().drain(..) {
            if let Ok(paths) = self.paths(Handle::Short(word)) {
                paths.remove();
            }
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
    pub(crate) derived: PathBuf,
    pub(crate) gone: PathBuf,
}

impl Paths {
    pub(crate) fn new(directory: &Path, handle: Handle) -> Self {
        let stem = stem(handle);
        let named = |suffix: &str| directory.join(format!("{stem}{suffix}"));
        Self {
            view: named(""),
            raw: named(".raw"),
            lines: named(".lines"),
            manifest: named(".json"),
            derived: named(".derived"),
            gone: named(".gone"),
        }
    }

    /// Removes all files of the artifact and, if it is then empty, their directory. Removes the
    /// manifest first: without it the artifact does not exist, even if removing the other files
    /// fails.
    pub(crate) fn remove(&self) {
        for path in [
            &self.manifest,
            &self.lines,
            &self.view,
            &self.raw,
            &self.derived,
            &self.gone,
        ] {
            drop(fs::remove_file(path));
        }
        if let Some(directory) = self.manifest.parent() {
            drop(fs::remove_dir(directory));
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
