//! The servers of a session, and the session's data about each of them.

pub(crate) mod instrumented;
pub(crate) mod upstream_set;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::aggregate::{Fetches, Standing};
use crate::rewrite::Learnt;
use crate::session::Session;

/// A server of a session.
pub(crate) type Upstream = spillgate_upstream::Upstream<Session>;

/// The session's own data about a server.
#[derive(Debug)]
pub struct ServerNotes {
    /// What the server's responses have shown about it.
    pub(crate) learnt: Arc<Learnt>,
    /// The outcome of the client's greeting, if there are several servers.
    pub(crate) greeted: watch::Sender<Greeted>,
    /// The server's state from the client's point of view, if there are several servers.
    pub(crate) standing: Standing,
    /// The server's lists that are being fetched.
    pub(crate) fetches: Fetches,
    /// Whether a task is trying to start the server.
    pub(crate) is_kept: AtomicBool,
}

/// The outcome of the client's greeting at a server.
#[derive(Debug, Clone, Default)]
pub(crate) enum Greeted {
    /// The outcome is not known yet.
    #[default]
    Waits,
    /// The server's greeting; empty if the server refused.
    Up(Arc<Map<String, Value>>),
    /// The greeting could not be sent.
    Failed(String),
}

impl ServerNotes {
    pub(crate) fn new(learnt: Arc<Learnt>) -> Self {
        Self {
            learnt,
            greeted: watch::Sender::default(),
            standing: Standing::default(),
            fetches: Fetches::default(),
            is_kept: AtomicBool::new(false),
        }
    }

    /// Waits for the outcome of the client's greeting.
    pub(crate) async fn greeted(&self) -> Greeted {
        let mut greeted = self.greeted.subscribe();
        let known = greeted.wait_for(|greeted| !matches!(greeted, Greeted::Waits));
        known
            .await
            .map_or_else(|_| Greeted::default(), |known| known.clone())
    }
}

/// Whether the server is unlikely to answer soon.
pub(crate) fn is_out(upstream: &Upstream) -> bool {
    upstream.is_resting() || upstream.notes.standing.fault().is_some()
}
