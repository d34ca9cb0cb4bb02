//! Which requests wait for an answer of a server?

use std::collections::HashMap;
use std::sync::Mutex;

use bytes::Bytes;
use spillgate_wire::Key;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::locked;
use crate::upstream::Slot;

/// What a request asked for, as far as its answer may have to be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// `initialize` or `server/discover`.
    Capabilities,
    /// `tools/list`.
    ToolsList,
    /// `tools/call`.
    ToolsCall {
        /// The tool's name.
        tool: String,
        /// Its arguments, verbatim JSON.
        arguments: Option<String>,
    },
    /// Anything else: its answer passes as it is.
    Other,
}

/// The frame with the answer, or how it came that there is none.
pub(crate) type Answered = Result<Bytes, String>;

/// A request on its way.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// The id as it was spelled.
    pub(crate) id: String,
    /// The method, for messages about it.
    pub(crate) method: String,
    pub(crate) asked: Asked,
    /// The server that was asked.
    pub(crate) slot: Slot,
    /// When the server last let itself be heard about it.
    pub(crate) heard: Instant,
    /// Its progress token, as JSON.
    pub(crate) progress: Option<String>,
    /// Who in this gateway asked; `None` for the client.
    pub(crate) for_us: Option<oneshot::Sender<Answered>>,
}

impl Waiting {
    /// A request of the client that the gateway answers for several servers.
    pub(crate) fn of_client(id: &str, method: &str) -> Self {
        Self {
            id: id.to_owned(),
            method: method.to_owned(),
            asked: Asked::Other,
            slot: 0,
            heard: Instant::now(),
            progress: None,
            for_us: None,
        }
    }
}

/// Requests on their way.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    requests: Mutex<HashMap<Key, Waiting>>,
}

impl Pending {
    /// Notes a request that is about to be passed on.
    pub(crate) fn add(&self, key: Key, waiting: Waiting) {
        locked(&self.requests).insert(key, waiting);
    }

    /// The request that is answered now.
    pub(crate) fn take(&self, key: &Key) -> Option<Waiting> {
        locked(&self.requests).remove(key)
    }

    /// The client's request with this progress token, whose server was just
    /// heard of.
    pub(crate) fn progressed(&self, token: &str, now: Instant) -> Option<Key> {
        let mut requests = locked(&self.requests);
        let (key, waiting) = requests
            .iter_mut()
            .find(|(_, waiting)| waiting.progress.as_deref() == Some(token))?;
        waiting.heard = now;
        Some(key.clone())
    }

    /// All requests that are `over`, in the same order every time.
    pub(crate) fn drain(&self, over: impl Fn(&Waiting) -> bool) -> Vec<(Key, Waiting)> {
        let mut drained: Vec<_> = locked(&self.requests)
            .extract_if(|_, waiting| over(waiting))
            .collect();
        drained.sort_by(|(one, _), (other, _)| one.cmp(other));
        drained
    }

    pub(crate) fn is_empty(&self) -> bool {
        locked(&self.requests).is_empty()
    }
}
