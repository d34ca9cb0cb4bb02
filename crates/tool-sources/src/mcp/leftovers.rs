//! Waits for the end of servers that are no longer used.
//!
//! A caller may drop the future that opens a server at any time. Whatever it had started is then
//! ended in a task of its own. The end of the process must wait for that task; otherwise programs
//! that a launcher started live on.

use std::mem;
use std::sync::Arc;

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Servers that are being ended because their opener or user was dropped. Clones share the list.
#[derive(Debug, Clone, Default)]
pub struct Leftovers(Arc<Mutex<Vec<JoinHandle<()>>>>);

impl Leftovers {
    /// Waits until all these servers have ended, together with everything that was started for
    /// them. Includes servers that are dropped meanwhile.
    pub async fn ended(&self) {
        loop {
            let ending = mem::take(&mut *self.0.lock());
            if ending.is_empty() {
                return;
            }
            // The others are waited for even if one panics.
            drop(join_all(ending).await);
        }
    }

    /// Runs `ending`, the end of a server, as a task to wait for.
    pub(crate) fn end(&self, ending: impl Future<Output = ()> + Send + 'static) {
        if let Ok(runtime) = Handle::try_current() {
            let ending = runtime.spawn(ending);
            let mut all = self.0.lock();
            all.retain(|one| !one.is_finished());
            all.push(ending);
        }
    }
}
