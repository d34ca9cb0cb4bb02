//! Records that let a principal read an output of another one until a time.
//!
//! The record in the reader's partition decides. The owner's partition has a copy of it, from which the
//! owner's shares are listed.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use spillgate_artifact::{Handle, Principal, Timestamp};

use crate::StoreError;
use crate::files::FileStore;
use crate::open::{entries, make_directory, read_small, to_json, write_whole};
use crate::partition::Partition;

/// Leave to read an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The output.
    pub handle: Handle,
    /// The partition in which the output is; `None` is the operator's store.
    pub owner: Option<Partition>,
    /// Who may read it.
    pub reader: Principal,
    /// When the leave ends.
    pub until: Timestamp,
}

/// Which records of a partition are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareSide {
    /// Those of outputs that others share with its principal.
    Received,
    /// Copies of those of its principal's outputs that others may read.
    Given,
}

impl ShareSide {
    /// Returns the directory of the records.
    #[must_use]
    pub fn directory(self) -> &'static str {
        match self {
            Self::Received => "shares-received",
            Self::Given => "shares-given",
        }
    }
}

impl Share {
    /// Returns the name of the record on a side.
    #[must_use]
    pub fn name(&self, side: ShareSide, reader: &Partition) -> String {
        let handle = Self::name_of(self.handle);
        match side {
            ShareSide::Received => handle,
            ShareSide::Given => format!("{handle}_{reader}"),
        }
    }

    /// Returns the name of the record of a received output.
    #[must_use]
    pub fn name_of(handle: Handle) -> String {
        handle.to_string().replace('/', ".")
    }

    /// Returns the record as it is stored.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        to_json(self)
    }

    /// Reads a record; `None` if it is none.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

/// The records of a partition. Names come from [`Share::name`].
pub trait ShareRecords: Send + Sync + fmt::Debug {
    /// Returns a record; `None` if there is none.
    fn share(&self, side: ShareSide, name: &str) -> Result<Option<Share>, StoreError>;

    /// Writes a record, in place of an earlier one.
    fn put_share(&self, side: ShareSide, name: &str, share: &Share) -> Result<(), StoreError>;

    /// Removes a record. Returns whether there was one.
    fn remove_share(&self, side: ShareSide, name: &str) -> Result<bool, StoreError>;

    /// Returns all records of a side, with their names.
    fn shares(&self, side: ShareSide) -> Result<Vec<(String, Share)>, StoreError>;
}

const SUFFIX: &str = ".json";

impl FileStore {
    fn share_path(&self, side: ShareSide, name: &str) -> PathBuf {
        let directory = self.base().join(side.directory());
        directory.join(format!("{name}{SUFFIX}"))
    }
}

impl ShareRecords for FileStore {
    fn share(&self, side: ShareSide, name: &str) -> Result<Option<Share>, StoreError> {
        let path = self.share_path(side, name);
        match read_small(&path) {
            Ok(bytes) => Ok(Share::from_bytes(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io(&path, error)),
        }
    }

    fn put_share(&self, side: ShareSide, name: &str, share: &Share) -> Result<(), StoreError> {
        make_directory(&self.base().join(side.directory()))?;
        write_whole(&self.share_path(side, name), &share.to_bytes(), None)
    }

    fn remove_share(&self, side: ShareSide, name: &str) -> Result<bool, StoreError> {
        let path = self.share_path(side, name);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::io(&path, error)),
        }
    }

    fn shares(&self, side: ShareSide) -> Result<Vec<(String, Share)>, StoreError> {
        let mut all = Vec::new();
        for entry in entries(&self.base().join(side.directory()))? {
            let name = entry.file_name();
            let name = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
            // A record that was just removed, or is being written, is none.
            if let Some(name) = name.filter(|name| !name.starts_with('.'))
                && let Some(share) = self.share(side, name)?
            {
                all.push((name.to_owned(), share));
            }
        }
        all.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(all)
    }
}
