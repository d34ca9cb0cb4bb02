//! What an upstream needs of whoever it belongs to.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use spillgate_mcp::RequestId;
use spillgate_transport::{ConnectionError, Connector, Message, Refusal, ServerEvent};
use tokio::sync::oneshot;

use crate::{
    InFlight, InFlightRequest, RequestFailure, RequestResult, Slot, TracePropagator, Upstream,
};

/// How long a server that was opened again may take to greet.
pub const GREETING: Duration = Duration::from_secs(60);

/// Whoever uses servers.
pub trait Owner: Debug + Send + Sync + Sized + 'static {
    /// What it keeps about a request besides.
    type Details: Debug + Send;
    /// What it keeps about a server besides.
    type Notes: Debug + Send + Sync;

    /// What opens its servers.
    fn connector(&self) -> &dyn Connector;

    /// Its requests that wait for an answer.
    fn in_flight(&self) -> &InFlight<Self::Details>;

    /// The server in this place; `None` if it is not used any more.
    fn upstream(&self, slot: Slot) -> Option<Arc<Upstream<Self>>>;

    /// Works on something aside; what waits for its end is the owner's to say.
    fn work(&self, task: impl Future<Output = ()> + Send + 'static);

    /// Whether servers are ending because the owner wants it.
    fn is_closing(&self) -> bool;

    /// What joins its requests to traces, if anything does.
    fn traces(&self) -> Option<&dyn TracePropagator> {
        None
    }

    /// A request with the parameters of the greeting `initialize`, noted as in flight, and where
    /// its answer comes: a server that was opened again is greeted by it.
    fn greet_again(
        &self,
        upstream: &Upstream<Self>,
        initialize: &Message,
    ) -> (Message, oneshot::Receiver<RequestResult>);

    /// How long a server that was opened again may take to answer that.
    fn greeting_limit(&self, _: &Upstream<Self>) -> Duration {
        GREETING
    }

    /// A server that was opened again has answered `initialize` with this `greeting`; it is empty
    /// if that was refused.
    fn greeted(&self, _: &Upstream<Self>, _initialize: &Message, _greeting: Map<String, Value>) {}

    /// A server could not be opened or greeted.
    fn not_opened(&self, _: &Upstream<Self>, _: &ConnectionError) {}

    /// Takes what a server sent: messages, marks and ends of streams. How it failed and ended is
    /// told by [`Owner::unanswered`] and [`Owner::refused`].
    fn received(
        self: &Arc<Self>,
        upstream: &Arc<Upstream<Self>>,
        event: ServerEvent,
    ) -> impl Future<Output = ()> + Send;

    /// A server refused a message on the level of HTTP: the request `of`, with what was noted of
    /// it, or what was no request.
    fn refused(
        self: &Arc<Self>,
        upstream: &Arc<Upstream<Self>>,
        of: Option<RequestId>,
        waiting: Option<InFlightRequest<Self::Details>>,
        refusal: Refusal,
    ) -> impl Future<Output = ()> + Send;

    /// A request will get no answer of its server. It is not in flight any more.
    fn unanswered(
        &self,
        upstream: &Upstream<Self>,
        waiting: InFlightRequest<Self::Details>,
        why: RequestFailure,
    ) -> impl Future<Output = ()> + Send;
}
