//! Lets a legacy client (MCP 2025-11-25 or older) use a modern server (2026-07-28).
//!
//! One [`ToModern`] is the session of one client. It adds to the client's requests what modern
//! requests must contain. It stores the state of the session (log level, subscriptions, questions
//! to the client), because a modern server stores none.

mod calls;
mod opening;
mod rounds;
mod subscriptions;

use std::collections::BTreeMap;
use std::time::Instant;

use bytes::Bytes;
use spillgate_mcp::{
    ByteEdits, Envelope, ObjectView, ProtocolVersion, RequestId, error_code, frame, messages, meta,
};
use spillgate_transport::{Item, ServerEvent, Spooled};

use self::calls::Call;
use self::opening::{ClientFacts, PendingInitialize};
use self::subscriptions::Subscriptions;
use crate::json::{cancelled, put_for};
use crate::large_message::{self, LargeMessage, UnbridgedMessage};
use crate::names::level;
use crate::refusal::{self, RefusalReply};
use crate::steps::Steps;
use crate::translation::{RequestNumbers, Translation, request};
use crate::{Caller, ClientFrame, Config, Step};
use spillgate_mcp::meta::PROTOCOL_VERSION;

/// The bridge for the session of a legacy client.
#[derive(Debug)]
pub(crate) struct ToModern {
    config: Config,
    numbers: RequestNumbers,
    client: ClientFacts,
    /// The client's `initialize`, which waits for our `server/discover`, and the number of that
    /// request.
    opening: Option<(RequestId, PendingInitialize)>,
    /// The server's capabilities, as JSON; `None` until they are known.
    capabilities: Option<String>,
    /// The log level that the last `logging/setLevel` set.
    level: Option<usize>,
    /// The requests that the client waits for, by their numbers at the server.
    calls: BTreeMap<RequestId, Call>,
    /// Questions that the client has not answered, by the numbers of our requests to the client.
    /// Each value is the number of the call and the name of the question in the call.
    asked: BTreeMap<RequestId, (RequestId, String)>,
    listening: Subscriptions,
    /// The number that identifies the client.
    at: Caller,
}

