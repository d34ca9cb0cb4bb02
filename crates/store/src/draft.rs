//! How does a file become an artifact without ever being half of one?
//!
//! Written under a temporary name and locked; synced; renamed, manifest last;
//! then the directory is synced. Until the manifest is in place there is no
//! artifact, and what a killed writer leaves is told from a living writer's
//! work by the lock, which dies with the process.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use spillgate_artifact::{ByteSource, Facts, FileId, Handle, Manifest, SessionId};

use crate::ahead::{SYNC_EVERY, SyncAhead};
use crate::alias;
use crate::files::{FileSource, Paths, create_new, to_json};
use crate::{Draft, Part, Receipt, StoreError};

/// First letters of every file in the making.
pub(crate) const DRAFT_PREFIX: &str = ".draft-";

/// An artifact being written to files.
#[derive(Debug)]
pub(crate) struct FileDraft {
    directory: PathBuf,
    handle: Handle,
    /// Whether to wait until the disk has it.
    durable: bool,
    raw: DraftFile,
    view: Option<DraftFile>,
    /// Brings the raw bytes to the disk while they come.
    ahead: Option<SyncAhead>,
}

#[derive(Debug)]
struct DraftFile {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl FileDraft {
    pub(crate) fn create(
        directory: &Path,
        session: SessionId,
        durable: bool,
    ) -> Result<Self, StoreError> {
        let handle = Handle {
            session,
            file: FileId::random(),
        };
        let raw = DraftFile::create(directory, handle.file, "")?;
        // Never contended: the name is new. It marks the file as somebody's.
        raw.file
            .lock()
            .map_err(|error| StoreError::io(&raw.path, error))?;
        Ok(Self {
            directory: directory.to_owned(),
            handle,
            durable,
            raw,
            view: None,
            ahead: None,
        })
    }

    fn sync(&self, file: &DraftFile) -> Result<(), StoreError> {
        match self.durable {
            true => file
                .file
                .sync_data()
                .map_err(|e| StoreError::io(&file.path, e)),
            false => Ok(()),
        }
    }

    /// Writes a small file whole and puts it in its place.
    fn place(&self, suffix: &str, bytes: &[u8], to: &Path) -> Result<(), StoreError> {
        let mut draft = DraftFile::create(&self.directory, self.handle.file, suffix)?;
        draft.write(bytes)?;
        self.sync(&draft)?;
        draft.rename(to)
    }

    fn sync_directory(&self) -> Result<(), StoreError> {
        if !self.durable {
            return Ok(());
        }
        File::open(&self.directory)
            .and_then(|directory| directory.sync_all())
            .map_err(|error| StoreError::io(&self.directory, error))
    }

    fn store(&mut self, manifest: &Manifest, index: &[u8]) -> Result<(), StoreError> {
        let paths = Paths::new(&self.directory, self.handle.file);
        if let Some(ahead) = self.ahead.take() {
            ahead
                .finish()
                .map_err(|error| StoreError::io(&self.raw.path, error))?;
        }
        self.sync(&self.raw)?;
        if let Some(view) = &self.view {
            self.sync(view)?;
            view.rename(&paths.view)?;
            self.raw.rename(&paths.raw)?;
        } else {
            self.raw.rename(&paths.view)?;
        }
        self.place(".lines", index, &paths.lines)?;
        alias::link(&self.directory, &paths, &manifest.facts)?;
        self.place(".json", &to_json(manifest), &paths.manifest)?;
        self.sync_directory()
    }
}

impl Draft for FileDraft {
    fn write(&mut self, part: Part, bytes: &[u8]) -> Result<(), StoreError> {
        match part {
            Part::Raw => {
                self.raw.write(bytes)?;
                self.raw.bytes += bytes.len() as u64;
                if self.durable && self.ahead.is_none() && self.raw.bytes >= SYNC_EVERY {
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
                self.view.insert(view).write(bytes)
            }
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
        let manifest = Manifest {
            handle: self.handle,
            pinned: false,
            facts,
        };
        let stored = self.store(&manifest, index);
        if stored.is_err() {
            // No manifest, so no artifact; take away what was put in place.
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
        // After a commit these names are gone already.
        let view = self.view.as_ref().map(|view| &view.path);
        let names = [".lines", ".json"].map(|s| draft_path(&self.directory, self.handle.file, s));
        for path in [&self.raw.path].into_iter().chain(view).chain(&names) {
            drop(fs::remove_file(path));
        }
        // Only an empty directory can be removed: the last draft of a session
        // that stored nothing takes it away.
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
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.file
            .write_all(bytes)
            .map_err(|error| StoreError::io(&self.path, error))
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
