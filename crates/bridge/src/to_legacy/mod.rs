//! Lets a modern client (MCP 2026-07-28) use a legacy server (2025-11-25 or older).
//!
//! One [`ToLegacy`] is one session with the server. It serves the requests of any number of
//! clients. Each request to the server gets a number, by which its answer, its progress and its
//! questions are matched to it.

mod calls;
mod notes;
mod opening;
mod question_round;
mod question_timeout;
mod request;
mod subscription;

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use bytes::Bytes;
use serde_json::json;
use spillgate_mcp::{Envelope, ProtocolVersion, RequestId, error_code, frame, messages, meta};
use spillgate_transport::{Item, ServerEvent, Spooled};

use self::calls::Call;
use self::opening::ServerFacts;
use self::question_round::{Question, QuestionRound};
use self::request::Request;
use self::subscription::Subscription;
use crate::json::{cancelled, put_for};
use crate::large_message::{self, LargeMessage, UnbridgedMessage};
use crate::refusal::{self, RefusalReply};
use crate::steps::Steps;
use crate::translation::{RequestNumbers, Translation, request};
use crate::{Caller, ClientFrame, Config, Step};

/// The bridge for a session with a legacy server.
#[derive(Debug)]
pub(crate) struct ToLegacy {
    config: Config,
    numbers: RequestNumbers,
    server: ServerState,
    /// The requests that clients wait for, by their numbers in this session.
    calls: BTreeMap<RequestId, Call>,
    /// The bridge's own requests to the server, by their numbers.
    own: BTreeMap<RequestId, OwnRequest>,
    /// Question rounds that clients have not answered, by `requestState`.
    asks: BTreeMap<String, QuestionRound>,
    /// Questions that arrived while no call could deliver them, and the times at which they expire.
    orphans: Vec<(Question, Instant)>,
    listens: Vec<Subscription>,
    /// For each resource, the number of streams that want its changes.
    subscribed: BTreeMap<String, usize>,
    /// The most verbose log level that was set at the server.
    level: Option<usize>,
    /// Total size, in bytes, of the results whose clients are being asked questions.
    held: usize,
    /// The client that sent the last message. In a session of one client, it is always that client.
    last: Caller,
}

#[derive(Debug)]
enum ServerState {
    Closed,
    Opening(VecDeque<Request>),
    Open(ServerFacts),
}

/// A request of the bridge itself.
#[derive(Debug)]
enum OwnRequest {
    Initialize,
    SetLevel,
    Subscribe(String),
    Unsubscribe,
}

