//! Handles the signals that end a run early.
//!
//! After the first signal, the run ends in an orderly way: it cancels its calls, writes the trace
//! and removes its directory. A second signal removes the directory and ends the process
//! immediately.

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use tokio_util::sync::CancellationToken;

use super::run_directory::RunDirectory;

/// Listens to signals until it is dropped.
#[derive(Debug)]
pub(super) struct Stop {
    cancel: CancellationToken,
    signal: Arc<AtomicI32>,
    /// A weak reference to the run directory, so that the directory is removed when the run drops
    /// it, and not only when the thread ends.
    room: Arc<OnceLock<Weak<RunDirectory>>>,
    handle: Handle,
}

impl Stop {
    /// Starts to listen. A second signal ends the process. A signal that was already ignored when
    /// this process started stays ignored, because users of `nohup` expect that.
    pub(super) fn listen() -> io::Result<Self> {
        let ignored = ignored();
        let heard = [SIGHUP, SIGINT, SIGTERM];
        let heard = heard
            .into_iter()
            .filter(|signal| ignored >> (signal - 1) & 1 == 0);
        let mut signals = Signals::new(heard)?;
        let cancel = CancellationToken::new();
        let signal = Arc::new(AtomicI32::new(0));
        let room = Arc::new(OnceLock::<Weak<RunDirectory>>::new());
        let (handle, first) = (signals.handle(), Arc::clone(&signal));
        let (cancels, clears) = (cancel.clone(), Arc::clone(&room));
        // Signals are handled on a separate thread, which works even if the runtime hangs.
        std::thread::spawn(move || {
            for signal in &mut signals {
                if first
                    .compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst)
                    .is_ok()
                {
                    cancels.cancel();
                    continue;
                }
                if let Some(room) = clears.get().and_then(Weak::upgrade) {
                    room.remove();
                }
                std::process::exit(128 + signal);
            }
        });
        Ok(Self {
            cancel,
            signal,
            room,
            handle,
        })
    }

    /// Sets the directory to remove before a second signal ends the process.
    pub(super) fn clears(&self, room: &Arc<RunDirectory>) {
        drop(self.room.set(Arc::downgrade(room)));
    }

    /// Returns a token that the first signal cancels.
    pub(super) fn cancelled(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Returns the exit code of the signal that arrived, if one did.
    pub(super) fn code(&self) -> Option<u8> {
        match self.signal.load(Ordering::SeqCst) {
            0 => None,
            signal => u8::try_from(128 + signal).ok(),
        }
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.handle.close();
    }
}

/// Returns the signals that this process ignores, one bit each, as Linux reports them. On other
/// systems they cannot be read without `unsafe`, so no signal counts as ignored.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
