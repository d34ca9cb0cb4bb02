//! Opens files and directories by name, never outside the root.

mod path_error;
mod suggestion;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use spillgate_files::{FileCache, OpenError, open_regular};
use spillgate_text::LineGrid;

pub(crate) use path_error::shown;
pub use path_error::{PathError, PathKind};

/// Bytes of a name: the system's own limit on paths (`PATH_MAX` with its NUL).
const LONGEST: usize = 4095;

/// A directory that no name leaves: neither by `..`, nor from the machine's root, nor
/// by a link, nor by what changes meanwhile. The system resolves each name from the
/// directory (cap-std); nothing is looked at first and opened later.
///
/// Names are relative to it. An absolute one is understood if it begins with the
/// directory's own path.
#[derive(Debug)]
pub struct Workspace {
    /// As given, made absolute, and with its links followed: models write both.
    paths: [PathBuf; 2],
    dir: Dir,
    lines: FileCache<LineGrid>,
}

/// What a name leads to, with its path from the root.
#[derive(Debug)]
pub(crate) enum OpenedPath {
    /// A regular file, opened for reading.
    File(File, PathBuf),
    /// A directory.
    Directory(Dir, PathBuf),
}

impl Workspace {
    /// The directory at `path`.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            paths: [std::path::absolute(path)?, path.canonicalize()?],
            dir: Dir::open_ambient_dir(path, ambient_authority())?,
            lines: FileCache::default(),
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.paths[1]
    }

    /// The directory, opened.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Where lines begin in the files that were read last.
    pub(crate) fn lines(&self) -> &FileCache<LineGrid> {
        &self.lines
    }

    /// The path from the root that a name means: without the root's own path and `.`,
    /// and `.` alone for the root. Steps upwards stay, since only the system knows
    /// where they lead behind a link.
    pub(crate) fn relative(&self, name: &str) -> Result<PathBuf, PathError> {
        if name.contains('\0') {
            return Err(PathError::Nul);
        }
        if name.len() > LONGEST {
            return Err(PathError::TooLong(name.len()));
        }
        let path = Path::new(if name.trim().is_empty() { "." } else { name });
        let path = match path.is_absolute() {
            true => self.below(path).ok_or_else(|| PathError::outside(name))?,
            false => path,
        };
        // A slash or a dot at the end asks for a directory; `components` forgets it.
        let ends = name.ends_with('/') || name.ends_with("/.");
        let mut relative: PathBuf = path.components().collect();
        if relative.starts_with(".") {
            relative = relative.components().skip(1).collect();
        }
        match relative.as_os_str().is_empty() {
            true => relative.push("."),
            false if ends => relative.push(""),
            false => {}
        }
        Ok(relative)
    }

    /// An absolute path without the root's own.
    pub(crate) fn below<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let mut roots = self.paths.iter();
        roots.find_map(|root| path.strip_prefix(root).ok())
    }

    /// The regular file that a name leads to. Never waits: what is a pipe or a device
    /// is not opened.
    pub(crate) fn file(&self, name: &str) -> Result<File, PathError> {
        self.opened(name, &self.relative(name)?)
    }

    /// The directory that a name leads to, and its path from the root.
    pub(crate) fn directory(&self, name: &str) -> Result<(Dir, PathBuf), PathError> {
        let relative = self.relative(name)?;
        match self.dir.open_dir(&relative) {
            Ok(dir) => Ok((dir, without_slash(&relative))),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                Err(match self.dir.metadata(without_slash(&relative)) {
                    Ok(found) => PathError::no_directory(name, found.file_type()),
                    Err(_) => self.absent(PathKind::Directory, name, &relative),
                })
            }
            Err(error) => Err(self.refused(PathKind::Directory, name, &relative, error)),
        }
    }

    /// The file or directory that a name leads to.
    pub(crate) fn open_path(&self, name: &str) -> Result<OpenedPath, PathError> {
        let relative = self.relative(name)?;
        match self.opened(name, &relative) {
            Ok(file) => Ok(OpenedPath::File(file, relative)),
            Err(PathError::Directory(_)) => {
                let (dir, relative) = self.directory(name)?;
                Ok(OpenedPath::Directory(dir, relative))
            }
            Err(error) => Err(error),
        }
    }

    fn opened(&self, name: &str, relative: &Path) -> Result<File, PathError> {
        open_regular(&self.dir, relative).map_err(|why| match why {
            OpenError::Other(kind) => PathError::no_file(name, kind),
            OpenError::Refused(error) => self.refused(PathKind::File, name, relative, error),
        })
    }

    /// What the system's refusal means.
    fn refused(
        &self,
        sought: PathKind,
        name: &str,
        relative: &Path,
        error: io::Error,
    ) -> PathError {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                self.absent(sought, name, relative)
            }
            _ => PathError::refused(name, error),
        }
    }

    fn absent(&self, sought: PathKind, name: &str, relative: &Path) -> PathError {
        let likely = suggestion::name(&self.dir, self.path(), relative);
        PathError::absent(sought, name, likely)
    }
}

fn without_slash(path: &Path) -> PathBuf {
    path.components().collect()
}

#[cfg(test)]
mod tests;
