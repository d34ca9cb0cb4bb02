//! Writes an artifact to files so that it never exists in part.
//!
//! A draft is written under temporary names and locked. A commit reserves a handle by creating the
//! index file, which fails if the file exists. It then syncs all files in parallel, renames them
//! with the manifest last, and syncs the directory. Until the manifest has its final name, the
//! artifact does not exist. The system releases the lock when the process ends, so files of a
//! killed writer can be distinguished from files of a running one. A store that syncs after
//! returning the receipt ([`SyncWhen::After`](crate::SyncWhen)) renames first, in the same order.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use spillgate_artifact::{
    ByteSource, Facts, FileId, Handle, HandleForm, Manifest, SessionId, Word,
};

use crate::ahead::{SYNC_EVERY, SyncAhead};
use crate::alias;
use crate::disk::{Due, Synced, Syncing};
use crate::files::{FileSource, Paths};
use crate::key::{ArtifactKey, Sealed};
use crate::open::{create_new, to_json};
use crate::place::{ArtifactDirectory, Base};
use crate::recent::Recent;
use crate::room::Room;
use crate::sealed::{SealedWriter, sealed_size};
use crate::{Draft, Part, Receipt, StoreError, StoreKey, manifest};

/// Prefix of the names of all draft files.
pub(crate) const DRAFT_PREFIX: &str = ".draft-";

/// How often creating a file is tried again after another writer has removed the empty directory
/// for it. Each attempt fails only if the directory is removed again within a few microseconds.
const ATTEMPTS: usize = 16;

/// An artifact being written to files.
#[derive(Debug)]
pub(crate) struct FileDraft {
    base: Base,
    /// The session of new artifacts with a long handle.
    session: SessionId,
    /// The id in the names of the draft's files.
    id: FileId,
    synced: Synced,
    /// The key with which the files are encrypted; `None` if they are not.
    key: Option<ArtifactKey>,
    raw: DraftFile,
    view: Option<DraftFile>,
    /// Syncs the raw bytes while they arrive.
    ahead: Option<SyncAhead>,
    /// The accounting of the store's space, to which the artifact's bytes are added.
    room: Option<Arc<Room>>,
    /// Bytes written since the last check of the disk's free space.
    unlooked: u64,
    /// The list of artifacts that are removed when the store is dropped, to which this one will be
    /// added; `None` if artifacts outlive the store.
    own: Option<Arc<Mutex<Vec<Word>>>>,
    /// The final paths of the artifact's files, while the commit gives them these names. If the
    /// commit fails, these files are removed.
    reserved: Option<Paths>,
}

/// Bytes written between two checks of the disk's free space.
const LOOK_EVERY: u64 = 4 << 20;

#[derive(Debug)]
struct DraftFile {
    path: PathBuf,
    file: File,
    /// Bytes that were written, before their encryption.
    bytes: u64,
    /// Encrypts what is written; `None` if the file is not encrypted or is complete.
    sealing: Option<SealedWriter>,
    /// CRC-32 of the view. (The raw bytes have their SHA-256.)
    sum: crc32fast::Hasher,
    /// Syncs that are running. The draft must wait for each of them, because the system reports an
    /// error only once.
    syncing: Vec<Syncing>,
    /// Whether anything was written since the last sync began.
    is_dirty: bool,
}

impl FileDraft {
    pub(crate) fn create(
        base: Base,
        session: SessionId,
        synced: Synced,
        room: Option<Arc<Room>>,
        own: Option<Arc<Mutex<Vec<Word>>>>,
        key: Option<StoreKey>,
    ) -> Result<Self, StoreError> {
        let id = FileId::random();
        let key = key.map(|key| ArtifactKey {
            key,
            id: FileId::random().to_string(),
        });
        let raw = created_in(&base, &base.path, &draft_path(&base, id, ""))?;
        let raw = raw.sealed(key.as_ref(), Sealed::Raw)?;
        raw.lock()?;
        Ok(Self {
            base,
            session,
            id,
            synced,
            key,
            raw,
            view: None,
            ahead: None,
            room,
            unlooked: 0,
            own,
            reserved: None,
        })
    }

