//! Waits for the end of servers that nobody uses any more.
//!
//! Opening one may be given up at any time, by dropping the future that does it. What
//! was started by then is ended aside; whoever ends the process must wait for it, or
//! programs that a launcher has started live on.

use std::mem;
use std::sync::Arc;

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Servers that are being ended because whoever opened or used them was dropped. Its
/// clones share them.
#[derive(Debug, Clone, Default)]
pub struct Leftovers(Arc<Mutex<Vec<JoinHandle<()>>>>);

impl Leftovers {
    /// Waits until all of them have ended, with what was started for them. Those that
    /// are dropped meanwhile are waited for, too.
    pub async fn ended(&self) {
        loop {
            let ending = mem::take(&mut *self.0.lock());
            if ending.is_empty() {
                return;
            }
            // A panic in one of them is no reason to leave the others.
            drop(join_all(ending).await);
        }
    }

    /// Waits for the end of a server, too.
    pub(crate) fn end(&self, ending: impl Future<Output = ()> + Send + 'static) {
        if let Ok(runtime) = Handle::try_current() {
            let ending = runtime.spawn(ending);
            let mut all = self.0.lock();
            all.retain(|one| !one.is_finished());
            all.push(ending);
        }
    }
}
