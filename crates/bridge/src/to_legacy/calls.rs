//! Translates a modern client's requests for a legacy server, and the server's answers for the
//! client.

use std::time::Instant;

use bytes::Bytes;
use spillgate_mcp::{ByteEdits, Envelope, ObjectView, RequestId, error_code, messages};
use spillgate_transport::{Item, Message, ServerEvent, Spooled};

use super::question_round::Question;
use super::{OwnRequest, Request, ServerState, ToLegacy};
use crate::json::{put_code, put_first, put_for, put_id};
use crate::names::{CACHEABLE, LEVELS, MAY_ASK};
use crate::refusal;
use crate::steps::Steps;
use crate::{Step, large_message};

/// A request that the server is working on.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) request: Request,
    /// Whether the client's request was answered with a question that the client has not answered
    /// yet. The server is still working on the call.
    pub(super) asking: bool,
    /// Questions for the next round, which has not begun.
    pub(super) waiting: Vec<Question>,
    /// The server's answer, if it arrived before the client answered the questions.
    pub(super) finished: Option<Bytes>,
    /// Number of question rounds so far.
    pub(super) rounds: usize,
}

impl ToLegacy {
    /// Sends the client's request on to the server.
    pub(super) fn forward(&mut self, request: Request, now: Instant, steps: &mut Steps) {
        if self.calls.len() >= self.config.limits.calls {
            return request.refuse(
                &refusal::too_many("requests", self.config.limits.calls),
                steps,
            );
        }
        let Some(request) = self.adopt(request, now, steps) else {
            return;
        };
        self.raise_level(request.level, steps);
        let number = self.numbers.next();
        let mut headers = self.headers();
        let others = request
            .headers
            .iter()
            .filter(|(name, _)| !name.starts_with("mcp-"));
        headers.extend(others.cloned());
        steps.server(Message {
            frame: request.for_server(&number).into(),
            id: Some(number.clone()),
            method: Some(request.method.clone()),
            name: request.name.clone(),
            headers,
        });
        // The frame has been sent, so the stored request does not keep its bytes.
        let request = Request {
            frame: Bytes::new(),
            ..request
        };
        let call = Call {
            request,
            asking: false,
            waiting: Vec::new(),
            finished: None,
            rounds: 0,
        };
        self.calls.insert(number, call);
    }

    /// Makes the server's log at least as verbose as a request requires. The log is never made less
    /// verbose; messages that no client wants are dropped instead.
    fn raise_level(&mut self, wanted: Option<usize>, steps: &mut Steps) {
        let logs = matches!(&self.server, ServerState::Open(facts) if facts.has("logging", None));
        let Some(wanted) = wanted.filter(|_| logs) else {
            return;
        };
        if self.level.is_none_or(|level| wanted < level) {
            self.level = Some(wanted);
            let params = format!(r#"{{"level":"{}"}}"#, LEVELS[wanted]);
            self.ask_server(OwnRequest::SetLevel, "logging/setLevel", &params, steps);
        }
    }

    /// Handles the server's answer to the request with this number.
    pub(super) fn answered(
        &mut self,
        number: &RequestId,
        frame: &Bytes,
        now: Instant,
        steps: &mut Steps,
    ) {
        let room = self.config.limits.held_bytes.saturating_sub(self.held);
        match self.calls.get_mut(number) {
            Some(call) if call.asking => {
                let kept = match frame.len() <= room {
                    true => frame.clone(),
                    false => refusal::too_large(frame.len()).frame("0").into(),
                };
                self.held += kept.len();
                call.finished = Some(kept);
            }
            Some(_) => {
                if let Some(call) = self.calls.remove(number) {
                    self.deliver(&call.request, frame, now, steps);
                }
            }
            None => {}
        }
    }

    /// Passes an answer on to the client.
    pub(super) fn deliver(
        &mut self,
        request: &Request,
        frame: &Bytes,
        now: Instant,
        steps: &mut Steps,
    ) {
        let Some(visits) = visits(request, frame) else {
            let answer = modern(request, frame);
            return steps.client(request.from, Some(request.key.clone()), answer);
        };
        self.ask(request, None, visits, now, steps);
    }
}

impl ToLegacy {
    /// Passes on an answer that is too large for memory.
    pub(super) fn deliver_large(&self, request: &Request, spooled: Spooled, steps: &mut Steps) {
        let added = |one: &Envelope<'_>| match one.result.and_then(ObjectView::of) {
            // The value of `resultType` would have to be changed, which is not possible in a large
            // message.
            Some(members) if is_odd(&members) => None,
            Some(members) => Some(added(&members, &request.method).join(",")),
            None => Some(String::new()),
        };
        match large_message::answer(spooled, &request.id, added) {
            Ok(frame) => {
                let event = ServerEvent {
                    of: Some(request.key.clone()),
                    event: None,
                    item: Item::Message(frame),
                };
                let to = request.from;
                steps.0.push(Step::ToClient { to, event });
            }
            Err(bytes) => request.refuse(&refusal::unbridged(&self.config.server, bytes), steps),
        }
    }
}

