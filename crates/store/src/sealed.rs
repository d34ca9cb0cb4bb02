//! Encrypted files: written in chunks, read at any offset.
//!
//! ```text
//! salt (32 bytes) | chunk 0 (65,536 bytes) | tag (16) | chunk 1 | tag | … | last chunk | tag
//! ```
//!
//! Only the last chunk is shorter, and only in a file without content is it empty. The cipher marks
//! the last chunk, so a file that was cut is detected ([`crate::key`]).

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use ring::rand::{SecureRandom, SystemRandom};
use spillgate_artifact::{ByteSource, SourceTruncated};

use crate::StoreError;
use crate::key::{ArtifactKey, Cipher, SALT_BYTES, Sealed, TAG_BYTES};
use crate::open::open_existing;

/// Bytes of a chunk.
const CHUNK: usize = 64 << 10;

/// Bytes of a chunk in the file.
const SEALED_CHUNK: u64 = (CHUNK + TAG_BYTES) as u64;

/// Maximum number of decrypted chunks that a source keeps for the next reads.
const KEPT: usize = 4;

/// Returns the size of the file that holds `bytes` encrypted bytes.
pub(crate) fn sealed_size(bytes: u64) -> u64 {
    let chunks = bytes.div_ceil(CHUNK as u64).max(1);
    SALT_BYTES as u64 + bytes + chunks * TAG_BYTES as u64
}

/// Returns the number of bytes that an encrypted file of this size holds; `None` if no file has
/// this size.
fn plain_size(size: u64) -> Option<u64> {
    let body = size.checked_sub(SALT_BYTES as u64)?;
    let bytes = body.checked_sub(body.div_ceil(SEALED_CHUNK) * TAG_BYTES as u64)?;
    (sealed_size(bytes) == size).then_some(bytes)
}

/// Returns random bytes for a new file.
pub(crate) fn salt() -> io::Result<[u8; SALT_BYTES]> {
    let mut salt = [0; SALT_BYTES];
    let filled = SystemRandom::new().fill(&mut salt);
    filled.map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(salt)
}

/// Encrypts the bytes of a file while they are written. The newest chunk stays in memory until it
/// is known whether it is the last one.
#[derive(Debug)]
pub(crate) struct SealedWriter {
    cipher: Arc<Cipher>,
    salt: [u8; SALT_BYTES],
    /// The chunk that is being filled.
    chunk: Vec<u8>,
    /// Number of chunks in the file.
    written: u64,
}

impl SealedWriter {
    pub(crate) fn new(key: &ArtifactKey, sealed: Sealed) -> io::Result<Self> {
        let salt = salt()?;
        Ok(Self {
            cipher: Arc::new(key.cipher(sealed, &salt)),
            salt,
            chunk: Vec::with_capacity(CHUNK + TAG_BYTES),
            written: 0,
        })
    }

    pub(crate) fn write(&mut self, mut bytes: &[u8], file: &mut impl Write) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.chunk.len() == CHUNK {
                self.flush(false, file)?;
            }
            let n = bytes.len().min(CHUNK - self.chunk.len());
            self.chunk.extend_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
        }
        Ok(())
    }

    /// Writes the last chunk. Nothing may be written afterwards.
    pub(crate) fn finish(mut self, file: &mut impl Write) -> io::Result<()> {
        self.flush(true, file)
    }

    fn flush(&mut self, is_last: bool, file: &mut impl Write) -> io::Result<()> {
        if self.written == 0 {
            file.write_all(&self.salt)?;
        }
        self.cipher.seal(self.written, is_last, &mut self.chunk);
        // Counted before the bytes are written: after an error, the number is not used again.
        self.written += 1;
        file.write_all(&self.chunk)?;
        self.chunk.clear();
        Ok(())
    }

    /// Returns the bytes written so far.
    pub(crate) fn source(&self, file: File) -> SealedSource {
        SealedSource {
            file,
            cipher: Arc::clone(&self.cipher),
            len: self.written * CHUNK as u64 + self.chunk.len() as u64,
            extent: Extent::Chunks(self.written, self.chunk.clone()),
            kept: Mutex::default(),
        }
    }
}

