//! Saves files below the root, whole or not at all.
//!
//! A path is followed component by component from the root, and no symbolic link is followed. So
//! the file is created exactly where its path says, and the rules can be checked on the path.

mod draft;

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use spillgate_text::clip;

use crate::Writable;
use crate::tool_result::ToolError;
use crate::workspace::Workspace;

pub(crate) use draft::{Draft, SavedSize};

/// Maximum length, in characters, of a path that an error shows.
const SHOWN: usize = 200;

/// The place where a file is to be saved. Nothing has been created there yet.
#[derive(Debug)]
pub(crate) struct SaveTarget {
    root: Dir,
    /// The names of the directories from the root to the file.
    steps: Vec<String>,
    name: String,
}

impl SaveTarget {
    /// Resolves `name`, if the rules allow writing there.
    pub(crate) fn new(
        workspace: &Workspace,
        writable: &Writable,
        name: &str,
    ) -> Result<Self, ToolError> {
        let steps = steps(workspace, name)?;
        allowed(writable, &steps, name)?;
        let root = workspace.dir().try_clone();
        let root = root.map_err(|error| failed(name, &error))?;
        let mut steps = steps;
        let last = steps.pop();
        match last {
            Some(last) if !name.ends_with('/') => Ok(Self {
                root,
                steps,
                name: last,
            }),
            _ => Err(ToolError::new(format!(
                "save_to '{}' names a directory. Give the name of a file that is not there yet.",
                clip(name, SHOWN)
            ))),
        }
    }

    /// The path from the root.
    pub(crate) fn path(&self) -> String {
        let steps = self.steps.iter().map(String::as_str);
        let all: Vec<&str> = steps.chain([self.name.as_str()]).collect();
        all.join("/")
    }

    /// Checks whether a file could be saved there now, before any work is done for it.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        let mut dir = self.clone_root()?;
        for step in &self.steps {
            dir = match opened(&dir, step) {
                Ok(next) => next,
                // The directory will be created.
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(self.step_failed(step, &error)),
            };
        }
        match dir.symlink_metadata(&self.name) {
            Ok(_) => Err(self.exists()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed(&self.path(), &error)),
        }
    }

    fn clone_root(&self) -> Result<Dir, ToolError> {
        let root = self.root.try_clone();
        root.map_err(|error| failed(&self.path(), &error))
    }

    fn exists(&self) -> ToolError {
        ToolError::new(format!(
            "'{}' is there already and is not written over. Give save_to a name that is not there yet.",
            clip(&self.path(), SHOWN)
        ))
    }

    fn step_failed(&self, step: &str, error: &io::Error) -> ToolError {
        let is_link = error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
        let is_no_directory = error.raw_os_error() == Some(Errno::NOTDIR.raw_os_error());
        match is_link || is_no_directory {
            true => ToolError::new(format!(
                "'{}' in save_to '{}' is a link or no directory; nothing is saved through it. Give another path.",
                clip(step, SHOWN),
                clip(&self.path(), SHOWN)
            )),
            false => failed(&self.path(), error),
        }
    }
}

/// Converts `name` to a path from the root, and returns the components of this path. `..` only
/// removes a component that `name` itself contains.
fn steps(workspace: &Workspace, name: &str) -> Result<Vec<String>, ToolError> {
    let outside = || {
        ToolError::new(format!(
            "save_to '{}' leads out of the root. Give a path relative to the root.",
            clip(&spillgate_untrusted::line(name, usize::MAX), SHOWN)
        ))
    };
    if name.chars().any(char::is_control) {
        return Err(ToolError::new(
            "save_to has control characters in it. Give a plain path relative to the root.",
        ));
    }
    let path = Path::new(name.trim());
    let path = match path.is_absolute() {
        true => workspace.below(path).ok_or_else(outside)?,
        false => path,
    };
    let mut steps = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => steps.push(part.to_string_lossy().into_owned()),
            Component::ParentDir => drop(steps.pop().ok_or_else(outside)?),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return Err(outside()),
        }
    }
    Ok(steps)
}

/// Checks whether the rules allow writing to the path `steps`.
fn allowed(writable: &Writable, steps: &[String], name: &str) -> Result<(), ToolError> {
    let name = clip(name, SHOWN);
    // Some file systems ignore case.
    if steps.iter().any(|step| step.eq_ignore_ascii_case(".git")) {
        return Err(ToolError::new(format!(
            "save_to '{name}' lies in a .git, where nothing is written. Give another path."
        )));
    }
    match writable {
        Writable::Anywhere => Ok(()),
        Writable::Nowhere => Err(nowhere()),
        Writable::Below(dirs) => {
            let path: PathBuf = steps.iter().collect();
            if dirs.iter().any(|dir| path.starts_with(plain(dir))) {
                return Ok(());
            }
            let dirs: Vec<_> = dirs.iter().map(|dir| dir.display().to_string()).collect();
            Err(ToolError::new(format!(
                "save_to '{name}' is not where files may be saved: {}. Give a path below.",
                dirs.join(", ")
            )))
        }
    }
}

/// A configured directory without `.` components and trailing slashes.
fn plain(dir: &Path) -> PathBuf {
    let parts = dir.components();
    parts.filter(|part| *part != Component::CurDir).collect()
}

/// The error if nothing may be saved at all.
pub(crate) fn nowhere() -> ToolError {
    ToolError::new("Nothing may be saved here. Leave save_to out.")
}

/// Opens the directory `step` in `dir`, unless it is a link or not a directory.
fn opened(dir: &Dir, step: &str) -> io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(dir, step, flags, Mode::empty())?;
    Ok(Dir::from_std_file(File::from(opened)))
}

/// Translates an error of the system, with advice.
fn failed(path: &str, error: &io::Error) -> ToolError {
    let path = clip(path, SHOWN);
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ToolError::new(format!(
            "There is no space left to save '{path}'; nothing was kept. Save less, or make space."
        )),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => ToolError::new(format!(
            "'{path}' may not be written: {error}. Give save_to another path."
        )),
        _ => ToolError::new(format!(
            "'{path}' could not be saved: {error}; nothing was kept. Give save_to another path."
        )),
    }
}

#[cfg(test)]
mod tests;
