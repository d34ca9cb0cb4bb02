//! Keeps cached tool results as files, so that they survive a session.
//!
//! One file holds one entry: a header of fixed length, then the bytes. An entry is written under a
//! temporary name and renamed, so it is whole or absent. A file that does not match its header
//! counts as absent. The modification time of the file is set to the time when the entry expires,
//! so that expired entries are found without reading them.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use data_encoding::HEXLOWER;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use spillgate_artifact::{Clock, Timestamp};
use tempfile::{Builder, NamedTempFile};

use super::{CacheEntry, CacheKey, ToolCache};

/// Maximum size of one cached result, in bytes, unless configured otherwise.
pub const DEFAULT_ENTRY_BYTES: u64 = 16 << 20;

/// Maximum size of all cached results together, in bytes, unless configured otherwise.
pub const DEFAULT_TOTAL_BYTES: u64 = 256 << 20;

/// Length of a header, in bytes. Its JSON takes at most 230 bytes and is padded with spaces.
const HEADER: usize = 256;
const VERSION: u32 = 1;

/// Prefix of the names of unfinished files, and the age after which such a file is abandoned.
const MAKING: &str = ".new-";
const LEFTOVER: Duration = Duration::from_secs(24 * 60 * 60);

/// A cache of files that only their owner can read.
#[derive(Debug, Clone)]
pub struct DirectoryCache {
    directory: PathBuf,
    limits: CacheLimits,
    clock: Arc<dyn Clock>,
}

/// Size limits of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// Maximum size of one result, in bytes. A larger result is not cached.
    pub entry_bytes: u64,
    /// Maximum size of all results, in bytes. The entries that expire first are removed first.
    pub total_bytes: u64,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self {
            entry_bytes: DEFAULT_ENTRY_BYTES,
            total_bytes: DEFAULT_TOTAL_BYTES,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    version: u32,
    key: String,
    stored: Timestamp,
    bytes: u64,
    sha256: String,
}

impl DirectoryCache {
    /// Returns a cache in `directory`, which is created when the first entry is written.
    #[must_use]
    pub fn new(directory: PathBuf, limits: CacheLimits, clock: Arc<dyn Clock>) -> Self {
        Self {
            directory,
            limits,
            clock,
        }
    }

    fn path(&self, key: &CacheKey) -> PathBuf {
        self.directory.join(key.as_str())
    }

    /// Prepares the directory. Only this user may have access to it, because its contents are given
    /// to models.
    fn prepare(&self) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(&self.directory)?;
        let metadata = fs::symlink_metadata(&self.directory)?;
        if !metadata.is_dir() {
            let what = format!("{} is no directory", self.directory.display());
            return Err(io::Error::new(io::ErrorKind::NotADirectory, what));
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(&self.directory, Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    /// Returns the header of an entry, if it is valid and the entry has not expired.
    fn checked(&self, file: &mut File, key: &CacheKey, ttl: Duration) -> Option<Header> {
        let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let mut header = [0; HEADER];
        file.read_exact(&mut header).ok()?;
        let header: Header = serde_json::from_slice(&header).ok()?;
        let now = self.clock.now();
        let is_fresh = header.stored <= now && header.stored.age_at(now) < ttl;
        let is_whole = metadata.len() == header.bytes.checked_add(HEADER as u64)?
            && header.bytes <= self.limits.entry_bytes;
        let is_right = header.version == VERSION && header.key == key.as_str();
        let trusted = is_fresh && is_whole && is_right;
        (trusted && digest(file).ok()? == header.sha256).then_some(header)
    }

    /// Removes expired entries, abandoned unfinished files, and entries beyond the size limit.
    fn sweep(&self) -> io::Result<()> {
        let now = self.clock.now().system_time();
        let mut kept: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let Ok(metadata) = entry.metadata() else {
                continue; // another process has removed it
            };
            let changed = metadata.modified()?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_entry = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            match metadata.is_file() {
                true if name.starts_with(MAKING) && is_leftover(changed, now) => {
                    remove(&entry.path())?;
                }
                true if is_entry && changed <= now => remove(&entry.path())?,
                true if is_entry => kept.push((changed, metadata.len(), entry.path())),
                _ => {} // not ours
            }
        }
        kept.sort();
        let mut total: u64 = kept.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in kept {
            if total <= self.limits.total_bytes {
                break;
            }
            remove(&path)?;
            total -= bytes;
        }
        Ok(())
    }
}

impl ToolCache for DirectoryCache {
    fn get(&self, key: &CacheKey, ttl: Duration) -> io::Result<Option<Box<dyn Read + Send>>> {
        let path = self.path(key);
        // Opening does not follow symbolic links and does not block on a pipe.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags.bits().cast_signed());
        let mut file = match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let Some(header) = self.checked(&mut file, key, ttl) else {
            remove(&path)?;
            return Ok(None);
        };
        file.seek(SeekFrom::Start(HEADER as u64))?;
        Ok(Some(Box::new(file.take(header.bytes))))
    }

    fn begin(&self, key: &CacheKey, ttl: Duration) -> io::Result<Box<dyn CacheEntry>> {
        self.prepare()?;
        // `Builder` creates files that only their owner can read.
        let mut file = Builder::new().prefix(MAKING).tempfile_in(&self.directory)?;
        file.write_all(&[b' '; HEADER])?;
        Ok(Box::new(Making {
            cache: self.clone(),
            key: key.clone(),
            ttl,
            file,
            hash: Sha256::new(),
            bytes: 0,
        }))
    }
}

/// An entry that is being written.
#[derive(Debug)]
struct Making {
    cache: DirectoryCache,
    key: CacheKey,
    ttl: Duration,
    file: NamedTempFile,
    hash: Sha256,
    bytes: u64,
}

impl CacheEntry for Making {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        if self.bytes > self.cache.limits.entry_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.hash.update(bytes);
        self.file.write_all(bytes)
    }

    fn commit(self: Box<Self>) -> io::Result<()> {
        let Self {
            cache,
            key,
            ttl,
            mut file,
            hash,
            bytes,
        } = *self;
        let stored = cache.clock.now();
        let header = Header {
            version: VERSION,
            key: key.as_str().to_owned(),
            stored,
            bytes,
            sha256: HEXLOWER.encode(&hash.finalize()),
        };
        let mut header = serde_json::to_vec(&header)?;
        header.resize(HEADER, b' ');
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&header)?;
        if let Some(expiry) = stored.system_time().checked_add(ttl) {
            file.as_file().set_modified(expiry)?;
        }
        // The file is not synced: after a crash, its digest shows whether the entry is complete.
        file.persist(cache.path(&key))?;
        cache.sweep()
    }
}

/// Returns the digest of a file's bytes from the current position to the end.
fn digest(file: &mut File) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut block = vec![0; 64 << 10];
    loop {
        let bytes = file.read(&mut block)?;
        if bytes == 0 {
            return Ok(HEXLOWER.encode(&hash.finalize()));
        }
        hash.update(&block[..bytes]);
    }
}

/// Returns whether an unfinished file is so old that no process is still writing it.
fn is_leftover(changed: SystemTime, now: SystemTime) -> bool {
    now.duration_since(changed).is_ok_and(|age| age > LEFTOVER)
}

/// Removes a file. Another process may have removed it already.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests;
