//! The workspace: opens files and directories below a root and nowhere else.

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

/// Maximum length of a path, in bytes: the system's own limit (`PATH_MAX`, which includes the NUL).
const LONGEST: usize = 4095;

/// A directory that no path can leave: not by `..`, not by an absolute path, not by a link, and not
/// by a change while the path is resolved. The system resolves each path from the directory's
/// handle (cap-std), so nothing can change between a check and the opening.
///
/// Paths are relative to the directory. An absolute path is accepted if it begins with the
/// directory's own path.
#[derive(Debug)]
pub struct Workspace {
    /// The path as it was given, made absolute, and the same path with all links followed. Models
    /// use either of them.
    paths: [PathBuf; 2],
    dir: Dir,
    lines: FileCache<LineGrid>,
}

/// What a path leads to, with the path from the root.
#[derive(Debug)]
pub(crate) enum OpenedPath {
    /// A regular file, opened for reading.
    File(File, PathBuf),
    /// A directory.
    Directory(Dir, PathBuf),
}

impl Workspace {
    /// Opens the directory at `path`.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            paths: [std::path::absolute(path)?, path.canonicalize()?],
            dir: Dir::open_ambient_dir(path, ambient_authority())?,
            lines: FileCache::default(),
        })
    }

    /// The directory's canonical path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.paths[1]
    }

    /// The directory's handle.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Line offsets of recently read files.
    pub(crate) fn lines(&self) -> &FileCache<LineGrid> {
        &self.lines
    }

    /// Converts `name` to a path from the root: removes the root's own path and `.` components, and
    /// returns `.` for the root itself. `..` stays, because only the system knows where it leads
    /// after a link.
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
        // A trailing slash or dot means a directory, but `components` drops it.
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

    /// Strips the root's own path from an absolute path.
    pub(crate) fn below<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let mut roots = self.paths.iter();
        roots.find_map(|root| path.strip_prefix(root).ok())
    }

    /// Opens the regular file at `name`. Never blocks: pipes and devices are not opened.
    pub(crate) fn file(&self, name: &str) -> Result<File, PathError> {
        self.opened(name, &self.relative(name)?)
    }

    /// Opens the directory at `name`. Also returns its path from the root.
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

    /// Opens the file or directory at `name`.
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

    /// Translates an error of the system.
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
