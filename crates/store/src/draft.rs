//! Writes an artifact to files so that it never exists in part.
//!
//! A draft is written under temporary names and locked. A commit syncs all files at once, renames
//! them with the manifest last, then syncs the directory. Until the manifest is in place there is
//! no artifact. The lock dies with its process, so it tells what a killed writer left from the work
//! of a living one. A store that syncs after the receipt ([`SyncWhen::After`](crate::SyncWhen))
//! renames first, in the same order.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use spillgate_artifact::{ByteSource, Facts, FileId, Handle, Manifest, SessionId};

use crate::ahead::{SYNC_EVERY, SyncAhead};
use crate::alias;
use crate::disk::{Due, Synced, Syncing};
use crate::files::{FileSource, Paths};
use crate::open::{create_new, to_json};
use crate::room::Room;
use crate::{Draft, Part, Receipt, StoreError, manifest};

/// Prefix of the names of all draft files.
pub(crate) const DRAFT_PREFIX: &str = ".draft-";

/// An artifact being written to files.
#[derive(Debug)]
pub(crate) struct FileDraft {
    directory: PathBuf,
    handle: Handle,
    synced: Synced,
    raw: DraftFile,
    view: Option<DraftFile>,
    /// Syncs the raw bytes while they arrive.
    ahead: Option<SyncAhead>,
    /// The space accounting that the artifact is entered in.
    room: Option<Arc<Room>>,
    /// Bytes written since the last check of the disk's free space.
    unlooked: u64,
}

/// Bytes written between two checks of the disk's free space.
const LOOK_EVERY: u64 = 4 << 20;

#[derive(Debug)]
struct DraftFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    /// CRC-32 of the view. (The raw bytes have their SHA-256.)
    sum: crc32fast::Hasher,
    /// Syncs that are running. Each must be waited for: the system reports an error only once.
    syncing: Vec<Syncing>,
    /// Whether anything was written since the last sync began.
    is_dirty: bool,
}

impl FileDraft {
    pub(crate) fn create(
        directory: &Path,
        session: SessionId,
        synced: Synced,
        room: Option<Arc<Room>>,
    ) -> Result<Self, StoreError> {
        let handle = Handle {
            session,
            file: FileId::random(),
        };
        let raw = DraftFile::create(directory, handle.file, "")?;
        // Never contended: the name is new. The lock marks the file as owned by a living writer.
        raw.file
            .lock()
            .map_err(|error| StoreError::io(&raw.path, error))?;
        Ok(Self {
            directory: directory.to_owned(),
            handle,
            synced,
            raw,
            view: None,
            ahead: None,
            room,
            unlooked: 0,
        })
    }

    /// Writes a small file in one go.
    fn small(&self, suffix: &str, bytes: &[u8]) -> Result<DraftFile, StoreError> {
        let mut draft = DraftFile::create(&self.directory, self.handle.file, suffix)?;
        draft.write(bytes)?;
        Ok(draft)
    }

    fn store(&mut self, manifest: &Manifest, index: &[u8]) -> Result<(), StoreError> {
        if let Some(ahead) = self.ahead.take() {
            ahead
                .finish()
                .map_err(|error| StoreError::io(&self.raw.path, error))?;
        }
        // Sync in parallel: in sequence it would take three times as long.
        self.raw.begin_sync(&self.synced);
        if let Some(view) = &mut self.view {
            view.begin_sync(&self.synced);
        }
        let mut lines = self.small(".lines", index)?;
        lines.begin_sync(&self.synced);
        let mut json = self.small(".json", &to_json(manifest))?;
        json.sync(&self.synced)?;
        lines.sync(&self.synced)?;
        if let Some(view) = &mut self.view {
            view.sync(&self.synced)?;
        }
        self.raw.sync(&self.synced)?;
        self.place(&lines, &json, manifest)?;
        self.settle(&[lines, json])
    }

