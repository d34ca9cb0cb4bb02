//! The starting point of a search.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;

use super::ignores::{Ignores, ignores};
use super::{open_beneath, shown};
use crate::workspace::{OpenedPath, PathError, Workspace};

/// The directory at which a walk begins.
#[derive(Debug)]
pub(crate) struct Base {
    pub(super) dir: Dir,
    /// The path from the root with a trailing `/`; empty for the root.
    pub(crate) path: Vec<u8>,
    /// The ignore files of the directories above it, up to the root.
    pub(super) ignores: Option<Arc<Ignores>>,
}

/// What a search's `path` leads to.
#[derive(Debug)]
pub(crate) enum SearchRoot {
    /// A file, with its path from the root.
    File(File, Vec<u8>),
    /// A directory.
    Directory(Base),
}

/// Opens `name`. Ignore files do not apply to a path that a call names.
pub(crate) fn start(workspace: &Workspace, name: &str) -> Result<SearchRoot, PathError> {
    let mut place = workspace.open_path(name)?;
    let (OpenedPath::File(_, path) | OpenedPath::Directory(_, path)) = &place;
    // Results are reported by paths without `..`.
    if path.components().any(|part| part == Component::ParentDir)
        && let Some(straight) = straight(workspace, path)
    {
        place = workspace.open_path(&straight)?;
    }
    Ok(match place {
        OpenedPath::File(file, path) => {
            SearchRoot::File(file, path.as_os_str().as_bytes().to_vec())
        }
        OpenedPath::Directory(dir, path) => SearchRoot::Directory(Base {
            ignores: above(workspace.dir(), &path),
            path: prefix(&path),
            dir,
        }),
    })
}

fn straight(workspace: &Workspace, path: &Path) -> Option<String> {
    let path = workspace.dir().canonicalize(path).ok()?;
    match path.as_os_str().is_empty() {
        true => Some(".".to_owned()),
        false => path.into_os_string().into_string().ok(),
    }
}

/// The path that precedes the names of a directory's entries.
fn prefix(path: &Path) -> Vec<u8> {
    let parts = path.components();
    let names = parts.filter(|part| *part != Component::CurDir);
    names.fold(Vec::new(), |mut prefix, name| {
        prefix.extend_from_slice(name.as_os_str().as_bytes());
        prefix.push(b'/');
        prefix
    })
}

/// The ignore files from the root down to the parent of `path`.
fn above(root: &Dir, path: &Path) -> Option<Arc<Ignores>> {
    let mut parts: Vec<_> = path.components().collect();
    parts.retain(|part| *part != Component::CurDir);
    (0..parts.len()).fold(None, |above, count| {
        let path: PathBuf = parts[..count].iter().collect();
        let opened = match count {
            0 => root.try_clone(),
            _ => root.open_dir(&path),
        };
        match opened {
            Ok(dir) => ignores(above.as_ref(), dir.as_fd(), prefix(&path).len()),
            Err(_) => above,
        }
    })
}

impl Base {
    /// Opens again the file at `path`, a path from the root that a walk from here reported.
    /// Returns `None` if it is gone.
    pub(crate) fn reopen(&self, path: &[u8]) -> Option<File> {
        let below = path.get(self.path.len()..)?;
        let at = below.iter().rposition(|&byte| byte == b'/');
        let (folder, name) = below.split_at(at.map_or(0, |at| at + 1));
        let folder = open_beneath::directory(self.dir.as_fd(), folder).ok()?;
        let name = std::ffi::CString::new(name).ok()?;
        open_beneath::regular(folder.as_fd(), &name).ok()?
    }

    /// The path for display: `.` for the root.
    pub(crate) fn shown(&self) -> String {
        match self.path.strip_suffix(b"/") {
            Some(path) => shown(path),
            None => ".".to_owned(),
        }
    }
}