impl ToLegacy {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            numbers: RequestNumbers::default(),
            server: ServerState::Closed,
            calls: BTreeMap::new(),
            own: BTreeMap::new(),
            asks: BTreeMap::new(),
            orphans: Vec::new(),
            listens: Vec::new(),
            subscribed: BTreeMap::new(),
            level: None,
            held: 0,
            last: Caller::default(),
        }
    }

    fn take(&mut self, request: Request, now: Instant, steps: &mut Steps) {
        match &mut self.server {
            ServerState::Open(_) => self.serve(request, now, steps),
            ServerState::Closed => self.open(request, steps),
            ServerState::Opening(queue) if queue.len() < self.config.limits.calls => {
                queue.push_back(request);
            }
            ServerState::Opening(_) => {
                let why = refusal::too_many("requests", self.config.limits.calls);
                request.refuse(&why, steps);
            }
        }
    }

    /// Handles a request after the session was opened.
    fn serve(&mut self, request: Request, now: Instant, steps: &mut Steps) {
        match request.method.as_str() {
            "server/discover" => self.discover(&request, steps),
            "subscriptions/listen" => self.listen(request, steps),
            _ => match request.state.clone() {
                Some(state) => self.resume(request, &state, now, steps),
                None => self.forward(request, now, steps),
            },
        }
    }

    fn note(
        &mut self,
        method: &str,
        envelope: &Envelope<'_>,
        frame: &Bytes,
        received: ClientFrame<'_>,
        steps: &mut Steps,
    ) {
        match method {
            "notifications/cancelled" => {
                let Some((named, key)) = cancelled(envelope) else {
                    return;
                };
                let Some(number) = self.withdraw(received.from, &key, steps) else {
                    return;
                };
                let mut splice = spillgate_mcp::ByteEdits::default();
                put_for(&mut splice, frame, named, number.as_json());
                steps.tell_server(splice.apply(frame), Some(method), &self.headers());
            }
            // These notifications are not forwarded. The bridge itself does the handshake with the
            // server. The server requests the roots whenever it needs them. And the client cannot
            // report progress on requests of the server, because these become results for it.
            "notifications/initialized"
            | "notifications/roots/list_changed"
            | "notifications/progress" => {}
            _ if matches!(self.server, ServerState::Open(_)) => {
                steps.tell_server(frame.to_vec(), Some(method), &self.headers());
            }
            _ => {}
        }
    }

    /// Removes a client's request. Returns its number if the server must be informed.
    fn withdraw(&mut self, by: Caller, key: &RequestId, steps: &mut Steps) -> Option<RequestId> {
        if let ServerState::Opening(queue) = &mut self.server {
            queue.retain(|request| !request.is(by, key));
        }
        if let Some(at) = self.listens.iter().position(|one| one.request.is(by, key)) {
            self.unlisten(at, steps);
            return None;
        }
        let found = self
            .calls
            .iter()
            .find(|(_, call)| !call.asking && call.request.is(by, key));
        let number = found.map(|(number, _)| number.clone())?;
        self.calls.remove(&number);
        Some(number)
    }

    fn cancel(&self, number: &RequestId, reason: &str, steps: &mut Steps) {
        let frame = frame::cancelled(number.as_json(), Some(reason));
        steps.tell_server(frame, Some("notifications/cancelled"), &self.headers());
    }

    /// Sends a request of the bridge itself.
    fn ask_server(
        &mut self,
        own: OwnRequest,
        method: &str,
        params: &str,
        steps: &mut Steps,
    ) -> RequestId {
        let key = self.numbers.next();
        steps.server(request(&key, method, params, self.headers()));
        self.own.insert(key.clone(), own);
        key
    }

    /// Reports that a message cannot be bridged: to the sender of each request that it contains,
    /// and to the sender of each request that it answers.
    fn unbridged(&mut self, large: UnbridgedMessage, steps: &mut Steps) {
        let why = refusal::unbridged(&self.config.server, large.bytes);
        for id in large.asks {
            steps.tell_server(why.frame(&id), None, &self.headers());
        }
        for key in large.answered {
            let Some(call) = self.calls.get_mut(&key) else {
                self.failed(key, Item::Ended, steps);
                continue;
            };
            if call.asking {
                call.finished = Some(why.frame("0").into());
            } else if let Some(call) = self.calls.remove(&key) {
                call.request.refuse(&why, steps);
            }
        }
    }

    /// Returns the headers of HTTP requests to the server.
    fn headers(&self) -> Vec<(String, String)> {
        match &self.server {
            ServerState::Open(facts) => {
                vec![(
                    meta::VERSION_HEADER.to_owned(),
                    facts.version.as_str().to_owned(),
                )]
            }
            _ => Vec::new(),
        }
    }
}

