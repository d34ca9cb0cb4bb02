//! Which files lie below a directory?

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;
use spillgate_artifact::{ByteSource, Layout};
use spillgate_view::{Indexer, View};

use crate::name::checked;
use crate::{FileError, Files, Opened};

/// Bytes read at a time while lines are counted.
const BLOCK: usize = 1 << 20;

/// Files whose lines stay known: a model reads on in the same few.
const KNOWN: usize = 8;

/// The regular files below a directory. No name and no link leads out of it,
/// whatever changes there meanwhile: the system opens each name from the
/// directory (cap-std), not from a path that was looked at before.
///
/// A text is as long as its file was when it was opened. Its lines are counted
/// block by block and kept for a few files that do not change.
#[derive(Debug)]
pub struct Root {
    dir: Dir,
    known: Mutex<Vec<(Identity, Arc<View>)>>,
}

/// By what a file and its content are told from others: device, inode, bytes,
/// and when it was changed (seconds, nanoseconds).
type Identity = (u64, u64, u64, i64, i64);

impl Root {
    /// The files below `dir`.
    pub fn open(dir: &Path) -> io::Result<Self> {
        Ok(Self {
            dir: Dir::open_ambient_dir(dir, ambient_authority())?,
            known: Mutex::default(),
        })
    }

    /// The regular file at `name`. What else there may be is not opened, or not
    /// waited for: a pipe's other end may never come.
    fn file(&self, name: &str) -> Result<File, FileError> {
        let wrong = |error| failed(name, error);
        let not_regular = || FileError::NotRegular(name.to_owned());
        if !self.dir.metadata(name).map_err(wrong)?.is_file() {
            return Err(not_regular());
        }
        let mut options = OpenOptions::new();
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
        options.read(true).custom_flags(flags.cast_signed());
        let file = self
            .dir
            .open_with(name, &options)
            .map_err(wrong)?
            .into_std();
        // It may have been another a moment ago.
        match file.metadata().map_err(wrong)?.is_file() {
            true => Ok(file),
            false => Err(not_regular()),
        }
    }

    /// The file's lines, counted now or before.
    fn view(&self, file: File) -> io::Result<Arc<View>> {
        let found = file.metadata()?;
        let identity = (
            found.dev(),
            found.ino(),
            found.len(),
            found.mtime(),
            found.mtime_nsec(),
        );
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, view)) = known().iter().find(|(known, _)| *known == identity) {
            return Ok(Arc::clone(view));
        }
        let view = Arc::new(counted(file, found.len())?);
        let mut known = known();
        if known.len() >= KNOWN {
            known.remove(0);
        }
        known.push((identity, Arc::clone(&view)));
        Ok(view)
    }
}

impl Files for Root {
    fn open(&self, name: &str) -> Result<Opened, FileError> {
        let file = self.file(checked(name)?)?;
        let view = self.view(file).map_err(|error| failed(name, error))?;
        Ok(Opened::view(view))
    }
}

/// The text of the first `len` bytes of a file, or of as many as there are.
fn counted(file: File, len: u64) -> io::Result<View> {
    let mut source = FileSource { file, len };
    let mut indexer = Indexer::as_is(Layout::AsIs);
    let mut at = 0;
    while at < len {
        let block = source.bytes(at, at.saturating_add(BLOCK as u64))?;
        if block.is_empty() {
            break;
        }
        indexer.feed(&block);
        at += block.len() as u64;
    }
    source.len = at;
    Ok(View::new(Arc::new(source), indexer.finish(), Layout::AsIs))
}

/// The beginning of a file. Not mapped into memory: who shortens it would end us.
#[derive(Debug)]
struct FileSource {
    file: File,
    len: u64,
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

/// What the system's refusal means.
fn failed(name: &str, error: io::Error) -> FileError {
    use io::ErrorKind::{InvalidFilename, IsADirectory, NotADirectory, NotFound, PermissionDenied};
    let name = name.to_owned();
    match error.kind() {
        NotFound | NotADirectory | InvalidFilename => FileError::Absent(name),
        IsADirectory => FileError::NotRegular(name),
        // cap-std's own refusal carries no number of the system's.
        PermissionDenied if error.raw_os_error().is_none() => FileError::Outside(name),
        _ => FileError::Unreadable { name, error },
    }
}
