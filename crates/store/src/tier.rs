//! The files of an artifact as they are on the disk, for a store elsewhere that keeps copies here.
//!
//! A store in a bucket uses a [`FileStore`] as its cache: it sends the files of a new artifact to
//! the bucket, and takes copies of the artifacts that it reads from there. Encrypted files are sent
//! and taken as they are, so that a bucket contains nothing that needs no key.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde_json::Value;
use sha2::{Digest, Sha256};
use spillgate_artifact::{ByteSource, Facts, FileId, Handle, Manifest};

use crate::draft::DRAFT_PREFIX;
use crate::files::{FileSource, FileStore, Paths};
use crate::key::ArtifactKey;
use crate::open::{create_new, open_existing, to_json};
use crate::place::ArtifactDirectory;
use crate::recent::Recent;
use crate::{StoreError, alias, manifest};

/// How often creating a file is tried again after another thread has removed the empty directory
/// for it.
const ATTEMPTS: usize = 16;

/// Bytes that are hashed at a time.
const BLOCK: usize = 256 << 10;

/// One of the files of an artifact, besides its manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Piece {
    /// The line index.
    Index,
    /// The bytes as they were received.
    Body,
    /// The readable text, if it differs from the body.
    View,
}

/// The files of one artifact.
#[derive(Debug, Clone)]
pub struct ArtifactFiles {
    /// The manifest.
    pub manifest: Vec<u8>,
    /// The other files.
    pub pieces: Vec<(Piece, Arc<dyn ByteSource>)>,
}

impl FileStore {
    /// Returns the files of an artifact.
    pub fn artifact_files(&self, handle: Handle) -> Result<ArtifactFiles, StoreError> {
        let paths = self.paths(handle)?;
        let bytes = Self::manifest_bytes(handle, &paths)?;
        let found = manifest::parse(handle, &paths.manifest, &bytes)?;
        let mut pieces: Vec<(Piece, Arc<dyn ByteSource>)> = Vec::new();
        for (piece, path) in pieces_of(&found, &paths) {
            pieces.push((piece, Arc::new(FileSource::open(path)?)));
        }
        Ok(ArtifactFiles {
            manifest: bytes,
            pieces,
        })
    }

    /// Returns the manifest that `bytes` contain. Errors name `place`. Without the key of an
    /// encrypted artifact, the manifest lacks the call's arguments.
    pub fn parse_manifest(
        &self,
        handle: Handle,
        place: &Path,
        bytes: &[u8],
    ) -> Result<Manifest, StoreError> {
        let mut found = manifest::parse(handle, place, bytes)?;
        manifest::check(&found, place, bytes)?;
        if let Ok(Some(key)) = ArtifactKey::of(&found, handle, self.store_key()) {
            manifest::unseal(&mut found, bytes, &key);
        }
        Ok(found)
    }

    /// Fails if the artifact with this manifest is encrypted, and its key is not here.
    pub fn check_key(&self, manifest: &Manifest) -> Result<(), StoreError> {
        ArtifactKey::of(manifest, manifest.handle, self.store_key()).map(drop)
    }

    /// Takes a copy of an artifact that another store has. `fetch` writes each file; the copy exists
    /// only after all of them were written, and if the body is the one of the manifest. Does nothing if the artifact is here already. A pin is
    /// not copied: it protects the artifact, not its copies.
    ///
    /// # Errors
    ///
    /// Fails if `fetch` fails, or if the files cannot be written. Fails with [`StoreError::Damaged`] if
    /// the body is another one.
    pub fn adopt(
        &self,
        handle: Handle,
        manifest: &[u8],
        fetch: &mut dyn FnMut(Piece, &mut File) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let directory = self.base().join(ArtifactDirectory::of(handle).to_string());
        let paths = Paths::new(&directory, handle);
        if fs::symlink_metadata(&paths.manifest).is_ok() {
            return Ok(());
        }
        let found = manifest::parse(handle, &paths.manifest, manifest)?;
        let mut drafts = Drafts(Vec::new());
        for (piece, path) in pieces_of(&found, &paths) {
            let (draft, mut file) = self.draft_in(&directory, handle)?;
            let fetched = fetch(piece, &mut file).map_err(|error| StoreError::io(&draft, error));
            // Of an encrypted artifact, each block is authenticated when it is read.
            let is_checked = piece == Piece::Body && found.encryption.is_none();
            let written = fetched.and_then(|()| match is_checked {
                true => check_body(&draft, &file, &found.facts),
                false => Ok(()),
            });
            // The file stays open, because its lock says that somebody works on it.
            drafts.0.push((draft.clone(), path.to_owned(), file));
            written?;
        }
        let bytes = drafts.bytes();
        let admitted = self.room().map(|room| room.admit(bytes)).transpose()?;
        let (draft, mut file) = self.draft_in(&directory, handle)?;
        let written = file.write_all(&unpinned(manifest));
        drafts.0.push((draft.clone(), paths.manifest.clone(), file));
        written.map_err(|error| StoreError::io(&draft, error))?;
        // The copy may replace one that was removed to make room.
        drop(fs::remove_file(&paths.gone));
        if found.encryption.is_none() {
            alias::link(&directory, &paths, &found.facts)?;
        }
        Recent::of(self.base()).place((found.facts.created, handle), || drafts.place())?;
        if let Some(admitted) = admitted {
            admitted.keep();
        }
        Ok(())
    }

