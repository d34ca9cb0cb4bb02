//! Computes the SHA-256 hash of data in parallel with writing it.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// Maximum number of blocks that wait for the hashing thread, so that a short delay on one side
/// does not stop the other.
const IN_FLIGHT: usize = 3;

/// Hashes blocks on a separate thread. SHA-256 (1.5 GB/s) is slower than scanning and about as fast
/// as writing, so one core hashes while another scans and writes.
#[derive(Debug)]
pub struct Hashing {
    blocks: SyncSender<(Vec<u8>, usize)>,
    thread: JoinHandle<Sha256>,
}

impl Hashing {
    /// Starts the thread. `done` receives each block after it was hashed, so that it can be used
    /// again.
    pub fn start(done: impl Fn(Vec<u8>) + Send + 'static) -> Self {
        let (blocks, incoming) = sync_channel::<(Vec<u8>, usize)>(IN_FLIGHT);
        let thread = std::thread::spawn(move || {
            let mut hash = Sha256::new();
            for (block, length) in incoming {
                hash.update(&block[..length]);
                done(block);
            }
            hash
        });
        Self { blocks, thread }
    }

    /// Hashes the first `length` bytes of a block.
    ///
    /// # Panics
    ///
    /// If the block is shorter than `length`.
    pub fn feed(&self, block: Vec<u8>, length: usize) {
        self.blocks
            .send((block, length))
            .expect("invariant: the thread receives until the sender is dropped");
    }

    /// Returns the SHA-256 of all bytes passed to [`feed`](Self::feed), in hexadecimal.
    ///
    /// # Panics
    ///
    /// If a block was shorter than the length passed with it.
    #[must_use]
    pub fn finish(self) -> String {
        drop(self.blocks);
        let hash = self
            .thread
            .join()
            .expect("invariant: hashing does not panic");
        HEXLOWER.encode(&hash.finalize())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn blocks_hash_to_the_whole_and_come_back() {
        let (done, used) = channel();
        let hashing = Hashing::start(move |block| drop(done.send(block)));
        for part in [
            "first ", "then ", "more ", "and ", "more ", "and ", "the end",
        ] {
            hashing.feed(format!("{part}, not this").into_bytes(), part.len());
        }
        let whole = Sha256::digest(b"first then more and more and the end");
        assert_eq!(hashing.finish(), HEXLOWER.encode(&whole));
        assert_eq!(used.iter().count(), 7);
    }
}
