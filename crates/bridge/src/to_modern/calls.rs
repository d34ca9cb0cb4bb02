//! Translates a legacy client's requests for a modern server, and the server's answers for the
//! client.

use std::time::Instant;

use bytes::Bytes;
use spillgate_mcp::{ByteEdits, Envelope, ObjectView, RequestId, error_code, messages, meta};
use spillgate_transport::{Item, Message, ServerEvent, Spooled};

use super::rounds::Round;
use super::{Request, ToModern};
use crate::json::{add_meta, put_code, put_first, put_id};
use crate::names::{MAY_ASK, MODERN_KEYS, named_by};
use crate::refusal::{self, RefusalReply};
use crate::steps::Steps;
use crate::{Step, large_message};

/// A request that the server is working on, or that waits for the client's input.
#[derive(Debug)]
pub(super) struct Call {
    /// The exact text of the client's id.
    pub(super) id: String,
    pub(super) key: RequestId,
    pub(super) method: String,
    name: Option<String>,
    /// The frame as the client sent it. The request of the next round is built from it.
    frame: Bytes,
    headers: Vec<(String, String)>,
    /// Number of question rounds so far.
    pub(super) rounds: usize,
    /// The current round of questions to the client.
    pub(super) round: Option<Round>,
}

impl ToModern {
    /// Forwards a request to the server.
    pub(super) fn forward(
        &mut self,
        request: &Request<'_>,
        headers: &[(String, String)],
        steps: &mut Steps,
    ) {
        if self.calls.len() >= self.config.limits.calls {
            let why = refusal::too_many("requests", self.config.limits.calls);
            return self.refuse(request, &why, steps);
        }
        let params = request.params();
        let asks = MAY_ASK.contains(&request.method);
        if asks && params.object("task").is_some() {
            let why = refusal::tasks("params.task");
            return self.refuse(request, &why, steps);
        }
        let call = Call {
            id: request.id.to_owned(),
            key: request.key.clone(),
            method: request.method.to_owned(),
            name: named_by(request.method).and_then(|name| params.text(name)),
            frame: request.frame.clone(),
            headers: headers.to_vec(),
            rounds: 0,
            round: None,
        };
        if let Err(why) = self.send(call, "", steps) {
            self.refuse(request, &why, steps);
        }
    }

    /// Sends a call under a new number, with `more` added to its parameters.
    pub(super) fn send(
        &mut self,
        call: Call,
        more: &str,
        steps: &mut Steps,
    ) -> Result<(), RefusalReply> {
        let number = self.numbers.next();
        let all = messages(&call.frame);
        let envelope = all.first().ok_or_else(refusal::not_json)?;
        let splice = add_meta(&call.frame, envelope, &self.meta(), &MODERN_KEYS);
        let mut splice = splice.ok_or_else(refusal::params_are_a_list)?;
        put_id(&mut splice, &call.frame, envelope, number.as_json());
        let mut frame = splice.apply(&call.frame);
        if !more.is_empty() {
            frame = with_params(&frame, more);
        }
        let mut headers = super::headers();
        let others = call
            .headers
            .iter()
            .filter(|(name, _)| name != meta::VERSION_HEADER);
        headers.extend(others.cloned());
        steps.server(Message {
            frame: frame.into(),
            id: Some(number.clone()),
            method: Some(call.method.clone()),
            name: call.name.clone(),
            headers,
        });
        self.calls.insert(number, call);
        Ok(())
    }

    /// Handles the server's answer to the request with this number.
    pub(super) fn answered(
        &mut self,
        number: &RequestId,
        envelope: &Envelope<'_>,
        frame: &Bytes,
        now: Instant,
        steps: &mut Steps,
    ) {
        let is_waiting = self
            .calls
            .get(number)
            .is_some_and(|call| call.round.is_none());
        let Some(call) = is_waiting.then(|| self.calls.remove(number)).flatten() else {
            return;
        };
        let result = envelope.result.and_then(ObjectView::of);
        if let Some(result) =
            result.filter(|all| all.text("resultType").as_deref() == Some("input_required"))
        {
            return self.next_round(number, call, &result, now, steps);
        }
        let mut splice = ByteEdits::default();
        put_id(&mut splice, frame, envelope, &call.id);
        if call.method == "resources/read" && names_a_resource(frame) {
            put_code(
                &mut splice,
                frame,
                error_code::INVALID_PARAMS,
                error_code::RESOURCE_NOT_FOUND,
            );
        }
        steps.client(self.at, Some(call.key), splice.apply(frame));
    }
}

impl ToModern {
    /// Passes on an answer that is too large for memory. If it contains questions, the call is
    /// refused instead.
    pub(super) fn deliver_large(&self, call: Call, spooled: Spooled, steps: &mut Steps) {
        let asks = |members: ObjectView<'_>| {
            let kind = members.text("resultType");
            kind.as_deref() == Some("input_required")
        };
        let added = |one: &Envelope<'_>| match one.result.and_then(ObjectView::of).is_some_and(asks)
        {
            true => None,
            false => Some(String::new()),
        };
        match large_message::answer(spooled, &call.id, added) {
            Ok(frame) => {
                let event = ServerEvent {
                    of: Some(call.key),
                    event: None,
                    item: Item::Message(frame),
                };
                let to = self.at;
                steps.0.push(Step::ToClient { to, event });
            }
            Err(bytes) => {
                let why = refusal::unbridged(&self.config.server, bytes);
                steps.refuse(self.at, Some(call.key), &call.id, &why);
            }
        }
    }
}

/// Returns whether a modern error is about a missing resource. It then names the resource in
/// `data.uri`; errors about other invalid parameters have the same code.
fn names_a_resource(frame: &Bytes) -> bool {
    let whole = ObjectView::of_bytes(frame).unwrap_or_default();
    let data = whole.object("error").and_then(|error| error.object("data"));
    data.is_some_and(|data| data.text("uri").is_some())
}

/// Inserts members before the first parameter of a request. The request must have parameters.
fn with_params(frame: &[u8], more: &str) -> Vec<u8> {
    let mut splice = ByteEdits::default();
    let all = messages(frame);
    if let Some(params) = all.first().and_then(|envelope| envelope.params) {
        put_first(&mut splice, frame, params, more);
    }
    splice.apply(frame)
}