    /// Removes an artifact without a trace: not because it is gone, but because its copy here is not
    /// needed or not right.
    pub fn discard(&self, handle: Handle) {
        let Ok(paths) = self.paths(handle) else {
            return;
        };
        if let Some(room) = self.room() {
            room.leave(paths.bytes());
        }
        paths.remove();
    }

    /// Returns whether the manifest of an artifact is here.
    #[must_use]
    pub fn has(&self, handle: Handle) -> bool {
        let paths = self.paths(handle);
        paths.is_ok_and(|paths| open_existing(&paths.manifest).is_ok())
    }

    /// Creates a locked draft in the directory of an artifact.
    fn draft_in(&self, directory: &Path, handle: Handle) -> Result<(PathBuf, File), StoreError> {
        let mut attempts = ATTEMPTS;
        loop {
            attempts -= 1;
            let id = FileId::random();
            let path = directory.join(format!("{DRAFT_PREFIX}{id}"));
            let made = self.make(directory).and_then(|()| create_new(&path));
            match made {
                Ok(file) => {
                    file.lock().map_err(|error| StoreError::io(&path, error))?;
                    return Ok((path, file));
                }
                // Another thread has just removed the empty directory.
                Err(StoreError::Io { source, .. })
                    if source.kind() == io::ErrorKind::NotFound && attempts > 0 => {}
                Err(error) => {
                    tracing::debug!(%handle, %error, "no copy of a stored output can be made");
                    return Err(error);
                }
            }
        }
    }
}

/// The files of a copy under their temporary names, with their final names. Dropping them removes
/// those that still have their temporary names.
struct Drafts(Vec<(PathBuf, PathBuf, File)>);

impl Drafts {
    fn bytes(&self) -> u64 {
        let size = |path: &PathBuf| fs::symlink_metadata(path).map_or(0, |found| found.len());
        self.0.iter().map(|(draft, ..)| size(draft)).sum()
    }

    /// Gives the files their final names, in their order: the manifest is the last one.
    fn place(&self) -> Result<(), StoreError> {
        let mut renames = self.0.iter();
        renames.try_for_each(|(draft, path, _)| {
            fs::rename(draft, path).map_err(|error| StoreError::io(path, error))
        })
    }
}

impl Drop for Drafts {
    fn drop(&mut self) {
        for (draft, ..) in &self.0 {
            drop(fs::remove_file(draft));
        }
    }
}

/// Returns the files that an artifact with this manifest has, besides the manifest.
fn pieces_of<'a>(manifest: &Manifest, paths: &'a Paths) -> Vec<(Piece, &'a Path)> {
    let index = (Piece::Index, paths.lines.as_path());
    match manifest.facts.view.is_raw {
        true => vec![index, (Piece::Body, &paths.view)],
        false => vec![index, (Piece::View, &paths.view), (Piece::Body, &paths.raw)],
    }
}