/// Returns the content of an encrypted file that holds `bytes`.
pub(crate) fn sealed(key: &ArtifactKey, part: Sealed, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut writer = SealedWriter::new(key, part)?;
    let mut content = Vec::new();
    writer.write(bytes, &mut content)?;
    writer.finish(&mut content)?;
    Ok(content)
}

/// Which chunks of a source are in its file.
#[derive(Debug)]
enum Extent {
    /// All of them.
    Whole,
    /// This number of chunks. The bytes after them are in memory.
    Chunks(u64, Vec<u8>),
}

/// A decrypted chunk and its number.
type Kept = (u64, Arc<Vec<u8>>);

/// An encrypted file that can be read at any offset, by several readers at the same time. A read
/// decrypts the chunks that it needs.
#[derive(Debug)]
pub(crate) struct SealedSource {
    file: File,
    cipher: Arc<Cipher>,
    len: u64,
    extent: Extent,
    /// The chunks that were decrypted last, the oldest first.
    kept: Mutex<Vec<Kept>>,
}

impl SealedSource {
    /// Opens an encrypted file and checks its last chunk, and with it the length of the file.
    pub(crate) fn open(path: &Path, key: &ArtifactKey, sealed: Sealed) -> Result<Self, StoreError> {
        let io = |error| StoreError::io(path, error);
        let damaged = |what: &str| StoreError::Damaged {
            path: path.to_owned(),
            what: what.to_owned(),
        };
        let file = open_existing(path).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        let len = plain_size(size).ok_or_else(|| damaged("the encrypted file was cut"))?;
        let mut salt = [0; SALT_BYTES];
        file.read_exact_at(&mut salt, 0).map_err(io)?;
        let source = Self {
            file,
            cipher: Arc::new(key.cipher(sealed, &salt)),
            len,
            extent: Extent::Whole,
            kept: Mutex::default(),
        };
        match source.chunk(source.last()) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(damaged(&error.to_string()))
            }
            checked => checked.map(|_| source).map_err(io),
        }
    }

    /// The number of the last chunk.
    fn last(&self) -> u64 {
        self.len.saturating_sub(1) / CHUNK as u64
    }

    /// Returns a decrypted chunk of the file.
    fn chunk(&self, number: u64) -> io::Result<Arc<Vec<u8>>> {
        let find = |kept: &[Kept]| {
            let mut found = kept.iter().filter(|(one, _)| *one == number);
            found.next().map(|(_, chunk)| Arc::clone(chunk))
        };
        if let Some(chunk) = find(&self.kept.lock()) {
            return Ok(chunk);
        }
        let start = number * CHUNK as u64;
        let length = (self.len - start).min(CHUNK as u64);
        let mut chunk = vec![0; usize::try_from(length).map_err(io::Error::other)? + TAG_BYTES];
        let at = SALT_BYTES as u64 + number * SEALED_CHUNK;
        let read = self.file.read_exact_at(&mut chunk, at);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => SourceTruncated {
                at: start,
                len: self.len,
            }
            .into(),
            _ => error,
        })?;
        let is_last = matches!(self.extent, Extent::Whole) && number == self.last();
        if !self.cipher.open(number, is_last, &mut chunk) {
            let what = format!(
                "the encrypted bytes from {start} on were changed, or the file was cut or exchanged"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let chunk = Arc::new(chunk);
        let mut kept = self.kept.lock();
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((number, Arc::clone(&chunk)));
        Ok(chunk)
    }
}

impl ByteSource for SealedSource {
    fn len(&self) -> u64 {
        self.len
    }

