//! The parts of a store that belong to one principal each.
//!
//! A partition is a store of its own: a directory below the base directory, or a tenant in the keys of
//! a bucket. Its name is a keyed hash of the principal's name, so that neither a listing nor a name with
//! odd characters tells or does anything.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use data_encoding::BASE32_NOPAD;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use spillgate_artifact::{FileId, Principal};

use crate::StoreError;
use crate::open::{create_new, entries, make_directory, read_small};

/// The directory of all partitions below the base directory of a store.
const PARTITIONS: &str = "tenants";

/// The file with the key, in that directory.
const KEY: &str = ".key";

/// Bytes of the key.
const KEY_BYTES: usize = 32;

/// Bytes of a name's hash: 160 bits, of which no two principals have the same.
const HASH_BYTES: usize = 20;

/// Begins all names of partitions. No other object or directory of a store has a name like this.
const BEGINNING: &str = "t-";

/// The name of a partition: a word of 34 lower-case letters, digits and a hyphen.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Partition(String);

/// The error of a text that is no name of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no name of a partition")]
pub struct NoPartition;

impl TryFrom<String> for Partition {
    type Error = NoPartition;

    fn try_from(name: String) -> Result<Self, NoPartition> {
        Self::parse(&name).ok_or(NoPartition)
    }
}

impl From<Partition> for String {
    fn from(partition: Partition) -> Self {
        partition.0
    }
}

impl Partition {
    /// Parses the name of a partition; `None` if it is none.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let hash = name.strip_prefix(BEGINNING)?;
        let bytes = BASE32_NOPAD.decode(hash.to_ascii_uppercase().as_bytes());
        let is_lower = !hash.contains(|c: char| c.is_ascii_uppercase());
        let is_hash = is_lower && bytes.is_ok_and(|bytes| bytes.len() == HASH_BYTES);
        is_hash.then(|| Self(name.to_owned()))
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Returns the directory of the partition below the base directory of a store.
    #[must_use]
    pub fn below(&self, base: &Path) -> PathBuf {
        base.join(PARTITIONS).join(&self.0)
    }

    /// Returns the partitions that have a directory below the base directory of a store.
    pub fn all_below(base: &Path) -> Result<Vec<Self>, StoreError> {
        let found = entries(&base.join(PARTITIONS))?;
        let names = found
            .iter()
            .filter_map(|entry| Self::parse(entry.file_name().to_str()?));
        Ok(names.collect())
    }
}

impl fmt::Display for Partition {
    /// Writes the name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The key from which the names of a store's partitions are made. `Debug` does not print it.
#[derive(Clone)]
pub struct PartitionKey(hmac::Key);

impl fmt::Debug for PartitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

impl PartitionKey {
    /// Returns the bytes of a new key, as they are kept.
    pub fn new_bytes() -> Result<Vec<u8>, StoreError> {
        let mut bytes = vec![0; KEY_BYTES];
        let made = SystemRandom::new().fill(&mut bytes);
        made.map_err(|_| StoreError::io(Path::new(KEY), io::Error::other("no random numbers")))?;
        Ok(bytes)
    }

    /// Returns the key with these bytes; `None` if they are not as many as a key has.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (bytes.len() == KEY_BYTES).then(|| Self(hmac::Key::new(hmac::HMAC_SHA256, bytes)))
    }

    /// Returns the key of a store in files, which is made if there is none.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or written, or is no key.
    pub fn below(base: &Path) -> Result<Self, StoreError> {
        let directory = base.join(PARTITIONS);
        let path = directory.join(KEY);
        let bytes = match read_small(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => made(&directory, &path)?,
            read => read.map_err(|error| StoreError::io(&path, error))?,
        };
        Self::from_bytes(&bytes).ok_or_else(|| StoreError::Damaged {
            path,
            what: "it is no key".to_owned(),
        })
    }

    /// Returns the partition of a principal.
    #[must_use]
    pub fn partition(&self, principal: &Principal) -> Partition {
        let hash = hmac::sign(&self.0, principal.name().as_bytes());
        let hash = BASE32_NOPAD.encode(&hash.as_ref()[..HASH_BYTES]);
        Partition(format!("{BEGINNING}{}", hash.to_ascii_lowercase()))
    }
}

/// Makes the file with the key. If another process makes it at the same time, its key is the one.
fn made(directory: &Path, path: &Path) -> Result<Vec<u8>, StoreError> {
    make_directory(directory)?;
    let draft = directory.join(format!("{KEY}-{}", FileId::random()));
    let bytes = PartitionKey::new_bytes()?;
    let mut file = create_new(&draft)?;
    let written = file.write_all(&bytes).and_then(|()| file.sync_all());
    // Unlike a rename, a link replaces nothing.
    let linked = written.and_then(|()| fs::hard_link(&draft, path));
    drop(fs::remove_file(&draft));
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(StoreError::io(path, error))
        }
        _ => read_small(path).map_err(|error| StoreError::io(path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_principal_has_a_partition_of_its_own() {
        let base = tempfile::tempdir().unwrap();
        let [one, again] = [0; 2].map(|_| PartitionKey::below(base.path()).unwrap());
        let other = PartitionKey::from_bytes(&[7; KEY_BYTES]).unwrap();
        let mut all = Vec::new();
        for name in ["alice", "Alice", "bob", "../bob", "a/b", "zoë", "shared"] {
            let principal = name.parse().unwrap();
            let partition = one.partition(&principal);
            assert_eq!(partition, again.partition(&principal));
            assert_ne!(partition, other.partition(&principal));
            assert_eq!(Partition::parse(partition.name()), Some(partition.clone()));
            assert!(!partition.name().contains(name));
            assert!(!all.contains(&partition));
            fs::create_dir(partition.below(base.path())).unwrap();
            all.push(partition);
        }
        let mut found = Partition::all_below(base.path()).unwrap();
        found.sort_unstable();
        all.sort_unstable();
        assert_eq!(found, all);
    }

    #[test]
    fn what_is_no_name() {
        let name = format!("t-{}", "a".repeat(32));
        assert!(Partition::parse(&name).is_some());
        for name in [
            "",
            "shared",
            "t-",
            "t-..",
            &name[1..],
            &name[..33],
            &name.to_uppercase(),
            &name.replace('a', "1"),
        ] {
            assert_eq!(Partition::parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_broken_key_is_an_error_and_stays() {
        let base = tempfile::tempdir().unwrap();
        make_directory(&base.path().join(PARTITIONS)).unwrap();
        let path = base.path().join(PARTITIONS).join(KEY);
        fs::write(&path, "short").unwrap();
        assert!(matches!(
            PartitionKey::below(base.path()),
            Err(StoreError::Damaged { .. })
        ));
        assert_eq!(fs::read(&path).unwrap(), b"short");
    }
}
