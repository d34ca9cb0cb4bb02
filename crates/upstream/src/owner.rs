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

/// How long a restarted server may take to answer `initialize`.
pub const GREETING: Duration = Duration::from_secs(60);

/// Implemented by a type that sends requests to servers and receives what the servers send.
pub trait Owner: Debug + Send + Sync + Sized + 'static {
    /// The owner's own data about a request.
    type Details: Debug + Send;
    /// The owner's own data about a server.
    type Notes: Debug + Send + Sync;

    /// Returns the connector that opens connections to servers.
    fn connector(&self) -> &dyn Connector;

    /// Returns the requests in flight.
    fn in_flight(&self) -> &InFlight<Self::Details>;

    /// Returns the server in this slot; `None` if the slot is no longer used.
    fn upstream(&self, slot: Slot) -> Option<Arc<Upstream<Self>>>;

    /// Runs a task in the background. The owner decides who waits until the task ends.
    fn work(&self, task: impl Future<Output = ()> + Send + 'static);

    /// Returns whether the owner is closing, so that its servers are expected to end.
    fn is_closing(&self) -> bool;

    /// Returns the object that joins requests to traces, if there is one.
    fn traces(&self) -> Option<&dyn TracePropagator> {
        None
    }

    /// Creates the `initialize` request for a restarted server, with the parameters of an earlier
    /// `initialize`, and adds it to the requests in flight. Returns it with the receiver of its
    /// response.
    fn greet_again(
        &self,
        upstream: &Upstream<Self>,
        initialize: &Message,
    ) -> (Message, oneshot::Receiver<RequestResult>);

    /// Returns how long a restarted server may take to answer `initialize`.
    fn greeting_limit(&self, _: &Upstream<Self>) -> Duration {
        GREETING
    }

    /// Called when a restarted server has answered `initialize` with this `greeting`, which is
    /// empty if the server returned an error.
    fn greeted(&self, _: &Upstream<Self>, _initialize: &Message, _greeting: Map<String, Value>) {}

    /// Called when a server could not be opened or greeted.
    fn not_opened(&self, _: &Upstream<Self>, _: &ConnectionError) {}

    /// Called with what a server sent: messages, marks and ends of streams. Failures and ends of
    /// the server itself are reported through [`Owner::unanswered`] and [`Owner::refused`].
    fn received(
        self: &Arc<Self>,
        upstream: &Arc<Upstream<Self>>,
        event: ServerEvent,
    ) -> impl Future<Output = ()> + Send;

    /// Called when a server refused a message at the HTTP level. If the message was a request, `of`
    /// is its id and `waiting` its entry.
    fn refused(
        self: &Arc<Self>,
        upstream: &Arc<Upstream<Self>>,
        of: Option<RequestId>,
        waiting: Option<InFlightRequest<Self::Details>>,
        refusal: Refusal,
    ) -> impl Future<Output = ()> + Send;

    /// Called when a request will get no response. The request is no longer in flight.
    fn unanswered(
        &self,
        upstream: &Upstream<Self>,
        waiting: InFlightRequest<Self::Details>,
        why: RequestFailure,
    ) -> impl Future<Output = ()> + Send;
}
