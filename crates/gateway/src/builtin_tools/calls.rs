//! Answers client requests that read stored results, limits how many run, and cancels them.
//!
//! These are calls of built-in tools, reads of our resources, and calls with arguments by
//! reference.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use spillgate_artifact::Interrupt;
use spillgate_mcp::RequestId;

use crate::aggregate::SessionKind;
use spillgate_retrieval::{QUERY, TOOL_OUTPUT};

/// Maximum number of jq filters that run at the same time. Each may use 2 GiB and a processor for
/// ten seconds.
const FILTERS_AT_ONCE: usize = 2;

/// Maximum number of extractions that run at the same time. Each sends several requests to a model
/// in parallel.
const EXTRACTIONS_AT_ONCE: usize = 4;

/// Maximum number of look-ups that run at the same time, for all clients together. Each uses one or
/// two processors and about ten megabytes.
const LOOKUPS_AT_ONCE: usize = 8;

/// Maximum number of look-ups of one client that run at the same time.
const LOOKUPS_OF_ONE: usize = 2;

/// Maximum number of look-ups for stateless requests that run at the same time. The clients of
/// these requests are unknown, so the other look-ups are reserved for clients with sessions.
const LOOKUPS_OF_EXCHANGES: usize = 4;

/// How long calls may continue after the client has disconnected.
const GRACE: Duration = Duration::from_secs(3);

/// The running calls of one client, by request id.
#[derive(Debug)]
pub(crate) struct BuiltinCalls {
    under_way: Mutex<HashMap<RequestId, UnderWay>>,
    work: Mutex<JoinSet<()>>,
    /// The limits of this client.
    own: Share,
    turns: Arc<Turns>,
}

/// A running call. Its work is cancelled when this is dropped.
#[derive(Debug)]
struct UnderWay {
    cancelled: CancellationToken,
    interrupt: Interrupt,
}

impl UnderWay {
    /// Cancels the work.
    fn interrupt(&self) {
        self.cancelled.cancel();
        self.interrupt.cancel();
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.interrupt();
    }
}

/// Permission to run a call, valid until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    #[expect(dead_code, reason = "they count while they are held")]
    permits: [Option<SemaphorePermit<'a>>; 2],
}

/// The limits for all clients together.
#[derive(Debug)]
pub(crate) struct Turns {
    filters: Semaphore,
    extractions: Semaphore,
    lookups: Semaphore,
    /// The limits for all stateless requests together, because each of them appears as a separate
    /// client.
    exchanges: Share,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            filters: Semaphore::new(FILTERS_AT_ONCE),
            extractions: Semaphore::new(EXTRACTIONS_AT_ONCE),
            lookups: Semaphore::new(LOOKUPS_AT_ONCE),
            exchanges: Share::of(LOOKUPS_OF_EXCHANGES),
        }
    }
}

/// Limits the calls of one client that are running or wait for the limits for all clients. Filters
/// are counted separately, so that waiting filters do not delay look-ups.
#[derive(Debug, Clone)]
struct Share {
    lookups: Arc<Semaphore>,
    filters: Arc<Semaphore>,
}

impl Share {
    fn of(lookups: usize) -> Self {
        Self {
            lookups: Arc::new(Semaphore::new(lookups)),
            filters: Arc::new(Semaphore::new(FILTERS_AT_ONCE)),
        }
    }
}

impl BuiltinCalls {
    pub(crate) fn new(turns: Arc<Turns>, kind: SessionKind) -> Self {
        let own = match kind {
            SessionKind::Client => Share::of(LOOKUPS_OF_ONE),
            SessionKind::Exchange | SessionKind::Scout => turns.exchanges.clone(),
        };
        Self {
            under_way: Mutex::default(),
            work: Mutex::default(),
            own,
            turns,
        }
    }

    /// Records a call. Returns two signals that fire when its response is no longer needed: one for
    /// async code, one for threads that compute.
    pub(crate) fn begin(&self, key: &RequestId) -> (CancellationToken, Interrupt) {
        let cancelled = CancellationToken::new();
        let interrupt = Interrupt::default();
        let call = UnderWay {
            cancelled: cancelled.clone(),
            interrupt: interrupt.clone(),
        };
        self.under_way.lock().insert(key.clone(), call);
        (cancelled, interrupt)
    }

    /// Cancels the work on a call whose response will not be read. The call still gets a response,
    /// so that no task waits forever.
    pub(crate) fn interrupt(&self, key: &RequestId) {
        if let Some(call) = self.under_way.lock().get(key) {
            call.interrupt();
        }
    }

    /// Removes a call that was answered or cancelled. Returns whether it was running.
    pub(crate) fn end(&self, key: &RequestId) -> bool {
        self.under_way.lock().remove(key).is_some()
    }

    /// Returns whether this call was neither answered nor removed by a cancellation. Also true if
    /// nobody will read the response.
    pub(crate) fn is_awaited(&self, key: &RequestId) -> bool {
        self.under_way.lock().contains_key(key)
    }

