//! Which of the client's requests wait for an answer?

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use spillgate_wire::Key;

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

/// Requests on their way, by the one spelling of their id.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    requests: Mutex<HashMap<Key, Request>>,
}

#[derive(Debug)]
struct Request {
    /// The id as the client spelled it.
    id: String,
    asked: Asked,
}

impl Pending {
    /// Notes a request that is about to be passed on.
    pub(crate) fn add(&self, key: Key, id: &str, asked: Asked) {
        let request = Request {
            id: id.to_owned(),
            asked,
        };
        self.requests().insert(key, request);
    }

    /// What the request asked for that is answered now.
    pub(crate) fn take(&self, key: &Key) -> Option<Asked> {
        self.requests().remove(key).map(|request| request.asked)
    }

    /// The ids of all requests that will not be answered any more.
    pub(crate) fn drain(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.requests().drain().map(|(_, r)| r.id).collect();
        ids.sort(); // answered in the same order every time
        ids
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<Key, Request>> {
        // Each change is one call on the map, so a panic elsewhere leaves it whole.
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
