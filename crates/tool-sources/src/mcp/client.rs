//! Holds the state of a connection to a server: the pending requests, and the messages that arrive.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use spillgate_mcp::{Envelope, RequestId, error_code, frame, is_message, messages, object};
use spillgate_transport::{
    ConnectionError, Connector, Frame, Item, Message, Refusal, ServerEvent, Spooled,
};
use spillgate_upstream::{
    InFlight, InFlightRequest, Owner, RequestFailure, RequestOutcome, RequestResult, RequestSpan,
    Server, Slot, Target, Upstream, refused_answer, watch,
};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The index of the server among the client's servers. A client has only one server.
const ONLY: Slot = 0;

/// The state of a client, which receives all events of the server's connection.
#[derive(Debug)]
pub(super) struct Client {
    connector: Arc<dyn Connector>,
    pub(super) upstream: Arc<Upstream<Self>>,
    pub(super) in_flight: InFlight<RequestPurpose>,
    /// Number of the next request.
    next: AtomicU64,
    /// Messages for the server. A single task sends them, so that they keep their order and no
    /// message is left half written when its sender is dropped.
    outbox: UnboundedSender<Outgoing>,
    /// Notified when the server's tools have changed.
    pub(super) changed: Notify,
    /// The background tasks, except those that send and receive messages.
    work: Mutex<JoinSet<()>>,
    /// Whether the server is being ended.
    is_closing: AtomicBool,
    /// Whether requests can no longer be answered.
    pub(super) is_closed: AtomicBool,
}

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestPurpose {
    /// A caller waits for the server's answer. If there is no answer, the caller gets an error
    /// message in the form of an answer.
    Answer,
    /// The request initializes a server that was restarted.
    GreetAgain,
}

/// A message to send.
#[derive(Debug)]
pub(super) enum Outgoing {
    Request {
        number: u64,
        method: String,
        params: String,
        /// The tool that the request calls.
        tool: Option<String>,
        tell: oneshot::Sender<RequestResult>,
    },
    /// Cancels the request with this number, whose caller has stopped waiting.
    Cancel(u64),
    /// A message that needs no answer.
    Other(Vec<u8>),
}

impl Client {
    /// Creates a client of `server`, which is not opened yet. Messages for the server are sent to
    /// `outbox`.
    pub(super) fn new(
        server: Server,
        connector: Arc<dyn Connector>,
        outbox: UnboundedSender<Outgoing>,
    ) -> Arc<Self> {
        let client = Arc::new(Self {
            connector,
            upstream: Arc::new(Upstream::new(ONLY, Arc::new(server), ())),
            in_flight: InFlight::default(),
            next: AtomicU64::new(1),
            outbox,
            changed: Notify::new(),
            work: Mutex::default(),
            is_closing: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        });
        watch(&client);
        client
    }

    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn send(&self, message: Outgoing) {
        // After closing, there is no receiver, so the message is dropped. Dropping it notifies the
        // caller that waits for its answer.
        drop(self.outbox.send(message));
    }

    /// Records a request that is about to be sent.
    pub(super) fn note(
        &self,
        number: u64,
        method: &str,
        tool: Option<&str>,
        purpose: RequestPurpose,
        tell: oneshot::Sender<RequestResult>,
    ) -> RequestId {
        let key = RequestId::number(number);
        let target = tool.map(Target::Tool);
        let span = RequestSpan::begin(Arc::new(()), self.upstream.name(), &key, method, target);
        let waiting = InFlightRequest {
            for_us: Some(tell),
            span: Some(span),
            progress: tool.map(|_| number.to_string()),
            ..InFlightRequest::new(key.as_json(), method, ONLY, purpose)
        };
        self.in_flight.add(key.clone(), waiting);
        key
    }

    pub(super) async fn close(&self, hurried: bool) {
        self.is_closing.store(true, Ordering::Relaxed);
        if let Some(connection) = self.upstream.connection() {
            connection.close(hurried).await;
        }
        if !hurried {
            let mut work = mem::take(&mut *self.work.lock());
            while work.join_next().await.is_some() {}
            self.upstream.fail_all(self, "ended").await;
        }
    }

