//! The running tasks of a connection, and how to stop them.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::task::AbortHandle;

use crate::ConnectionError;
use spillgate_mcp::RequestId;

/// The tasks of a connection. They all end when the connection is closed.
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

/// The purpose of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A request and its response.
    Request(RequestId),
    /// A message other than a request.
    Note,
    /// The stream for messages that belong to no request.
    Listening,
    /// Resumes the stream after the event with this id.
    Resuming(String),
}

/// Removes its task from the list when the task ends for any reason.
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
    /// Starts a task. Fails if the connection is closed.
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

    /// Stops the task of a request, which closes its HTTP connection.
    pub(crate) fn abandon(&self, of: &RequestId) {
        self.stop(|purpose| matches!(purpose, Purpose::Request(key) if key == of));
    }

    /// Stops the tasks with this purpose, because a new task replaces them.
    pub(crate) fn replace(&self, purpose: &Purpose) {
        self.stop(|other| other == purpose);
    }

    /// Stops all tasks and refuses new ones.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.stop(|_| true);
    }

    fn stop(&self, which: impl Fn(&Purpose) -> bool) {
        let state = self.state();
        let chosen = state.running.values().filter(|(purpose, _)| which(purpose));
        let chosen: Vec<AbortHandle> = chosen.map(|(_, handle)| handle.clone()).collect();
        // Release the lock first: an aborted task removes itself from the list, and may do so
        // immediately.
        drop(state);
        for handle in chosen {
            handle.abort();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}
