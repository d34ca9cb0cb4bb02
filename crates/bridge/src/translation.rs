//! The code that both directions of translation share.
//!
//! It splits frames, distinguishes the server's messages from failures, and numbers the requests to
//! the server.

use std::fmt;
use std::time::Instant;

use bytes::Bytes;
use spillgate_mcp::{ObjectView, RequestId, frame, messages};
use spillgate_transport::{Frame, Item, Message, Refusal, ServerEvent, Spooled};

use crate::json::parts;
use crate::steps::Steps;
use crate::{Caller, ClientFrame, refusal};

/// One direction of a bridge. All of its steps are added to `steps`.
pub(crate) trait Translation: fmt::Debug {
    /// Handles one message from a client.
    fn on_client(&mut self, frame: &Bytes, received: ClientFrame<'_>, steps: &mut Steps);

    /// Handles one message from the server, which arrived on the stream of the request `of`.
    fn on_server(&mut self, frame: &Bytes, of: Option<&RequestId>, now: Instant, steps: &mut Steps);

    /// Handles one message from the server that is too large for memory.
    fn large(&mut self, spooled: Spooled, of: Option<&RequestId>, steps: &mut Steps);

    /// Handles a request that failed in transit or that the server refused at the HTTP level.
    fn failed(&mut self, of: RequestId, item: Item, steps: &mut Steps);

    /// Called when the server has ended.
    fn gone(&mut self, how: &str, steps: &mut Steps);

    /// Called when a client closed the response stream of its request.
    fn abandoned(&mut self, by: Caller, request: &RequestId, steps: &mut Steps);

    /// Called when a client has disconnected.
    fn client_disconnected(&mut self, caller: Caller, steps: &mut Steps);

    /// Returns the time at which `tick` must be called next.
    fn deadline(&self) -> Option<Instant>;

    /// Performs everything that is due at `now`.
    fn tick(&mut self, now: Instant, steps: &mut Steps);
}

/// Handles a frame from a client, which may be a batch.
pub(crate) fn from_client(
    to: &mut (dyn Translation + Send),
    received: ClientFrame<'_>,
    steps: &mut Steps,
) {
    let all = parts(received.frame);
    if all.is_empty() {
        steps.refuse(received.from, None, "null", &refusal::not_json());
    }
    for part in all {
        match messages(&part).is_empty() {
            true => steps.refuse(received.from, None, "null", &refusal::not_json()),
            false => to.on_client(&part, received, steps),
        }
    }
}

/// Handles an event from the server.
pub(crate) fn from_server(
    to: &mut (dyn Translation + Send),
    event: ServerEvent,
    now: Instant,
    steps: &mut Steps,
) {
    let of = event.of;
    match (event.item, of) {
        (Item::Message(Frame::Spooled(spooled)), of) => to.large(*spooled, of.as_ref(), steps),
        (Item::Message(frame), of) => {
            for part in parts(frame.in_memory().unwrap_or(&Bytes::new())) {
                to.on_server(&part, of.as_ref(), now, steps);
            }
        }
        // Streams are not resumed, so marks of their positions are ignored.
        (Item::Mark { .. }, _) => {}
        (Item::Gone(how), _) => to.gone(&how, steps),
        (Item::Refused(refusal), Some(of)) => match answer_in(&refusal, &of) {
            Some(answer) => to.on_server(&answer, Some(&of), now, steps),
            None => to.failed(of, Item::Refused(refusal), steps),
        },
        (item, Some(of)) => to.failed(of, item, steps),
        (_, None) => {}
    }
}

/// Returns the error in an HTTP refusal as the answer to its request, because 2026-07-28 assigns an
/// HTTP status to each error code. The id may be missing if the server did not read the request.
fn answer_in(refusal: &Refusal, of: &RequestId) -> Option<Bytes> {
    if refusal.session_lost || refusal.challenge.is_some() {
        return None;
    }
    let body = ObjectView::of_bytes(&refusal.body)?;
    body.object("error")?;
    let error = body.get("error")?.get();
    Some(frame::error(of.as_json(), error).into())
}

/// Generates the numbers of requests to the server.
#[derive(Debug, Default)]
pub(crate) struct RequestNumbers(u64);

impl RequestNumbers {
    pub(crate) fn next(&mut self) -> RequestId {
        self.0 += 1;
        RequestId::number(self.0)
    }
}

/// Returns a request of the bridge itself.
pub(crate) fn request(
    number: &RequestId,
    method: &str,
    params: &str,
    headers: Vec<(String, String)>,
) -> Message {
    Message {
        frame: frame::request(number.as_json(), method, Some(params)).into(),
        id: Some(number.clone()),
        method: Some(method.to_owned()),
        name: None,
        headers,
    }
}
