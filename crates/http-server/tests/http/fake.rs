//! A scripted gateway that records the calls that it receives.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use spillgate_gateway::Incoming;
use spillgate_http_server::{Backend, Peer};
use spillgate_mcp::RequestId;
use spillgate_transport::{Item, Refusal, ServerEvent, Sink};
use tokio::sync::Notify;

/// A call of the gateway, with the number of the peer that received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Session(usize),
    Exchange(usize),
    Took(usize, String),
    Listened(usize, Option<String>),
    Abandoned(usize, String),
    Unread(usize, String),
    Closed(usize, bool),
    /// A script has sent all its events.
    Played,
}

#[derive(Default)]
pub(crate) struct Log {
    events: Mutex<Vec<Event>>,
    news: Notify,
    pub(crate) headers: Mutex<Vec<(String, String)>>,
    /// The sinks of the peers, for tests that send events themselves.
    pub(crate) sinks: Mutex<Vec<Arc<dyn Sink>>>,
}

impl Log {
    fn note(&self, event: Event) {
        self.events.lock().unwrap().push(event);
        self.news.notify_waiters();
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }

    pub(crate) fn sink(&self, peer: usize) -> Arc<dyn Sink> {
        Arc::clone(&self.sinks.lock().unwrap()[peer])
    }

    /// Waits for an event and returns it.
    pub(crate) async fn until(&self, is_it: impl Fn(&Event) -> bool) -> Event {
        loop {
            let news = self.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            if let Some(event) = self.events().into_iter().find(&is_it) {
                return event;
            }
            news.await;
        }
    }
}

pub(crate) struct Fake {
    pub(crate) log: Arc<Log>,
    peers: AtomicUsize,
}

struct FakePeer {
    number: usize,
    log: Arc<Log>,
    to: Arc<dyn Sink>,
}

impl fmt::Debug for Fake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fake")
    }
}

impl fmt::Debug for FakePeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FakePeer")
    }
}

impl Fake {
    pub(crate) fn new() -> Self {
        Self {
            log: Arc::default(),
            peers: AtomicUsize::new(0),
        }
    }

    fn peer(&self, to: Arc<dyn Sink>, event: impl Fn(usize) -> Event) -> Arc<dyn Peer> {
        let number = self.peers.fetch_add(1, Ordering::SeqCst);
        self.log.sinks.lock().unwrap().push(Arc::clone(&to));
        self.log.note(event(number));
        let log = Arc::clone(&self.log);
        Arc::new(FakePeer { number, log, to })
    }
}

impl Backend for Fake {
    fn session(&self, to: Arc<dyn Sink>) -> Arc<dyn Peer> {
        self.peer(to, Event::Session)
    }

    fn exchange(&self, to: Arc<dyn Sink>) -> Arc<dyn Peer> {
        self.peer(to, Event::Exchange)
    }

    fn input_schema(&self, tool: &str) -> Option<Value> {
        let region = json!({"type": "string", "x-mcp-header": "Region"});
        (tool == "regional").then(|| json!({"type": "object", "properties": {"region": region}}))
    }
}

impl Peer for FakePeer {
    fn take(&self, incoming: Incoming) -> BoxFuture<'static, ()> {
        let text = String::from_utf8_lossy(&incoming.frame).into_owned();
        *self.log.headers.lock().unwrap() = incoming.headers;
        self.log.note(Event::Took(self.number, text));
        let (to, frame) = (Arc::clone(&self.to), incoming.frame);
        let log = Arc::clone(&self.log);
        async move {
            let message: Value = serde_json::from_slice(&frame).unwrap();
            let messages = match message {
                Value::Array(batch) => batch,
                single => vec![single],
            };
            for message in messages {
                // Each message is handled in its own task, so that answers can arrive in any order.
                let (to, log) = (Arc::clone(&to), Arc::clone(&log));
                tokio::spawn(async move {
                    let is_flood = message["params"]["name"] == "flood";
                    play(to, message).await;
                    if is_flood {
                        log.note(Event::Played);
                    }
                });
            }
        }
        .boxed()
    }

    fn listen(&self, after: Option<String>) -> BoxFuture<'static, ()> {
        self.log.note(Event::Listened(self.number, after));
        std::future::ready(()).boxed()
    }

    fn unread(&self, of: &RequestId) {
        let of = of.as_json().to_owned();
        self.log.note(Event::Unread(self.number, of));
    }

    fn abandon(&self, of: RequestId) -> BoxFuture<'static, ()> {
        let of = of.as_json().to_owned();
        self.log.note(Event::Abandoned(self.number, of));
        std::future::ready(()).boxed()
    }

    fn close(&self, hurried: bool) -> BoxFuture<'static, ()> {
        self.log.note(Event::Closed(self.number, hurried));
        std::future::ready(()).boxed()
    }
}