impl ToModern {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            numbers: RequestNumbers::default(),
            client: ClientFacts::default(),
            opening: None,
            capabilities: None,
            level: None,
            calls: BTreeMap::new(),
            asked: BTreeMap::new(),
            listening: Subscriptions::default(),
            at: Caller::default(),
        }
    }

    fn request(&mut self, request: &Request<'_>, received: ClientFrame<'_>, steps: &mut Steps) {
        self.listen_again(steps);
        match request.method {
            "initialize" => self.initialize(request, steps),
            "ping" => self.answer(request, "{}", steps),
            "logging/setLevel" => self.set_level(request, steps),
            "resources/subscribe" => self.subscribe(request, steps),
            "resources/unsubscribe" => self.unsubscribe(request, steps),
            method if method.starts_with("tasks/") => {
                self.refuse(request, &refusal::tasks(method), steps);
            }
            _ => self.forward(request, received.headers, steps),
        }
    }

    fn answer(&self, request: &Request<'_>, result: &str, steps: &mut Steps) {
        let frame = frame::response(request.id, result);
        steps.client(self.at, Some(request.key.clone()), frame);
    }

    fn refuse(&self, request: &Request<'_>, why: &RefusalReply, steps: &mut Steps) {
        steps.refuse(self.at, Some(request.key.clone()), request.id, why);
    }

    /// Sets the log level that all following requests contain.
    fn set_level(&mut self, request: &Request<'_>, steps: &mut Steps) {
        let named = request.params().text("level").and_then(|name| level(&name));
        if named.is_none() {
            let why = RefusalReply::new(
                error_code::INVALID_PARAMS,
                "client",
                "`level` is none of the log levels",
                "use debug, info, notice, warning, error, critical, alert or emergency",
            );
            return self.refuse(request, &why, steps);
        }
        self.level = named;
        self.answer(request, "{}", steps);
    }

    fn note(&mut self, method: &str, envelope: &Envelope<'_>, frame: &Bytes, steps: &mut Steps) {
        match method {
            "notifications/initialized" => self.begin_listening(steps),
            "notifications/cancelled" => {
                let Some((named, key)) = cancelled(envelope) else {
                    return;
                };
                let Some(number) = self.withdraw(&key, steps) else {
                    return;
                };
                if self.config.streams {
                    return steps.0.push(Step::Abandon(number));
                }
                let mut splice = ByteEdits::default();
                put_for(&mut splice, frame, named, number.as_json());
                steps.tell_server(splice.apply(frame), Some(method), &headers());
            }
            // These notifications are not forwarded. A modern server asks for the roots when it
            // needs them, and it sends no requests whose progress the client could report.
            "notifications/roots/list_changed" | "notifications/progress" => {}
            _ => steps.tell_server(frame.to_vec(), Some(method), &headers()),
        }
    }

    /// Removes a client's request and cancels the questions that were asked for it. Returns the
    /// number of the request if the server is working on it.
    fn withdraw(&mut self, key: &RequestId, steps: &mut Steps) -> Option<RequestId> {
        let found = self.calls.iter().find(|(_, call)| call.key == *key);
        let number = found.map(|(number, _)| number.clone())?;
        let call = self.calls.remove(&number)?;
        let is_asking = call.round.is_some();
        self.take_back(&number, "the call was cancelled", steps);
        (!is_asking).then_some(number)
    }

    /// Informs the client that the questions of a call no longer need answers.
    fn take_back(&mut self, number: &RequestId, reason: &str, steps: &mut Steps) {
        let of_call = |(call, _): &(RequestId, String)| call == number;
        let open: Vec<RequestId> = self
            .asked
            .iter()
            .filter(|(_, of)| of_call(of))
            .map(|(id, _)| id.clone())
            .collect();
        for id in open {
            self.asked.remove(&id);
            steps.client(self.at, None, frame::cancelled(id.as_json(), Some(reason)));
        }
    }

    /// Cancels a request in the way that the transport requires.
    fn cancel(&self, number: &RequestId, reason: &str, steps: &mut Steps) {
        if self.config.streams {
            return steps.0.push(Step::Abandon(number.clone()));
        }
        let frame = frame::cancelled(number.as_json(), Some(reason));
        steps.tell_server(frame, Some("notifications/cancelled"), &headers());
    }

    /// Handles a notification from the server.
    fn on_notification(
        &mut self,
        method: &str,
        envelope: &Envelope<'_>,
        frame: &Bytes,
        of: Option<&RequestId>,
        steps: &mut Steps,
    ) {
        match method {
            "notifications/subscriptions/acknowledged" => self.acknowledged(envelope, of, steps),
            "notifications/cancelled" => self.listen_cancelled(envelope, steps),
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/resources/updated" => {
                if self.is_ours(envelope, of) {
                    steps.client(self.at, None, frame.clone());
                }
            }
            _ => {
                let of = of
                    .and_then(|number| self.calls.get(number))
                    .map(|call| call.key.clone());
                steps.client(self.at, of, frame.clone());
            }
        }
    }

    /// Reports that a message cannot be bridged: to the sender of each request that it contains,
    /// and to the sender of each request that it answers.
    fn unbridged(&mut self, large: UnbridgedMessage, steps: &mut Steps) {
        let why = refusal::unbridged(&self.config.server, large.bytes);
        for id in large.asks {
            steps.tell_server(why.frame(&id), None, &headers());
        }
        for key in large.answered {
            match self.calls.remove(&key) {
                Some(call) => steps.refuse(self.at, Some(call.key), &call.id, &why),
                None => self.failed(key, Item::Ended, steps),
            }
        }
    }

    /// Sends a request of the bridge itself, with the members that a modern request must contain.
    fn ask_server(&mut self, method: &str, more: &str, steps: &mut Steps) -> RequestId {
        let key = self.numbers.next();
        let comma = if more.is_empty() { "" } else { "," };
        let params = format!(r#"{{"_meta":{{{}}}{comma}{more}}}"#, self.meta());
        steps.server(request(&key, method, &params, headers()));
        key
    }

    /// Returns the `_meta` members that every modern request must contain.
    fn meta(&self) -> String {
        use crate::names::LEVELS;
        use spillgate_mcp::meta::{CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL};
        let ClientFacts {
            info, capabilities, ..
        } = &self.client;
        let level = self
            .level
            .map(|at| format!(r#","{LOG_LEVEL}":"{}""#, LEVELS[at]));
        format!(
            r#""{PROTOCOL_VERSION}":"{}","{CLIENT_INFO}":{},"{CLIENT_CAPABILITIES}":{}{}"#,
            ProtocolVersion::MODERN,
            info.clone().unwrap_or_else(|| self.ourselves()),
            capabilities.as_deref().unwrap_or("{}"),
            level.unwrap_or_default(),
        )
    }

    fn ourselves(&self) -> String {
        let (name, version) = &self.config.ourselves;
        serde_json::json!({"name": name, "version": version}).to_string()
    }
}

impl Translation for ToModern {
    fn on_client(&mut self, frame: &Bytes, received: ClientFrame<'_>, steps: &mut Steps) {
        self.at = received.from;
        let all = messages(frame);
        let Some(envelope) = all.first() else {
            return;
        };
        match (envelope.method.as_deref(), envelope.id) {
            (Some(method), Some(id)) => match envelope.key() {
                Some(key) => {
                    let request = Request {
                        id: id.get(),
                        key,
                        method,
                        envelope,
                        frame,
                    };
                    self.request(&request, received, steps);
                }
                None => steps.refuse(self.at, None, "null", &refusal::no_id()),
            },
            (Some(method), None) => self.note(method, envelope, frame, steps),
            (None, Some(_)) => self.replied(envelope, frame, steps),
            (None, None) => {}
        }
    }

    fn on_server(
        &mut self,
        frame: &Bytes,
        of: Option<&RequestId>,
        now: Instant,
        steps: &mut Steps,
    ) {
        let all = messages(frame);
        let Some(envelope) = all.first() else {
            return;
        };
        match (envelope.method.as_deref(), envelope.id) {
            (Some(method), Some(id)) => {
                let message =
                    format!("`{method}`: a server that speaks MCP 2026-07-28 sends no requests");
                let why = RefusalReply::new(
                    error_code::METHOD_NOT_FOUND,
                    "upstream",
                    message,
                    "answer with `input_required`",
                );
                steps.tell_server(why.frame(id.get()), None, &headers());
            }
            (Some(method), None) => self.on_notification(method, envelope, frame, of, steps),
            (None, Some(_)) => {
                let Some(key) = envelope.key() else { return };
                if self
                    .opening
                    .as_ref()
                    .is_some_and(|(number, _)| *number == key)
                {
                    self.discovered(envelope, frame, steps);
                } else if !self.listen_ended(&key, envelope, frame, steps) {
                    self.answered(&key, envelope, frame, now, steps);
                }
            }
            (None, None) => {}
        }
    }

    fn large(&mut self, spooled: Spooled, of: Option<&RequestId>, steps: &mut Steps) {
        match LargeMessage::of(spooled, of) {
            LargeMessage::Answer(key, spooled) => match self.calls.get(&key) {
                Some(call) if call.round.is_none() => {
                    if let Some(call) = self.calls.remove(&key) {
                        self.deliver_large(call, spooled, steps);
                    }
                }
                _ => self.unbridged(UnbridgedMessage::of(&spooled, None), steps),
            },
            LargeMessage::Notice(spooled) => {
                large_message::notice(spooled, steps, |one, frame, steps| {
                    let method = one.method.as_deref().unwrap_or_default();
                    self.on_notification(method, one, frame, of, steps);
                });
            }
            LargeMessage::Other(what) => self.unbridged(what, steps),
        }
    }

    fn failed(&mut self, number: RequestId, item: Item, steps: &mut Steps) {
        if self.opening.as_ref().is_some_and(|(key, _)| *key == number) {
            return self.not_discovered(&refusal::reason(&item), steps);
        }
        if self.listening.lost(&number) {
            return self.listen_refused(None, steps);
        }
        let Some(call) = self.calls.remove(&number) else {
            return;
        };
        let event = ServerEvent {
            of: Some(call.key.clone()),
            event: None,
            item,
        };
        steps.0.push(Step::ToClient { to: self.at, event });
    }

    fn gone(&mut self, how: &str, steps: &mut Steps) {
        let why = refusal::gone(&self.config.server, how);
        if let Some((_, opening)) = self.opening.take() {
            steps.refuse(self.at, Some(opening.key), &opening.id, &why);
        }
        for (number, call) in std::mem::take(&mut self.calls) {
            self.take_back(&number, "the server is gone", steps);
            steps.refuse(self.at, Some(call.key), &call.id, &why);
        }
        for (id, key) in self.listening.forget() {
            steps.refuse(self.at, Some(key), &id, &why);
        }
    }

    fn abandoned(&mut self, _: Caller, request: &RequestId, steps: &mut Steps) {
        if let Some(number) = self.withdraw(request, steps) {
            self.cancel(&number, "the client closed the response", steps);
        }
    }

    /// The only client has disconnected, so all requests are cancelled.
    fn client_disconnected(&mut self, _: Caller, steps: &mut Steps) {
        let opening = self.opening.take().map(|(number, _)| number);
        let calls = std::mem::take(&mut self.calls).into_iter();
        let calls = calls.filter(|(_, call)| call.round.is_none());
        let open: Vec<RequestId> = calls
            .map(|(number, _)| number)
            .chain(opening)
            .chain(self.listening.end())
            .collect();
        for number in open {
            self.cancel(&number, "the client is gone", steps);
        }
        self.asked.clear();
    }

    fn deadline(&self) -> Option<Instant> {
        let again = |call: &Call| call.round.as_ref()?.again;
        self.calls.values().filter_map(again).min()
    }

    fn tick(&mut self, now: Instant, steps: &mut Steps) {
        self.call_again(now, steps);
    }
}

/// A request of the client.
#[derive(Debug)]
struct Request<'a> {
    /// The exact text of the id.
    id: &'a str,
    key: RequestId,
    method: &'a str,
    envelope: &'a Envelope<'a>,
    frame: &'a Bytes,
}

impl Request<'_> {
    fn params(&self) -> ObjectView<'_> {
        self.envelope
            .params
            .and_then(ObjectView::of)
            .unwrap_or_default()
    }
}

/// Returns the HTTP headers for requests to the server.
fn headers() -> Vec<(String, String)> {
    vec![(
        meta::VERSION_HEADER.to_owned(),
        ProtocolVersion::MODERN.to_owned(),
    )]
}
