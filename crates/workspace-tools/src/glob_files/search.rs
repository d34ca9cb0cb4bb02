//! Matches the files of a walk against the glob.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::MetadataExt;
use rustix::fs::{AtFlags, FileType, statat};

use super::directories::Directories;
use super::newest::{NewestFiles, Time};
use crate::walk::{Deadline, Entry, Folder, NamePattern, Visitor};
use crate::workspace::Workspace;

/// State shared by all threads.
#[derive(Debug)]
pub(super) struct GlobSearch<'a> {
    workspace: &'a Workspace,
    pattern: &'a NamePattern,
    /// The length in bytes of the path at which the walk began.
    base_at: usize,
    /// Maximum number of files to keep.
    most: u64,
    /// Matches beyond this number are only counted.
    known: u64,
    /// Whether matches are counted per directory.
    is_detailed: bool,
    matches: AtomicU64,
}

impl<'a> GlobSearch<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        pattern: &'a NamePattern,
        base_at: usize,
        (most, known): (u64, u64),
        is_detailed: bool,
    ) -> Self {
        Self {
            workspace,
            pattern,
            base_at,
            most,
            known,
            is_detailed,
            matches: AtomicU64::new(0),
        }
    }
}

/// Visits the files that one thread of the walk finds, and collects the matches.
#[derive(Debug)]
pub(super) struct GlobWorker<'a> {
    search: &'a GlobSearch<'a>,
    path: Vec<u8>,
    pub(super) newest: NewestFiles,
    /// Files that do not match.
    pub(super) passed: u64,
    pub(super) directories: Option<Directories>,
}

impl<'a> GlobWorker<'a> {
    pub(super) fn new(search: &'a GlobSearch<'a>) -> Self {
        Self {
            search,
            path: Vec::new(),
            newest: NewestFiles::new(search.most),
            passed: 0,
            directories: search.is_detailed.then(|| Directories::new(search.base_at)),
        }
    }

    /// The modification time of an entry if it is a regular file inside the root.
    fn time(&self, folder: &Folder, entry: &Entry) -> Option<Time> {
        if entry.is_link {
            let path = Path::new(OsStr::from_bytes(&self.path));
            let found = self.search.workspace.dir().metadata(path).ok()?;
            return found.is_file().then(|| (found.mtime(), found.mtime_nsec()));
        }
        let found = statat(&folder.fd, entry.name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        is_file.then(|| {
            (
                found.st_mtime,
                i64::try_from(found.st_mtime_nsec).unwrap_or(0),
            )
        })
    }
}

impl Visitor for GlobWorker<'_> {
    fn visit(&mut self, folder: &Folder, found: &[Entry], _: &Deadline<'_>) {
        self.path.clone_from(&folder.path);
        let name_at = self.path.len();
        let before = self.newest.total;
        for entry in found {
            self.path.truncate(name_at);
            self.path.extend_from_slice(entry.name.to_bytes());
            let search = self.search;
            if !search.pattern.matches(&self.path, search.base_at, name_at) {
                self.passed += 1;
            } else if !entry.is_link && search.matches.load(Ordering::Relaxed) > search.known {
                self.newest.count();
            } else if let Some(time) = self.time(folder, entry) {
                search.matches.fetch_add(1, Ordering::Relaxed);
                self.newest.push(time, &self.path);
            }
        }
        let files = self.newest.total - before;
        if let Some(directories) = self.directories.as_mut().filter(|_| files > 0) {
            directories.add(&folder.path, files);
        }
    }
}