pub(crate) fn key(id: &Value) -> RequestId {
    RequestId::of(&serde_json::value::to_raw_value(id).unwrap()).unwrap()
}

/// Returns a server event on the stream of a request.
pub(crate) fn server_event(of: Option<&Value>, item: Item) -> ServerEvent {
    ServerEvent {
        of: of.map(key),
        event: None,
        item,
    }
}

pub(crate) fn message(of: Option<&Value>, message: &Value) -> ServerEvent {
    ServerEvent::message(Bytes::from(message.to_string())).of(of.map(key))
}

pub(crate) fn answer(id: &Value, result: &Value) -> ServerEvent {
    message(
        Some(id),
        &json!({"jsonrpc": "2.0", "id": id, "result": result}),
    )
}

pub(crate) fn note(text: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": text}})
}

/// A minimal server: answers one message.
async fn play(to: Arc<dyn Sink>, message: Value) {
    let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
        return;
    };
    let params = &message["params"];
    let info = json!({"name": "tiny", "version": "1"});
    let result = match method {
        "initialize" if params["protocolVersion"] == "1999-01-01" => {
            let error = json!({"code": -32602, "message": "too old"});
            let error = json!({"jsonrpc": "2.0", "id": id, "error": error});
            return to.take(self::message(Some(id), &error)).await;
        }
        // Version 2026-07-28 has no `initialize`, so a server answers with an older version.
        "initialize" => json!({
            "protocolVersion": match &params["protocolVersion"] {
                modern if modern == "2026-07-28" => json!("2025-11-25"),
                legacy => legacy.clone(),
            },
            "serverInfo": info,
            "capabilities": {"tools": {}, "logging": {}},
        }),
        "server/discover" => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "serverInfo": info,
            "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
        }),
        "tools/list" => {
            let tool = json!({"name": "echo", "inputSchema": {"type": "object"}});
            json!({"resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "private"})
        }
        "tools/call" => return call(to, id, params).await,
        "subscriptions/listen" => return,
        "unknown/method" => {
            let error = json!({"code": -32601, "message": "Method not found"});
            let error = json!({"jsonrpc": "2.0", "id": id, "error": error});
            return to.take(self::message(Some(id), &error)).await;
        }
        _ => json!({"resultType": "complete"}),
    };
    to.take(answer(id, &result)).await;
}

fn text(text: &Value) -> Value {
    let content = json!({"type": "text", "text": text});
    json!({"content": [content], "resultType": "complete"})
}

async fn call(to: Arc<dyn Sink>, id: &Value, params: &Value) {
    let arguments = &params["arguments"];
    match params["name"].as_str().unwrap() {
        "noisy" => {
            to.take(self::message(Some(id), &note("one"))).await;
            to.take(self::message(Some(id), &note("two"))).await;
        }
        "slow" => {
            let wait = arguments["wait_us"].as_u64().unwrap();
            tokio::time::sleep(Duration::from_micros(wait)).await;
        }
        "never" => return,
        "primed" => {
            let mut mark = server_event(
                Some(id),
                Item::Mark {
                    retry: Some(Duration::from_millis(7)),
                },
            );
            mark.event = Some("e1".to_owned());
            to.take(mark).await;
            return to.take(server_event(Some(id), Item::Ended)).await;
        }
        "ends" => return to.take(server_event(Some(id), Item::Ended)).await,
        "gone" => {
            return to
                .take(server_event(
                    None,
                    Item::Gone("exited with status 3".into()),
                ))
                .await;
        }
        "refused" => {
            return to
                .take(server_event(Some(id), Item::Refused(refusal())))
                .await;
        }
        "refused_late" => {
            to.take(self::message(Some(id), &note("first"))).await;
            return to
                .take(server_event(Some(id), Item::Refused(refusal())))
                .await;
        }
        "flood" => {
            for _ in 0..arguments["notes"].as_u64().unwrap() {
                let long = "x".repeat(64 << 10);
                to.take(self::message(Some(id), &note(&long))).await;
            }
        }
        "lines" => {
            let frame = format!(
                "{{\"jsonrpc\":\"2.0\",\r\n \"id\":{id},\n\"result\":{{\"content\":[],\"resultType\":\"complete\"}}}}\n"
            );
            return to.take(ServerEvent::message(frame).of(Some(key(id)))).await;
        }
        _ => {}
    }
    to.take(answer(id, &text(&arguments["text"]))).await;
}

fn refusal() -> Refusal {
    Refusal {
        session_lost: false,
        status: 403,
        content_type: Some("text/plain".to_owned()),
        challenge: Some("Bearer realm=\"there\"".to_owned()),
        body: Bytes::from_static(b"not you"),
        server: None,
    }
}
