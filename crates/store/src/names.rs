//! Names of contents: a name follows from bytes and from whose they are, and leads to the artifact
//! that holds them.
//!
//! A name is a keyed hash. Without the key, nobody can compute the name of some bytes and so find out
//! whether a store holds them. The key is made from the key of an encrypted store; other stores keep one in a
//! file. A small file for each name holds the handle. Files are created only if they are absent, so
//! several processes agree.
//!
//! ```text
//! <base>/names/key        0600   the key of a store that is not encrypted
//! <base>/names/<2>/<22>   0600   the handle, and a hash that shows whose name it is
//! ```

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread::sleep;
use std::time::Duration;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use ring::hmac::{Context, HMAC_SHA256, Key, sign, verify};
use ring::rand::{SecureRandom, SystemRandom};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use spillgate_artifact::{FileId, Handle};

use crate::disk::Disk;
use crate::files::FileStore;
use crate::open::{create_new, entries, make_directory, read_small, write_whole};
use crate::{ArtifactStore, StoreError};

/// The directory of the names in the base.
const DIRECTORY: &str = "names";

/// Bytes of a name.
const NAME_BYTES: usize = 12;

/// Bytes of a key.
const KEY_BYTES: usize = 32;

/// Time that a process needs to write a key into a file that it created.
const WRITING: Duration = Duration::from_millis(100);

/// The name of some bytes: 24 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentName([u8; NAME_BYTES]);

/// The error for a text that is no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a hash has 24 hexadecimal digits")]
pub struct ContentNameError;

impl fmt::Display for ContentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl FromStr for ContentName {
    type Err = ContentNameError;

    fn from_str(text: &str) -> Result<Self, ContentNameError> {
        let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes());
        let bytes = bytes.map_err(|_| ContentNameError)?;
        bytes.try_into().map(Self).map_err(|_| ContentNameError)
    }
}

/// The names of a store's contents.
#[derive(Debug, Clone)]
pub struct Names {
    directory: PathBuf,
    key: Key,
}

impl FileStore {
    /// Returns the names of this store's contents. Creates the key if there is none.
    pub fn names(&self) -> Result<Names, StoreError> {
        let directory = self.base().join(DIRECTORY);
        let key = if let Some(key) = self.key() {
            key.derived(b"spillgate store: names of contents")
        } else {
            self.make(&directory)?;
            kept_key(&directory.join("key"), &Disk::default())?
        };
        let key = Key::new(HMAC_SHA256, &key);
        Ok(Names { directory, key })
    }

    /// Removes the names of artifacts that are gone. Returns how many there were.
    pub fn remove_dead_names(&self) -> Result<usize, StoreError> {
        let mut removed = 0;
        for place in entries(&self.base().join(DIRECTORY))? {
            if !place.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            for file in entries(&place.path())? {
                let is_dead = |path: &Path| {
                    let handle = read(path).ok().flatten();
                    handle.is_some_and(|(handle, _)| {
                        matches!(self.manifest(handle), Err(StoreError::Absent { .. }))
                    })
                };
                removed += usize::from(remove_if(&file.path(), is_dead));
            }
        }
        Ok(removed)
    }
}

/// Reads the key that a store keeps, or makes one. Of several processes, the first one decides. A
/// file without content is left by a loss of power, and counts as absent.
fn kept_key(path: &Path, disk: &Disk) -> Result<[u8; KEY_BYTES], StoreError> {
    let is_empty = |path: &Path| read_small(path).is_ok_and(|text| text.is_empty());
    if is_empty(path) {
        // Another process may be about to write it.
        sleep(WRITING);
        remove_if(path, is_empty);
    }
    let read = || read_small(path).map(|text| HEXLOWER.decode(text.trim_ascii_end()));
    let found = match read() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut key = [0; KEY_BYTES];
            let made = SystemRandom::new().fill(&mut key);
            made.map_err(|_| StoreError::io(path, io::Error::other("there is no randomness")))?;
            let text = format!("{}\n", HEXLOWER.encode(&key));
            if create(path, text.as_bytes(), Some(disk))? {
                path.parent()
                    .map_or(Ok(()), |parent| disk.sync_directory(parent))?;
            } else if is_empty(path) {
                sleep(WRITING);
            }
            read()
        }
        found => found,
    };
    let found = found.map_err(|error| StoreError::io(path, error))?;
    let key = found.ok().and_then(|key| key.try_into().ok());
    key.ok_or_else(|| StoreError::Damaged {
        path: path.to_owned(),
        what: "it is no key of 64 hexadecimal digits".to_owned(),
    })
}

