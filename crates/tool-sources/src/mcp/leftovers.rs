//! Waits until servers that are no longer used have ended.
//!
//! The future that opens a server may be dropped at any time. A separate task then ends everything
//! that was started for the server. The process must wait for that task before it exits. Otherwise,
//! if a launcher such as `npx` started the actual server, the server would continue to run.

use std::mem;
use std::sync::Arc;

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// The servers that are being ended because the future that opened them, or the value that used
/// them, was dropped. Clones share the list.
#[derive(Debug, Clone, Default)]
pub struct Leftovers(Arc<Mutex<Vec<JoinHandle<()>>>>);

impl Leftovers {
    /// Waits until all of the servers have ended, including everything that was started for them.
    /// Servers that are added in the meantime are included.
    pub async fn ended(&self) {
        loop {
            let ending = mem::take(&mut *self.0.lock());
            if ending.is_empty() {
                return;
            }
            // If one task panics, the others are still awaited.
            drop(join_all(ending).await);
        }
    }

    /// Runs `ending`, which ends a server, as a task that [`ended`](Self::ended) waits for.
    pub(crate) fn end(&self, ending: impl Future<Output = ()> + Send + 'static) {
        if let Ok(runtime) = Handle::try_current() {
            let ending = runtime.spawn(ending);
            let mut all = self.0.lock();
            all.retain(|one| !one.is_finished());
            all.push(ending);
        }
    }
}