    /// Passes an answer to the caller that waits for it.
    fn tell(&self, key: Option<&RequestId>, answer: RequestResult) {
        let Some(mut waiting) = key.and_then(|key| self.in_flight.take(key)) else {
            return;
        };
        if answer.is_err() {
            waiting.end(RequestOutcome::UpstreamGone);
        }
        if let Some(for_us) = waiting.for_us {
            drop(for_us.send(answer)); // fails if the caller has just stopped waiting
        }
    }

    /// Handles a message that is in memory.
    fn on_message(&self, frame: &Bytes) {
        for envelope in messages(frame) {
            match envelope.key().filter(|_| envelope.is_response()) {
                Some(key) => {
                    self.note_answer(&key, &envelope, frame.len() as u64);
                    self.tell(Some(&key), Ok(Frame::Memory(frame.clone())));
                }
                None => self.on_request(&envelope),
            }
        }
    }

    /// Handles a message that is too large for memory.
    fn on_large_message(&self, spooled: Box<Spooled>) {
        let messages = spooled.messages();
        let answer = messages.iter().find(|one| one.is_response());
        let key = answer.and_then(Envelope::key);
        if let (Some(key), Some(answer)) = (&key, answer) {
            self.note_answer(key, answer, spooled.len());
        }
        // A frame may contain requests and notifications in addition to an answer, or instead of
        // one.
        for envelope in messages.iter().filter(|one| !one.is_response()) {
            self.on_request(envelope);
        }
        drop(messages);
        self.tell(key.as_ref(), Ok(Frame::Spooled(spooled)));
    }

    fn note_answer(&self, key: &RequestId, answer: &Envelope<'_>, bytes: u64) {
        self.in_flight
            .look(key, |waiting| waiting.answered(answer, bytes));
    }

    /// Handles an unreadable message. `of` is the request on whose stream it arrived.
    async fn unreadable(&self, of: Option<RequestId>, frame: Frame) {
        if frame.is_blank() {
            return;
        }
        let answered = frame.unreadable_answer(of.as_ref());
        let is_opaque = matches!(&frame, Frame::Spooled(spooled) if spooled.is_opaque());
        let waiting = answered.as_ref().filter(|_| !is_opaque);
        let waiting = waiting.and_then(|key| self.in_flight.take(key));
        if !is_opaque {
            self.upstream.log_stray_output(&frame, waiting.is_some());
        }
        match (waiting, frame) {
            (Some(waiting), frame) => {
                let why = RequestFailure::Failed(ConnectionError::unreadable(frame.len()));
                self.unanswered(&self.upstream, waiting, why).await;
            }
            // The content is unknown. Most likely, it is the complete answer to the request.
            (None, frame @ Frame::Spooled(_)) => self.tell(of.or(answered).as_ref(), Ok(frame)),
            (None, _) => {}
        }
    }

    /// Handles a request or a notification.
    fn on_request(&self, envelope: &Envelope<'_>) {
        match (envelope.method.as_deref(), envelope.id) {
            (Some(method), Some(id)) => self.answer(method, id),
            (Some("notifications/tools/list_changed"), None) => self.changed.notify_one(),
            (Some("notifications/progress"), None) => self.reported(envelope),
            _ => {}
        }
    }

    /// Records progress of a call, which shows that the server is still working.
    fn reported(&self, envelope: &Envelope<'_>) {
        #[derive(Deserialize)]
        struct ProgressParams<'a> {
            #[serde(borrow, rename = "progressToken")]
            token: &'a RawValue,
        }
        let progress = envelope.params.and_then(object::<ProgressParams<'_>>);
        if let Some(progress) = progress {
            self.in_flight
                .progressed(progress.token.get(), Instant::now());
        }
    }

    /// Answers a server's request: this client supports only `ping`.
    fn answer(&self, method: &str, id: &RawValue) {
        if method == "ping" {
            return self.send(Outgoing::Other(frame::response(id, "{}")));
        }
        let what = format!("this client does not know `{method}`");
        let error = json!({"code": error_code::METHOD_NOT_FOUND, "message": what});
        self.send(Outgoing::Other(frame::error(id, error)));
    }
}

