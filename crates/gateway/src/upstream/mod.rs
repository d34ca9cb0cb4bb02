//! The servers of a session: the session's data about each server, and its reactions to their
//! events.

pub(crate) mod instrumented;
pub(crate) mod upstream_set;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::{Map, Value};
use spillgate_mcp::{RequestId, messages};
use spillgate_transport::{ConnectionError, Connector, Message, Refusal, ServerEvent};
use spillgate_upstream::{
    DEFAULT_TIMEOUT, InFlight, Owner, RequestFailure, RequestResult, Slot, TracePropagator,
};
use tokio::sync::{oneshot, watch};

use crate::aggregate::{Fetches, Standing, why};
use crate::rewrite::Learnt;
use crate::session::Session;
use crate::session::in_flight::{InFlightRequest, RequestDetails};

/// A server of a session.
pub(crate) type Upstream = spillgate_upstream::Upstream<Session>;

/// The session's own data about a server.
#[derive(Debug)]
pub struct ServerNotes {
    /// What the server's responses have shown about it.
    pub(crate) learnt: Arc<Learnt>,
    /// The outcome of the client's greeting, if there are several servers.
    greeted: watch::Sender<Greeted>,
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

impl Owner for Session {
    type Details = RequestDetails;
    type Notes = ServerNotes;

    fn connector(&self) -> &dyn Connector {
        &*self.connector
    }

    fn in_flight(&self) -> &InFlight<RequestDetails> {
        &self.in_flight
    }

    fn upstream(&self, slot: Slot) -> Option<Arc<Upstream>> {
        self.upstreams.get(slot)
    }

    fn work(&self, task: impl Future<Output = ()> + Send + 'static) {
        Self::work(self, task);
    }

    fn is_closing(&self) -> bool {
        Self::is_closing(self)
    }

    fn traces(&self) -> Option<&dyn TracePropagator> {
        self.hub().traces()
    }

    fn greet_again(
        &self,
        upstream: &Upstream,
        initialize: &Message,
    ) -> (Message, oneshot::Receiver<RequestResult>) {
        self.question_again(upstream, initialize)
    }

    fn greeting_limit(&self, upstream: &Upstream) -> Duration {
        // With several servers, clients do not wait for a slow server, so each may take as long to
        // start as to answer a request.
        match self.is_solo() {
            true => spillgate_upstream::GREETING,
            false => upstream.server.timeout.unwrap_or(DEFAULT_TIMEOUT),
        }
    }

    fn greeted(&self, upstream: &Upstream, initialize: &Message, greeting: Map<String, Value>) {
        if !greeting.is_empty() {
            let mut known = greeting.clone();
            // If the server only repeated the version that this client requested, do not store it
            // as the server's limit.
            if known.get("protocolVersion").and_then(Value::as_str)
                == asked_version(initialize).as_deref()
            {
                known.remove("protocolVersion");
            }
            let memory = self.hub().known();
            memory.learn_greeting(upstream.name(), "initialize", &known);
        }
        let greeted = Greeted::Up(Arc::new(greeting));
        upstream.notes.greeted.send_replace(greeted);
    }

    fn not_opened(&self, upstream: &Upstream, error: &ConnectionError) {
        let failed = Greeted::Failed(why(error));
        upstream.notes.greeted.send_replace(failed);
    }

    async fn received(self: &Arc<Self>, upstream: &Arc<Upstream>, event: ServerEvent) {
        self.from_server(upstream, event).await;
    }

    async fn refused(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        of: Option<RequestId>,
        waiting: Option<InFlightRequest>,
        refusal: Refusal,
    ) {
        self.tell_refusal(upstream, of, waiting, refusal).await;
    }

    async fn unanswered(&self, upstream: &Upstream, waiting: InFlightRequest, why: RequestFailure) {
        self.not_answered(upstream, waiting, why).await;
    }
}

/// Returns the protocol version that a client requested.
fn asked_version(initialize: &Message) -> Option<String> {
    let all = messages(&initialize.frame);
    let params: Value = serde_json::from_str(all.first()?.params?.get()).ok()?;
    params["protocolVersion"].as_str().map(str::to_owned)
}
