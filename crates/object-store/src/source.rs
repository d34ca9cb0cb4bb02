//! A piece of an artifact in the bucket that is read in parts.

use std::collections::VecDeque;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;
use spillgate_artifact::{ByteSource, Handle};
use spillgate_store::Piece;

use crate::store::Inner;

/// Bytes of a block. Each request asks for whole blocks.
const BLOCK: u64 = 1 << 20;

/// Maximum number of blocks that one request asks for. If blocks are read in order, each request asks
/// for twice as many as the one before.
const MOST_AHEAD: u64 = 8;

/// Maximum number of blocks that are held in memory.
const HELD: usize = 8;

/// If at least this many bytes of a piece were fetched in parts, and at least a quarter of it, then
/// it is probably read as a whole: the rest is fetched into the cache.
const ENOUGH: u64 = 16 << 20;

/// Reads a piece by requests for its parts.
#[derive(Debug)]
pub(crate) struct RangeSource {
    inner: Arc<Inner>,
    handle: Handle,
    piece: Piece,
    len: u64,
    blocks: Mutex<Blocks>,
    fetched: AtomicU64,
    /// The copy of the piece in the cache, once it is there.
    copy: OnceLock<Arc<dyn ByteSource>>,
    /// Whether making a copy has failed.
    is_uncopied: AtomicBool,
}

#[derive(Debug, Default)]
struct Blocks {
    held: VecDeque<(u64, Bytes)>,
    /// The block after the last request, and the number of blocks that it asked for.
    next: u64,
    ahead: u64,
    /// What was fetched from the beginning on without a gap.
    beginning: Option<Beginning>,
}

impl Blocks {
    /// Keeps what was fetched if it follows what is kept already.
    fn keep(&mut self, directory: &Path, start: u64, bytes: &[u8]) {
        if start == 0 && self.beginning.is_none() {
            self.beginning = Beginning::in_directory(directory).ok();
        }
        let follows = self.beginning.as_mut().filter(|kept| kept.len == start);
        if follows.is_some_and(|kept| kept.add(bytes).is_err()) {
            self.beginning = None; // the disk is full
        }
    }
}

/// The beginning of a piece, in a file without a name.
#[derive(Debug)]
pub(crate) struct Beginning {
    file: File,
    len: u64,
}

impl Beginning {
    fn in_directory(directory: &Path) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
        let file = tempfile::tempfile_in(directory)?;
        Ok(Self { file, len: 0 })
    }

    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Copies it to a file. Returns the number of bytes.
    pub(crate) fn copy_to(&self, to: &mut File) -> io::Result<u64> {
        let mut file = &self.file;
        file.rewind()?;
        io::copy(&mut file.take(self.len), to)
    }
}

impl RangeSource {
    pub(crate) fn new(inner: Arc<Inner>, handle: Handle, piece: Piece, len: u64) -> Self {
        Self {
            inner,
            handle,
            piece,
            len,
            blocks: Mutex::default(),
            fetched: AtomicU64::new(0),
            copy: OnceLock::new(),
            is_uncopied: AtomicBool::new(false),
        }
    }

    /// Returns the copy in the cache. Makes it if enough of the piece was fetched in parts.
    fn copy(&self) -> Option<&Arc<dyn ByteSource>> {
        let fetched = self.fetched.load(Ordering::Relaxed);
        let is_due = fetched >= ENOUGH.max(self.len / 4);
        if self.copy.get().is_none() && is_due && !self.is_uncopied.load(Ordering::Relaxed) {
            let beginning = self.blocks.lock().beginning.take();
            let begun = beginning.map(|beginning| (self.piece, beginning));
            match self.inner.copied(self.handle, begun.as_ref()) {
                Ok(stored) => {
                    let copy = match self.piece {
                        Piece::View => stored.view,
                        _ => stored.raw,
                    };
                    drop(self.copy.set(copy));
                    self.blocks.lock().held.clear();
                }
                Err(error) => {
                    self.is_uncopied.store(true, Ordering::Relaxed);
                    tracing::debug!(handle = %self.handle, %error, "no copy of a stored output can be kept");
                }
            }
        }
        self.copy.get()
    }

    /// Returns a block. Only one thread fetches at a time.
    fn block(&self, number: u64) -> io::Result<Bytes> {
        let mut blocks = self.blocks.lock();
        let held = blocks.held.iter().find(|(held, _)| *held == number);
        if let Some((_, bytes)) = held {
            return Ok(bytes.clone());
        }
        blocks.ahead = match blocks.next == number && number > 0 {
            true => (blocks.ahead * 2).min(MOST_AHEAD),
            false => 1,
        };
        let start = number * BLOCK;
        let end = self.len.min(start + blocks.ahead * BLOCK);
        let bytes = self
            .inner
            .read(self.handle, self.piece, (start, end), self.len)
            .map_err(io::Error::other)?;
        self.fetched.fetch_add(end - start, Ordering::Relaxed);
        if !self.is_uncopied.load(Ordering::Relaxed) {
            blocks.keep(self.inner.directory(), start, &bytes);
        }
        blocks.next = number + blocks.ahead;
        let block = usize::try_from(BLOCK).map_err(io::Error::other)?;
        let mut parts = (number..).zip((0..bytes.len()).step_by(block));
        for (number, at) in parts.by_ref() {
            let part = bytes.slice(at..bytes.len().min(at + block));
            blocks.held.push_back((number, part));
        }
        while blocks.held.len() > HELD {
            blocks.held.pop_front();
        }
        Ok(bytes.slice(..bytes.len().min(block)))
    }
}

impl ByteSource for RangeSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.len || buffer.is_empty() {
            return Ok(0);
        }
        if let Some(copy) = self.copy() {
            return copy.read_at(buffer, offset);
        }
        let block = self.block(offset / BLOCK)?;
        let at = usize::try_from(offset % BLOCK).map_err(io::Error::other)?;
        let part = &block[at..];
        let n = part.len().min(buffer.len());
        buffer[..n].copy_from_slice(&part[..n]);
        Ok(n)
    }
}
