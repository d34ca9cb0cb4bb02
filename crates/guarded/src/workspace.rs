//! Where does a name lead, and never?

use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

/// A directory that no name leaves: neither by `..`, nor from the machine's root, nor
/// by a link, nor by what changes meanwhile. The system resolves each name from the
/// directory (cap-std); nothing is looked at first and opened later.
#[derive(Debug)]
pub struct Workspace {
    path: PathBuf,
    dir: Dir,
}

/// A name leads to nothing that may be used.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Nothing is there.
    #[error("File '{0}' not found.")]
    Absent(String),
}

impl Workspace {
    /// The directory at `path`.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.canonicalize()?,
            dir: Dir::open_ambient_dir(path, ambient_authority())?,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory, opened.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }
}
