//! What is said to a server, and who waits for what it says?

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use spillgate_gateway::{GatewayError, Hub, Incoming, Session};
use spillgate_mcp::{Envelope, RequestId, error_code, frame, is_message, messages, object_in};
use spillgate_wire::{Frame, Item, Refusal, ServerEvent, Sink, Spooled};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::leftovers::Leftovers;

/// How long is waited for the end of a server that does not answer: what it says at its end comes
/// after its output is closed.
const MOMENT: Duration = Duration::from_secs(1);

/// The frame with an answer, or how it came that there is none.
type Answer = Result<Frame, String>;

/// A client of one server.
pub(crate) struct Peer {
    session: Arc<Session>,
    inbox: Arc<Inbox>,
    /// Numbers requests.
    next: AtomicU64,
    writer: AbortHandle,
    /// Ends the server if nobody else does.
    leftovers: Leftovers,
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").finish_non_exhaustive()
    }
}

/// Where the server's messages go.
#[derive(Debug)]
struct Inbox {
    waiting: Mutex<HashMap<RequestId, oneshot::Sender<Answer>>>,
    /// Frames for the server. One task sends them, so that none overtakes another and
    /// none is left half written when whoever sent it is dropped.
    outbox: UnboundedSender<Vec<u8>>,
    /// The server's tools have changed.
    changed: Notify,
    /// Nobody will answer any more.
    is_closed: AtomicBool,
}

impl Peer {
    /// A client of the only server of `hub`. Nothing is opened yet.
    pub(crate) fn new(hub: &Arc<Hub>, leftovers: &Leftovers) -> Self {
        let (outbox, frames) = unbounded_channel();
        let inbox = Arc::new(Inbox {
            waiting: Mutex::default(),
            outbox,
            changed: Notify::new(),
            is_closed: AtomicBool::new(false),
        });
        let session = hub.session(Arc::clone(&inbox) as Arc<dyn Sink>);
        let writer = tokio::spawn(write(Arc::clone(&session), frames));
        Self {
            session,
            inbox,
            next: AtomicU64::new(1),
            writer: writer.abort_handle(),
            leftovers: leftovers.clone(),
        }
    }

    /// Opens the server.
    pub(crate) async fn start(&self) -> Result<(), String> {
        let started = self.session.start().await;
        started.map_err(|error| match error {
            GatewayError::Open { error, .. } => error.to_string(),
            other => other.to_string(),
        })
    }

    /// The result of a request, which is small.
    pub(crate) async fn ask(&self, method: &str, params: &Value) -> Result<Value, String> {
        let params = params.to_string();
        let frame = self.request(self.number(), method, &params).await?;
        let Frame::Memory(frame) = &frame else {
            return Err(format!("answered `{method}` with too much"));
        };
        result(frame, method)
    }

    /// The answer to a call of a tool. Dropped, the call is cancelled.
    pub(crate) async fn call(&self, tool: &str, arguments: &RawValue) -> Answer {
        let (name, number) = (json!(tool), self.number());
        // Progress shows the gateway that the server is not silent.
        let params = format!(
            "{{\"name\":{name},\"arguments\":{arguments},\"_meta\":{{\"progressToken\":{number}}}}}"
        );
        self.request(number, "tools/call", &params).await
    }

    /// The server's tools have changed since the last time.
    pub(crate) async fn changed(&self) {
        self.inbox.changed.notified().await;
    }

    pub(crate) fn notify(&self, method: &str) {
        self.inbox.send(frame::notification(method, None));
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    async fn request(&self, number: u64, method: &str, params: &str) -> Answer {
        let key = RequestId::number(number);
        let (tell, told) = oneshot::channel();
        self.inbox.waiting.lock().insert(key.clone(), tell);
        let mut awaited = Awaited {
            inbox: &self.inbox,
            key,
            // The protocol forbids to cancel the greeting.
            is_over: method == "initialize",
        };
        self.inbox
            .send(frame::request(number, method, Some(params)));
        // Behind what was noted: closing forgets it.
        if self.inbox.is_closed.load(Ordering::SeqCst) {
            awaited.is_over = true;
            return Err("was closed".to_owned());
        }
        let answer = told.await;
        awaited.is_over = true;
        answer.unwrap_or_else(|_| Err("was closed".to_owned()))
    }

    /// How the server ended, if it does within a moment: it says it better than the
    /// message that could not be sent to it.
    pub(crate) async fn how_it_ended(&self) -> Option<String> {
        timeout(MOMENT, self.session.ended()).await.ok()?
    }

    /// Ends the server.
    pub(crate) async fn close(&self, hurried: bool) {
        self.session.close(hurried).await;
        self.inbox.is_closed.store(true, Ordering::SeqCst);
        self.writer.abort();
        self.inbox.waiting.lock().clear();
    }

    /// Nobody uses it any more: it is ended aside, unless it is closed.
    pub(crate) fn abandon(&self) {
        self.writer.abort();
        if !self.inbox.is_closed.swap(true, Ordering::SeqCst) {
            self.inbox.waiting.lock().clear();
            self.leftovers.end(Arc::clone(&self.session));
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.abandon();
    }
}

async fn write(session: Arc<Session>, mut frames: UnboundedReceiver<Vec<u8>>) {
    while let Some(frame) = frames.recv().await {
        session.take(Incoming::new(frame)).await;
    }
}

/// Somebody waits for an answer.
struct Awaited<'a> {
    inbox: &'a Inbox,
    key: RequestId,
    is_over: bool,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.inbox.waiting.lock().remove(&self.key);
        if !self.is_over {
            let id = self.key.as_json();
            let reason = Some("nobody waits for it any more");
            self.inbox.send(frame::cancelled(id, reason));
        }
    }
}

