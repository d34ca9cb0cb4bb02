//! The rules that choose a client's stream for each server event.

use std::collections::{HashMap, VecDeque};

use serde::Deserialize;
use spillgate_transport::{Item, ServerEvent};

use crate::frame;
use crate::problem::error_frame;
use crate::stream_channel::{RoutedEvent, StreamEvent, StreamSender};
use spillgate_mcp::{Envelope, Generation, RequestId, error_code, messages, object};

/// Maximum number of events whose streams are remembered for clients that resume.
const EVENTS: usize = 1024;

/// The routing state of one client.
#[derive(Debug)]
pub(crate) struct StreamRouter {
    generation: Generation,
    /// The requests without a response.
    pub(crate) waiting: HashMap<RequestId, OpenRequest>,
    /// The stream for messages that belong to no request.
    pub(crate) general: Option<StreamSender>,
    /// Messages that arrived while there was no stream for them.
    pub(crate) kept: VecDeque<ServerEvent>,
    most_kept: usize,
    events: HashMap<String, Option<RequestId>>,
    /// The ids in `events`, oldest first.
    order: VecDeque<String>,
    /// The id of the `initialize` that began the session.
    pub(crate) initialize: Option<RequestId>,
    /// The protocol version that `initialize` negotiated.
    pub(crate) agreed: Option<String>,
    /// Whether `initialize` was answered with an error.
    pub(crate) is_refused: bool,
}

/// A request without a response.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    stream: u64,
    sender: Option<StreamSender>,
    /// Whether an event of the request's stream had an id.
    has_events: bool,
    /// Whether the request gets its response only when its stream is ended.
    pub(crate) is_lasting: bool,
}

impl OpenRequest {
    pub(crate) fn new(sender: StreamSender, is_lasting: bool) -> Self {
        Self {
            stream: sender.stream,
            sender: Some(sender),
            has_events: false,
            is_lasting,
        }
    }

    /// Returns the request's stream, if it is being read.
    pub(crate) fn sender(&self) -> Option<&StreamSender> {
        self.sender.as_ref()
    }
}

impl StreamRouter {
    pub(crate) fn new(generation: Generation, most_kept: usize) -> Self {
        Self {
            generation,
            waiting: HashMap::new(),
            general: None,
            kept: VecDeque::new(),
            most_kept,
            events: HashMap::new(),
            order: VecDeque::new(),
            initialize: None,
            agreed: None,
            is_refused: false,
        }
    }

    /// Returns the request on whose stream this event was sent. `None` if the event belongs to
    /// another stream or is no longer remembered.
    pub(crate) fn place(&self, event: &str) -> Option<RequestId> {
        self.events.get(event)?.clone()
    }

    /// Whether the client can resume this request's stream, because one of its events had an id.
    pub(crate) fn can_be_taken_up(&self, key: &RequestId) -> bool {
        self.waiting
            .get(key)
            .is_some_and(|waiting| waiting.has_events)
    }

    /// Continues a broken stream through another sender.
    pub(crate) fn take_up(&mut self, key: &RequestId, sender: &StreamSender) {
        let again = || OpenRequest {
            has_events: true,
            ..OpenRequest::new(sender.clone(), false)
        };
        let broken = self.waiting.entry(key.clone()).or_insert_with(again).stream;
        let others = self.waiting.values_mut();
        for waiting in others.filter(|waiting| waiting.stream == broken) {
            waiting.stream = sender.stream;
            waiting.sender = Some(sender.clone());
        }
    }

    /// Records that a stream no longer has a reader. Returns its requests without a response.
    pub(crate) fn gone(&mut self, stream: u64) -> Vec<RequestId> {
        if self
            .general
            .as_ref()
            .is_some_and(|general| general.stream == stream)
        {
            self.general = None;
        }
        let mut keys = Vec::new();
        for (key, waiting) in &mut self.waiting {
            if waiting.stream == stream {
                waiting.sender = None;
                keys.push(key.clone());
            }
        }
        keys
    }