    /// Reads up to the end of a chunk.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.len || buffer.is_empty() {
            return Ok(0);
        }
        let (number, within) = (offset / CHUNK as u64, offset % CHUNK as u64);
        let within = usize::try_from(within).map_err(io::Error::other)?;
        let from = |chunk: &[u8], buffer: &mut [u8]| {
            let rest = &chunk[within..];
            let n = rest.len().min(buffer.len());
            buffer[..n].copy_from_slice(&rest[..n]);
            n
        };
        match &self.extent {
            Extent::Chunks(written, tail) if number >= *written => Ok(from(tail, buffer)),
            _ => Ok(from(&self.chunk(number)?, buffer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spillgate_artifact::FileId;

    use super::*;
    use crate::StoreKey;

    fn key() -> ArtifactKey {
        ArtifactKey {
            key: StoreKey::from_hex(&"5a".repeat(32)).unwrap(),
            id: FileId::random().to_string(),
        }
    }

    /// Returns a directory with the encrypted file `f` of these bytes, written in these blocks.
    fn written(key: &ArtifactKey, bytes: &[u8], blocks: &[usize]) -> tempfile::TempDir {
        let base = tempfile::tempdir().unwrap();
        let mut options = File::options();
        let file = options.create_new(true).read(true).write(true);
        let mut file = file.open(base.path().join("f")).unwrap();
        let mut writer = SealedWriter::new(key, Sealed::Raw).unwrap();
        let (mut rest, mut blocks) = (bytes, blocks.iter().cycle());
        while !rest.is_empty() {
            let (block, after) = rest.split_at((*blocks.next().unwrap()).min(rest.len()));
            writer.write(block, &mut file).unwrap();
            rest = after;
            // What was written so far can be read at once.
            let so_far = bytes.len() - rest.len();
            let source = writer.source(file.try_clone().unwrap());
            assert_eq!(source.len(), so_far as u64);
            let start = so_far.saturating_sub(CHUNK + 9);
            assert_eq!(
                source.bytes(start as u64, u64::MAX).unwrap(),
                bytes[start..so_far]
            );
        }
        writer.finish(&mut file).unwrap();
        assert_eq!(
            file.metadata().unwrap().len(),
            sealed_size(bytes.len() as u64)
        );
        base
    }

    fn bytes_of(size: usize) -> Vec<u8> {
        let byte = |at: usize| u8::try_from((at * 31 + at / 253) % 256).unwrap();
        (0..size).map(byte).collect()
    }

    fn read(path: &Path, key: &ArtifactKey) -> Option<Vec<u8>> {
        let source = SealedSource::open(path, key, Sealed::Raw).ok()?;
        source.bytes(0, u64::MAX).ok()
    }

    #[test]
    fn a_size_leads_back_to_the_bytes() {
        let edge = CHUNK as u64;
        for bytes in [0, 1, edge - 1, edge, edge + 1, 2 * edge, 5 * edge + 77] {
            assert_eq!(plain_size(sealed_size(bytes)), Some(bytes), "{bytes}");
        }
        // A chunk without content follows no other chunk.
        for none in [0, 32, 47, sealed_size(edge) + 1, sealed_size(edge) + 16] {
            assert_eq!(plain_size(none), None, "{none}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn what_is_written_in_any_blocks_is_read_in_any_ranges(
            size in prop_oneof![0..200usize, 60_000..70_000usize, 131_000..131_200usize, 0..400_000usize],
            blocks in prop::collection::vec(1..150_000usize, 1..5),
            ranges in prop::collection::vec((0..420_000usize, 0..200_000usize), 1..8),
        ) {
            let (key, bytes) = (key(), bytes_of(size));
            let base = written(&key, &bytes, &blocks);
            let source = SealedSource::open(&base.path().join("f"), &key, Sealed::Raw).unwrap();
            prop_assert_eq!(source.len(), size as u64);
            for (start, length) in ranges {
                let end = start + length;
                let want = &bytes[start.min(size)..end.min(size)];
                prop_assert_eq!(source.bytes(start as u64, end as u64).unwrap(), want);
            }
        }

        #[test]
        fn a_changed_byte_is_an_error(
            size in 0..200_000usize,
            at in any::<prop::sample::Index>(),
            flip in 1..=255u8,
        ) {
            let key = key();
            let base = written(&key, &bytes_of(size), &[50_000]);
            let path = base.path().join("f");
            let mut stored = std::fs::read(&path).unwrap();
            let at = at.index(stored.len());
            stored[at] ^= flip;
            std::fs::write(&path, stored).unwrap();
            prop_assert_eq!(read(&path, &key), None);
        }

        #[test]
        fn a_cut_or_longer_file_is_an_error(size in 0..200_000usize, length in 0..300_000usize) {
            let key = key();
            let base = written(&key, &bytes_of(size), &[50_000]);
            let path = base.path().join("f");
            let mut stored = std::fs::read(&path).unwrap();
            prop_assume!(length != stored.len());
            stored.resize(length, 0);
            std::fs::write(&path, stored).unwrap();
            prop_assert_eq!(read(&path, &key), None);
        }
    }

    #[test]
    fn moved_chunks_and_exchanged_files_are_errors() {
        let (key, bytes) = (key(), bytes_of(4 * CHUNK));
        let base = written(&key, &bytes, &[CHUNK]);
        let path = base.path().join("f");
        let stored = std::fs::read(&path).unwrap();
        let size = CHUNK + TAG_BYTES;
        let chunk = |number: usize| &stored[SALT_BYTES + number * size..][..size];
        let of = |order: &[usize]| {
            let chunks = order.iter().flat_map(|&number| chunk(number));
            stored[..SALT_BYTES]
                .iter()
                .chain(chunks)
                .copied()
                .collect::<Vec<u8>>()
        };
        assert_eq!(of(&[0, 1, 2, 3]), stored);
        for order in [
            &[1, 0, 2, 3][..],
            &[0, 1, 3, 2],
            &[0, 1, 1, 3],
            &[0, 1, 2],
            &[0, 1, 3],
            &[0, 1, 2, 3, 3],
            &[0],
        ] {
            std::fs::write(&path, of(order)).unwrap();
            assert_eq!(read(&path, &key), None, "{order:?}");
        }
        std::fs::write(&path, &stored).unwrap();
        assert_eq!(read(&path, &key), Some(bytes));
        // Another part, another artifact, another key.
        assert!(SealedSource::open(&path, &key, Sealed::View).is_err());
        let other = ArtifactKey {
            id: FileId::random().to_string(),
            ..key.clone()
        };
        assert_eq!(read(&path, &other), None);
        let other = ArtifactKey {
            key: StoreKey::from_hex(&"5b".repeat(32)).unwrap(),
            ..key
        };
        assert_eq!(read(&path, &other), None);
    }

    #[test]
    fn many_threads_read_one_source() {
        let (key, bytes) = (key(), bytes_of(20 * CHUNK + 5));
        let base = written(&key, &bytes, &[1 << 20]);
        let source = SealedSource::open(&base.path().join("f"), &key, Sealed::Raw).unwrap();
        std::thread::scope(|scope| {
            for reader in 0..4 {
                let (source, bytes) = (&source, &bytes);
                scope.spawn(move || {
                    for step in 0..200 {
                        let start = (reader * 7_919 + step * 10_007) % bytes.len();
                        let end = (start + 30_000).min(bytes.len());
                        let want = &bytes[start..end];
                        assert_eq!(source.bytes(start as u64, end as u64).unwrap(), want);
                    }
                });
            }
        });
        assert!(source.kept.lock().len() <= KEPT);
    }

    #[test]
    fn bytes_that_go_missing_after_the_opening_are_an_error() {
        let (key, bytes) = (key(), bytes_of(3 * CHUNK));
        let base = written(&key, &bytes, &[1 << 20]);
        let path = base.path().join("f");
        let source = SealedSource::open(&path, &key, Sealed::Raw).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(100).unwrap();
        let error = source.bytes(0, 9).unwrap_err();
        assert!(SourceTruncated::of(&error).is_some(), "{error}");
    }
}