impl Inbox {
    fn send(&self, frame: Vec<u8>) {
        // Closed, there is nobody to send it to; whoever waits is told so.
        drop(self.outbox.send(frame::line(frame)));
    }

    fn tell(&self, key: Option<&RequestId>, answer: Answer) {
        let waiting = key.and_then(|key| self.waiting.lock().remove(key));
        if let Some(waiting) = waiting {
            drop(waiting.send(answer)); // or it has just given up
        }
    }

    /// Takes one message of a frame that is in memory.
    fn heard(&self, frame: &Frame, envelope: &Envelope<'_>) {
        match frame {
            Frame::Memory(bytes) if envelope.is_response() => {
                let answer = Frame::Memory(bytes.clone());
                self.tell(envelope.key().as_ref(), Ok(answer));
            }
            _ => self.asked(envelope),
        }
    }

    /// Takes what is too large for the memory; `of` is the request on whose stream it
    /// came.
    fn heard_large(&self, of: Option<&RequestId>, spooled: Box<Spooled>) {
        let messages = spooled.messages();
        let answer = messages.iter().find(|one| one.is_response());
        let key = match spooled.is_sound() {
            true => answer.and_then(Envelope::key),
            // Nobody can read what it is: most likely what was asked for.
            false => of.cloned(),
        };
        // Beside an answer, or instead of it, there are requests and notifications.
        for envelope in messages.iter().filter(|one| !one.is_response()) {
            self.asked(envelope);
        }
        drop(messages);
        self.tell(key.as_ref(), Ok(Frame::Spooled(spooled)));
    }

    /// Takes a request or a notification.
    fn asked(&self, envelope: &Envelope<'_>) {
        match (envelope.method.as_deref(), envelope.id) {
            (Some(method), Some(id)) => self.answer(method, id),
            (Some("notifications/tools/list_changed"), None) => self.changed.notify_one(),
            _ => {}
        }
    }

    /// Answers a server's request: we can do nothing but be there.
    fn answer(&self, method: &str, id: &RawValue) {
        if method == "ping" {
            return self.send(frame::response(id, "{}"));
        }
        let what = format!("this client does not know `{method}`");
        let error = json!({"code": error_code::METHOD_NOT_FOUND, "message": what});
        self.send(frame::error(id, error));
    }
}

impl Sink for Inbox {
    fn take(&self, event: ServerEvent) -> BoxFuture<'_, ()> {
        let of = event.of.as_ref();
        match event.item {
            Item::Message(Frame::Spooled(spooled)) => self.heard_large(of, spooled),
            Item::Message(frame) => {
                let bytes = frame.in_memory().cloned().unwrap_or_default();
                for envelope in messages(&bytes) {
                    self.heard(&frame, &envelope);
                }
            }
            Item::Refused(refusal) => self.tell(of, refused(refusal)),
            Item::Failed(error) => self.tell(of, Err(error.to_string())),
            Item::Ended => self.tell(of, Err("ended the answer before it was whole".to_owned())),
            // The session tells each request.
            Item::Gone(_) | Item::Mark { .. } => {}
        }
        std::future::ready(()).boxed()
    }
}

/// What an HTTP response says that is no answer in the protocol's sense; its body may
/// be the protocol's own error.
fn refused(refusal: Refusal) -> Answer {
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
        _ => format!("refused it with HTTP status {status}"),
    })
}

/// The result in an answer, or the error's message.
fn result(frame: &[u8], method: &str) -> Result<Value, String> {
    #[derive(Deserialize)]
    struct Response {
        #[serde(default)]
        result: Option<Value>,
        #[serde(default)]
        error: Option<Value>,
    }
    let unreadable = || format!("answered `{method}` with what is no answer");
    let text = std::str::from_utf8(frame).map_err(|_| unreadable())?;
    let response: Response = object_in(text).ok_or_else(unreadable)?;
    match (response.result, response.error) {
        (_, Some(error)) => {
            let message = error["message"].as_str().unwrap_or("no reason");
            let is_ours = error["data"]["fault"].is_string();
            Err(match is_ours {
                // It names the server already.
                true => format!("could not be asked for `{method}`: {message}"),
                false => format!("refused `{method}`: {message}"),
            })
        }
        (Some(result), None) => Ok(result),
        (None, None) => Err(unreadable()),
    }
}
