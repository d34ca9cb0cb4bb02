//! The source of a setting.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use spillgate_config::Position;

use crate::problem::FileError;

/// Where a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// An option.
    CommandLine,
    /// A file.
    File {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: Position,
        /// The key, with dots between the tables that it is in.
        key: String,
    },
    /// Nobody: it is the default.
    BuiltIn,
}

impl Source {
    /// What is wrong with what it said; `key` is the setting.
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

    /// The directory that relative paths of it are from; none is the working one.
    pub(crate) fn directory(&self) -> Option<&Path> {
        match self {
            Self::File { path, .. } => path.parent(),
            Self::CommandLine | Self::BuiltIn => None,
        }
    }

    /// `path` as it is meant there.
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

/// A setting that is decided, and who decided it.
#[derive(Clone, PartialEq)]
pub struct Set<T> {
    /// The setting.
    pub value: T,
    /// Who decided it.
    pub source: Source,
    /// As it is written, where variables were put into it: what they stand for is
    /// not for showing.
    pub written: Option<String>,
}

impl<T> Set<T> {
    /// What nobody has said anything about.
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