/// Returns whether members cannot be inserted before the first member of a result. This is so if
/// the result has no members, or if its `resultType` does not fit a legacy result.
fn is_odd(members: &ObjectView<'_>) -> bool {
    let kind = members.get("resultType");
    members.is_empty() || kind.is_some_and(|kind| kind.get() != "\"complete\"")
}

/// Returns the members that a modern result requires and this legacy result lacks.
fn added(members: &ObjectView<'_>, method: &str) -> Vec<&'static str> {
    let mut added = Vec::new();
    if members.get("resultType").is_none() {
        added.push(r#""resultType":"complete""#);
    }
    if CACHEABLE.contains(&method) {
        if members.get("ttlMs").is_none() {
            added.push(r#""ttlMs":0"#);
        }
        if members.get("cacheScope").is_none() {
            added.push(r#""cacheScope":"private""#);
        }
    }
    added
}

/// Converts a legacy answer to a modern one: with the client's id, a `resultType`, the time for
/// which it may be cached, and modern error codes.
fn modern(request: &Request, frame: &Bytes) -> Vec<u8> {
    let mut splice = ByteEdits::default();
    let all = messages(frame);
    let Some(envelope) = all.first() else {
        return refusal::no_connection("upstream", "its answer could not be read")
            .frame(&request.id);
    };
    put_id(&mut splice, frame, envelope, &request.id);
    match envelope
        .result
        .and_then(|result| Some((result, ObjectView::of(result)?)))
    {
        Some((result, members)) => {
            let kind = members.get("resultType");
            if let Some(kind) = kind.filter(|kind| kind.get() != "\"complete\"") {
                put_for(&mut splice, frame, kind, "\"complete\"");
            }
            let added = added(&members, &request.method);
            if !added.is_empty() {
                put_first(&mut splice, frame, result, &added.join(","));
            }
        }
        None if request.method == "resources/read" => {
            put_code(
                &mut splice,
                frame,
                error_code::RESOURCE_NOT_FOUND,
                error_code::INVALID_PARAMS,
            );
        }
        None => {}
    }
    splice.apply(frame)
}

/// Returns the pages that the user must visit before the server can continue, as questions; `None`
/// if there are none. In 2025-11-25 they are part of a special error, in 2026-07-28 they are
/// questions.
fn visits(request: &Request, frame: &Bytes) -> Option<Vec<Question>> {
    if !MAY_ASK.contains(&request.method.as_str()) {
        return None;
    }
    let error = ObjectView::of_bytes(frame)?.object("error")?;
    if error.read::<i64>("code")? != error_code::URL_ELICITATION_REQUIRED {
        return None;
    }
    let data = error.object("data")?;
    let pages: Vec<&serde_json::value::RawValue> =
        serde_json::from_str(data.get("elicitations")?.get()).ok()?;
    let question = |page: &serde_json::value::RawValue| Question {
        id: None,
        method: "elicitation/create".to_owned(),
        params: Some(page.get().to_owned()),
    };
    (!pages.is_empty()).then(|| pages.into_iter().map(question).collect())
}
