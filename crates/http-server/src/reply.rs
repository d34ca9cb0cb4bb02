//! Turns a stream of server events into an HTTP response.

use spillgate_mcp::error_code;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use bytes::Bytes;
use futures_util::stream;
use serde::Deserialize;
use spillgate_transport::{Item, Refusal};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::backend::Peer;
use crate::client_streams::ClientStreams;
use crate::frame::{self, Chunk};
use crate::limits::ConcurrencyPermit;
use crate::problem::{Problem, error_frame};
use crate::sessions::Client;
use crate::sse;
use crate::stream_channel::{StreamEvent, StreamReceiver};

/// Maximum size, in bytes, of a response that is searched for an error code. Errors are short.
const SHORT: usize = 64 << 10;

/// A stream that a client reads. It is dropped when the client disconnects or has received
/// everything.
#[derive(Debug)]
pub(crate) struct OpenStream {
    pub(crate) receiver: StreamReceiver,
    pub(crate) streams: Arc<ClientStreams>,
    pub(crate) peer: Arc<dyn Peer>,
    pub(crate) owner: StreamOwner,
    /// The task that passes the request to the gateway.
    pub(crate) handing: Option<JoinHandle<()>>,
    pub(crate) keep_alive: Duration,
}

/// The owner of the stream.
#[derive(Debug)]
pub(crate) enum StreamOwner {
    /// A session. It continues after the stream has ended.
    Session(Arc<Client>),
    /// A single stateless request.
    Exchange {
        /// Counts the request as in flight until it is dropped.
        #[expect(dead_code, reason = "it counts while it is held")]
        permit: ConcurrencyPermit,
        /// Whether the request's `_meta` contains all required members.
        is_whole: bool,
    },
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let unanswered = self.streams.gone(self.receiver.stream);
        if let StreamOwner::Session(client) = &self.owner {
            for key in self.streams.lost(&unanswered) {
                self.peer.unread(&key);
            }
            client.touch();
            return;
        }
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let (peer, handing) = (Arc::clone(&self.peer), self.handing.take());
        runtime.spawn(async move {
            // Wait until the request has been passed on, because it cannot be cancelled before
            // that.
            if let Some(handing) = handing {
                drop(handing.await);
            }
            let is_hurried = !unanswered.is_empty();
            for key in unanswered {
                peer.abandon(key).await;
            }
            peer.close(is_hurried).await;
        });
    }
}

impl OpenStream {
    /// Returns the response: JSON if the first event is the answer, otherwise an event stream.
    pub(crate) async fn respond(mut self) -> Response<Body> {
        let Ok(first) = timeout(self.keep_alive, self.receiver.next()).await else {
            // Nothing has arrived for a while. Begin the response now, because proxies give up
            // silent requests.
            return self.events(VecDeque::from([sse::COMMENT]));
        };
        let Some(stream_event) = first else {
            let what = "the session has ended";
            return axum::response::IntoResponse::into_response(Problem::http(
                StatusCode::SERVICE_UNAVAILABLE,
                what,
            ));
        };
        match stream_event.server_event.item {
            Item::Message(frame) if stream_event.is_last => match frame::whole(frame) {
                Chunk::Bytes(frame) => {
                    let status = self.status(&frame);
                    typed(status, "application/json", Body::from(frame))
                }
                // The response is too large to be an error, so its status is 200.
                pieces @ Chunk::Pieces(_) => {
                    let body = self.body(VecDeque::from([pieces]), true);
                    typed(StatusCode::OK, "application/json", body)
                }
            },
            Item::Refused(refusal) => relay(refusal),
            _ => {
                let is_last = stream_event.is_last;
                match frame::joined(events(stream_event)) {
                    Ok(all) if is_last => event_stream(Body::from(all)),
                    Ok(all) => self.events(VecDeque::from([all])),
                    Err(chunks) => event_stream(self.body(chunks, is_last)),
                }
            }
        }
    }

    /// Returns the response as an event stream, which begins with `first`.
    pub(crate) fn events(self, first: VecDeque<Bytes>) -> Response<Body> {
        let first = first.into_iter().map(Chunk::Bytes).collect();
        event_stream(self.body(first, false))
    }

