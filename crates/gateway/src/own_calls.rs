//! Which calls of our own tools are under way, and who is still waiting?

use std::collections::HashMap;
use std::convert::Infallible;
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use spillgate_wire::Key;

use crate::locked;
use spillgate_retrieval::{QUERY, TOOL_OUTPUT};

/// jq filters that run at once; each may take 2 GiB and a processor for ten
/// seconds.
const FILTERS_AT_ONCE: usize = 2;

/// Extractions that run at once; each asks a model several times at once.
const EXTRACTIONS_AT_ONCE: usize = 4;

/// How long calls may go on after the client has closed.
const GRACE: Duration = Duration::from_secs(3);

/// Comes to an end once nobody waits for the answer any more.
pub(crate) type Cancelled = oneshot::Receiver<Infallible>;

/// The calls of one client that are worked on, by the key of their id.
#[derive(Debug)]
pub(crate) struct OwnCalls {
    under_way: Mutex<HashMap<Key, oneshot::Sender<Infallible>>>,
    work: Mutex<JoinSet<()>>,
    turns: Arc<Turns>,
}

/// Whose turn it is, of all clients.
#[derive(Debug)]
pub(crate) struct Turns {
    filters: Semaphore,
    extractions: Semaphore,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            filters: Semaphore::new(FILTERS_AT_ONCE),
            extractions: Semaphore::new(EXTRACTIONS_AT_ONCE),
        }
    }
}

impl OwnCalls {
    pub(crate) fn new(turns: Arc<Turns>) -> Self {
        Self {
            under_way: Mutex::default(),
            work: Mutex::default(),
            turns,
        }
    }

    /// Notes a call.
    pub(crate) fn begin(&self, key: &Key) -> Cancelled {
        let (waiting, cancelled) = oneshot::channel();
        locked(&self.under_way).insert(key.clone(), waiting);
        cancelled
    }

    /// Ends a call, answered or cancelled; true if it was under way.
    pub(crate) fn end(&self, key: &Key) -> bool {
        locked(&self.under_way).remove(key).is_some()
    }

    /// Whether somebody waits for the answer.
    pub(crate) fn is_awaited(&self, key: &Key) -> bool {
        locked(&self.under_way).contains_key(key)
    }

    /// Waits until a call of `tool` may use the machine.
    pub(crate) async fn turn(&self, tool: &str) -> Option<SemaphorePermit<'_>> {
        match tool {
            QUERY => self.turns.filters.acquire().await.ok(),
            TOOL_OUTPUT => self.turns.extractions.acquire().await.ok(),
            _ => None,
        }
    }

    /// Works on a call aside from the relaying.
    pub(crate) fn work(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut work = locked(&self.work);
        while work.try_join_next().is_some() {}
        work.spawn(task);
    }

    /// Waits until all calls are answered, but no longer than [`GRACE`]: nobody may
    /// be there any more, and a model costs money for each further question.
    pub(crate) async fn finish(&self) {
        let mut work = mem::take(&mut *locked(&self.work));
        let answered = async { while work.join_next().await.is_some() {} };
        // Dropped, the rest is cancelled.
        drop(timeout(GRACE, answered).await);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn all_clients_wait_for_the_same_turns() {
        let turns = Arc::<Turns>::default();
        let [one, other] = [(); 2].map(|()| OwnCalls::new(Arc::clone(&turns)));
        let mut held = Vec::new();
        for _ in 0..FILTERS_AT_ONCE {
            held.push(one.turn(QUERY).await);
        }
        assert!(other.turn(QUERY).now_or_never().is_none());
        assert!(other.turn(TOOL_OUTPUT).now_or_never().is_some());
        held.pop();
        assert!(other.turn(QUERY).now_or_never().is_some());
    }
}