    /// Waits until a call of `tool` may run. Waits for the client's own limit first, so that many
    /// calls of one client do not delay other clients.
    pub(crate) async fn turn(&self, tool: &str) -> Turn<'_> {
        let permits = if tool == TOOL_OUTPUT {
            [self.turns.extractions.acquire().await.ok(), None]
        } else {
            let (ours, all) = match tool {
                QUERY => (&self.own.filters, &self.turns.filters),
                _ => (&self.own.lookups, &self.turns.lookups),
            };
            [ours.acquire().await.ok(), all.acquire().await.ok()]
        };
        Turn { permits }
    }

    /// Like [`BuiltinCalls::turn`]; `None` if the call is cancelled before it may run.
    pub(crate) async fn turn_while(
        &self,
        tool: &str,
        cancelled: &CancellationToken,
    ) -> Option<Turn<'_>> {
        tokio::select! {
            turn = self.turn(tool) => Some(turn),
            () = cancelled.cancelled() => None,
        }
    }

    /// Runs a task for a call without delaying other messages.
    pub(crate) fn work(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut work = self.work.lock();
        while work.try_join_next().is_some() {}
        work.spawn(task);
    }

    /// Waits until all calls are answered, but for at most [`GRACE`]: the client may have
    /// disconnected, and each further request to a model costs money.
    pub(crate) async fn finish(&self) {
        let mut work = mem::take(&mut *self.work.lock());
        let answered = async { while work.join_next().await.is_some() {} };
        // Dropping the set cancels the remaining tasks.
        drop(timeout(GRACE, answered).await);
        self.interrupt_all();
    }

    /// Cancels all work, because the client has disconnected.
    pub(crate) fn interrupt_all(&self) {
        for call in self.under_way.lock().values() {
            call.interrupt();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use spillgate_retrieval::GREP;

    use super::*;

    #[tokio::test]
    async fn all_clients_wait_for_the_same_turns() {
        let turns = Arc::<Turns>::default();
        let clients = [(); 6].map(|()| BuiltinCalls::new(Arc::clone(&turns), SessionKind::Client));
        let mut held = Vec::new();
        for _ in 0..FILTERS_AT_ONCE {
            held.push(clients[0].turn(QUERY).await);
        }
        assert!(clients[1].turn(QUERY).now_or_never().is_none());
        assert!(clients[1].turn(TOOL_OUTPUT).now_or_never().is_some());
        held.pop();
        assert!(clients[1].turn(QUERY).now_or_never().is_some());
    }

    #[tokio::test]
    async fn one_client_leaves_turns_to_the_others() {
        let turns = Arc::<Turns>::default();
        let clients = [(); LOOKUPS_AT_ONCE / LOOKUPS_OF_ONE + 1]
            .map(|()| BuiltinCalls::new(Arc::clone(&turns), SessionKind::Client));
        let (last, others) = clients.split_last().unwrap();
        let mut held = Vec::new();
        for client in others {
            for _ in 0..LOOKUPS_OF_ONE {
                held.push(client.turn(GREP).now_or_never().unwrap());
            }
            assert!(client.turn(GREP).now_or_never().is_none());
        }
        // All permits are in use, because each client has taken its share.
        assert!(last.turn(GREP).now_or_never().is_none());
        held.pop();
        assert!(last.turn(GREP).now_or_never().is_some());
    }

    #[tokio::test]
    async fn filters_that_wait_keep_no_look_up_waiting() {
        let turns = Arc::<Turns>::default();
        for kind in [SessionKind::Client, SessionKind::Exchange] {
            let [busy, ours] = [(); 2].map(|()| BuiltinCalls::new(Arc::clone(&turns), kind));
            let filters = [(); FILTERS_AT_ONCE].map(|()| busy.turn(QUERY).now_or_never());
            assert!(filters.iter().all(Option::is_some));
            let mut waiting = [(); LOOKUPS_OF_EXCHANGES].map(|()| Box::pin(ours.turn(QUERY)));
            for query in &mut waiting {
                assert!(futures_util::poll!(query).is_pending());
            }
            assert!(ours.turn(GREP).now_or_never().is_some());
        }
    }

    #[test]
    fn work_ends_with_the_wait_for_it() {
        let calls = BuiltinCalls::new(Arc::default(), SessionKind::Client);
        let key = |id| RequestId::of(serde_json::from_str(id).unwrap()).unwrap();
        let begin = |id| calls.begin(&key(id)).1;
        let [answered, cancelled, unread] = ["1", "2", "3"].map(begin);
        assert!(calls.end(&key("1")) && calls.end(&key("2")));
        assert!(answered.is_cancelled() && cancelled.is_cancelled());
        calls.interrupt(&key("3"));
        assert!(unread.is_cancelled() && calls.is_awaited(&key("3")));
        let left = begin("4");
        drop(calls);
        assert!(left.is_cancelled());
    }
}