    /// Returns a body that begins with `first`, and ends with it if `is_last` is true. A later
    /// error closes the connection, so that the client does not take a truncated body for a
    /// complete one.
    fn body(self, first: VecDeque<Chunk>, is_last: bool) -> Body {
        let state = Some((self, first, is_last));
        Body::from_stream(stream::unfold(state, |state| async {
            let (mut open_stream, mut chunks, mut is_last) = state?;
            loop {
                match frame::next(&mut chunks).await {
                    Ok(Some(bytes)) => {
                        return Some((Ok(bytes), Some((open_stream, chunks, is_last))));
                    }
                    Ok(None) if is_last => return None,
                    Ok(None) => {}
                    Err(error) => {
                        tracing::warn!(%error, "a large message could not be read to its end; the response is cut off");
                        return Some((Err(error), None));
                    }
                }
                chunks = match timeout(open_stream.keep_alive, open_stream.receiver.next()).await {
                    Ok(stream_event) => {
                        let stream_event = stream_event?;
                        is_last = stream_event.is_last;
                        match frame::joined(events(stream_event)) {
                            Ok(all) if is_last => return Some((Ok(all), None)),
                            Ok(all) => VecDeque::from([Chunk::Bytes(all)]),
                            Err(chunks) => chunks,
                        }
                    }
                    Err(_) => VecDeque::from([Chunk::Bytes(sse::COMMENT)]),
                };
            }
        }))
    }

    /// Returns the status of a response. In 2026-07-28, some error codes require a certain status.
    fn status(&self, frame: &[u8]) -> StatusCode {
        #[derive(Deserialize)]
        struct Failure {
            error: Error,
        }
        #[derive(Deserialize)]
        struct Error {
            code: i64,
        }
        let StreamOwner::Exchange { is_whole, .. } = self.owner else {
            return StatusCode::OK;
        };
        if frame.len() > SHORT {
            return StatusCode::OK;
        }
        let failure = serde_json::from_slice(frame).ok();
        match failure.map(|Failure { error }| error.code) {
            Some(
                error_code::UNSUPPORTED_VERSION
                | error_code::MISSING_CAPABILITY
                | error_code::HEADER_MISMATCH,
            ) => StatusCode::BAD_REQUEST,
            Some(error_code::INVALID_PARAMS) if !is_whole => StatusCode::BAD_REQUEST,
            Some(error_code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
            _ => StatusCode::OK,
        }
    }
}

/// Converts a server event to server-sent events.
fn events(stream_event: StreamEvent) -> VecDeque<Chunk> {
    let event = stream_event.server_event.event.as_deref();
    let in_memory = |bytes: [Bytes; 3]| bytes.map(Chunk::Bytes);
    match stream_event.server_event.item {
        Item::Message(frame) => match frame::whole(frame) {
            Chunk::Bytes(frame) => in_memory(sse::message(event, frame)).into(),
            Chunk::Pieces(pieces) => {
                let [head, end] = sse::around_line(event).map(Chunk::Bytes);
                VecDeque::from([head, Chunk::Pieces(pieces.one_line()), end])
            }
        },
        Item::Mark { retry: None } if event.is_none() => {
            VecDeque::from([Chunk::Bytes(sse::COMMENT)])
        }
        Item::Mark { retry } => VecDeque::from([Chunk::Bytes(sse::mark(event, retry))]),
        Item::Refused(refusal) => {
            let why = format!("the server answered with HTTP {}", refusal.status);
            let error = |key| Bytes::from(error_frame(Some(key), error_code::SERVER_ERROR, &why));
            let errors = stream_event.unanswered.iter().map(error);
            let events = errors.flat_map(|error| in_memory(sse::message(None, error)));
            events.collect()
        }
        // These do not arrive here: `StreamRouter` answers them with an error, or ends the stream.
        Item::Ended | Item::Failed(_) | Item::Gone(_) => VecDeque::new(),
    }
}

fn event_stream(body: Body) -> Response<Body> {
    let mut response = typed(StatusCode::OK, "text/event-stream", body);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Without this header, nginx would buffer the events.
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    headers.insert(unbuffered, HeaderValue::from_static("no"));
    response
}

fn typed(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Returns a server's refusal as the response.
fn relay(refusal: Refusal) -> Response<Body> {
    let mut response = Response::new(Body::from(refusal.body));
    let status = StatusCode::from_u16(refusal.status).ok();
    let status = status.filter(|status| status.is_client_error() || status.is_server_error());
    *response.status_mut() = status.unwrap_or(StatusCode::BAD_GATEWAY);
    for (name, value) in [
        (CONTENT_TYPE, refusal.content_type),
        (WWW_AUTHENTICATE, refusal.challenge),
    ] {
        if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
