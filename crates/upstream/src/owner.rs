//! The interface between an upstream and its owner.

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

/// How long a server that was started again may take to answer `initialize`.
pub const GREETING: Duration = Duration::from_secs(60);

/// A user of servers.
pub trait Owner: Debug + Send + Sync + Sized + 'static {
    /// What the owner keeps about a request.
    type Details: Debug + Send;
    /// What the owner keeps about a server.
    type Notes: Debug + Send + Sync;

    /// Returns what opens connections to servers.
    fn connector(&self) -> &dyn Connector;

    /// Returns the requests in flight.
    fn in_flight(&self) -> &InFlight<Self::Details>;

    /// Returns the server in this slot; `None` if it is not used any more.
    fn upstream(&self, slot: Slot) -> Option<Arc<Upstream<Self>>>;

    /// Runs a task in the background. The owner decides who waits for its end.
    fn work(&self, task: impl Future<Output = ()> + Send + 'static);

    /// Returns whether servers end because the owner wants it.
    fn is_closing(&self) -> bool;

    /// Returns what joins requests to traces, if anything does.
    fn traces(&self) -> Option<&dyn TracePropagator> {
        None
    }

    /// Returns a new `initialize` request with the parameters of an earlier one, already in flight,
    /// and the receiver of its response. It greets a server that was started again.
    fn greet_again(
        &self,
        upstream: &Upstream<Self>,
        initialize: &Message,
    ) -> (Message, oneshot::Receiver<RequestResult>);

    /// Returns how long a server that was started again may take to answer it.
    fn greeting_limit(&self, _: &Upstream<Self>) -> Duration {
        GREETING
    }

    /// A server that was started again answered `initialize` with this `greeting`; empty if it
    /// refused.
    fn greeted(&self, _: &Upstream<Self>, _initialize: &Message, _greeting: Map<String, Value>) {}

    /// A server could not be opened or greeted.
    fn not_opened(&self, _: &Upstream<Self>, _: &ConnectionError) {}

    /// Takes what a server sent: messages, marks and ends of streams. Failures and ends come
    /// through [`Owner::unanswered`] and [`Owner::refused`].
    fn received(
        self: &Arc<Self>,
        upstream: &Arc<Upstream<Self>>,
        event: ServerEvent,
    ) -> impl Future<Output = ()> + Send;

    /// A server refused a message at the HTTP level: the request `of`, with its entry, or something
    /// that was no request.
    fn refused(
        self: &Arc<Self>,
        upstream: &Arc<Upstream<Self>>,
        of: Option<RequestId>,
        waiting: Option<InFlightRequest<Self::Details>>,
        refusal: Refusal,
    ) -> impl Future<Output = ()> + Send;

    /// A request will get no response. It is not in flight any more.
    fn unanswered(
        &self,
        upstream: &Upstream<Self>,
        waiting: InFlightRequest<Self::Details>,
        why: RequestFailure,
    ) -> impl Future<Output = ()> + Send;
}
