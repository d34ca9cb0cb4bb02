//! How is a large file brought to the disk without a long wait at the end?
//!
//! One sync of 1 GB takes half a second here, after everything else is done.
//! Synced every [`SYNC_EVERY`] bytes from a thread of its own, the file is on
//! the disk a moment after its last byte is written.

use std::fs::File;
use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// So much is written before the disk is told to begin.
pub(crate) const SYNC_EVERY: u64 = 32 << 20;

/// Syncs a growing file from a thread, so that the sync at the end finds little
/// to do.
#[derive(Debug)]
pub(crate) struct SyncAhead {
    due: SyncSender<()>,
    thread: JoinHandle<io::Result<()>>,
    unsynced: u64,
}

impl SyncAhead {
    pub(crate) fn start(file: &File) -> io::Result<Self> {
        let file = file.try_clone()?;
        let (due, wanted) = sync_channel(1);
        let thread = std::thread::spawn(move || wanted.iter().try_for_each(|()| file.sync_data()));
        Ok(Self {
            due,
            thread,
            unsynced: 0,
        })
    }

    pub(crate) fn wrote(&mut self, bytes: usize) {
        self.unsynced += bytes as u64;
        if self.unsynced >= SYNC_EVERY {
            self.unsynced = 0;
            // One waiting is enough; an error shows at the end.
            let _ = self.due.try_send(());
        }
    }

    /// A failed sync is told once only, so it must not get lost here.
    pub(crate) fn finish(self) -> io::Result<()> {
        drop(self.due);
        let panicked = |_| Err(io::Error::other("the sync thread panicked"));
        self.thread.join().unwrap_or_else(panicked)
    }
}