    /// Creates the index file under its final name. Returns it with the first of `handles` that was
    /// free.
    fn reserve(
        &mut self,
        handles: impl IntoIterator<Item = Handle>,
    ) -> Result<(Handle, DraftFile), StoreError> {
        for handle in handles {
            let directory = self.base.join(ArtifactDirectory::of(handle));
            let paths = Paths::new(&directory, handle);
            let lines = match created_in(&self.base, &directory, &paths.lines) {
                Err(error) if is_taken(&error) => continue,
                lines => lines?,
            };
            // A tombstone shows that a removed artifact had this handle, so the next handle is
            // tried.
            if fs::symlink_metadata(&paths.gone).is_ok() {
                drop(fs::remove_file(&paths.lines));
                continue;
            }
            self.reserved = Some(paths);
            lines.lock()?;
            return Ok((handle, lines));
        }
        unreachable!("invariant: random handles do not end")
    }

    fn store(
        &mut self,
        facts: Facts,
        index: &[u8],
        form: HandleForm,
    ) -> Result<Manifest, StoreError> {
        if let Some(ahead) = self.ahead.take() {
            ahead
                .finish()
                .map_err(|error| StoreError::io(&self.raw.path, error))?;
        }
        self.raw.finish()?;
        if let Some(view) = &mut self.view {
            view.finish()?;
        }
        // The files are synced in parallel. One after the other would take three times as long.
        self.raw.begin_sync(&self.synced);
        if let Some(view) = &mut self.view {
            view.begin_sync(&self.synced);
        }
        let session = self.session;
        let handles = std::iter::repeat_with(|| match form {
            HandleForm::Short => Handle::Short(Word::random()),
            HandleForm::Long => Handle::Long {
                session,
                file: FileId::random(),
            },
        });
        let arguments = facts.origin.arguments.clone();
        let (handle, lines) = self.reserve(handles)?;
        let mut lines = lines.sealed(self.key.as_ref(), Sealed::Index)?;
        lines.write(index)?;
        lines.finish()?;
        lines.begin_sync(&self.synced);
        let view = self.view.as_ref().map(|view| view.sum.clone().finalize());
        let mut manifest = manifest::of(handle, facts, view, index, self.key.as_ref())
            .map_err(|error| StoreError::io(&lines.path, error))?;
        let mut json = DraftFile::create(&self.base, self.id, ".json")?;
        json.lock()?;
        json.write(&to_json(&manifest))?;
        json.sync(&self.synced)?;
        lines.sync(&self.synced)?;
        if let Some(view) = &mut self.view {
            view.sync(&self.synced)?;
        }
        self.raw.sync(&self.synced)?;
        self.place(lines, json, &manifest)?;
        // In the file they are encrypted.
        manifest.facts.origin.arguments = arguments;
        Ok(manifest)
    }

    /// Gives the files their final names, the manifest last, and syncs the names.
    fn place(
        &self,
        lines: DraftFile,
        json: DraftFile,
        manifest: &Manifest,
    ) -> Result<(), StoreError> {
        let directory = self.base.join(ArtifactDirectory::of(manifest.handle));
        let paths = Paths::new(&directory, manifest.handle);
        if let Some(view) = &self.view {
            view.rename(&paths.view)?;
            self.raw.rename(&paths.raw)?;
        } else {
            self.raw.rename(&paths.view)?;
        }
        // Other programs cannot read an encrypted text.
        if self.key.is_none() {
            alias::link(&directory, &paths, &manifest.facts)?;
        }
        let made = (manifest.facts.created, manifest.handle);
        Recent::of(&self.base.path)
            .place(made, || json.rename(&paths.manifest))
            .and_then(|()| self.settle(manifest.handle, directory.clone(), &[lines, json]))
            .inspect_err(|_| alias::unlink(&directory, &paths, &manifest.facts))
    }

    /// Syncs the names of the files and, if the store syncs after the receipt, the files as well.
    fn settle(
        &self,
        handle: Handle,
        directory: PathBuf,
        small: &[DraftFile; 2],
    ) -> Result<(), StoreError> {
        match &self.synced {
            Synced::Never => Ok(()),
            Synced::Before(disk) => disk.sync_directory(&directory),
            Synced::After(later) => {
                let parts = [Some(&self.raw), self.view.as_ref()];
                let files = parts.into_iter().flatten().chain(small);
                let due = files.map(DraftFile::due).collect::<Result<Vec<Due>, _>>()?;
                later.take(handle, directory, due)
            }
        }
    }
}