    /// Gives the files their final names, the manifest last.
    fn place(
        &self,
        lines: &DraftFile,
        json: &DraftFile,
        manifest: &Manifest,
    ) -> Result<(), StoreError> {
        let paths = Paths::new(&self.directory, self.handle.file);
        if let Some(view) = &self.view {
            view.rename(&paths.view)?;
            self.raw.rename(&paths.raw)?;
        } else {
            self.raw.rename(&paths.view)?;
        }
        lines.rename(&paths.lines)?;
        alias::link(&self.directory, &paths, &manifest.facts)?;
        json.rename(&paths.manifest)
    }

    /// Syncs what is left: only the names, or everything.
    fn settle(&self, small: &[DraftFile; 2]) -> Result<(), StoreError> {
        match &self.synced {
            Synced::Never => Ok(()),
            Synced::Before(disk) => disk.sync_directory(&self.directory),
            Synced::After(later) => {
                let parts = [Some(&self.raw), self.view.as_ref()];
                let files = parts.into_iter().flatten().chain(small);
                let due = files.map(DraftFile::due).collect::<Result<Vec<Due>, _>>()?;
                later.take(self.handle, self.directory.clone(), due)
            }
        }
    }
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
                    None => DraftFile::create(&self.directory, self.handle.file, ".view")?,
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

    fn commit(mut self: Box<Self>, facts: Facts, index: &[u8]) -> Result<Receipt, StoreError> {
        let view = self.view.as_ref().map(|view| view.sum.clone().finalize());
        let manifest = manifest::of(self.handle, facts, view, index);
        let view_bytes = self.view.as_ref().map_or(0, |view| view.bytes);
        let bytes = self.raw.bytes + view_bytes + index.len() as u64;
        // Enter the bytes before the artifact has its name: a killed writer then leaves the count
        // too high, not too low.
        let admitted = self.room.as_ref().map(|room| room.admit(bytes));
        let admitted = admitted.transpose()?;
        let stored = self.store(&manifest, index);
        if stored.is_ok()
            && let Some(admitted) = admitted
        {
            admitted.keep();
        }
        if stored.is_err() {
            // There is no manifest, so no artifact. Remove what was put in place.
            let paths = Paths::new(&self.directory, self.handle.file);
            alias::unlink(&self.directory, &paths, &manifest.facts);
            for path in [&paths.manifest, &paths.lines, &paths.view, &paths.raw] {
                drop(fs::remove_file(path));
            }
        }
        stored.map(|()| Receipt { manifest })
    }
}

impl Drop for FileDraft {
    fn drop(&mut self) {
        // After a commit these names do not exist any more.
        let view = self.view.as_ref().map(|view| &view.path);
        let names = [".lines", ".json"].map(|s| draft_path(&self.directory, self.handle.file, s));
        for path in [&self.raw.path].into_iter().chain(view).chain(&names) {
            drop(fs::remove_file(path));
        }
        // Only an empty directory can be removed: the last draft of a session that stored nothing
        // removes it.
        drop(fs::remove_dir(&self.directory));
    }
}

fn draft_path(directory: &Path, file: FileId, suffix: &str) -> PathBuf {
    directory.join(format!("{DRAFT_PREFIX}{file}{suffix}"))
}

impl DraftFile {
    fn create(directory: &Path, file: FileId, suffix: &str) -> Result<Self, StoreError> {
        let path = draft_path(directory, file, suffix);
        let file = create_new(&path)?;
        Ok(Self {
            path,
            file,
            bytes: 0,
            sum: crc32fast::Hasher::new(),
            syncing: Vec::new(),
            is_dirty: false,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.is_dirty = true;
        self.bytes += bytes.len() as u64;
        self.file
            .write_all(bytes)
            .map_err(|error| StoreError::io(&self.path, error))
    }

    /// Starts a sync of what is written so far, if the commit will wait for it.
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
        Ok(Arc::new(FileSource::of(file, &self.path)?))
    }

    fn rename(&self, to: &Path) -> Result<(), StoreError> {
        fs::rename(&self.path, to).map_err(|error| StoreError::io(to, error))
    }
}
