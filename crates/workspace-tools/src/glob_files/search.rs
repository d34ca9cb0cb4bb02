//! Which files of a directory match?

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::MetadataExt;
use rustix::fs::{AtFlags, FileType, statat};

use super::directories::Directories;
use super::newest::{Newest, Time};
use crate::walk::{Entry, Folder, NamePattern, Visitor, Watch};
use crate::workspace::Workspace;

/// What all threads share.
#[derive(Debug)]
pub(super) struct Seek<'a> {
    workspace: &'a Workspace,
    pattern: &'a NamePattern,
    /// Bytes of the name of the directory where the walk began.
    base_at: usize,
    /// The most that are kept.
    most: u64,
    /// The number of matches beyond which they are counted only.
    known: u64,
    /// Whether directories are counted.
    is_detailed: bool,
    matches: AtomicU64,
}

impl<'a> Seek<'a> {
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

/// A thread that looks for names.
#[derive(Debug)]
pub(super) struct Seeker<'a> {
    seek: &'a Seek<'a>,
    path: Vec<u8>,
    pub(super) newest: Newest,
    /// Files that do not match.
    pub(super) passed: u64,
    pub(super) directories: Option<Directories>,
}

impl<'a> Seeker<'a> {
    pub(super) fn new(seek: &'a Seek<'a>) -> Self {
        Self {
            seek,
            path: Vec::new(),
            newest: Newest::new(seek.most),
            passed: 0,
            directories: seek.is_detailed.then(|| Directories::new(seek.base_at)),
        }
    }

    /// The time of a file, if it is one and inside.
    fn time(&self, folder: &Folder, entry: &Entry) -> Option<Time> {
        if entry.is_link {
            let path = Path::new(OsStr::from_bytes(&self.path));
            let found = self.seek.workspace.dir().metadata(path).ok()?;
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

impl Visitor for Seeker<'_> {
    fn visit(&mut self, folder: &Folder, found: &[Entry], _: &Watch<'_>) {
        self.path.clone_from(&folder.path);
        let name_at = self.path.len();
        let before = self.newest.total;
        for entry in found {
            self.path.truncate(name_at);
            self.path.extend_from_slice(entry.name.to_bytes());
            let seek = self.seek;
            if !seek.pattern.matches(&self.path, seek.base_at, name_at) {
                self.passed += 1;
            } else if !entry.is_link && seek.matches.load(Ordering::Relaxed) > seek.known {
                self.newest.count();
            } else if let Some(time) = self.time(folder, entry) {
                seek.matches.fetch_add(1, Ordering::Relaxed);
                self.newest.push(time, &self.path);
            }
        }
        let files = self.newest.total - before;
        if let Some(directories) = self.directories.as_mut().filter(|_| files > 0) {
            directories.add(&folder.path, files);
        }
    }
}
