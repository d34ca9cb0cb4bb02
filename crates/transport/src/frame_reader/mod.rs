//! Reads messages of any size.
//!
//! A small message is collected in memory. For a larger one, the member that makes it large
//! (usually the result) is written to a draft of the store while it arrives, on a thread of its
//! own, which also hashes it and builds its skeleton.

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

/// Messages above this size in bytes are streamed to the store. Below it, memory is faster: 1 MB is
/// the largest common message.
pub const DEFAULT_SPOOL_BYTES: usize = 4 << 20;

/// Bytes handed to the thread at a time.
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
    /// Most bytes of a message.
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

    /// Returns a copy that refuses messages of more than `most` bytes: a line that never ends would
    /// fill the disk.
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

    /// Begins a message.
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

/// A message that is arriving. Dropping it before it is complete leaves nothing behind.
#[derive(Debug)]
pub struct Taking {
    frame_reader: FrameReader,
    /// Bytes of the message so far.
    taken: u64,
    /// The message, or the part that the worker has not received yet.
    bytes: Vec<u8>,
    worker: Option<Worker>,
}

impl Taking {
    /// Takes the next bytes. After an error the value must be dropped.
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

    /// Completes the message.
    pub async fn finish(self) -> Frame {
        match self.worker {
            None => Frame::Memory(self.bytes.into()),
            Some(worker) => worker.finish(self.bytes).await,
        }
    }
}