    /// Routes a server event.
    pub(crate) fn route(&mut self, server_event: ServerEvent) -> Vec<RoutedEvent> {
        match (&server_event.item, &server_event.of) {
            (Item::Gone(how), None) => self.fail_all(how),
            (Item::Gone(how), Some(key)) => self.fail(&key.clone(), how),
            (Item::Failed(error), Some(key)) => self.fail(&key.clone(), &error.to_string()),
            (Item::Failed(error), None) => {
                tracing::warn!(%error, "a message from a server could not be read");
                Vec::new()
            }
            (Item::Ended, of) => self.ended(of.clone()),
            (Item::Refused(_), Some(key)) => self.refused(&key.clone(), server_event),
            (Item::Refused(refusal), None) => {
                tracing::warn!(
                    status = refusal.status,
                    "a server refused the stream on which it would send its own requests and notifications"
                );
                Vec::new()
            }
            (Item::Message(_) | Item::Mark { .. }, _) => self.message(server_event),
        }
    }

    fn message(&mut self, server_event: ServerEvent) -> Vec<RoutedEvent> {
        let mut answered = Vec::new();
        if let Item::Message(frame) = &server_event.item {
            for message in messages(frame::head(frame)) {
                self.look_at(&message, server_event.of.as_ref(), &mut answered);
            }
            // The message was not parsed, so only its stream shows which request it answers.
            let is_opaque = frame::head(frame).is_empty() && frame.is_answer();
            let key = server_event.of.iter().filter(|_| is_opaque);
            answered.extend(key.filter(|key| self.waiting.contains_key(key)).cloned());
        }
        let own = server_event
            .of
            .as_ref()
            .filter(|key| self.waiting.contains_key(key));
        let Some(key) = own.or(answered.first()).cloned() else {
            return self.unasked(server_event);
        };
        self.remember(&server_event, Some(&key));
        let sender = self
            .waiting
            .get(&key)
            .and_then(|waiting| waiting.sender.clone());
        for key in &answered {
            self.waiting.remove(key);
        }
        self.letter(sender, server_event)
    }

    /// Adds to `answered` the request that a message answers.
    fn look_at(
        &mut self,
        message: &Envelope<'_>,
        of: Option<&RequestId>,
        answered: &mut Vec<RequestId>,
    ) {
        if message.method.is_some() {
            return;
        }
        // If a server could not read the id of a request, its answer contains no id.
        let Some(key) = message.key().or(of.cloned()) else {
            return;
        };
        if !self.waiting.contains_key(&key) {
            return;
        }
        if self.initialize.as_ref() == Some(&key) {
            self.agreed = message
                .result
                .and_then(object)
                .map(|InitializeResult { version }| version);
            self.is_refused = message.result.is_none();
        }
        answered.push(key);
    }

    /// Routes a server event that does not belong to a waiting request.
    fn unasked(&mut self, server_event: ServerEvent) -> Vec<RoutedEvent> {
        let is_message = matches!(server_event.item, Item::Message(_));
        let general = self.general.clone().filter(StreamSender::is_read);
        let is_answer = is_message && is_answer(&server_event);
        if is_answer && (server_event.event.is_none() || general.is_none()) {
            tracing::debug!("a response was dropped: no request is waiting for it");
            return Vec::new();
        }
        if general.is_some() {
            self.remember(&server_event, None);
            return self.letter(general, server_event);
        }
        if let Some(key) = self.only_one() {
            self.remember(&server_event, Some(&key));
            let sender = self
                .waiting
                .get(&key)
                .and_then(|waiting| waiting.sender.clone());
            return self.letter(sender, server_event);
        }
        if is_message && self.generation == Generation::Legacy {
            self.kept.push_back(server_event);
            if self.kept.len() > self.most_kept {
                tracing::warn!("a message was dropped: the client has no open stream for it");
                self.kept.pop_front();
            }
        }
        Vec::new()
    }

