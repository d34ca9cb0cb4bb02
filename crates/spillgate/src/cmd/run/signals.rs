//! Forwards our signals to the command.

use std::io;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::backend::Handle;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

/// Forwards signals until it is dropped.
pub(super) struct Passing {
    /// Process id of the command; 0 before it starts.
    child: Arc<AtomicI32>,
    handle: Handle,
}

impl Passing {
    pub(super) fn start() -> io::Result<Self> {
        let mut signals =
            SignalsInfo::<WithOrigin>::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2])?;
        let child = Arc::new(AtomicI32::new(0));
        let (handle, target) = (signals.handle(), Arc::clone(&child));
        std::thread::spawn(move || {
            for origin in &mut signals {
                // Ctrl-C on a terminal already reaches the whole foreground group, including the
                // command.
                if origin.cause != Cause::Kernel {
                    pass(&target, origin.signal);
                }
            }
        });
        Ok(Self { child, handle })
    }

    pub(super) fn to(&self, child: &Child) {
        self.child.store(child.id().cast_signed(), Ordering::SeqCst);
    }
}

fn pass(target: &AtomicI32, signal: i32) {
    let pid = Pid::from_raw(target.load(Ordering::SeqCst));
    if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(signal)) {
        // The command may have ended meanwhile.
        let _ = kill_process(pid, signal);
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        self.handle.close();
    }
}
