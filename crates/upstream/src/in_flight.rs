//! The requests that wait for a server's response.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use spillgate_mcp::{Envelope, RequestId};
use spillgate_transport::Frame;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::{RequestOutcome, RequestSpan, Slot};

/// The response frame, or the reason why there is none.
pub type RequestResult = Result<Frame, String>;

/// A request in flight.
#[derive(Debug)]
pub struct InFlightRequest<D> {
    /// The request id exactly as the client wrote it.
    pub id: String,
    /// The method, for error and log messages.
    pub method: String,
    /// The server that the request was sent to.
    pub slot: Slot,
    /// When the server last sent something about this request.
    pub heard: Instant,
    /// The request's progress token, as JSON.
    pub progress: Option<String>,
    /// The waiting caller inside this program; `None` if the client sent the request.
    pub for_us: Option<oneshot::Sender<RequestResult>>,
    /// The request's span; `None` if the request was not sent to a single server.
    pub span: Option<RequestSpan>,
    /// The owner's own data about the request.
    pub details: D,
}

impl<D> InFlightRequest<D> {
    /// Returns a request that is sent now to the server in this slot.
    pub fn new(id: &str, method: &str, slot: Slot, details: D) -> Self {
        Self {
            id: id.to_owned(),
            method: method.to_owned(),
            slot,
            heard: Instant::now(),
            progress: None,
            for_us: None,
            span: None,
            details,
        }
    }

    /// Records that the response arrived, in a frame of this many bytes.
    pub fn answered(&mut self, answer: &Envelope<'_>, bytes: u64) {
        if let Some(span) = &mut self.span {
            span.answered(answer, bytes);
        }
    }

    /// Records that the request ends without a response.
    pub fn end(&mut self, outcome: RequestOutcome) {
        if let Some(span) = &mut self.span {
            span.end(outcome);
        }
    }
}

/// Maximum number of given-up requests that are remembered.
const MOST_GIVEN_UP: usize = 256;

/// The requests in flight.
#[derive(Debug)]
pub struct InFlight<D> {
    requests: Mutex<HashMap<RequestId, InFlightRequest<D>>>,
    /// Requests that we answered with an error because the server was silent for too long.
    given_up: Mutex<VecDeque<RequestId>>,
    /// Notified when a request is added, so that the watchdog wakes.
    pub(crate) noted: Arc<Notify>,
}

impl<D> Default for InFlight<D> {
    fn default() -> Self {
        Self {
            requests: Mutex::default(),
            given_up: Mutex::default(),
            noted: Arc::default(),
        }
    }
}

impl<D> Drop for InFlight<D> {
    fn drop(&mut self) {
        // Wakes the watchdog, which then sees that the owner is gone and ends.
        self.noted.notify_one();
    }
}

impl<D> InFlight<D> {
    /// Adds a request that is about to be sent.
    pub fn add(&self, key: RequestId, waiting: InFlightRequest<D>) {
        self.given_up.lock().retain(|other| *other != key);
        self.requests.lock().insert(key, waiting);
        self.noted.notify_one();
    }

    /// Removes and returns a request, because its answer has arrived or will not arrive.
    pub fn take(&self, key: &RequestId) -> Option<InFlightRequest<D>> {
        self.requests.lock().remove(key)
    }

    /// Returns whether the request is still in flight.
    #[must_use]
    pub fn has(&self, key: &RequestId) -> bool {
        self.requests.lock().contains_key(key)
    }

    /// Records that we answered a request with an error in place of the server.
    pub(crate) fn give_up(&self, key: RequestId) {
        let mut given_up = self.given_up.lock();
        if given_up.len() == MOST_GIVEN_UP {
            given_up.pop_front();
        }
        given_up.push_back(key);
    }

    /// Returns whether this request was given up. The client then already has an error response,
    /// and must not get a second response.
    #[must_use]
    pub fn is_given_up(&self, key: &RequestId) -> bool {
        self.given_up.lock().contains(key)
    }

    /// Calls `look` with the request if it is in flight.
    pub fn look(&self, key: &RequestId, look: impl FnOnce(&mut InFlightRequest<D>)) {
        self.requests.lock().get_mut(key).map(look);
    }

    /// Returns the request with this progress token, and records that the server has just sent
    /// something about it.
    pub fn progressed(&self, token: &str, now: Instant) -> Option<RequestId> {
        let mut requests = self.requests.lock();
        let (key, waiting) = requests
            .iter_mut()
            .find(|(_, waiting)| waiting.progress.as_deref() == Some(token))?;
        waiting.heard = now;
        Some(key.clone())
    }

    /// Removes and returns all requests for which `over` is true, sorted by id.
    pub fn drain(
        &self,
        over: impl Fn(&InFlightRequest<D>) -> bool,
    ) -> Vec<(RequestId, InFlightRequest<D>)> {
        let mut drained: Vec<_> = self
            .requests
            .lock()
            .extract_if(|_, waiting| over(waiting))
            .collect();
        drained.sort_by(|(one, _), (other, _)| one.cmp(other));
        drained
    }

    /// Returns whether nothing is in flight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests.lock().is_empty()
    }
}
