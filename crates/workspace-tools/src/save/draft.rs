//! Drafts: files that are written under a temporary name until they are complete.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};

use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt};
use rustix::fs::Mode;

use super::{SaveTarget, failed, opened};
use crate::tool_result::ToolError;

/// Random temporary names to try before giving up.
const TRIES: usize = 8;

/// A file that is being written beside its final place. Dropping it removes the file and the
/// directories created for it, unless it was kept.
#[derive(Debug)]
pub(crate) struct Draft {
    target: SaveTarget,
    dir: Dir,
    file: File,
    temporary: String,
    made: CreatedDirectories,
    saved: SavedSize,
    ends_line: bool,
    is_there: bool,
}

/// The size of a saved file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SavedSize {
    pub(crate) bytes: u64,
    /// Lines. The last one may lack a newline.
    pub(crate) lines: u64,
}

/// Directories that were created, outermost first: the parent's handle and the name.
#[derive(Debug, Default)]
struct CreatedDirectories(Vec<(Dir, String)>);

impl Drop for CreatedDirectories {
    fn drop(&mut self) {
        for (dir, name) in self.0.iter().rev() {
            // A directory into which another process has put something is not removed.
            drop(dir.remove_dir(name));
        }
    }
}

impl Draft {
    /// Creates an empty file for `target`, and the directories that lead there.
    pub(crate) fn create(target: SaveTarget) -> Result<Self, ToolError> {
        target.check()?;
        let mut made = CreatedDirectories::default();
        let mut dir = target.clone_root()?;
        for step in &target.steps {
            dir =
                entered(dir, step, &mut made).map_err(|error| target.step_failed(step, &error))?;
        }
        let (file, temporary) = temporary(&dir).map_err(|error| failed(&target.path(), &error))?;
        Ok(Self {
            target,
            dir,
            file,
            temporary,
            made,
            saved: SavedSize::default(),
            ends_line: true,
            is_there: true,
        })
    }

    /// Appends `bytes`.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), ToolError> {
        let Some(last) = bytes.last() else {
            return Ok(());
        };
        let written = self.file.write_all(bytes);
        written.map_err(|error| failed(&self.target.path(), &error))?;
        let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
        self.saved.bytes += bytes.len() as u64;
        self.saved.lines += ends as u64;
        self.ends_line = *last == b'\n';
        Ok(())
    }

    /// Moves the file to its place atomically, unless something exists there.
    pub(crate) fn keep(mut self) -> Result<SavedSize, ToolError> {
        let placed = self.file.sync_all().and_then(|()| self.placed());
        match placed {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(self.target.exists());
            }
            placed => placed.map_err(|error| failed(&self.target.path(), &error))?,
        }
        self.made.0.clear();
        self.saved.lines += u64::from(!self.ends_line);
        Ok(self.saved)
    }

    /// Links the file under its final name, which the system allows only if nothing has that
    /// name, and then removes the temporary name.
    fn placed(&mut self) -> io::Result<()> {
        match self
            .dir
            .hard_link(&self.temporary, &self.dir, &self.target.name)
        {
            Ok(()) => self.dir.remove_file(&self.temporary)?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error),
            Err(_) => self.moved()?,
        }
        self.is_there = false;
        Ok(())
    }

    /// Moves the file like `placed`, on file systems without hard links: first takes the name with
    /// an empty file, then replaces that file.
    fn moved(&self) -> io::Result<()> {
        let name = &self.target.name;
        self.dir.open_with(name, &new_file())?;
        let moved = self.dir.rename(&self.temporary, &self.dir, name);
        if moved.is_err() {
            drop(self.dir.remove_file(name));
        }
        moved
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.is_there {
            // The directories are removed after the file, and only if they are empty.
            drop(self.dir.remove_file(&self.temporary));
        }
    }
}

/// Opens the directory `step`, and creates it if it is missing.
fn entered(dir: Dir, step: &str, made: &mut CreatedDirectories) -> io::Result<Dir> {
    match opened(&dir, step) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        found => return found,
    }
    match rustix::fs::mkdirat(&dir, step, Mode::RWXU).map_err(io::Error::from) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => opened(&dir, step),
        Err(error) => Err(error),
        Ok(()) => {
            let entered = opened(&dir, step);
            made.0.push((dir, step.to_owned()));
            entered
        }
    }
}

fn new_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options
}

/// Creates a file with a random name.
fn temporary(dir: &Dir) -> io::Result<(File, String)> {
    let mut result = Err(io::Error::from(ErrorKind::AlreadyExists));
    for _ in 0..TRIES {
        let random = RandomState::new().hash_one(0);
        let name = format!(".spillgate-{random:016x}.tmp");
        result = dir.open_with(&name, &new_file()).map(|file| (file, name));
        match &result {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            _ => break,
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::Draft;
    use crate::save::SaveTarget;
    use crate::{Workspace, Writable};

    fn draft(root: &Path, name: &str) -> Draft {
        let workspace = Workspace::open(root).unwrap();
        let place = SaveTarget::new(&workspace, &Writable::Anywhere, name).unwrap();
        Draft::create(place).unwrap()
    }

    #[test]
    fn where_files_have_one_name_nothing_is_written_over_either() {
        let root = tempfile::tempdir().unwrap();
        let mut first = draft(root.path(), "a");
        let second = draft(root.path(), "a");
        first.write(b"first").unwrap();
        first.moved().unwrap();
        first.is_there = false;
        drop(first);
        assert!(second.moved().is_err());
        drop(second);
        assert_eq!(fs::read(root.path().join("a")).unwrap(), b"first");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }
}