/// Fails if the file is not the body of the artifact with these facts.
fn check_body(path: &Path, mut file: &File, facts: &Facts) -> Result<(), StoreError> {
    let mut hash = Sha256::new();
    let mut block = vec![0; BLOCK];
    file.rewind().map_err(|error| StoreError::io(path, error))?;
    loop {
        match file.read(&mut block) {
            Ok(0) => break,
            Ok(length) => hash.update(&block[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(StoreError::io(path, error)),
        }
    }
    match HEXLOWER.encode(&hash.finalize()) == facts.sha256 {
        true => Ok(()),
        false => Err(StoreError::Damaged {
            path: path.to_owned(),
            what: "the bytes are not those that were stored".to_owned(),
        }),
    }
}

/// Returns a manifest without its pin.
fn unpinned(manifest: &[u8]) -> Vec<u8> {
    match serde_json::from_slice::<Value>(manifest) {
        Ok(mut value) if value["pinned"] == true => {
            value["pinned"] = false.into();
            to_json(&value)
        }
        _ => manifest.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use spillgate_artifact::{HandleForm, ReadRange, SystemClock};

    use super::*;
    use crate::conformance::facts_of;
    use crate::{ArtifactStore, Lifetime, Part, StoreKey};

    fn store(base: &Path) -> FileStore {
        FileStore::new(base, Lifetime::Durable, Arc::new(SystemClock))
    }

    fn commit(store: &FileStore, has_view: bool) -> Handle {
        let mut draft = store.draft().unwrap();
        draft.write(Part::Raw, b"raw bytes").unwrap();
        let mut facts = facts_of(b"raw bytes");
        if has_view {
            draft.write(Part::View, b"view").unwrap();
            (facts.view.is_raw, facts.view.bytes) = (false, 4);
        }
        let receipt = draft.commit(facts, b"index", HandleForm::Short).unwrap();
        receipt.handle()
    }

    fn copy(from: &FileStore, to: &FileStore, handle: Handle) -> Result<(), StoreError> {
        let files = from.artifact_files(handle).unwrap();
        to.adopt(handle, &files.manifest, &mut |piece, file| {
            let (_, bytes) = files.pieces.iter().find(|one| one.0 == piece).unwrap();
            io::copy(&mut ReadRange::whole(&**bytes), file).map(drop)
        })
    }

    #[test]
    fn a_copy_is_the_artifact() {
        let key = || StoreKey::from_hex(&"ab".repeat(32)).unwrap();
        for (has_view, is_encrypted) in [(false, false), (true, false), (true, true)] {
            let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
            let [one, other] = [&one, &other].map(|base| match is_encrypted {
                true => store(base.path()).encrypting(Some(key())),
                false => store(base.path()),
            });
            let handle = commit(&one, has_view);
            one.pin(handle, true).unwrap();
            copy(&one, &other, handle).unwrap();
            // Again, and after it was removed here.
            copy(&one, &other, handle).unwrap();
            other.discard(handle);
            assert!(!other.has(handle));
            copy(&one, &other, handle).unwrap();
            let stored = other.open(handle).unwrap();
            assert_eq!(stored.raw.bytes(0, 99).unwrap(), b"raw bytes");
            let view: &[u8] = if has_view { b"view" } else { b"raw bytes" };
            assert_eq!(stored.view.bytes(0, 99).unwrap(), view);
            assert_eq!(stored.index, b"index");
            assert!(!stored.manifest.pinned);
            let files = one.artifact_files(handle).unwrap();
            let parsed = other.parse_manifest(handle, Path::new("m"), &files.manifest);
            assert!(parsed.unwrap().pinned);
        }
    }

    #[test]
    fn a_copy_with_another_body_is_refused() {
        for (has_view, body) in [
            (false, &b"raw bytez"[..]),
            (true, b"raw bytez"),
            (true, b"raw"),
        ] {
            let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
            let (from, to) = (store(one.path()), store(other.path()));
            let handle = commit(&from, has_view);
            let files = from.artifact_files(handle).unwrap();
            let copied = to.adopt(handle, &files.manifest, &mut |piece, file| match piece {
                Piece::Body => file.write_all(body),
                Piece::View => file.write_all(b"view"),
                Piece::Index => file.write_all(b"index"),
            });
            let error = copied.unwrap_err();
            assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
            assert!(!to.has(handle));
            copy(&from, &to, handle).unwrap();
            assert!(to.has(handle));
        }
    }

    #[test]
    fn a_copy_that_fails_leaves_nothing() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let (from, to) = (store(one.path()), store(other.path()));
        let handle = commit(&from, true);
        let files = from.artifact_files(handle).unwrap();
        let failed = to.adopt(handle, &files.manifest, &mut |piece, file| {
            file.write_all(b"some")?;
            match piece {
                Piece::Body => Err(io::ErrorKind::ConnectionReset.into()),
                _ => Ok(()),
            }
        });
        assert!(failed.is_err());
        assert!(!to.has(handle));
        assert!(to.list().unwrap().is_empty());
        let left = fs::read_dir(other.path()).unwrap();
        let left = left.flat_map(|entry| fs::read_dir(entry.unwrap().path()).unwrap());
        assert_eq!(left.count(), 0);
    }
}