/// Removes a file if `is_gone` returns true for it. Another process may replace the file between
/// this check and its removal, so the file is first renamed and then checked again. Returns whether
/// it was removed.
fn remove_if(path: &Path, is_gone: impl Fn(&Path) -> bool) -> bool {
    if !is_gone(path) {
        return false;
    }
    let away = beside(path);
    if fs::rename(path, &away).is_err() {
        return false;
    }
    if is_gone(&away) {
        drop(fs::remove_file(&away));
        return true;
    }
    let put_back = put_in_place(&away, path).or_else(|error| match error.kind() {
        // There is a newer file.
        io::ErrorKind::AlreadyExists => fs::remove_file(&away),
        _ => fs::rename(&away, path),
    });
    if let Err(error) = put_back {
        tracing::warn!(%error, path = %path.display(), "a file could not be put back");
    }
    false
}

/// Returns a new name for a file in the directory of another one.
fn beside(path: &Path) -> PathBuf {
    path.with_file_name(format!(".draft-{}", FileId::random()))
}

/// Creates a file with all its bytes, unless it exists. Syncs it first if `disk` is given. Returns
/// whether it was created.
fn create(path: &Path, bytes: &[u8], disk: Option<&Disk>) -> Result<bool, StoreError> {
    let draft = beside(path);
    write_whole(&draft, bytes, disk)?;
    let placed = put_in_place(&draft, path);
    let error = match placed {
        Ok(()) => return Ok(true),
        Err(error) => error,
    };
    drop(fs::remove_file(&draft));
    if error.kind() == io::ErrorKind::AlreadyExists {
        return Ok(false);
    }
    match write_new(path, bytes, disk) {
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
            Ok(false)
        }
        written => written.map(|()| true),
    }
}

/// Renames a file, unless there is one with the new name: then the error is `AlreadyExists`. Other
/// errors mean that the file system can do neither this nor hard links.
fn put_in_place(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => {
            fs::hard_link(from, to)?;
            drop(fs::remove_file(from));
            Ok(())
        }
    }
}

/// Creates a file that does not exist, and writes it. Other processes can see it before it has its
/// bytes.
fn write_new(path: &Path, bytes: &[u8], disk: Option<&Disk>) -> Result<(), StoreError> {
    let mut file = create_new(path)?;
    let written = file.write_all(bytes);
    let written = written.map_err(|error| StoreError::io(path, error));
    let written = written.and_then(|()| disk.map_or(Ok(()), |disk| disk.sync(path, &file)));
    written.inspect_err(|_| drop(fs::remove_file(path)))
}

/// Reads the handle and the owner in the file of a name; `None` if the file has another content.
fn read(path: &Path) -> io::Result<Option<(Handle, Vec<u8>)>> {
    let text = String::from_utf8(read_small(path)?).unwrap_or_default();
    let mut lines = text.lines();
    let handle = lines.next().and_then(|line| line.parse().ok());
    let owner = lines.next().map(|line| HEXLOWER.decode(line.as_bytes()));
    Ok(handle.zip(owner.and_then(Result::ok)))
}

impl Names {
    /// Returns the name of `bytes` that belong to `owner`. The same in every process that uses the
    /// store.
    #[must_use]
    pub fn of(&self, owner: &str, bytes: &[u8]) -> ContentName {
        let mut context = Context::with_key(&self.key);
        context.update(&(owner.len() as u64).to_be_bytes());
        context.update(owner.as_bytes());
        context.update(bytes);
        let tag = context.sign();
        let mut name = [0; NAME_BYTES];
        name.copy_from_slice(&tag.as_ref()[..NAME_BYTES]);
        ContentName(name)
    }

