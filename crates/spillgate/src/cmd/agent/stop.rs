//! What ends a run before its end?
//!
//! The first signal asks it to end: calls are cancelled, a trace is written, the
//! directory removed. A second one does not wait for that.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use tokio::sync::watch;

use super::room::Room;

/// Listens to signals until it is dropped.
#[derive(Debug)]
pub(super) struct Stop {
    cancel: Arc<watch::Sender<bool>>,
    signal: Arc<AtomicI32>,
    handle: Handle,
}

impl Stop {
    /// Listens from now on. A second signal ends the process; `room` is removed
    /// before.
    pub(super) fn listen(room: &Arc<Room>) -> io::Result<Self> {
        let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
        let cancel = Arc::new(watch::Sender::new(false));
        let signal = Arc::new(AtomicI32::new(0));
        let (handle, first) = (signals.handle(), Arc::clone(&signal));
        // The room goes when the run lets it go, not when this thread does.
        let (cancels, room) = (Arc::clone(&cancel), Arc::downgrade(room));
        // A thread of its own: it is there for whoever hangs.
        std::thread::spawn(move || {
            for signal in &mut signals {
                if first
                    .compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst)
                    .is_ok()
                {
                    cancels.send_replace(true);
                    continue;
                }
                if let Some(room) = room.upgrade() {
                    room.remove();
                }
                std::process::exit(128 + signal);
            }
        });
        Ok(Self {
            cancel,
            signal,
            handle,
        })
    }

    /// Becomes true at the first signal.
    pub(super) fn cancelled(&self) -> watch::Receiver<bool> {
        self.cancel.subscribe()
    }

    /// The exit code of the signal that came, if one did.
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
