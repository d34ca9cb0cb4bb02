//! The worker thread of a walk.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, statat};
use rustix::io::Errno;

use super::ignores::{Ignores, Verdict, ignores};
use super::queue::Queue;
use super::{Base, Deadline, Entry, Folder, Scope, SkippedEntries, Visitor, open_beneath, shown};

/// Number of files per job: enough to be worth the overhead, but few enough that threads can share
/// a large directory.
const BATCH: usize = 128;

/// A job.
#[derive(Debug)]
pub(super) enum Job {
    /// Read the directory at `path` (from the root, with a trailing `/`).
    Directory {
        path: Vec<u8>,
        ignores: Option<Arc<Ignores>>,
    },
    /// Visit these files of a directory.
    Files(Arc<Folder>, Vec<Entry>),
}

/// The state of one thread.
#[derive(Debug)]
pub(super) struct Worker<'a, V> {
    base: &'a Base,
    scope: Scope,
    deadline: &'a Deadline<'a>,
    queue: &'a Queue<Job>,
    pub(super) visitor: V,
    pub(super) skipped: SkippedEntries,
}

/// A directory while its entries are read.
struct Listing {
    folder: Arc<Folder>,
    ignores: Option<Arc<Ignores>>,
    directories: Vec<Job>,
    files: Vec<Entry>,
    /// Buffer for the paths of entries; begins with the directory's own path.
    path: Vec<u8>,
}

impl<'a, V: Visitor> Worker<'a, V> {
    pub(super) fn new(
        base: &'a Base,
        scope: Scope,
        deadline: &'a Deadline<'a>,
        queue: &'a Queue<Job>,
        visitor: V,
    ) -> Self {
        Self {
            base,
            scope,
            deadline,
            queue,
            visitor,
            skipped: SkippedEntries::default(),
        }
    }

    /// Runs jobs until there are none left.
    pub(super) fn run(&mut self) {
        /// Closes the queue even if a visitor panics, so that the other threads do not wait for
        /// this one.
        struct CloseOnDrop<'a>(&'a Queue<Job>);
        impl Drop for CloseOnDrop<'_> {
            fn drop(&mut self) {
                self.0.close();
            }
        }
        let _closes = CloseOnDrop(self.queue);
        while let Some(job) = self.queue.next() {
            if self.deadline.stop_reason().is_some() {
                return;
            }
            match job {
                Job::Files(folder, found) => self.visitor.visit(&folder, &found, self.deadline),
                Job::Directory { path, ignores } => self.directory(path, ignores.as_ref()),
            }
        }
    }

    /// Reads a directory.
    fn directory(&mut self, path: Vec<u8>, above: Option<&Arc<Ignores>>) {
        let below_base = path.get(self.base.path.len()..).unwrap_or_default();
        let opened = open_beneath::directory(self.base.dir.as_fd(), below_base);
        let opened = opened.and_then(|fd| Ok((Dir::new(fd.try_clone()?)?, fd)));
        let (names, fd) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.not_opened(&path, &error),
        };
        let ignores = match self.scope.no_ignore {
            true => None,
            false => ignores(above, fd.as_fd(), path.len()),
        };
        let mut listing = Listing {
            folder: Arc::new(Folder {
                fd,
                path: path.clone(),
            }),
            ignores,
            directories: Vec::new(),
            files: Vec::new(),
            path,
        };
        for (passed, entry) in names.enumerate() {
            // Visitors check the deadline, too, but a large directory of skipped entries reaches no
            // visitor.
            if passed % 1024 == 1023 && self.deadline.stop_reason().is_some() {
                return;
            }
            let Ok(entry) = entry else {
                self.unreadable(&listing.folder.path);
                break;
            };
            self.entry(&mut listing, entry.file_name(), entry.file_type());
            if listing.files.len() >= BATCH && !self.hand_on(&mut listing) {
                return;
            }
        }
        if !listing.directories.is_empty() {
            self.queue.push(listing.directories.drain(..));
        }
        self.visitor
            .visit(&listing.folder, &listing.files, self.deadline);
    }

    /// Passes files of a directory to an idle thread, or visits them here. Returns whether to
    /// continue.
    fn hand_on(&mut self, listing: &mut Listing) -> bool {
        let found = std::mem::replace(&mut listing.files, Vec::with_capacity(BATCH));
        match self.queue.has_idle() {
            true => {
                let files = Job::Files(Arc::clone(&listing.folder), found);
                self.queue.push([files]);
            }
            false => self.visitor.visit(&listing.folder, &found, self.deadline),
        }
        self.deadline.stop_reason().is_none()
    }

    /// Handles one entry of a directory.
    fn entry(&mut self, listing: &mut Listing, name: &CStr, kind: FileType) {
        let bytes = name.to_bytes();
        if matches!(bytes, b"." | b".." | b".git") {
            return;
        }
        // Some file systems do not report the type with the name.
        let kind = match kind {
            FileType::Unknown => {
                let found = statat(&listing.folder.fd, name, AtFlags::SYMLINK_NOFOLLOW);
                found.map_or(kind, |found| FileType::from_raw_mode(found.st_mode))
            }
            kind => kind,
        };
        if self.is_left_out(listing, bytes, kind == FileType::Directory) {
            return;
        }
        match kind {
            FileType::Directory => {
                let mut path = Vec::with_capacity(listing.folder.path.len() + bytes.len() + 1);
                path.extend_from_slice(&listing.folder.path);
                path.extend_from_slice(bytes);
                path.push(b'/');
                let ignores = listing.ignores.clone();
                listing.directories.push(Job::Directory { path, ignores });
            }
            FileType::RegularFile | FileType::Symlink => listing.files.push(Entry {
                name: name.to_owned(),
                is_link: kind == FileType::Symlink,
            }),
            _ => self.skipped.special += 1,
        }
    }

    /// Whether the rules exclude a name. If so, counts the name as skipped.
    fn is_left_out(&mut self, listing: &mut Listing, name: &[u8], is_directory: bool) -> bool {
        let verdict = listing.ignores.as_ref().map_or(Verdict::None, |ignores| {
            listing.path.truncate(listing.folder.path.len());
            listing.path.extend_from_slice(name);
            ignores.verdict(&listing.path, is_directory)
        });
        let is_hidden = name.starts_with(b".") && !self.scope.hidden;
        match verdict {
            Verdict::In => false,
            Verdict::Out => {
                self.skipped.ignored += 1;
                true
            }
            Verdict::None => {
                self.skipped.hidden += u64::from(is_hidden);
                is_hidden
            }
        }
    }

    /// Records a directory that could not be opened. It is not an error if the directory was
    /// removed or replaced by something else.
    fn not_opened(&mut self, path: &[u8], error: &io::Error) {
        let gone = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::XDEV];
        if !gone
            .iter()
            .any(|gone| error.raw_os_error() == Some(gone.raw_os_error()))
        {
            self.unreadable(path);
        }
    }

    fn unreadable(&mut self, path: &[u8]) {
        self.skipped.unreadable.push(match path {
            b"" => ".".to_owned(),
            path => shown(path),
        });
    }
}
