//! The requests that wait for an answer of a server.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use spillgate_mcp::RequestId;
use spillgate_transport::Frame;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::{RequestOutcome, RequestSpan, Slot};

/// The frame with the answer, or how it came that there is none.
pub type RequestResult = Result<Frame, String>;

/// A request on its way.
#[derive(Debug)]
pub struct InFlightRequest<D> {
    /// The id as it was spelled.
    pub id: String,
    /// The method, for messages about it.
    pub method: String,
    /// The server that was asked.
    pub slot: Slot,
    /// When the server last let itself be heard about it.
    pub heard: Instant,
    /// Its progress token, as JSON.
    pub progress: Option<String>,
    /// Who in this program asked; `None` for a client of ours.
    pub for_us: Option<oneshot::Sender<RequestResult>>,
    /// What is told of it outside; `None` where no single server was asked.
    pub span: Option<RequestSpan>,
    /// What its owner keeps about it besides.
    pub details: D,
}

impl<D> InFlightRequest<D> {
    /// A request that is sent now, for the server in this place.
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

    /// Notes how it ends without an answer.
    pub fn end(&mut self, outcome: RequestOutcome) {
        if let Some(span) = &mut self.span {
            span.end(outcome);
        }
    }
}

/// Requests that were given up and are remembered, the last ones.
const MOST_GIVEN_UP: usize = 256;

/// Requests on their way.
#[derive(Debug)]
pub struct InFlight<D> {
    requests: Mutex<HashMap<RequestId, InFlightRequest<D>>>,
    /// Those that were answered in the server's place because it did not.
    given_up: Mutex<VecDeque<RequestId>>,
    /// Told when a request is noted: somebody has to see that it is answered.
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
        // Whoever watches over it can stop.
        self.noted.notify_one();
    }
}

impl<D> InFlight<D> {
    /// Notes a request that is about to be passed on.
    pub fn add(&self, key: RequestId, waiting: InFlightRequest<D>) {
        self.given_up.lock().retain(|other| *other != key);
        self.requests.lock().insert(key, waiting);
        self.noted.notify_one();
    }

    /// The request that is answered now.
    pub fn take(&self, key: &RequestId) -> Option<InFlightRequest<D>> {
        self.requests.lock().remove(key)
    }

    /// Whether it waits still.
    #[must_use]
    pub fn has(&self, key: &RequestId) -> bool {
        self.requests.lock().contains_key(key)
    }

    /// Notes a request that is answered in the server's place.
    pub(crate) fn give_up(&self, key: RequestId) {
        let mut given_up = self.given_up.lock();
        if given_up.len() == MOST_GIVEN_UP {
            given_up.pop_front();
        }
        given_up.push_back(key);
    }

    /// Whether an answer that nobody waits for would be the second one.
    #[must_use]
    pub fn is_given_up(&self, key: &RequestId) -> bool {
        self.given_up.lock().contains(key)
    }

    /// Looks at a request that waits.
    pub fn look(&self, key: &RequestId, look: impl FnOnce(&mut InFlightRequest<D>)) {
        self.requests.lock().get_mut(key).map(look);
    }

    /// The request with this progress token, whose server was just heard of.
    pub fn progressed(&self, token: &str, now: Instant) -> Option<RequestId> {
        let mut requests = self.requests.lock();
        let (key, waiting) = requests
            .iter_mut()
            .find(|(_, waiting)| waiting.progress.as_deref() == Some(token))?;
        waiting.heard = now;
        Some(key.clone())
    }

    /// All requests that are `finished`, in the same order every time.
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

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests.lock().is_empty()
    }
}
