//! Sends each server event to the right stream of its client.
//!
//! The stream of a request is the response to its POST. Messages that belong to no request go to
//! the session's GET stream. If no GET stream is open, they go to the stream of the only request in
//! flight. If there is no such request, they are kept until a stream is opened.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use spillgate_transport::{ServerEvent, Sink};

use crate::post_body::PendingRequest;
use crate::problem::Problem;
use crate::stream_channel::{StreamReceiver, StreamSender};
use crate::stream_router::{OpenRequest, StreamRouter};
use spillgate_mcp::{Generation, RequestId, error_code};

/// The sink for the server events of one client.
#[derive(Debug)]
pub(crate) struct ClientStreams {
    router: Mutex<StreamRouter>,
    streams: AtomicU64,
}

impl ClientStreams {
    /// Returns the streams of a client. If no stream is open for messages that belong to no
    /// request, keeps up to `kept` of these messages.
    pub(crate) fn new(generation: Generation, kept: usize) -> Arc<Self> {
        Arc::new(Self {
            router: Mutex::new(StreamRouter::new(generation, kept)),
            streams: AtomicU64::new(0),
        })
    }

    /// Locks the routing state. Each change is a single call, so the state stays consistent even
    /// after a panic elsewhere.
    fn router(&self) -> MutexGuard<'_, StreamRouter> {
        self.router.lock()
    }

    fn channel(&self) -> (StreamSender, StreamReceiver) {
        StreamReceiver::open(self.streams.fetch_add(1, Ordering::Relaxed))
    }

    /// Opens the stream of some requests. Fails if one of their ids is already in flight, or if
    /// more than `most` requests would be in flight.
    pub(crate) fn open(
        &self,
        asked: &[PendingRequest],
        most: usize,
    ) -> Result<StreamReceiver, Problem> {
        let (sender, receiver) = self.channel();
        let mut router = self.router();
        if router.waiting.len() + asked.len() > most {
            let what = format!("{most} requests of this session are under way");
            return Err(Problem::http(StatusCode::TOO_MANY_REQUESTS, what).again_in(1));
        }
        for (at, PendingRequest { key, .. }) in asked.iter().enumerate() {
            let is_twice = asked[..at].iter().any(|other| other.key == *key);
            if is_twice || router.waiting.contains_key(key) {
                let what = "a request with this id is under way";
                return Err(Problem::bad(error_code::INVALID_REQUEST, what).of(Some(key.clone())));
            }
        }
        for asked in asked {
            if asked.method == "initialize" {
                router.initialize = Some(asked.key.clone());
            }
            let waiting = OpenRequest::new(sender.clone(), asked.is_lasting());
            router.waiting.insert(asked.key.clone(), waiting);
        }
        Ok(receiver)
    }

    /// Opens the stream for messages that belong to no request. If `after` is given, resumes the
    /// stream of that event instead. Fails if the stream for messages without a request is already
    /// open.
    pub(crate) fn listen(&self, after: Option<&str>) -> Result<StreamReceiver, Problem> {
        let (sender, mut receiver) = self.channel();
        let mut router = self.router();
        if let Some(key) = after.and_then(|event| router.place(event)) {
            router.take_up(&key, &sender);
            return Ok(receiver);
        }
        let is_open = router.general.as_ref().is_some_and(StreamSender::is_read);
        if is_open && after.is_none() {
            let what = "this session has a stream open; one GET at a time";
            return Err(Problem::http(StatusCode::CONFLICT, what));
        }
        receiver.begin_with(router.kept.drain(..));
        router.general = Some(sender);
        Ok(receiver)
    }

    /// Records that a stream is no longer read. Returns its requests without a response.
    pub(crate) fn gone(&self, stream: u64) -> Vec<RequestId> {
        self.router().gone(stream)
    }

    /// Returns the requests whose streams cannot be resumed, because none of their events had an
    /// id.
    pub(crate) fn lost(&self, keys: &[RequestId]) -> Vec<RequestId> {
        let router = self.router();
        let is_lost = |key: &&RequestId| !router.can_be_taken_up(key);
        keys.iter().filter(is_lost).cloned().collect()
    }

    /// Returns the protocol version that `initialize` negotiated.
    pub(crate) fn agreed(&self) -> Option<String> {
        self.router().agreed.clone()
    }

    /// Whether `initialize` was answered with an error.
    pub(crate) fn is_refused(&self) -> bool {
        self.router().is_refused
    }

    /// Whether any stream is being read.
    pub(crate) fn is_read(&self) -> bool {
        let router = self.router();
        let senders = router.waiting.values().filter_map(OpenRequest::sender);
        senders.chain(&router.general).any(StreamSender::is_read)
    }

    /// Ends the GET stream and the subscription streams, which would otherwise stay open.
    pub(crate) fn end_lasting(&self) {
        let mut router = self.router();
        router.general = None;
        router.waiting.retain(|_, waiting| !waiting.is_lasting);
    }

    /// Answers all waiting requests with an error, because no responses will come.
    pub(crate) async fn fail(&self, why: &str) {
        let deliveries = self.router().fail_all(why);
        for delivery in deliveries {
            delivery.hand_over().await;
        }
        self.end_lasting();
    }

    async fn deliver(&self, server_event: ServerEvent) {
        let deliveries = self.router().route(server_event);
        for delivery in deliveries {
            let stream = delivery.sender.stream;
            if !delivery.hand_over().await {
                self.router().gone(stream);
            }
        }
    }
}

impl Sink for ClientStreams {
    fn take(&self, server_event: ServerEvent) -> BoxFuture<'_, ()> {
        self.deliver(server_event).boxed()
    }
}
