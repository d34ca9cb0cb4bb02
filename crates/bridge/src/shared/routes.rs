//! Finds the client for each message from a server process that many clients share.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_mcp::meta::SUBSCRIPTION_ID;
use spillgate_mcp::{ByteEdits, Envelope, RequestId, messages, object, span_in};
use spillgate_transport::{ConnectionError, Frame, Item, ServerEvent, Sink, Spooled};

/// A pending request, and the client that sent it.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) sink: Arc<dyn Sink>,
    pub(super) key: RequestId,
    /// The exact text of the client's id. `token` is the exact text of its progress token.
    pub(super) id: String,
    pub(super) token: Option<String>,
}

/// The routes from a process to its clients, by request.
#[derive(Debug)]
pub(super) struct Routes {
    /// The server's name.
    pub(super) server: String,
    pub(super) waiting: Mutex<HashMap<RequestId, Route>>,
    pub(super) clients: Mutex<Vec<Weak<dyn Sink>>>,
    pub(super) numbers: AtomicU64,
    ended: Mutex<Option<String>>,
}

/// The first number of requests that bypass a bridge. It is far above the numbers that a bridge
/// uses.
const FIRST_NUMBER: u64 = 1 << 32;

impl Routes {
    pub(super) fn new(server: &str) -> Self {
        Self {
            server: server.to_owned(),
            waiting: Mutex::default(),
            clients: Mutex::default(),
            numbers: AtomicU64::new(FIRST_NUMBER),
            ended: Mutex::default(),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Params<'a> {
    #[serde(borrow, default, rename = "_meta")]
    pub(super) meta: Option<HashMap<String, &'a RawValue>>,
    #[serde(borrow, default, rename = "progressToken")]
    pub(super) token: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestId")]
    pub(super) request: Option<&'a RawValue>,
}

impl Routes {
    pub(super) fn ended(&self) -> Option<String> {
        self.ended.lock().clone()
    }

    /// Returns the route of a message, and the edits that restore the client's id and token.
    fn route(&self, frame: &[u8], envelope: &Envelope<'_>) -> Option<(Route, ByteEdits)> {
        let back = |ours: &RawValue, theirs: &str| {
            let mut splice = ByteEdits::default();
            splice.replace(span_in(frame, ours.get()), theirs);
            splice
        };
        if envelope.method.is_none() {
            // A response without an id answers an unreadable message, so its receiver is unknown.
            let ours = envelope.id?;
            let route = self.waiting.lock().remove(&RequestId::of(ours)?)?;
            let splice = back(ours, &route.id);
            return Some((route, splice));
        }
        let params = envelope.params.and_then(object::<Params<'_>>);
        let waiting = self.waiting.lock();
        let of = |ours: &RawValue| Some(waiting.get(&RequestId::of(ours)?)?.clone());
        if let Some(params) = params {
            if let Some(ours) = params.token
                && let Some(route) = of(ours)
            {
                let splice = back(ours, route.token.as_deref()?);
                return Some((route, splice));
            }
            let subscription = params
                .meta
                .as_ref()
                .and_then(|meta| meta.get(SUBSCRIPTION_ID));
            if let Some(ours) = subscription {
                let route = of(ours)?;
                let splice = back(ours, &route.id);
                return Some((route, splice));
            }
        }
        // The message does not identify its client. The client is known only if a single request is
        // pending.
        let mut all = waiting.values();
        let only = all.next().filter(|_| waiting.len() == 1)?;
        Some((only.clone(), ByteEdits::default()))
    }

    /// Routes a message that is too large for memory.
    async fn large(&self, spooled: Spooled) {
        let all = spooled.messages();
        let found = match &*all {
            [one] => self.route(spooled.stand_in(), one),
            _ => None,
        };
        let is_answer = all.first().is_some_and(Envelope::is_response);
        drop(all);
        let Some((route, splice)) = found else {
            tracing::warn!(
                bytes = spooled.len(),
                "a large message was dropped: it answers no pending request, and no client expects it"
            );
            return;
        };
        let (key, bytes) = (route.key, spooled.len());
        let item = match is_answer {
            true => match spooled.edited(splice) {
                Some(edited) => Item::Message(Frame::Spooled(Box::new(edited))),
                None => Item::Failed(ConnectionError::NotMcp(format!(
                    "a message of {bytes} bytes cannot be passed on, because its `id` is neither the first nor the last member"
                ))),
            },
            false => match spooled.into_filling() {
                Ok((stand_in, filling)) => {
                    let made = splice.apply(&stand_in).into();
                    Item::Message(Frame::Pieces(filling.fill(&made)))
                }
                Err(error) => {
                    tracing::warn!(%error, bytes, "a large message could not be read from the store and was dropped");
                    return;
                }
            },
        };
        let server_event = ServerEvent {
            of: Some(key),
            event: None,
            item,
        };
        route.sink.take(server_event).await;
    }
}

impl Sink for Routes {
    fn take(&self, server_event: ServerEvent) -> BoxFuture<'_, ()> {
        async move {
            let Some(server_event) = server_event.or_failure(&self.server) else {
                return;
            };
            let frame = match server_event.item {
                Item::Message(Frame::Memory(frame)) => frame,
                Item::Message(Frame::Spooled(spooled)) => return self.large(*spooled).await,
                Item::Failed(error) => {
                    let of = server_event.of.as_ref();
                    if let Some(route) = of.and_then(|of| self.waiting.lock().remove(of)) {
                        let item = Item::Failed(error);
                        let (of, event) = (Some(route.key), None);
                        route.sink.take(ServerEvent { of, event, item }).await;
                    }
                    return;
                }
                other => return self.ends(other).await,
            };
            for envelope in messages(&frame) {
                let Some((route, splice)) = self.route(&frame, &envelope) else {
                    tracing::debug!(method = ?envelope.method, "a message was dropped: it answers no pending request, and no client expects it");
                    continue;
                };
                let frame = match splice.is_empty() {
                    true => frame.clone(),
                    false => splice.apply(&frame).into(),
                };
                let server_event = ServerEvent::message(frame).of(Some(route.key));
                route.sink.take(server_event).await;
            }
        }
        .boxed()
    }
}

impl Routes {
    /// Returns whether an event answers a request that bypassed the bridge.
    pub(super) fn waits_for(&self, server_event: &ServerEvent) -> bool {
        let waiting = self.waiting.lock();
        let all = match &server_event.item {
            Item::Message(Frame::Memory(frame)) => messages(frame),
            Item::Message(Frame::Spooled(spooled)) => spooled.messages(),
            Item::Failed(_) => {
                let of = server_event.of.as_ref();
                return of.is_some_and(|key| waiting.contains_key(key));
            }
            _ => return false,
        };
        let is_asked = |one: &Envelope<'_>| {
            one.is_response() && one.key().is_some_and(|key| waiting.contains_key(&key))
        };
        !waiting.is_empty() && all.iter().any(is_asked)
    }

    pub(super) async fn ends(&self, item: Item) {
        let Item::Gone(how) = item else { return };
        *self.ended.lock() = Some(how.clone());
        self.waiting.lock().clear();
        let clients = std::mem::take(&mut *self.clients.lock());
        for client in clients.iter().filter_map(Weak::upgrade) {
            let gone = ServerEvent {
                of: None,
                event: None,
                item: Item::Gone(how.clone()),
            };
            client.take(gone).await;
        }
    }
}
