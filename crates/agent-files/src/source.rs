//! The source of a setting: an option, a position in a file, or the built-in default.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use spillgate_config::Position;

use crate::problem::FileError;

/// The source of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A command line option.
    CommandLine,
    /// A file.
    File {
        /// The file.
        path: PathBuf,
        /// The position in the file.
        place: Position,
        /// The key, with dots between nested tables.
        key: String,
    },
    /// The built-in default.
    BuiltIn,
}

impl Source {
    /// Returns an error about a value of this source; `key` is the setting.
    pub(crate) fn wrong(&self, key: &str, what: impl Into<String>) -> FileError {
        match self {
            Self::File { path, place, key } => {
                FileError::whole(path, what).at(*place).of(key.clone())
            }
            Self::CommandLine | Self::BuiltIn => FileError {
                file: None,
                ..FileError::whole(Path::new(""), what).of(key)
            },
        }
    }

    /// Returns the directory at which relative paths start; `None` is the working directory.
    pub(crate) fn directory(&self) -> Option<&Path> {
        match self {
            Self::File { path, .. } => path.parent(),
            Self::CommandLine | Self::BuiltIn => None,
        }
    }

    /// Resolves `path` relative to the directory of the source.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        match self.directory() {
            Some(directory) => directory.join(path),
            None => path.to_owned(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine => f.write_str("command line"),
            Self::File { path, place, .. } => write!(f, "{}:{}", path.display(), place.line),
            Self::BuiltIn => f.write_str("built-in"),
        }
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// A resolved setting with its source.
#[derive(Clone, PartialEq)]
pub struct Set<T> {
    /// The value.
    pub value: T,
    /// The source.
    pub source: Source,
    /// The value as written, if it contains variables, because the variables' values must not be
    /// shown.
    pub written: Option<String>,
}

impl<T> Set<T> {
    /// Wraps a built-in default.
    pub(crate) fn built_in(value: T) -> Self {
        Self {
            value,
            source: Source::BuiltIn,
            written: None,
        }
    }

    pub(crate) fn map<U>(self, to: impl FnOnce(T) -> U) -> Set<U> {
        Set {
            value: to(self.value),
            source: self.source,
            written: self.written,
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Set<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.written {
            Some(written) => write!(f, "{written:?} ({})", self.source),
            None => write!(f, "{:?} ({})", self.value, self.source),
        }
    }
}
