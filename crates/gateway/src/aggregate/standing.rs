//! The state of one of several servers towards a client: since when it is waited for, which lists
//! are missing because of it, and what the client was told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Kind;
use super::known::List;

/// What a server is expected to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Awaited {
    /// To start and answer the greeting.
    Start,
    /// To give this list.
    List(Kind),
}

/// A list that the client got without the server's current answer.
#[derive(Debug, Clone)]
pub(crate) struct Missed {
    /// The list that the client got instead.
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
    /// The time left to wait for the server: `most`, counted from the first wait that is still
    /// unsuccessful, so that no client waits for the same thing twice.
    pub(crate) fn patience(&self, what: Awaited, most: Duration) -> Duration {
        let now = Instant::now();
        let mut state = self.0.lock();
        let since = *state.since.entry(what).or_insert(now);
        (since + most).saturating_duration_since(now)
    }

    /// Records that the server did what it was waited for.
    pub(crate) fn came(&self, what: Awaited) {
        self.0.lock().since.remove(&what);
    }

    pub(crate) fn miss(&self, kind: Kind, missed: Missed) {
        self.0.lock().missed.insert(kind, missed);
    }

    /// Removes a missed list; returns what the client got instead, if the list was missed.
    pub(crate) fn take_missed(&self, kind: Kind) -> Option<Missed> {
        self.0.lock().missed.remove(&kind)
    }

    pub(crate) fn missed(&self) -> BTreeMap<Kind, Missed> {
        self.0.lock().missed.clone()
    }

    /// Records a fault; returns the previous one.
    pub(crate) fn fail(&self, why: &str) -> Option<String> {
        let mut state = self.0.lock();
        if state.fault.as_deref() != Some(why) {
            state.is_told = false;
        }
        state.fault.replace(why.to_owned())
    }

    /// Clears the fault; returns it.
    pub(crate) fn recover(&self) -> Option<String> {
        let mut state = self.0.lock();
        state.is_told = false;
        state.fault.take()
    }

    pub(crate) fn fault(&self) -> Option<String> {
        self.0.lock().fault.clone()
    }

    /// The fault that the client has not been told yet; returned once.
    pub(crate) fn take_untold(&self) -> Option<String> {
        let mut state = self.0.lock();
        if std::mem::replace(&mut state.is_told, true) {
            return None;
        }
        state.fault.clone()
    }
}
