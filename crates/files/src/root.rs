//! Gives access to the files below one directory.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use spillgate_artifact::{ByteSource, Interrupt, Layout};
use spillgate_text::{Indexer, View};

use crate::name::checked;
use crate::regular_file::{FileSource, OpenError, open_regular};
use crate::{FileCache, FileError, Files, Identity, OpenedFile};

/// Bytes read at a time while lines are counted.
const BLOCK: u64 = 256 << 10;

/// The regular files below a directory. No name and no link leads out of the directory, even if
/// files change meanwhile: the system opens each name from the directory's handle (cap-std), and
/// not from a path that was checked before.
///
/// A text ends where its file ended when it was opened. Lines are counted block by block, and the
/// counts are cached for a few files as long as these do not change.
#[derive(Debug)]
pub struct Root {
    dir: Dir,
    cache: FileCache<View>,
}

impl Root {
    /// Opens the directory `dir`.
    pub fn open(dir: &Path) -> io::Result<Self> {
        Ok(Self {
            dir: Dir::open_ambient_dir(dir, ambient_authority())?,
            cache: FileCache::default(),
        })
    }

    fn file(&self, name: &str) -> Result<File, FileError> {
        open_regular(&self.dir, Path::new(name)).map_err(|why| match why {
            OpenError::Other(_) => FileError::NotRegular(name.to_owned()),
            OpenError::Refused(error) => failed(name, error),
        })
    }

    /// Returns the file's lines, from the cache if possible; counts them otherwise.
    fn view(&self, file: File, interrupt: &Interrupt) -> io::Result<Arc<View>> {
        let found = file.metadata()?;
        let identity = Identity::from(&found);
        if let Some(view) = self.cache.get(&identity) {
            return Ok(view);
        }
        Ok(self
            .cache
            .keep(identity, counted(file, found.len(), interrupt)?))
    }
}

impl Files for Root {
    fn open(&self, name: &str, interrupt: &Interrupt) -> Result<OpenedFile, FileError> {
        let file = self.file(checked(name)?)?;
        let view = self.view(file, interrupt);
        let view = view.map_err(|error| failed(name, error))?;
        Ok(OpenedFile::view(&view, interrupt))
    }
}

/// Indexes the first `len` bytes of a file.
fn counted(file: File, len: u64, interrupt: &Interrupt) -> io::Result<View> {
    let source = FileSource { file, len };
    let mut indexer = Indexer::as_is(Layout::AsIs);
    let (mut at, mut buffer) = (0, Vec::new());
    while at < len {
        interrupt.check()?;
        let block = source.window(at, at.saturating_add(BLOCK), &mut buffer)?;
        indexer.feed(block);
        at += block.len() as u64;
    }
    Ok(View::new(Arc::new(source), indexer.finish(), Layout::AsIs))
}

/// Converts a system error to a [`FileError`] for the file `name`.
fn failed(name: &str, error: io::Error) -> FileError {
    use io::ErrorKind::{InvalidFilename, IsADirectory, NotADirectory, NotFound, PermissionDenied};
    let name = name.to_owned();
    match error.kind() {
        NotFound | NotADirectory | InvalidFilename => FileError::Absent(name),
        IsADirectory => FileError::NotRegular(name),
        // When cap-std itself refuses a path, its error has no error number of the system.
        PermissionDenied if error.raw_os_error().is_none() => FileError::Outside(name),
        _ => FileError::Unreadable { name, error },
    }
}
