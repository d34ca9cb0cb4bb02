//! Opens regular files and never blocks on pipes or devices.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use cap_std::fs::{Dir, FileType, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;
use spillgate_artifact::ByteSource;

/// Why no regular file could be opened.
#[derive(Debug)]
pub enum OpenError {
    /// The path leads to something that is not a regular file.
    Other(FileType),
    /// The system could not open the file.
    Refused(io::Error),
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::Refused(error)
    }
}

/// Opens the file at `path` below `dir` for reading; fails if it is not a regular file. If a pipe
/// replaces the file just before it is opened, the call does not wait for another process to open
/// the other end of the pipe.
pub fn open_regular(dir: &Dir, path: &Path) -> Result<File, OpenError> {
    let found = dir.metadata(path)?;
    if !found.is_file() {
        return Err(OpenError::Other(found.file_type()));
    }
    let mut options = OpenOptions::new();
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    options.read(true).custom_flags(flags.cast_signed());
    let file = dir.open_with(path, &options)?;
    // Another file may have been put at the path since the check.
    let found = file.metadata()?;
    match found.is_file() {
        true => Ok(file.into_std()),
        false => Err(OpenError::Other(found.file_type())),
    }
}

/// The content of a file up to its size when it was opened, even if it grows. The file is not
/// memory-mapped: truncating it would kill our process.
#[derive(Debug)]
pub struct FileSource {
    /// The file. It is read at offsets, so its cursor does not move.
    pub file: File,
    /// The size in bytes.
    pub len: u64,
}

impl ByteSource for FileSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        FileExt::read_at(&self.file, &mut buffer[..wanted], offset)
    }
}