impl Translation for ToLegacy {
    fn on_client(&mut self, frame: &Bytes, received: ClientFrame<'_>, steps: &mut Steps) {
        self.last = received.from;
        let all = messages(frame);
        let Some(envelope) = all.first() else {
            return;
        };
        // A modern client sends its answers in its next request, never as a response.
        let Some(method) = envelope.method.as_deref() else {
            return;
        };
        let Some(id) = envelope.id else {
            return self.note(method, envelope, frame, received, steps);
        };
        let Some(key) = envelope.key() else {
            return steps.refuse(received.from, None, "null", &refusal::no_id());
        };
        match Request::read(envelope, id.get(), key.clone(), frame, received) {
            Ok(request) => self.take(request, received.now, steps),
            Err(why) => steps.refuse(received.from, Some(key), id.get(), &why),
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
                let params = envelope.params.map(|all| all.get().to_owned());
                let question = Question {
                    id: Some(id.get().to_owned()),
                    method: method.to_owned(),
                    params,
                };
                self.on_question(question, of, now, steps);
            }
            (Some(method), None) => self.on_notification(method, envelope, frame, of, steps),
            (None, Some(_)) => {
                let Some(key) = envelope.key() else { return };
                match self.own.remove(&key) {
                    Some(OwnRequest::Initialize) => self.opened(envelope, frame, now, steps),
                    Some(OwnRequest::Subscribe(uri)) => {
                        self.subscription(&key, &uri, envelope.result.is_some(), steps);
                    }
                    Some(OwnRequest::SetLevel | OwnRequest::Unsubscribe) => {}
                    None => self.answered(&key, frame, now, steps),
                }
            }
            (None, None) => {}
        }
    }

    fn large(&mut self, spooled: Spooled, of: Option<&RequestId>, steps: &mut Steps) {
        match LargeMessage::of(spooled, of) {
            LargeMessage::Answer(key, spooled) => match self.calls.get(&key) {
                Some(call) if !call.asking => {
                    if let Some(call) = self.calls.remove(&key) {
                        self.deliver_large(&call.request, spooled, steps);
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

    fn failed(&mut self, key: RequestId, item: Item, steps: &mut Steps) {
        match self.own.remove(&key) {
            Some(OwnRequest::Initialize) => return self.not_opened(&refusal::reason(&item), steps),
            Some(OwnRequest::Subscribe(uri)) => return self.subscription(&key, &uri, false, steps),
            Some(OwnRequest::SetLevel | OwnRequest::Unsubscribe) => return,
            None => {}
        }
        let Some(call) = self.calls.get_mut(&key) else {
            return;
        };
        if call.asking {
            let why = refusal::no_connection(&self.config.server, &refusal::reason(&item));
            call.finished = Some(why.frame("0").into());
            return;
        }
        // The session may resume a broken stream, so the call is kept.
        let is_over = !matches!(item, Item::Ended);
        let (to, of) = (call.request.from, Some(call.request.key.clone()));
        if is_over {
            self.calls.remove(&key);
        }
        let event = ServerEvent {
            of,
            event: None,
            item,
        };
        steps.0.push(Step::ToClient { to, event });
    }

    /// Informs all waiting clients. The next request opens a new session.
    fn gone(&mut self, how: &str, steps: &mut Steps) {
        let why = refusal::gone(&self.config.server, how);
        if let ServerState::Opening(queue) =
            std::mem::replace(&mut self.server, ServerState::Closed)
        {
            for request in queue {
                request.refuse(&why, steps);
            }
        }
        for call in std::mem::take(&mut self.calls).into_values() {
            if !call.asking {
                call.request.refuse(&why, steps);
            }
        }
        for listen in std::mem::take(&mut self.listens) {
            listen.request.refuse(&why, steps);
        }
        self.own.clear();
        self.asks.clear();
        self.orphans.clear();
        self.subscribed.clear();
        self.level = None;
        self.held = 0;
    }

    fn abandoned(&mut self, by: Caller, request: &RequestId, steps: &mut Steps) {
        if let Some(number) = self.withdraw(by, request, steps) {
            self.cancel(&number, "the client closed the response", steps);
        }
    }

    fn client_disconnected(&mut self, caller: Caller, steps: &mut Steps) {
        let waiting = self
            .calls
            .values()
            .filter(|call| !call.asking)
            .map(|call| &call.request);
        let open = self.listens.iter().map(|listen| &listen.request);
        let keys: Vec<RequestId> = waiting
            .chain(open)
            .filter(|request| request.from == caller)
            .map(|request| request.key.clone())
            .collect();
        if let ServerState::Opening(queue) = &mut self.server {
            queue.retain(|request| request.from != caller);
        }
        for key in keys {
            self.abandoned(caller, &key, steps);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let asks = self.asks.values().map(|ask| ask.until);
        asks.chain(self.orphans.iter().map(|(_, until)| *until))
            .min()
    }

    fn tick(&mut self, now: Instant, steps: &mut Steps) {
        self.give_up_late(now, steps);
    }
}

/// Returns the refusal of a request with an unsupported protocol version.
fn no_version(requested: &str) -> RefusalReply {
    RefusalReply::new(
        error_code::UNSUPPORTED_VERSION,
        "client",
        "Unsupported protocol version",
        "use one of `supported`",
    )
    .with("supported", json!([ProtocolVersion::MODERN]))
    .with("requested", json!(requested))
}
