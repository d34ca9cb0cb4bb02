//! Errors for paths that cannot be used, with advice for the model.

use std::{fmt, io};

use cap_std::fs::{FileType, FileTypeExt};
use rustix::io::Errno;
use spillgate_text::clip;

/// Maximum length, in characters, of a name that an error repeats.
const NAME_CHARS: usize = 200;

/// Why a path cannot be used. Names in the error are formatted by [`shown`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The path contains a NUL, which no path may contain.
    #[error(
        "The path contains a NUL character, which no path may contain. Give the path as glob_files lists it."
    )]
    Nul,
    /// The path or one of its components is longer than the system allows; its length in bytes.
    #[error(
        "The path is too long ({0} bytes) for the operating system. \
         Give the path as glob_files lists it."
    )]
    TooLong(usize),
    /// Nothing exists at the path, and nothing has a similar name.
    #[error("{sought} '{name}' not found. Use glob_files to find it.")]
    Absent {
        /// What the path was expected to lead to.
        sought: PathKind,
        /// The path.
        name: String,
    },
    /// Nothing exists at the path, but something has a similar name.
    #[error("{sought} '{name}' not found. Did you mean '{likely}'?")]
    Misspelt {
        /// What the path was expected to lead to.
        sought: PathKind,
        /// The path.
        name: String,
        /// The similar path that exists.
        likely: String,
    },
    /// The path or a link on it leads out of the root.
    #[error("'{0}' leads out of the root. Give a path from the root to something inside it.")]
    Outside(String),
    /// The path leads to a directory, but a file is expected.
    #[error("'{0}' is a directory. Use glob_files to list what is in it.")]
    Directory(String),
    /// The path leads to a file, but a directory is expected.
    #[error("'{0}' is a file, not a directory. Give the directory that it is in.")]
    File(String),
    /// The path leads to a pipe, a socket or a device, which is never opened.
    #[error("'{name}' is {kind}, not a file, and is not opened. Give a regular file.")]
    Special {
        /// The path.
        name: String,
        /// The kind of special file, as a noun phrase.
        kind: &'static str,
    },
    /// The links on the path form a loop.
    #[error("'{0}' is a link that leads in a circle. Give the path of a file itself.")]
    Circle(String),
    /// Permissions deny access.
    #[error("'{0}' cannot be read, because its permissions forbid it. Continue without it.")]
    Forbidden(String),
    /// The system failed to open the path.
    #[error("'{name}' cannot be opened: {error}. Try again, or continue without it.")]
    Unreadable {
        /// The path.
        name: String,
        /// The system's error.
        error: io::Error,
    },
}

/// What a path is expected to lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
}

impl fmt::Display for PathKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "File",
            Self::Directory => "Directory",
        })
    }
}

impl PathError {
    pub(super) fn outside(name: &str) -> Self {
        Self::Outside(shown(name))
    }

    pub(super) fn absent(sought: PathKind, name: &str, likely: Option<String>) -> Self {
        let name = shown(name);
        match likely {
            Some(likely) => Self::Misspelt {
                sought,
                name,
                likely,
            },
            None => Self::Absent { sought, name },
        }
    }

    /// Returns the error for a path at which a file is expected but something else exists.
    pub(super) fn no_file(name: &str, kind: FileType) -> Self {
        match kind.is_dir() {
            true => Self::Directory(shown(name)),
            false => Self::special(name, kind),
        }
    }

    /// Returns the error for a path at which a directory is expected but something else exists.
    pub(super) fn no_directory(name: &str, kind: FileType) -> Self {
        match kind.is_file() {
            true => Self::File(shown(name)),
            false => Self::special(name, kind),
        }
    }

    fn special(name: &str, kind: FileType) -> Self {
        let kind = if kind.is_fifo() {
            "a named pipe"
        } else if kind.is_socket() {
            "a socket"
        } else if kind.is_char_device() || kind.is_block_device() {
            "a device"
        } else {
            "something special"
        };
        let name = shown(name);
        Self::Special { name, kind }
    }

    /// Translates an error of the system.
    pub(super) fn refused(name: &str, error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(Errno::LOOP) => Self::Circle(shown(name)),
            Some(Errno::NAMETOOLONG) => Self::TooLong(name.len()),
            // A socket, or a device without a driver, that appeared after the check.
            Some(Errno::NXIO) => Self::Special {
                name: shown(name),
                kind: "a socket or a device",
            },
            Some(Errno::ACCESS | Errno::PERM) => Self::Forbidden(shown(name)),
            // cap-std's own refusal carries no error number of the system.
            None if error.kind() == io::ErrorKind::PermissionDenied => Self::outside(name),
            _ => Self::Unreadable {
                name: shown(name),
                error,
            },
        }
    }
}

/// Formats a name on one line and clips it, so that a name cannot add a false line to an answer.
pub(crate) fn shown(name: &str) -> String {
    clip(&crate::walk::shown(name.as_bytes()), NAME_CHARS)
}