impl Owner for Client {
    type Details = RequestPurpose;
    type Notes = ();

    fn connector(&self) -> &dyn Connector {
        &*self.connector
    }

    fn in_flight(&self) -> &InFlight<RequestPurpose> {
        &self.in_flight
    }

    fn upstream(&self, _: Slot) -> Option<Arc<Upstream<Self>>> {
        Some(Arc::clone(&self.upstream))
    }

    fn work(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut work = self.work.lock();
        while work.try_join_next().is_some() {}
        work.spawn(task);
    }

    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    fn greet_again(
        &self,
        _: &Upstream<Self>,
        initialize: &Message,
    ) -> (Message, oneshot::Receiver<RequestResult>) {
        let (number, (tell, told)) = (self.number(), oneshot::channel());
        let earlier = messages(&initialize.frame);
        let params = earlier.first().and_then(|one| one.params);
        let params = params.map_or("{}", RawValue::get);
        let key = self.note(number, "initialize", None, RequestPurpose::GreetAgain, tell);
        let frame = frame::line(frame::request(number, "initialize", Some(params)));
        let message = Message {
            id: Some(key),
            ..Message::notice(frame.into(), Some("initialize"))
        };
        (message, told)
    }

    async fn received(self: &Arc<Self>, _: &Arc<Upstream<Self>>, event: ServerEvent) {
        match event.item {
            Item::Message(Frame::Memory(frame)) if !messages(&frame).is_empty() => {
                self.on_message(&frame);
            }
            Item::Message(Frame::Spooled(spooled)) if spooled.is_sound() => {
                self.on_large_message(spooled);
            }
            // A bridge translated this large notification. The client does not use such
            // notifications.
            Item::Message(Frame::Pieces(_)) => {}
            Item::Message(frame) => self.unreadable(event.of, frame).await,
            Item::Ended => {
                let how = "ended the answer before it was whole";
                self.tell(event.of.as_ref(), Err(how.to_owned()));
            }
            // Streams are not resumed. Failures and ends of the connection are reported elsewhere.
            _ => {}
        }
    }

    async fn refused(
        self: &Arc<Self>,
        _: &Arc<Upstream<Self>>,
        _: Option<RequestId>,
        waiting: Option<InFlightRequest<RequestPurpose>>,
        refusal: Refusal,
    ) {
        let Some(mut waiting) = waiting else { return };
        waiting.end(RequestOutcome::Refused);
        let answer = match waiting.details {
            RequestPurpose::Answer => refused(refusal),
            RequestPurpose::GreetAgain => refused_answer(refusal),
        };
        if let Some(for_us) = waiting.for_us.take() {
            drop(for_us.send(answer));
        }
    }

    async fn unanswered(
        &self,
        upstream: &Upstream<Self>,
        mut waiting: InFlightRequest<RequestPurpose>,
        why: RequestFailure,
    ) {
        waiting.end(why.outcome());
        let answer = match waiting.details {
            RequestPurpose::Answer => {
                let error = why.frame(&waiting.id, upstream.name());
                Ok(Frame::Memory(error.into()))
            }
            RequestPurpose::GreetAgain => Err(why.reason()),
        };
        if let Some(for_us) = waiting.for_us.take() {
            drop(for_us.send(answer));
        }
    }
}

/// Converts an HTTP response that is not a regular MCP answer. Its body may be an MCP error.
fn refused(refusal: Refusal) -> RequestResult {
    let body = std::str::from_utf8(&refusal.body).unwrap_or_default();
    if is_message(body) {
        return Ok(Frame::Memory(refusal.body));
    }
    let status = refusal.status;
    Err(match status {
        401 | 403 => format!(
            "does not let us in (HTTP status {status}); check the header or the token that it is given"
        ),
        404 | 405 | 501 => {
            format!("has no MCP at that address (HTTP status {status}); check its url")
        }
        _ => format!("returned the HTTP status {status}"),
    })
}
