//! A thread that writes a large message to a draft, so that other messages do not have to wait.

use std::sync::Arc;

use spillgate_store::{ArtifactStore, Draft, Hashing, LostBytes, Part, StoreError};
use tokio::sync::mpsc::{
    Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel,
};
use tokio::task::{JoinHandle, spawn_blocking};

use super::BLOCK;
use super::lexer::open_member;
use super::outline::Outliner;
use super::utf8::Utf8;
use crate::Frame;
use crate::skeleton::Skeleton;
use crate::spooled::{Spooled, Value};

/// Maximum number of blocks that wait for the thread.
const IN_FLIGHT: usize = 4;

/// Maximum number of bytes kept in memory before the large member, and also after it. A message
/// that exceeds either limit is passed on without being parsed.
const MOST_AROUND: usize = 8 << 20;

/// Number of bytes that are kept from each end of a value that could not be stored. No preview
/// shows more than this.
const END: usize = 64 << 10;

/// A thread that reads one message.
#[derive(Debug)]
pub(super) struct Worker {
    blocks: Sender<Vec<u8>>,
    used: UnboundedReceiver<Vec<u8>>,
    thread: JoinHandle<Frame>,
}

impl Worker {
    pub(super) fn start(store: Arc<dyn ArtifactStore>, start: Vec<u8>) -> Self {
        let (blocks, incoming) = channel(IN_FLIGHT);
        let (reuse, used) = unbounded_channel();
        let thread = spawn_blocking(move || work(&*store, start, incoming, &reuse));
        Self {
            blocks,
            used,
            thread,
        }
    }

    /// Returns an empty buffer for the next block. Reuses one if possible.
    pub(super) fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = self.used.try_recv().unwrap_or_default();
        buffer.clear();
        buffer.reserve(2 * BLOCK);
        buffer
    }

    pub(super) async fn take(&self, block: Vec<u8>) {
        // Sending fails only if the thread has panicked. `finish` reports the panic.
        drop(self.blocks.send(block).await);
    }

    pub(super) async fn finish(self, last: Vec<u8>) -> Frame {
        self.take(last).await;
        drop(self.blocks);
        let frame = self.thread.await;
        frame.expect("invariant: taking in does not panic")
    }
}

fn work(
    store: &dyn ArtifactStore,
    start: Vec<u8>,
    mut blocks: Receiver<Vec<u8>>,
    reuse: &UnboundedSender<Vec<u8>>,
) -> Frame {
    let mut spool = Spool::begin(store, reuse.clone(), start);
    while let Some(block) = blocks.blocking_recv() {
        spool.take(block);
    }
    spool.finish()
}

/// A message that is being written to the store.
struct Spool<'a> {
    store: &'a dyn ArtifactStore,
    /// Sends blocks back to the sender of the message, which reuses them as buffers.
    reuse: UnboundedSender<Vec<u8>>,
    before: Vec<u8>,
    large: Option<Large>,
    after: Vec<u8>,
}

/// The value that makes the message large, and bytes after it that exceed the memory limit.
struct Large {
    to: Result<Box<dyn Draft>, StoreError>,
    outliner: Outliner,
    utf8: Utf8,
    hashing: Hashing,
    bytes: u64,
    /// Bytes in the draft that follow the value.
    surplus: u64,
    /// Whether the message is passed on without being parsed, because it has no single large value
    /// or because too many bytes surround that value.
    is_opaque: bool,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl<'a> Spool<'a> {
    fn begin(
        store: &'a dyn ArtifactStore,
        reuse: UnboundedSender<Vec<u8>>,
        start: Vec<u8>,
    ) -> Self {
        let mut spool = Self {
            store,
            reuse,
            before: start,
            large: None,
            after: Vec::new(),
        };
        spool.look_for_it();
        spool
    }

    /// Searches for a value that is still open at the end of the bytes so far. If there is one,
    /// starts to write it to a draft.
    fn look_for_it(&mut self) {
        let at = open_member(&self.before);
        let is_opaque = at.is_none();
        if is_opaque && self.before.len() < MOST_AROUND {
            return; // a large value may begin later
        }
        let value = self.before.split_off(at.unwrap_or(self.before.len()));
        self.before.shrink_to_fit();
        let reuse = self.reuse.clone();
        // After the message has ended, the receiver is gone and blocks are dropped.
        let hashing = Hashing::start(move |block| drop(reuse.send(block)));
        self.large = Some(Large::begin(self.store, hashing, is_opaque));
        self.take(value);
    }

    fn take(&mut self, block: Vec<u8>) {
        let Some(large) = &mut self.large else {
            self.before.extend_from_slice(&block);
            return self.look_for_it();
        };
        let taken = large.take(&block);
        let rest = &block[taken..];
        let room = match large.surplus {
            0 => MOST_AROUND.saturating_sub(self.after.len()),
            _ => 0,
        };
        let (near, far) = rest.split_at(rest.len().min(room));
        self.after.extend_from_slice(near);
        large.pass(far);
        large.hashing.feed(block, taken);
    }

    fn finish(self) -> Frame {
        match self.large {
            Some(large) => {
                let spooled = Spooled::new(self.before, large.finish(), self.after);
                Frame::Spooled(Box::new(spooled))
            }
            // The message is large, but no single value makes it large.
            None => Frame::Memory(self.before.into()),
        }
    }
}

impl Large {
    fn begin(store: &dyn ArtifactStore, hashing: Hashing, is_opaque: bool) -> Self {
        Self {
            to: store.draft(),
            outliner: Outliner::new(),
            utf8: Utf8::default(),
            hashing,
            bytes: 0,
            surplus: 0,
            is_opaque,
            head: Vec::new(),
            tail: Vec::new(),
        }
    }

    /// Writes the part of the block that belongs to the value, and returns its length.
    fn take(&mut self, block: &[u8]) -> usize {
        let taken = match self.is_opaque {
            true => 0,
            false => self.outliner.feed(block),
        };
        let value = &block[..taken];
        self.utf8.feed(value);
        self.bytes += taken as u64;
        self.write(value);
        let room = END.saturating_sub(self.head.len()).min(taken);
        self.head.extend_from_slice(&value[..room]);
        self.tail
            .extend_from_slice(&value[taken.saturating_sub(END)..]);
        self.tail.drain(..self.tail.len().saturating_sub(END));
        taken
    }

    /// Writes bytes that follow the value and exceed the memory limit.
    fn pass(&mut self, bytes: &[u8]) {
        self.is_opaque |= !bytes.is_empty();
        self.surplus += bytes.len() as u64;
        self.write(bytes);
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Ok(draft) = &mut self.to
            && !bytes.is_empty()
            && let Err(error) = draft.write(Part::Raw, bytes)
        {
            self.to = Err(error); // dropping the draft deletes its bytes
        }
    }

    fn finish(self) -> Value {
        let is_sound = !self.is_opaque
            && self.outliner.is_done()
            && self.outliner.is_sound()
            && self.utf8.is_valid();
        Value {
            kept: self.to.map_err(|error| LostBytes {
                head: self.head,
                tail: self.tail,
                error,
            }),
            bytes: self.bytes,
            surplus: self.surplus,
            sha256: self.hashing.finish(),
            skeleton: match is_sound {
                true => self.outliner.finish(),
                false => Skeleton::empty(),
            },
            is_sound,
            is_opaque: self.is_opaque,
        }
    }
}