    /// Returns the handle to which a name of `owner` leads; `None` if there is no such name.
    pub fn find(&self, owner: &str, name: ContentName) -> Result<Option<Handle>, StoreError> {
        let path = self.path(name);
        let found = match read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => found.map_err(|error| StoreError::io(&path, error))?,
        };
        let text = owned(owner, name);
        let found = found.filter(|(_, tag)| verify(&self.key, text.as_bytes(), tag).is_ok());
        Ok(found.map(|(handle, _)| handle))
    }

    /// Makes a name lead to `handle`, unless it leads to another artifact, for which `is_there`
    /// returns true. Returns the handle to which it leads.
    pub fn put(
        &self,
        owner: &str,
        name: ContentName,
        handle: Handle,
        is_there: impl Fn(Handle) -> bool,
    ) -> Result<Handle, StoreError> {
        let path = self.path(name);
        if let Some(directory) = path.parent() {
            make_directory(directory)?;
        }
        let tag = sign(&self.key, owned(owner, name).as_bytes());
        let tag = HEXLOWER.encode(tag.as_ref());
        let bytes = format!("{handle}\n{tag}\n").into_bytes();
        if create(&path, &bytes, None)? {
            return Ok(handle);
        }
        if let Some(earlier) = self.find(owner, name)?.filter(|&earlier| is_there(earlier)) {
            return Ok(earlier);
        }
        write_whole(&path, &bytes, None)?;
        Ok(handle)
    }

    fn path(&self, name: ContentName) -> PathBuf {
        let digits = name.to_string();
        self.directory.join(&digits[..2]).join(&digits[2..])
    }
}

