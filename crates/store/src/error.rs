//! The errors of a store and their machine-readable kinds.

use std::io;
use std::path::{Path, PathBuf};

use spillgate_artifact::{Handle, Manifest, Timestamp};

use crate::tombstone::{Gone, Tombstone};

/// Why an operation of a store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The artifact does not exist, or no longer exists.
    #[error("no stored artifact {handle}: {why}")]
    Absent {
        /// The requested handle.
        handle: Handle,
        /// Why it is absent.
        why: Absent,
    },
    /// The disk is full, or the user's disk quota is used up.
    #[error("the disk that holds {} is full", .path.display())]
    Full {
        /// The file that could not grow.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The disk has less free space than the reserve for other programs.
    #[error("only {free} bytes are free on the disk that holds {}, and {reserve} bytes must stay free", .path.display())]
    Reserve {
        /// The store's directory.
        path: PathBuf,
        /// Bytes that are free.
        free: u64,
        /// Bytes that must stay free.
        reserve: u64,
    },
    /// The permissions do not allow reading or writing the store.
    #[error("no access to {}: {source}", .path.display())]
    Denied {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The stored bytes differ from what was written.
    #[error("{} is damaged: {what}", .path.display())]
    Damaged {
        /// The damaged file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Only newer versions of this program can read the file's format.
    #[error("{} was written by a newer version of spillgate (format {format}; this version knows up to {})", .path.display(), Manifest::FORMAT)]
    Newer {
        /// The file.
        path: PathBuf,
        /// The file's format.
        format: u32,
    },
    /// The artifact is encrypted, and the process does not have its key.
    #[error("the stored output {handle} is encrypted, and {why}")]
    Locked {
        /// The artifact.
        handle: Handle,
        /// Why it cannot be decrypted.
        why: Locked,
    },
    /// New artifacts have to be encrypted, and the process has no key.
    #[error("nothing can be stored in {}: outputs have to be encrypted, and {}", .path.display(), Locked::NoKey)]
    Keyless {
        /// The store's directory.
        path: PathBuf,
    },
    /// The store's directory belongs to another user, or others can create files in it.
    #[error("the store {} is not safe: {why}", .path.display())]
    Exposed {
        /// The directory.
        path: PathBuf,
        /// What makes it unsafe.
        why: String,
    },
    /// A store that is reached by network did not do what it was asked.
    #[error("{place}: {what}")]
    Remote {
        /// The address of the store.
        place: String,
        /// What kind of failure it is.
        why: Remote,
        /// What happened, without credentials.
        what: String,
    },
    /// Any other error of the system.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl StoreError {
    /// Classifies an I/O error by what a caller can do about it.
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

    /// Returns the kind of the error as a short word for `--json` and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Absent { .. } => "not_found",
            Self::Full { .. } | Self::Reserve { .. } => "store_full",
            Self::Denied { .. } => "store_denied",
            Self::Damaged { .. } => "store_damaged",
            Self::Newer { .. } => "store_newer",
            Self::Locked { .. } | Self::Keyless { .. } => "store_locked",
            Self::Exposed { .. } => "store_exposed",
            Self::Remote { why, .. } => match why {
                Remote::Unreachable => "store_unreachable",
                Remote::Denied => "store_denied",
                Remote::Refused => "store_refused",
                Remote::Busy => "store_busy",
            },
            Self::Io { .. } => "store_io",
        }
    }
}

/// What kind of failure of a remote store it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Remote {
    /// It gave no answer: it is down, or the network is.
    Unreachable,
    /// It does not accept the credentials, or they do not allow the request.
    Denied,
    /// It understood the request and refused it, or gave an answer that makes no sense.
    Refused,
    /// It is overloaded or failed by itself, also when it was asked again.
    Busy,
}

/// Why an encrypted artifact cannot be decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locked {
    /// The process has no key.
    NoKey,
    /// The process has another key.
    OtherKey,
}

impl std::fmt::Display for Locked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoKey => {
                "spillgate was started without a key; the user has to start it with the key"
            }
            Self::OtherKey => {
                "spillgate was started with another key; the user has to start it with the key \
                 with which the output was stored"
            }
        })
    }
}

/// Why an artifact is absent (docs/spec/texts.md, "Dead handles").
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absent {
    /// This store never contained the artifact.
    Never,
    /// The store contained the artifact, and removed it.
    Gone {
        /// Why it is gone.
        why: Gone,
        /// When it was removed.
        at: Timestamp,
        /// The tool whose call would produce it again.
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
