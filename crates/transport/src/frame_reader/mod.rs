//! Reads messages of any size.
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

use std::sync::Arc;

use spillgate_store::ArtifactStore;

use crate::Frame;
use worker::Worker;

pub(crate) use outline::Outliner;

/// Messages above this size, in bytes, are streamed to the store. Smaller messages are faster in
/// memory. Common messages are at most 1 MB.
pub const DEFAULT_SPOOL_BYTES: usize = 4 << 20;

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