/// Returns the text whose keyed hash shows whose name it is.
fn owned(owner: &str, name: ContentName) -> String {
    format!("owner of {name}: {owner}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use spillgate_artifact::{HandleForm, SystemClock, Word};

    use super::*;
    use crate::conformance::facts_of;
    use crate::{Lifetime, Part, StoreKey};

    fn store(base: &Path) -> FileStore {
        FileStore::new(base, Lifetime::Durable, Arc::new(SystemClock))
    }

    #[test]
    fn a_name_follows_from_the_bytes_and_their_owner() {
        let [first, second] = [0, 1].map(|_| tempfile::tempdir().unwrap());
        let names = store(first.path()).names().unwrap();
        let again = store(first.path()).names().unwrap();
        let name = names.of("ann", b"bytes");
        assert_eq!(again.of("ann", b"bytes"), name);
        assert_eq!(name.to_string().parse(), Ok(name));
        let elsewhere = store(second.path()).names().unwrap();
        for other in [
            names.of("ann", b"byte"),
            names.of("bob", b"bytes"),
            names.of("an", b"nbytes"),
            elsewhere.of("ann", b"bytes"),
        ] {
            assert_ne!(other, name);
        }
        for wrong in [
            "",
            "0123",
            &"g".repeat(24),
            &"0".repeat(25),
            "../../../../../../key",
        ] {
            assert_eq!(wrong.parse::<ContentName>(), Err(ContentNameError));
        }
    }

    #[test]
    fn an_encrypted_store_keeps_no_key_of_names() {
        let base = tempfile::tempdir().unwrap();
        let key = || StoreKey::from_hex(&"5a".repeat(32)).unwrap();
        let names = || store(base.path()).encrypting(Some(key())).names().unwrap();
        let name = names().of("ann", b"bytes");
        assert_eq!(names().of("ann", b"bytes"), name);
        assert!(!base.path().join("names/key").exists());
        assert_ne!(
            store(base.path()).names().unwrap().of("ann", b"bytes"),
            name
        );
    }

    #[test]
    fn a_key_without_content_counts_as_absent() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("names/key");
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        let name = store(base.path()).names().unwrap().of("ann", b"bytes");
        assert_eq!(
            store(base.path()).names().unwrap().of("ann", b"bytes"),
            name
        );
        fs::remove_file(&path).unwrap();
        let synced = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let noted = Arc::clone(&synced);
        let disk = Disk::of(move |_, file| {
            noted.lock().push(file.metadata()?.is_dir());
            Ok(())
        });
        kept_key(&path, &disk).unwrap();
        assert_eq!(
            *synced.lock(),
            [false, true],
            "the file, then its directory"
        );
        // Any other content was not left by a crash.
        fs::write(&path, "5a").unwrap();
        let damaged = store(base.path()).names();
        assert!(matches!(damaged, Err(StoreError::Damaged { .. })));
    }

    #[test]
    fn processes_that_start_at_the_same_time_have_the_same_key() {
        let base = tempfile::tempdir().unwrap();
        let name = || store(base.path()).names().unwrap().of("ann", b"bytes");
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..16).map(|_| scope.spawn(name)).collect();
            for one in all {
                assert_eq!(one.join().unwrap(), name());
            }
        });
    }

    #[test]
    fn a_file_is_created_once() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("file");
        let disk = Disk::default();
        assert!(create(&path, b"first", Some(&disk)).unwrap());
        assert!(!create(&path, b"second", None).unwrap());
        // As on a file system that can only do this.
        assert!(write_new(&path, b"third", None).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"first");
        fs::remove_file(&path).unwrap();
        write_new(&path, b"third", Some(&disk)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"third");
        assert_eq!(entries(base.path()).unwrap().len(), 1, "no draft is left");
    }

    #[test]
    fn a_file_that_another_process_replaced_is_kept() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("file");
        let is_dead = |path: &Path| fs::read(path).is_ok_and(|bytes| bytes == b"dead");
        // Another process replaces the file after the first check, or before and after the second.
        for (newer, newest) in [("living", None), ("living", Some("newest"))] {
            fs::write(&path, "dead").unwrap();
            let checks = std::cell::Cell::new(0);
            let removed = remove_if(&path, |checked| {
                let is_dead = is_dead(checked);
                let newer = match checks.replace(checks.get() + 1) {
                    0 => Some(newer),
                    _ => newest,
                };
                if let Some(text) = newer {
                    fs::write(&path, text).unwrap();
                }
                is_dead
            });
            assert!(!removed);
            assert_eq!(fs::read_to_string(&path).unwrap(), newest.unwrap_or(newer));
            assert_eq!(entries(base.path()).unwrap().len(), 1);
        }
        fs::write(&path, "dead").unwrap();
        assert!(remove_if(&path, is_dead));
        assert!(!path.exists());
    }

    #[test]
    fn the_first_handle_stays_while_its_artifact_is_there() {
        let base = tempfile::tempdir().unwrap();
        let names = store(base.path()).names().unwrap();
        let name = names.of("ann", b"bytes");
        let [first, second] = [0, 1].map(|_| Handle::Short(Word::random()));
        assert_eq!(names.find("ann", name).unwrap(), None);
        assert_eq!(names.put("ann", name, first, |_| true).unwrap(), first);
        assert_eq!(names.put("ann", name, second, |_| true).unwrap(), first);
        assert_eq!(names.find("ann", name).unwrap(), Some(first));
        // Another owner does not find it, even if it knows the name.
        assert_eq!(names.find("bob", name).unwrap(), None);
        assert_eq!(names.put("ann", name, second, |_| false).unwrap(), second);
        assert_eq!(names.find("ann", name).unwrap(), Some(second));
    }

    #[test]
    fn names_of_removed_artifacts_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let store = store(base.path());
        let names = store.names().unwrap();
        let mut draft = store.draft().unwrap();
        draft.write(Part::Raw, b"all of it").unwrap();
        let receipt = draft.commit(facts_of(b"all of it"), b"index", HandleForm::default());
        let living = receipt.unwrap().handle();
        let [kept, dead] = ["kept", "dead"].map(|bytes| names.of("ann", bytes.as_bytes()));
        names.put("ann", kept, living, |_| true).unwrap();
        let gone = Handle::Short(Word::random());
        names.put("ann", dead, gone, |_| true).unwrap();
        assert_eq!(store.remove_dead_names().unwrap(), 1);
        assert_eq!(names.find("ann", kept).unwrap(), Some(living));
        assert_eq!(names.find("ann", dead).unwrap(), None);
        // The key stays.
        assert_eq!(store.names().unwrap().of("ann", b"kept"), kept);
    }
}