/// Creates a file in a directory of the store, which is created if it does not exist.
fn created_in(base: &Base, directory: &Path, path: &Path) -> Result<DraftFile, StoreError> {
    let mut attempts = ATTEMPTS;
    loop {
        attempts -= 1;
        match base.make(directory) {
            // Another writer removed the directory after it was found to exist and before it was
            // found to be a directory.
            Err(error) if is_taken(&error) && attempts > 0 => continue,
            made => made?,
        }
        match DraftFile::create_at(path.to_owned()) {
            // Another writer has just removed the empty directory.
            Err(StoreError::Io { source, .. })
                if source.kind() == io::ErrorKind::NotFound && attempts > 0 => {}
            created => return created,
        }
    }
}

/// Returns whether a file could not be created because it exists.
fn is_taken(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists)
}

impl Draft for FileDraft {
    fn write(&mut self, part: Part, bytes: &[u8]) -> Result<(), StoreError> {
        self.unlooked += bytes.len() as u64;
        if self.unlooked >= LOOK_EVERY {
            self.unlooked = 0;
            self.room.as_ref().map_or(Ok(()), Room::keep_reserve)?;
        }
        match part {
            Part::Raw => {
                self.raw.write(bytes)?;
                if self.synced.is_before() && self.ahead.is_none() && self.raw.bytes >= SYNC_EVERY {
                    self.ahead = SyncAhead::start(&self.raw.file).ok();
                }
                if let Some(ahead) = &mut self.ahead {
                    ahead.wrote(bytes.len());
                }
                Ok(())
            }
            Part::View => {
                let view = match self.view.take() {
                    Some(view) => view,
                    None => DraftFile::create(&self.base, self.id, ".view")?
                        .sealed(self.key.as_ref(), Sealed::View)?,
                };
                let view = self.view.insert(view);
                view.sum.update(bytes);
                view.write(bytes)
            }
        }
    }

    fn complete(&mut self, part: Part) {
        match (part, &mut self.view) {
            (Part::Raw, _) => self.raw.begin_sync(&self.synced),
            (Part::View, Some(view)) => view.begin_sync(&self.synced),
            (Part::View, None) => {}
        }
    }

    fn discard_view(&mut self) -> Result<(), StoreError> {
        match self.view.take() {
            Some(view) => fs::remove_file(&view.path).map_err(|e| StoreError::io(&view.path, e)),
            None => Ok(()),
        }
    }

    fn read(&self, part: Part) -> Result<Arc<dyn ByteSource>, StoreError> {
        match (part, &self.view) {
            (Part::Raw, _) => self.raw.read(),
            (Part::View, Some(view)) => view.read(),
            (Part::View, None) => Ok(Arc::new(Vec::new())),
        }
    }

    fn commit(
        mut self: Box<Self>,
        facts: Facts,
        index: &[u8],
        form: HandleForm,
    ) -> Result<Receipt, StoreError> {
        let size = |bytes: u64| match self.key {
            Some(_) => sealed_size(bytes),
            None => bytes,
        };
        let view = self.view.as_ref().map_or(0, |view| size(view.bytes));
        let bytes = size(self.raw.bytes) + view + size(index.len() as u64);
        // The bytes are added to the store's count before the artifact has its name. If the writer
        // is killed, the count is then too high, but never too low.
        let admitted = self.room.as_ref().map(|room| room.admit(bytes));
        let admitted = admitted.transpose()?;
        let manifest = self.store(facts, index, form)?;
        if let Some(admitted) = admitted {
            admitted.keep();
        }
        self.reserved = None;
        if let (Handle::Short(word), Some(own)) = (manifest.handle, &self.own) {
            own.lock().push(word);
        }
        Ok(Receipt { manifest })
    }
}

impl Drop for FileDraft {
    fn drop(&mut self) {
        // After a commit these names do not exist any more.
        let view = self.view.as_ref().map(|view| &view.path);
        let json = draft_path(&self.base, self.id, ".json");
        for path in [&self.raw.path, &json].into_iter().chain(view) {
            drop(fs::remove_file(path));
        }
        // Without a manifest there is no artifact, so remove the files that already have their
        // final names.
        if let Some(paths) = self.reserved.take() {
            paths.remove();
        }
    }
}

/// Returns the path of a draft's file. Drafts are in the base, which exists longer than they do. With
/// a directory for each draft, ext4 would look for free inodes among those removed lately.
fn draft_path(base: &Base, file: FileId, suffix: &str) -> PathBuf {
    base.path.join(format!("{DRAFT_PREFIX}{file}{suffix}"))
}

impl DraftFile {
    fn create(base: &Base, file: FileId, suffix: &str) -> Result<Self, StoreError> {
        Self::create_at(draft_path(base, file, suffix))
    }

