//! What can go wrong in a store, and whose fault is it?

use std::io;
use std::path::{Path, PathBuf};

use spillgate_artifact::{Handle, Timestamp};

use crate::tombstone::{Gone, Tombstone};

/// A store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such artifact (any more).
    #[error("no stored artifact {handle}: {why}")]
    Absent {
        /// The name that was asked for.
        handle: Handle,
        /// Why it is not there.
        why: Absent,
    },
    /// The disk, or the quota of the user, is full.
    #[error("the disk that holds {} is full", .path.display())]
    Full {
        /// The file that could not grow.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The store may not be written.
    #[error("{} may not be written: {source}", .path.display())]
    Denied {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What is stored is not what was stored.
    #[error("{} is damaged: {what}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Anything else that the system refused.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl StoreError {
    /// Sorts an I/O error by what a caller can do about it.
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::Full { path, source },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Denied { path, source }
            }
            _ => Self::Io { path, source },
        }
    }

    /// The kind, as a short word for `--json` and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Absent { .. } => "not_found",
            Self::Full { .. } => "store_full",
            Self::Denied { .. } => "store_denied",
            Self::Damaged { .. } => "store_damaged",
            Self::Io { .. } => "store_io",
        }
    }
}

/// Why an artifact is not there (wire.md, unknown or dead handle).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absent {
    /// This store never had it.
    Never,
    /// It had it.
    Gone {
        /// What became of it.
        why: Gone,
        /// When.
        at: Timestamp,
        /// The tool that would make it again.
        tool: String,
    },
}

impl From<Tombstone> for Absent {
    fn from(tombstone: Tombstone) -> Self {
        Self::Gone {
            why: tombstone.why,
            at: tombstone.at,
            tool: tombstone.tool,
        }
    }
}

impl std::fmt::Display for Absent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Never => f.write_str("It was never stored here."),
            Self::Gone { why, at, tool } => match why {
                Gone::Expired => write!(f, "It expired on {at}; call {tool} again to recreate it."),
                Gone::Evicted => write!(
                    f,
                    "It was evicted to stay under the storage quota; call {tool} again to recreate it."
                ),
                Gone::Removed => write!(
                    f,
                    "It was removed on {at}; call {tool} again to recreate it."
                ),
            },
        }
    }
}