    /// Returns the only request in flight, if its stream is being read. `initialize` does not
    /// count, because a client expects nothing else before its response.
    fn only_one(&self) -> Option<RequestId> {
        let mut waiting = self.waiting.iter();
        let (key, only) = waiting.next()?;
        let is_only = waiting.next().is_none() && self.initialize.as_ref() != Some(key);
        (is_only && only.sender.is_some()).then(|| key.clone())
    }

    fn remember(&mut self, server_event: &ServerEvent, of: Option<&RequestId>) {
        let Some(event) = &server_event.event else {
            return;
        };
        if let Some(waiting) = of.and_then(|key| self.waiting.get_mut(key)) {
            waiting.has_events = true;
        }
        if self.events.insert(event.clone(), of.cloned()).is_none() {
            self.order.push_back(event.clone());
        }
        if self.order.len() > EVENTS
            && let Some(oldest) = self.order.pop_front()
        {
            self.events.remove(&oldest);
        }
    }

    fn letter(&self, sender: Option<StreamSender>, server_event: ServerEvent) -> Vec<RoutedEvent> {
        let Some(sender) = sender else {
            tracing::debug!("a message was dropped: its client has disconnected");
            return Vec::new();
        };
        let is_general = self
            .general
            .as_ref()
            .is_some_and(|general| general.stream == sender.stream);
        let mut others = self.waiting.values();
        let is_last = !is_general && !others.any(|waiting| waiting.stream == sender.stream);
        let stream_event = StreamEvent {
            server_event,
            is_last,
            unanswered: Vec::new(),
        };
        vec![RoutedEvent {
            sender,
            stream_event,
        }]
    }

    /// Removes all requests that share the stream of a request. Returns them with the sender of the
    /// stream.
    fn stream_of(&mut self, key: &RequestId) -> Option<(Vec<RequestId>, StreamSender)> {
        let waiting = self.waiting.get(key)?;
        let (stream, sender) = (waiting.stream, waiting.sender.clone());
        let mut keys = Vec::new();
        self.waiting.retain(|key, waiting| {
            let is_other = waiting.stream != stream;
            if !is_other {
                keys.push(key.clone());
            }
            is_other
        });
        Some((keys, sender?))
    }

    fn refused(&mut self, key: &RequestId, server_event: ServerEvent) -> Vec<RoutedEvent> {
        self.is_refused |= self.initialize.as_ref() == Some(key);
        let Some((unanswered, sender)) = self.stream_of(key) else {
            return Vec::new();
        };
        let stream_event = StreamEvent {
            server_event,
            is_last: true,
            unanswered,
        };
        vec![RoutedEvent {
            sender,
            stream_event,
        }]
    }

    /// Called when a server ended a stream. The client can resume the stream if one of its events
    /// had an id.
    fn ended(&mut self, of: Option<RequestId>) -> Vec<RoutedEvent> {
        let Some(key) = of else {
            self.general = None;
            return Vec::new();
        };
        match self.waiting.get(&key) {
            Some(waiting) if waiting.has_events => {
                let stream = waiting.stream;
                self.gone(stream);
                Vec::new()
            }
            Some(_) => self.fail(&key, "the server ended the stream before it answered"),
            None => Vec::new(),
        }
    }

    fn fail(&mut self, key: &RequestId, why: &str) -> Vec<RoutedEvent> {
        let frame = error_frame(Some(key), error_code::SERVER_ERROR, why);
        self.message(ServerEvent::message(frame).of(Some(key.clone())))
    }

    /// Answers all waiting requests with an error.
    pub(crate) fn fail_all(&mut self, why: &str) -> Vec<RoutedEvent> {
        let keys: Vec<RequestId> = self.waiting.keys().cloned().collect();
        keys.iter().flat_map(|key| self.fail(key, why)).collect()
    }
}

#[derive(Deserialize)]
struct InitializeResult {
    #[serde(rename = "protocolVersion")]
    version: String,
}

fn is_answer(server_event: &ServerEvent) -> bool {
    let Item::Message(frame) = &server_event.item else {
        return false;
    };
    messages(frame::head(frame))
        .iter()
        .any(Envelope::is_response)
}
