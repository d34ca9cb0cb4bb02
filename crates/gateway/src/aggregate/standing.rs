//! The state of one of several servers as a client sees it: since when the client has been waiting
//! for the server, which lists the server failed to deliver, and whether the client was told that
//! the server is unavailable.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Kind;
use super::known::List;

/// An action that is expected of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Awaited {
    /// The server must start and answer the greeting.
    Start,
    /// The server must answer the request for this list.
    List(Kind),
}

/// A list that the client received while the server's current list was not available.
#[derive(Debug, Clone)]
pub(crate) struct Missed {
    /// The list that the client received instead; `None` if it received nothing for this server.
    pub(crate) shown: Option<Arc<List>>,
    /// The parameters of the request for the list.
    pub(crate) params: String,
}

#[derive(Debug, Default)]
pub(crate) struct Standing(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    since: BTreeMap<Awaited, Instant>,
    missed: BTreeMap<Kind, Missed>,
    fault: Option<String>,
    is_told: bool,
}

impl Standing {
    /// Returns how long to wait for the server: the rest of `most`, counted from the first wait for
    /// the same thing. Later clients therefore do not wait for the full time again.
    pub(crate) fn patience(&self, what: Awaited, most: Duration) -> Duration {
        let now = Instant::now();
        let mut state = self.0.lock();
        let since = *state.since.entry(what).or_insert(now);
        (since + most).saturating_duration_since(now)
    }

    /// Records that the server did what was expected.
    pub(crate) fn came(&self, what: Awaited) {
        self.0.lock().since.remove(&what);
    }

    pub(crate) fn miss(&self, kind: Kind, missed: Missed) {
        self.0.lock().missed.insert(kind, missed);
    }

    /// Removes the record that a client missed this list, and returns it; `None` if the list was
    /// not missed.
    pub(crate) fn take_missed(&self, kind: Kind) -> Option<Missed> {
        self.0.lock().missed.remove(&kind)
    }

    pub(crate) fn missed(&self) -> BTreeMap<Kind, Missed> {
        self.0.lock().missed.clone()
    }

    /// Records a fault. Returns the previous one.
    pub(crate) fn fail(&self, why: &str) -> Option<String> {
        let mut state = self.0.lock();
        if state.fault.as_deref() != Some(why) {
            state.is_told = false;
        }
        state.fault.replace(why.to_owned())
    }

    /// Clears the fault and returns it.
    pub(crate) fn recover(&self) -> Option<String> {
        let mut state = self.0.lock();
        state.is_told = false;
        state.fault.take()
    }

    pub(crate) fn fault(&self) -> Option<String> {
        self.0.lock().fault.clone()
    }

    /// Returns the fault if the client has not been informed of it. Returns each fault only once.
    pub(crate) fn take_untold(&self) -> Option<String> {
        let mut state = self.0.lock();
        if std::mem::replace(&mut state.is_told, true) {
            return None;
        }
        state.fault.clone()
    }
}
