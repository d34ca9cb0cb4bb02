//! Reads messages of any size, from a stream or block by block.
//!
//! A small message is collected in memory. A large message has one large member, usually the
//! result. While this member arrives, a separate thread writes it to a draft of the store, hashes
//! it and builds its [`Skeleton`](crate::Skeleton), a copy without its large parts.

mod lexer;
mod outline;
#[cfg(test)]
mod tests;
mod utf8;
mod worker;

use std::fmt;
use std::io;
use std::sync::Arc;

use memchr::memchr;
use spillgate_store::ArtifactStore;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::{Frame, Input};
use worker::Worker;

pub(crate) use outline::Outliner;

/// Messages above this size, in bytes, are streamed to the store. Smaller messages are faster in
/// memory. Common messages are at most 1 MB.
pub const DEFAULT_SPOOL_BYTES: usize = 4 << 20;

/// Maximum number of bytes read from a stream at a time: the usual size of a pipe.
const BUFFER: usize = 64 << 10;

/// Size of the blocks that are handed to the worker thread, in bytes.
const BLOCK: usize = 256 << 10;

/// A message exceeds the limit `max_message`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("sent a message of more than {most} bytes (`max_message`)")]
pub struct TooLong {
    /// The limit, in bytes.
    pub most: u64,
}

/// Reads messages.
#[derive(Debug, Clone)]
pub struct FrameReader {
    store: Arc<dyn ArtifactStore>,
    spool_at: usize,
    /// Maximum size of a message, in bytes.
    most: u64,
}

impl FrameReader {
    /// Returns a frame reader that keeps large messages in drafts of `store`.
    #[must_use]
    pub fn new(store: Arc<dyn ArtifactStore>) -> Self {
        Self {
            store,
            spool_at: DEFAULT_SPOOL_BYTES,
            most: u64::MAX,
        }
    }

    /// Returns a copy that refuses messages of more than `most` bytes, because a line that never
    /// ends would fill the disk.
    #[must_use]
    pub fn at_most(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Returns a copy that streams messages of more than `bytes` bytes to the store.
    #[must_use]
    pub fn spooling_at(self, bytes: usize) -> Self {
        Self {
            spool_at: bytes,
            ..self
        }
    }

    /// Begins to read a message.
    #[must_use]
    pub fn begin(&self) -> Taking {
        Taking {
            frame_reader: self.clone(),
            taken: 0,
            bytes: Vec::new(),
            worker: None,
        }
    }
}

/// A message that is arriving. If it is dropped before it is complete, its draft is removed.
#[derive(Debug)]
pub struct Taking {
    frame_reader: FrameReader,
    /// Bytes of the message that have arrived.
    taken: u64,
    /// The bytes that have not been handed to the worker; the whole message so far if there is no
    /// worker.
    bytes: Vec<u8>,
    worker: Option<Worker>,
}

impl Taking {
    /// Adds the next bytes. After an error, the value must be dropped.
    pub async fn feed(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        self.taken += bytes.len() as u64;
        let most = self.frame_reader.most;
        if self.taken > most {
            return Err(TooLong { most });
        }
        self.bytes.extend_from_slice(bytes);
        match &mut self.worker {
            None if self.bytes.len() > self.frame_reader.spool_at => {
                let start = std::mem::take(&mut self.bytes);
                let store = Arc::clone(&self.frame_reader.store);
                self.worker = Some(Worker::start(store, start));
            }
            Some(worker) if self.bytes.len() >= BLOCK => {
                let next = worker.buffer();
                let block = std::mem::replace(&mut self.bytes, next);
                worker.take(block).await;
            }
            _ => {}
        }
        Ok(())
    }

    /// Completes the message and returns it.
    pub async fn finish(self) -> Frame {
        match self.worker {
            None => Frame::Memory(self.bytes.into()),
            Some(worker) => worker.finish(self.bytes).await,
        }
    }
}

/// Reads frames from a stream. In the stdio transport, each frame is a line.
pub struct Frames {
    reader: BufReader<Input>,
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames").finish_non_exhaustive()
    }
}

impl Frames {
    /// Returns a reader for the frames of a stream.
    #[must_use]
    pub fn new(input: Input) -> Self {
        Self {
            reader: BufReader::with_capacity(BUFFER, input),
        }
    }

    /// Returns the next frame with its newline, which may be missing in the last frame; `None` at
    /// the end. A frame of more than `most` bytes is read to its end and discarded. The call then
    /// returns an error of kind `FileTooLarge`, and the next call returns the frame after it.
    pub async fn next(&mut self, most: usize) -> io::Result<Option<Vec<u8>>> {
        let mut frame = Vec::new();
        let mut is_too_long = false;
        loop {
            let block = self.reader.fill_buf().await?;
            let end = memchr(b'\n', block).map(|at| at + 1);
            let n = end.unwrap_or(block.len());
            is_too_long |= frame.len() + n > most;
            if is_too_long {
                frame = Vec::new();
            } else {
                frame.extend_from_slice(&block[..n]);
            }
            self.reader.consume(n);
            if end.is_some() || n == 0 {
                break;
            }
        }
        if is_too_long {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok((!frame.is_empty()).then_some(frame))
    }

    /// Returns the next frame, of any size that `frame_reader` accepts. Returns an error of kind
    /// `UnexpectedEof` if the stream ends inside a message. Half a message is useless, and the next
    /// output would continue its line. Returns an error of kind `FileTooLarge` with a
    /// [`TooLong`] if the message is too large. The rest of the message is not
    /// read, because it may have no end.
    pub async fn take_in(&mut self, frame_reader: &FrameReader) -> io::Result<Option<Frame>> {
        let mut taking = frame_reader.begin();
        let mut is_any = false;
        loop {
            let block = self.reader.fill_buf().await?;
            if block.is_empty() {
                return match is_any {
                    true => last(taking.finish().await).map(Some),
                    false => Ok(None),
                };
            }
            is_any = true;
            let end = memchr(b'\n', block).map(|at| at + 1);
            let n = end.unwrap_or(block.len());
            let fed = taking.feed(&block[..n]).await;
            fed.map_err(|error| io::Error::new(io::ErrorKind::FileTooLarge, error))?;
            self.reader.consume(n);
            if end.is_some() {
                return Ok(Some(taking.finish().await));
            }
        }
    }
}

/// Accepts the last frame of a stream without a newline if the frame is complete.
fn last(frame: Frame) -> io::Result<Frame> {
    match frame.is_whole() {
        true => Ok(frame),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
