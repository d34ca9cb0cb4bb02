//! What is under way on a link, and how is it stopped?

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::task::AbortHandle;

use crate::ConnectionError;
use spillgate_mcp::RequestId;

/// The tasks of a link. None outlives it.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_closed: bool,
    count: u64,
    running: HashMap<u64, (Purpose, AbortHandle)>,
}

/// What a task is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A request and its answer.
    Request(RequestId),
    /// A message that is no request.
    Note,
    /// The stream for what belongs to no request.
    Listening,
    /// Taking up a stream after an event.
    Resuming(String),
}

/// Takes its task off the list, however it ends.
struct Listed {
    tasks: Arc<Tasks>,
    number: u64,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.tasks.state().running.remove(&self.number);
    }
}

impl Tasks {
    /// Starts a task, unless the link was closed.
    pub(crate) fn spawn<F>(
        self: &Arc<Self>,
        purpose: Purpose,
        task: F,
    ) -> Result<(), ConnectionError>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut state = self.state();
        if state.is_closed {
            return Err(ConnectionError::Gone("was closed".to_owned()));
        }
        state.count += 1;
        let number = state.count;
        let listed = Listed {
            tasks: Arc::clone(self),
            number,
        };
        let handle = tokio::spawn(async move {
            let _listed = listed;
            task.await;
        });
        let handle = handle.abort_handle();
        state.running.insert(number, (purpose, handle));
        Ok(())
    }

    /// Stops waiting for the answer of a request: its connection is closed.
    pub(crate) fn abandon(&self, of: &RequestId) {
        self.stop(|purpose| matches!(purpose, Purpose::Request(key) if key == of));
    }

    /// Stops what is for this purpose.
    pub(crate) fn replace(&self, purpose: &Purpose) {
        self.stop(|other| other == purpose);
    }

    /// Stops everything, now and for ever.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.stop(|_| true);
    }

    fn stop(&self, which: impl Fn(&Purpose) -> bool) {
        let state = self.state();
        let chosen = state.running.values().filter(|(purpose, _)| which(purpose));
        let chosen: Vec<AbortHandle> = chosen.map(|(_, handle)| handle.clone()).collect();
        // An aborted task takes itself off the list, maybe at once.
        drop(state);
        for handle in chosen {
            handle.abort();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}