    fn create_at(path: PathBuf) -> Result<Self, StoreError> {
        let file = create_new(&path)?;
        Ok(Self {
            path,
            file,
            bytes: 0,
            sealing: None,
            sum: crc32fast::Hasher::new(),
            syncing: Vec::new(),
            is_dirty: false,
        })
    }

    /// Returns the file, which has to be empty, encrypted if there is a key.
    fn sealed(mut self, key: Option<&ArtifactKey>, part: Sealed) -> Result<Self, StoreError> {
        let sealing = key.map(|key| SealedWriter::new(key, part)).transpose();
        self.sealing = sealing.map_err(|error| StoreError::io(&self.path, error))?;
        Ok(self)
    }

    /// Completes the file. Nothing may be written afterwards.
    fn finish(&mut self) -> Result<(), StoreError> {
        let Some(sealing) = self.sealing.take() else {
            return Ok(());
        };
        self.is_dirty = true;
        sealing
            .finish(&mut self.file)
            .map_err(|error| StoreError::io(&self.path, error))
    }

    /// Marks the file as owned by a running writer. The lock is always free, because the file is
    /// new.
    fn lock(&self) -> Result<(), StoreError> {
        self.file
            .lock()
            .map_err(|error| StoreError::io(&self.path, error))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.is_dirty = true;
        self.bytes += bytes.len() as u64;
        let written = match &mut self.sealing {
            Some(sealing) => sealing.write(bytes, &mut self.file),
            None => self.file.write_all(bytes),
        };
        written.map_err(|error| StoreError::io(&self.path, error))
    }

    /// Starts a sync of the bytes written so far, if the commit will wait for it.
    fn begin_sync(&mut self, synced: &Synced) {
        if let Synced::Before(disk) = synced
            && self.is_dirty
            && let Ok(due) = self.due()
            && let Ok(syncing) = disk.begin(due)
        {
            self.syncing.push(syncing);
            self.is_dirty = false;
        }
    }

    /// Waits until the whole file is on the disk.
    fn sync(&mut self, synced: &Synced) -> Result<(), StoreError> {
        let Synced::Before(disk) = synced else {
            return Ok(());
        };
        if self.is_dirty {
            disk.sync(&self.path, &self.file)?;
            self.is_dirty = false;
        }
        self.syncing.drain(..).try_for_each(Syncing::wait)
    }

    fn due(&self) -> Result<Due, StoreError> {
        let file = self.file.try_clone();
        Ok(Due {
            file: file.map_err(|error| StoreError::io(&self.path, error))?,
            path: self.path.clone(),
        })
    }

    fn read(&self) -> Result<Arc<dyn ByteSource>, StoreError> {
        let file = self
            .file
            .try_clone()
            .map_err(|error| StoreError::io(&self.path, error))?;
        Ok(match &self.sealing {
            Some(sealing) => Arc::new(sealing.source(file)),
            None => Arc::new(FileSource::of(file, &self.path)?),
        })
    }

    fn rename(&self, to: &Path) -> Result<(), StoreError> {
        fs::rename(&self.path, to).map_err(|error| StoreError::io(to, error))
    }
}

#[cfg(test)]
mod tests {
    use spillgate_artifact::{Clock, SystemClock};

    use super::*;
    use crate::conformance::facts_of;
    use crate::{ArtifactStore, FileStore, Gone, Lifetime};

    #[test]
    fn a_handle_that_exists_or_existed_is_not_given_again() {
        let base = tempfile::tempdir().unwrap();
        let store = FileStore::new(base.path(), Lifetime::Durable, Arc::new(SystemClock));
        let [stored, removed] = [(); 2].map(|()| {
            let draft = store.draft().unwrap();
            let receipt = draft.commit(facts_of(b""), b"", HandleForm::Short);
            receipt.unwrap().handle()
        });
        store
            .remove(removed, Gone::Removed, SystemClock.now())
            .unwrap();
        let free = Handle::Short(Word::random());
        let base = Base {
            path: base.path().to_owned(),
            is_made: true,
        };
        let session = SessionId::random();
        let mut draft = FileDraft::create(base, session, Synced::Never, None, None, None).unwrap();
        let (reserved, _) = draft.reserve([stored, removed, free]).unwrap();
        assert_eq!(reserved, free);
        drop(draft);
        assert!(store.open(stored).is_ok());
        let error = store.open(removed).unwrap_err();
        assert!(error.to_string().contains("was removed"), "{error}");
    }
}
