//! Atomic replacement of files.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rustix::fs::{Gid, Uid, fchown};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tempfile::Builder;

use crate::ClientsError;
use crate::document::{Edit, Syntax, Trouble, edit, parse};

/// Maximum size of a configuration file, in bytes.
const LARGEST: u64 = 64 << 20;

/// The content of a file as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The real path, with symbolic links resolved.
    pub(crate) file: PathBuf,
    /// The content; empty if the file does not exist.
    pub(crate) bytes: Vec<u8>,
    pub(crate) exists: bool,
}

/// Returns the SHA-256 in lowercase hex.
pub fn digest(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// A parsed configuration.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) seen: Seen,
    pub(crate) values: Value,
}

impl Opened {
    /// Opens and parses a file; `None` if it does not exist.
    pub(crate) fn open(file: &Path) -> Result<Option<Self>, ClientsError> {
        let Some(seen) = read(file)? else {
            return Ok(None);
        };
        let values = text(&seen.bytes).and_then(|text| parse(Syntax::of(&seen.file), text));
        let values = values.map_err(|trouble| trouble.of(file))?;
        Ok(Some(Self { seen, values }))
    }

    /// Opens and parses a file. A file that does not exist has no values.
    pub(crate) fn open_or_new(file: &Path) -> Result<Self, ClientsError> {
        let values = Value::Object(Map::new());
        match Self::open(file)? {
            Some(opened) => Ok(opened),
            None => Ok(Self {
                seen: Seen::missing(file),
                values,
            }),
        }
    }
}

impl Seen {
    /// Returns a file that does not exist yet. Its path is real as far as its directories exist.
    pub(crate) fn missing(file: &Path) -> Self {
        let real = |above: &Path| {
            let below = file.strip_prefix(above).ok()?;
            Some(fs::canonicalize(above).ok()?.join(below))
        };
        let found = file.ancestors().skip(1).find_map(real);
        Self {
            file: found.unwrap_or_else(|| file.to_owned()),
            bytes: Vec::new(),
            exists: false,
        }
    }

    /// Returns the bytes with these edits.
    pub(crate) fn edited(&self, edits: &[Edit]) -> Result<Vec<u8>, ClientsError> {
        if edits.is_empty() {
            return Ok(self.bytes.clone());
        }
        let edited = text(&self.bytes).and_then(|text| edit(Syntax::of(&self.file), text, edits));
        let edited = edited.map_err(|trouble| trouble.of(&self.file))?;
        Ok(edited.into_bytes())
    }
}

fn text(bytes: &[u8]) -> Result<&str, Trouble> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        Trouble::Malformed {
            line: before.iter().filter(|&&byte| byte == b'\n').count() + 1,
            message: "it is not UTF-8".into(),
        }
    })
}

pub(crate) fn failed(
    file: &Path,
    doing: &'static str,
) -> impl FnOnce(io::Error) -> ClientsError + use<> {
    let file = file.to_owned();
    move |error| ClientsError::Io { file, doing, error }
}

/// Reads a file; `None` if it does not exist.
pub(crate) fn read(file: &Path) -> Result<Option<Seen>, ClientsError> {
    let real = match fs::canonicalize(file) {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(file, "reading it")(error)),
    };
    let reading = || {
        let opened = File::open(&real)?;
        let metadata = opened.metadata()?;
        if !metadata.is_file() || metadata.len() > LARGEST {
            let what = "it is not a regular file, or it is too large";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let mut bytes = Vec::new();
        opened.take(LARGEST).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = reading().map_err(failed(file, "reading it"))?;
    Ok(Some(Seen {
        file: real,
        bytes,
        exists: true,
    }))
}

/// Creates a file. Fails if another process has created it meanwhile.
pub(crate) fn create(file: &Path, bytes: &[u8]) -> Result<(), ClientsError> {
    let writing = || {
        if let Some(directory) = file.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut new = File::create_new(file)?;
        new.write_all(bytes)?;
        new.sync_all()
    };
    writing().map_err(failed(file, "creating it"))
}

/// Removes a file that still has the content that was read, and its directory if that is a hidden one,
/// such as `.claude`, and is then empty.
pub(crate) fn remove(had: &Seen) -> Result<(), ClientsError> {
    let file = had.file.clone();
    match fs::read(&file) {
        Ok(now) if now == had.bytes => {
            fs::remove_file(&file).map_err(failed(&file, "removing it"))?;
            let directory = file.parent().filter(|directory| {
                let name = directory.file_name().unwrap_or_default();
                name.as_encoded_bytes().starts_with(b".")
            });
            if let Some(directory) = directory {
                let _ = fs::remove_dir(directory); // fails if it has other files
            }
            Ok(())
        }
        Ok(_) => Err(ClientsError::Changed { file }),
        Err(error) => Err(failed(&file, "reading it")(error)),
    }
}

/// Writes `new` in place of the contents that were read (`had`), keeping mode and owner. Fails if
/// another process changed the file meanwhile.
pub(crate) fn replace(had: &Seen, new: &[u8]) -> Result<(), ClientsError> {
    let file = had.file.as_path();
    let metadata = fs::metadata(file).map_err(failed(file, "reading it"))?;
    // Renaming would replace even a file that its owner has made read-only.
    let writable = File::options().write(true).open(file);
    drop(writable.map_err(failed(file, "writing it"))?);
    let directory = file.parent().unwrap_or(Path::new("/"));
    let writing = || {
        let mut next = Builder::new()
            .prefix(".spillgate-")
            .tempfile_in(directory)?;
        next.write_all(new)?;
        keep(&metadata, next.as_file())?;
        next.as_file().sync_all()?;
        Ok(next)
    };
    let next = writing().map_err(failed(file, "writing beside it"))?;
    let now = fs::read(file).map_err(failed(file, "reading it"))?;
    if now != had.bytes {
        let file = file.to_owned();
        return Err(ClientsError::Changed { file });
    }
    let renamed = next.persist(file).map_err(|error| error.error);
    renamed.map_err(failed(file, "writing it"))?;
    // Syncs the directory, too, so that the new name is as durable as the content.
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(failed(file, "writing it"))
}

/// Gives `next` the owner and the mode of the file that it replaces. The owner comes first, because
/// changing it may clear bits of the mode.
fn keep(metadata: &Metadata, next: &File) -> io::Result<()> {
    let own = next.metadata()?;
    if (own.uid(), own.gid()) != (metadata.uid(), metadata.gid()) {
        let (uid, gid) = (metadata.uid(), metadata.gid());
        fchown(next, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
    }
    next.set_permissions(fs::Permissions::from_mode(metadata.mode() & 0o7777))
}

/// Writes a file of Spillgate's own that only its owner can read.
pub(crate) fn write_own(file: &Path, bytes: &[u8]) -> Result<(), ClientsError> {
    let directory = file.parent().unwrap_or(Path::new("/"));
    let writing = || {
        fs::DirBuilder::new().recursive(true).create(directory)?;
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
        // Temporary files are created with mode 0600.
        let mut next = Builder::new().prefix(".next-").tempfile_in(directory)?;
        next.write_all(bytes)?;
        next.as_file().sync_all()?;
        next.persist(file).map_err(|error| error.error)?;
        File::open(directory)?.sync_all()
    };
    writing().map_err(failed(file, "writing it"))
}
