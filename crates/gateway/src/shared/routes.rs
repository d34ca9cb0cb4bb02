//! Where does what comes from a process go that many clients share?

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_wire::{
    Envelope, Frame, Item, Key, Parcel, Sink, Splice, Spooled, messages, object, span_in,
};

use crate::locked;

/// The member of `_meta` by which a notification says to which subscription it
/// belongs: the id of the request that opened it.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A request that waits for the process, and whose it is.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) sink: Arc<dyn Sink>,
    pub(super) key: Key,
    /// The id and the progress token as the client spelled them.
    pub(super) id: String,
    pub(super) token: Option<String>,
}

/// Where what comes from a process goes.
#[derive(Debug)]
pub(super) struct Routes {
    pub(super) waiting: Mutex<HashMap<Key, Route>>,
    pub(super) clients: Mutex<Vec<Weak<dyn Sink>>>,
    pub(super) numbers: AtomicU64,
    ended: Mutex<Option<String>>,
}

/// Requests past a bridge get numbers from here on; those of a bridge are small.
const FIRST_NUMBER: u64 = 1 << 32;

impl Default for Routes {
    fn default() -> Self {
        Self {
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
    token: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestId")]
    pub(super) request: Option<&'a RawValue>,
}

impl Routes {
    pub(super) fn ended(&self) -> Option<String> {
        locked(&self.ended).clone()
    }

    /// The route that a message belongs to, and what in it its client spells in
    /// another way.
    fn route<'a>(&self, envelope: &Envelope<'a>) -> Option<(Route, Option<Respelled<'a>>)> {
        if envelope.method.is_none() {
            // One without an id answers whoever sent what could not be read.
            let ours = envelope.id?;
            let route = locked(&self.waiting).remove(&Key::of(ours)?)?;
            let id = route.id.clone();
            return Some((route, Some((ours, id))));
        }
        let params = envelope.params.and_then(object::<Params<'a>>);
        let waiting = locked(&self.waiting);
        let of = |ours: &RawValue| Some(waiting.get(&Key::of(ours)?)?.clone());
        if let Some(params) = params {
            if let Some(ours) = params.token
                && let Some(route) = of(ours)
            {
                let token = route.token.clone()?;
                return Some((route, Some((ours, token))));
            }
            let subscription = params.meta.as_ref().and_then(|meta| meta.get(SUBSCRIPTION));
            if let Some(&ours) = subscription {
                let route = of(ours)?;
                let id = route.id.clone();
                return Some((route, Some((ours, id))));
            }
        }
        // Nothing tells whose it is, unless there is only one that it can be.
        let mut all = waiting.values();
        let only = all.next().filter(|_| waiting.len() == 1)?;
        Some((only.clone(), None))
    }

    async fn give(&self, frame: &Bytes) {
        for envelope in messages(frame) {
            let Some((route, respelled)) = self.route(&envelope) else {
                tracing::debug!(method = ?envelope.method, "is for nobody");
                continue;
            };
            let mut splice = Splice::default();
            if let Some((ours, theirs)) = respelled {
                splice.replace(span_in(frame, ours.get()), theirs);
            }
            let frame = match splice.is_empty() {
                true => frame.clone(),
                false => splice.apply(frame).into(),
            };
            let parcel = Parcel::message(frame).of(Some(route.key));
            route.sink.take(parcel).await;
        }
    }

    /// The same of a message that is too large for the memory.
    async fn give_large(&self, spooled: Spooled) {
        let found = match &*spooled.messages() {
            [only] => self.route(only).map(|(route, respelled)| {
                let span = |(ours, theirs): Respelled<'_>| {
                    (span_in(spooled.stand_in(), ours.get()), theirs)
                };
                (route, respelled.map(span))
            }),
            _ => None,
        };
        let Some((route, respelled)) = found else {
            return tracing::warn!(bytes = spooled.len(), "a large message is for nobody");
        };
        let spooled = match respelled {
            Some((span, theirs)) => spooled.respelled(span, &theirs),
            None => spooled,
        };
        let parcel = Parcel {
            of: Some(route.key),
            event: None,
            item: Item::Message(Frame::Spooled(Box::new(spooled))),
        };
        route.sink.take(parcel).await;
    }
}

/// What a client spells in another way, as it does.
type Respelled<'a> = (&'a RawValue, String);

impl Sink for Routes {
    fn take(&self, parcel: Parcel) -> BoxFuture<'_, ()> {
        async move {
            match parcel.item {
                Item::Message(Frame::Memory(frame)) => self.give(&frame).await,
                Item::Message(Frame::Spooled(spooled)) => self.give_large(*spooled).await,
                item => self.ends(item).await,
            }
        }
        .boxed()
    }
}

impl Routes {
    /// Whether it answers what a client asked past the bridge.
    pub(super) fn waits_for(&self, parcel: &Parcel) -> bool {
        let waiting = locked(&self.waiting);
        let frame = match &parcel.item {
            Item::Message(Frame::Memory(frame)) => frame,
            Item::Message(Frame::Spooled(spooled)) => spooled.stand_in(),
            _ => return false,
        };
        let is_asked = |one: &Envelope<'_>| {
            one.is_response() && one.key().is_some_and(|key| waiting.contains_key(&key))
        };
        !waiting.is_empty() && messages(frame).iter().any(is_asked)
    }

    pub(super) async fn ends(&self, item: Item) {
        let Item::Gone(how) = item else { return };
        *locked(&self.ended) = Some(how.clone());
        locked(&self.waiting).clear();
        let clients = std::mem::take(&mut *locked(&self.clients));
        for client in clients.iter().filter_map(Weak::upgrade) {
            let gone = Parcel {
                of: None,
                event: None,
                item: Item::Gone(how.clone()),
            };
            client.take(gone).await;
        }
    }
}
