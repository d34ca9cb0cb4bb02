//! How does a stream of parcels become an HTTP response?

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use bytes::Bytes;
use futures_util::stream;
use serde::Deserialize;
use spillgate_wire::{Item, Refusal};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::backend::Peer;
use crate::desk::Desk;
use crate::frame;
use crate::inlet::{Inlet, Letter};
use crate::limits::Seat;
use crate::problem::{
    HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CAPABILITY, Problem, REFUSED,
    UNSUPPORTED_VERSION, error_frame,
};
use crate::sessions::Client;
use crate::sse;

/// Errors that a status repeats are short.
const SHORT: usize = 64 << 10;

/// A stream that a client reads. Dropped, the client is gone, or has all.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) inlet: Inlet,
    pub(crate) desk: Arc<Desk>,
    pub(crate) peer: Arc<dyn Peer>,
    pub(crate) whose: Whose,
    /// Hands the request to the gateway.
    pub(crate) handing: Option<JoinHandle<()>>,
    pub(crate) keep_alive: Duration,
}

/// Whose stream it is.
#[derive(Debug)]
pub(crate) enum Whose {
    /// A session's, which outlives it.
    Session(Arc<Client>),
    /// That of one stateless request.
    Exchange {
        /// Given back at the end.
        #[expect(dead_code, reason = "it counts while it is held")]
        seat: Seat,
        /// Whether the request says in `_meta` all that it must.
        is_whole: bool,
    },
}

impl Drop for Reading {
    fn drop(&mut self) {
        let unanswered = self.desk.gone(self.inlet.stream);
        if let Whose::Session(client) = &self.whose {
            client.touch();
            return;
        }
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let (peer, handing) = (Arc::clone(&self.peer), self.handing.take());
        runtime.spawn(async move {
            // What was not handed over yet could not be called off.
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

impl Reading {
    /// The response: JSON if the answer comes first, else a stream of events.
    pub(crate) async fn respond(mut self) -> Response<Body> {
        let Ok(first) = timeout(self.keep_alive, self.inlet.next()).await else {
            // Long enough for what stands in between to become impatient.
            return self.events(VecDeque::from([sse::COMMENT]));
        };
        let Some(letter) = first else {
            let what = "the session has ended";
            return axum::response::IntoResponse::into_response(Problem::http(
                StatusCode::SERVICE_UNAVAILABLE,
                what,
            ));
        };
        match letter.parcel.item {
            Item::Message(frame) if letter.is_last => {
                let frame = frame::whole(&frame);
                let status = self.status(&frame);
                typed(status, "application/json", Body::from(frame))
            }
            Item::Refused(refusal) => relay(refusal),
            _ => {
                let is_last = letter.is_last;
                let chunks = events(letter);
                match is_last {
                    true => {
                        event_stream(Body::from(chunks.into_iter().flatten().collect::<Bytes>()))
                    }
                    false => self.events(chunks),
                }
            }
        }
    }

    /// The response as a stream of events, of which some are there.
    pub(crate) fn events(self, first: VecDeque<Bytes>) -> Response<Body> {
        let state = Some((self, first));
        let chunks = stream::unfold(state, |state| async {
            let (mut reading, mut chunks) = state?;
            if let Some(chunk) = chunks.pop_front() {
                return Some((Ok::<_, Infallible>(chunk), Some((reading, chunks))));
            }
            let mut is_last = false;
            let mut chunks = match timeout(reading.keep_alive, reading.inlet.next()).await {
                Ok(letter) => {
                    let letter = letter?;
                    is_last = letter.is_last;
                    events(letter)
                }
                Err(_) => VecDeque::from([sse::COMMENT]),
            };
            if is_last {
                let all: Bytes = chunks.into_iter().flatten().collect();
                return Some((Ok(all), None));
            }
            let chunk = chunks.pop_front().unwrap_or_default();
            Some((Ok(chunk), Some((reading, chunks))))
        });
        event_stream(Body::from_stream(chunks))
    }

    /// 2026-07-28 has some errors repeated by the status.
    fn status(&self, frame: &[u8]) -> StatusCode {
        #[derive(Deserialize)]
        struct Failure {
            error: Error,
        }
        #[derive(Deserialize)]
        struct Error {
            code: i64,
        }
        let Whose::Exchange { is_whole, .. } = self.whose else {
            return StatusCode::OK;
        };
        if frame.len() > SHORT {
            return StatusCode::OK;
        }
        let failure = serde_json::from_slice(frame).ok();
        match failure.map(|Failure { error }| error.code) {
            Some(UNSUPPORTED_VERSION | MISSING_CAPABILITY | HEADER_MISMATCH) => {
                StatusCode::BAD_REQUEST
            }
            Some(INVALID_PARAMS) if !is_whole => StatusCode::BAD_REQUEST,
            Some(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
            _ => StatusCode::OK,
        }
    }
}

/// A parcel as events.
fn events(letter: Letter) -> VecDeque<Bytes> {
    let event = letter.parcel.event.as_deref();
    match letter.parcel.item {
        Item::Message(frame) => sse::message(event, frame::whole(&frame)).into(),
        Item::Mark { retry: None } if event.is_none() => VecDeque::from([sse::COMMENT]),
        Item::Mark { retry } => VecDeque::from([sse::mark(event, retry)]),
        Item::Refused(refusal) => {
            let why = format!("the server answered with HTTP {}", refusal.status);
            let error = |key| Bytes::from(error_frame(Some(key), REFUSED, &why));
            let errors = letter.unanswered.iter().map(error);
            errors.flat_map(|error| sse::message(None, error)).collect()
        }
        // The desk makes errors of these.
        Item::Ended | Item::Failed(_) | Item::Gone(_) => VecDeque::new(),
    }
}

fn event_stream(body: Body) -> Response<Body> {
    let mut response = typed(StatusCode::OK, "text/event-stream", body);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // nginx would collect the events.
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

/// What a server refused, as it did.
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
