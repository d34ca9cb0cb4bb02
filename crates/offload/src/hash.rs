//! SHA-256 beside the writing, not before it.

use std::fmt;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, LazyLock};
use std::thread::{Builder, JoinHandle};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// Blocks on their way to the hashing thread: enough that neither side waits
/// for the other's hiccups.
const IN_FLIGHT: usize = 3;

/// So many bytes take longer to hash than a thread to start.
const MANY_BYTES: usize = 128 << 10;

/// Hashes blocks on a thread of its own: SHA-256 (1.5 GB/s) is slower than
/// scanning and about as fast as writing, so one core does the one and another
/// the others. Blocks are used again.
#[derive(Debug)]
pub(crate) struct Hashing {
    blocks: SyncSender<Vec<u8>>,
    used: Receiver<Vec<u8>>,
    thread: JoinHandle<Sha256>,
    block: usize,
}

impl Hashing {
    pub(crate) fn start(first: Vec<u8>, block: usize) -> Self {
        let (blocks, incoming) = sync_channel::<Vec<u8>>(IN_FLIGHT);
        let (outgoing, used) = channel();
        let thread = std::thread::spawn(move || {
            let mut hash = Sha256::new();
            for block in incoming {
                hash.update(&block);
                // Nobody wants it back once the stream has ended.
                drop(outgoing.send(block));
            }
            hash
        });
        let hashing = Self {
            blocks,
            used,
            thread,
            block,
        };
        hashing.feed(first);
        hashing
    }

    /// A buffer to read a block into; what is in it is of no use.
    pub(crate) fn buffer(&self) -> Vec<u8> {
        let used = self.used.try_recv().unwrap_or_default();
        match used.capacity() < self.block {
            true => Vec::with_capacity(self.block),
            false => used,
        }
    }

    pub(crate) fn feed(&self, block: Vec<u8>) {
        self.blocks
            .send(block)
            .expect("invariant: the thread receives until the sender is dropped");
    }

    pub(crate) fn finish(self) -> String {
        drop(self.blocks);
        let hash = self
            .thread
            .join()
            .expect("invariant: hashing does not panic");
        HEXLOWER.encode(&hash.finalize())
    }
}

/// A SHA-256 in hex, or the promise of one.
#[derive(Clone)]
pub(crate) struct Hash(Arc<LazyLock<String, Box<dyn FnOnce() -> String + Send>>>);

impl Hash {
    /// That of bytes in memory; of many, made on a thread of its own.
    pub(crate) fn of(bytes: &Bytes) -> Self {
        if bytes.len() < MANY_BYTES {
            return sha256(bytes).into();
        }
        let hashed = bytes.clone();
        let thread = Builder::new().spawn(move || sha256(&hashed));
        let bytes = bytes.clone();
        Self(Arc::new(LazyLock::new(Box::new(move || {
            let made = thread.ok().and_then(|thread| thread.join().ok());
            made.unwrap_or_else(|| sha256(&bytes))
        }))))
    }

    pub(crate) fn get(&self) -> &str {
        &self.0
    }
}

impl From<String> for Hash {
    fn from(made: String) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(|| made))))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hash")
    }
}

/// SHA-256 in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hash_to_the_whole() {
        let hashing = Hashing::start(b"first ".to_vec(), 16);
        for part in ["then ", "more ", "and ", "more ", "and ", "the end"] {
            let mut block = hashing.buffer();
            block.clear();
            block.extend_from_slice(part.as_bytes());
            hashing.feed(block);
        }
        assert_eq!(
            hashing.finish(),
            sha256(b"first then more and more and the end")
        );
        assert!(sha256(b"").starts_with("e3b0c44298fc1c149afbf4c8996fb924"));
    }
}
