//! Opens, creates and replaces the files of a store.
//!
//! These functions follow no symbolic link, and open only regular files, because opening a FIFO
//! would block.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;
use spillgate_artifact::FileId;

use crate::StoreError;
use crate::disk::Disk;

/// Opens a regular file with `options`. Refuses a symbolic link, a FIFO, a device or a directory
/// with `InvalidInput`, without blocking.
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let refused = |what| io::Error::new(io::ErrorKind::InvalidInput, what);
    // Without NONBLOCK, opening a FIFO would wait until another process opens it, too.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = options.custom_flags(flags.bits().cast_signed()).open(path);
    let file = opened.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => refused("it is a symbolic link"),
        // The path leads to a FIFO without a reader, or to a socket.
        Some(Errno::NXIO) => refused("it is not a regular file"),
        _ => error,
    })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(refused("it is not a regular file")),
    }
}

pub(crate) fn open_existing(path: &Path) -> io::Result<File> {
    open_regular(path, OpenOptions::new().read(true))
}

pub(crate) fn create_new(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    open_regular(path, &mut options).map_err(|error| StoreError::io(path, error))
}

pub(crate) fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_existing(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Replaces a file with another atomically. Syncs the new file first if `disk` is given.
pub(crate) fn write_whole(
    path: &Path,
    bytes: &[u8],
    disk: Option<&Disk>,
) -> Result<(), StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".draft-{name}-{}", FileId::random()));
    let mut file = create_new(&draft)?;
    let written = file
        .write_all(bytes)
        .map_err(|error| StoreError::io(path, error));
    let written = written.and_then(|()| match disk {
        Some(disk) => disk.sync(&draft, &file),
        None => Ok(()),
    });
    let renamed = written
        .and_then(|()| fs::rename(&draft, path).map_err(|error| StoreError::io(path, error)));
    renamed.inspect_err(|_| drop(fs::remove_file(&draft)))
}

/// Returns all entries of a directory. Returns no entries if the directory does not exist.
pub(crate) fn entries(directory: &Path) -> Result<Vec<fs::DirEntry>, StoreError> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.and_then(Iterator::collect),
    };
    entries.map_err(|error| StoreError::io(directory, error))
}

/// Like [`entries`], but also returns no entries if the directory may not be read. In a shared
/// store a session may belong to another user.
pub(crate) fn readable_entries(directory: &Path) -> Result<Vec<fs::DirEntry>, StoreError> {
    match entries(directory) {
        Err(StoreError::Denied { path, .. }) => {
            tracing::warn!(path = %path.display(), "a directory of the store is skipped, because there is no permission to read it");
            Ok(Vec::new())
        }
        entries => entries,
    }
}

pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> Vec<u8> {
    let mut json = serde_json::to_vec_pretty(value).expect("invariant: plain data is JSON");
    json.push(b'\n');
    json
}

pub(crate) fn make_directory(path: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
        .create(path)
        .map_err(|error| StoreError::io(path, error))
}

/// Creates a directory in a base that exists already.
pub(crate) fn make_in_base(path: &Path) -> Result<(), StoreError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map_err(|error| StoreError::io(path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_missing_has_nothing_in_it() {
        let base = tempfile::tempdir().unwrap();
        assert!(entries(&base.path().join("missing")).unwrap().is_empty());
        let file = base.path().join("file");
        fs::write(&file, "x").unwrap();
        assert!(entries(&file).is_err());
    }
}
