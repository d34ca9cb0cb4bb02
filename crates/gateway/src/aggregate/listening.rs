//! Subscriptions of a client (MCP 2026-07-28) to changes of several servers.
//!
//! The client's stream is served by one stream at each server that offers something the client
//! wants. All of these streams are acknowledged together. The client's stream ends when the last of
//! them ends, or when the client closes it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use spillgate_mcp::meta::SUBSCRIPTION_ID;
use spillgate_mcp::{ByteEdits, Envelope, RequestId, frame, object, span_in};
use spillgate_transport::{Message, ServerEvent};
use spillgate_upstream::RequestResult;
use tokio::time::sleep;

use super::{Kind, Question, links, lists, with_id};
use crate::error::nobody_answered;
use crate::session::Session;
use crate::upstream::Upstream;

/// The method that opens a subscription stream.
pub(super) const LISTEN: &str = "subscriptions/listen";
/// How long a client waits for servers that do not acknowledge.
const PATIENCE: Duration = Duration::from_secs(10);

/// The subscription streams of a client.
#[derive(Debug, Default)]
pub(crate) struct Listening(Mutex<Vec<Stream>>);

/// A subscription stream of the client.
#[derive(Debug)]
struct Stream {
    key: RequestId,
    /// The exact text of the client's id.
    id: String,
    /// The streams at the servers: our request id at each server, and the server's name.
    parts: BTreeMap<RequestId, String>,
    /// The streams that the servers have not acknowledged yet.
    waiting: BTreeSet<RequestId>,
    /// The changes that the servers have agreed to report.
    honoured: Map<String, Value>,
    is_acknowledged: bool,
}

/// How a server's notification concerns the client's subscription streams.
pub(crate) enum Heard {
    /// The notification does not belong to a subscription stream.
    Other,
    /// Send the notification on the stream of this request, with these edits.
    Of(RequestId, ByteEdits),
    /// The notification was meant for the gateway. Send this event, if any, to the client.
    Ours(Option<ServerEvent>),
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<BTreeMap<String, &'a RawValue>>,
    #[serde(default)]
    notifications: Map<String, Value>,
}

/// Opens a client's stream at all servers that can report what it wants.
pub(super) async fn begin(session: &Arc<Session>, question: &Question) {
    session.hub().listens(session);
    let (mut parts, mut asked) = (BTreeMap::new(), Vec::new());
    for (upstream, params) in wanted(session, question).await {
        let (message, answer) = session.question(&upstream, LISTEN, &params);
        if let Some(key) = message.id.clone() {
            parts.insert(key.clone(), upstream.name().to_owned());
            asked.push((upstream, key, message, answer));
        }
    }
    let mut stream = Stream {
        key: question.key.clone(),
        id: question.id.clone(),
        waiting: parts.keys().cloned().collect(),
        parts,
        honoured: changes_wanted(question),
        is_acknowledged: false,
    };
    // If no server can report anything the client wants, the stream is acknowledged immediately.
    let told = stream.acknowledgement();
    session.listening.0.lock().push(stream);
    if let Some(event) = told {
        session.to.take(event).await;
    }
    for (upstream, key, message, answer) in asked {
        // Each server has its own task, because a server may still be starting. When the session
        // closes, it does not wait for these tasks.
        let session = Arc::downgrade(session);
        tokio::spawn(async move {
            let sent = match session.upgrade() {
                Some(session) => upstream.send(&session, message).await,
                None => return,
            };
            let how = match sent {
                Ok(()) => answer.await,
                Err(error) => Ok(Err(error.to_string())),
            };
            if let (Ok(how), Some(session)) = (how, session.upgrade()) {
                drop(session.in_flight.take(&key));
                ended(&session, &key, how).await;
            }
        });
    }
    let session = Arc::downgrade(session);
    tokio::spawn(wait_no_longer(session, question.key.clone()));
}

/// Returns the list changes that the client wants. The gateway itself reports these when a server
/// joins.
fn changes_wanted(question: &Question) -> Map<String, Value> {
    let params: Value = serde_json::from_str(&question.params).unwrap_or_default();
    let filter = params["notifications"].as_object().cloned();
    let wanted = filter.unwrap_or_default().into_iter();
    wanted
        .filter(|(kind, is_wanted)| kind.ends_with("ListChanged") && *is_wanted == true)
        .collect()
}

/// Reports a changed list on each of the client's subscription streams that asked for it. Returns
/// whether there is any subscription stream.
pub(super) async fn tell(session: &Session, kind: Kind) -> bool {
    let Some(method) = kind.changed() else {
        return true;
    };
    let member = match kind {
        Kind::Tools => "toolsListChanged",
        Kind::Prompts => "promptsListChanged",
        _ => "resourcesListChanged",
    };
    let (told, is_any) = {
        let streams = session.listening.0.lock();
        let wants = |stream: &&Stream| stream.honoured.get(member) == Some(&Value::Bool(true));
        let frame = |stream: &Stream| {
            let id = &stream.id;
            let params = format!(r#"{{"_meta":{{"{SUBSCRIPTION_ID}":{id}}}}}"#);
            let frame = frame::line(frame::notification(method, Some(&params)));
            ServerEvent::message(frame).of(Some(stream.key.clone()))
        };
        let told: Vec<ServerEvent> = streams.iter().filter(wants).map(frame).collect();
        (told, !streams.is_empty())
    };
    for event in told {
        session.to.take(event).await;
    }
    is_any
}

/// After a time limit, acknowledges a stream without the servers that have not answered.
async fn wait_no_longer(session: Weak<Session>, key: RequestId) {
    sleep(PATIENCE).await;
    let Some(session) = session.upgrade() else {
        return;
    };
    let told = {
        let mut streams = session.listening.0.lock();
        let stream = streams.iter_mut().find(|stream| stream.key == key);
        stream.and_then(|stream| {
            stream.waiting.clear();
            stream.acknowledgement()
        })
    };
    if let Some(event) = told {
        session.to.take(event).await;
    }
}

impl Stream {
    /// Adds the changes that a server has agreed to report.
    fn honours(&mut self, filter: Map<String, Value>) {
        for (kind, told) in filter {
            match (self.honoured.get_mut(&kind), told) {
                (Some(Value::Array(known)), Value::Array(uris)) => {
                    known.extend(uris);
                    // Remove duplicates, and sort the entries so that the result does not depend on
                    // which server answered first.
                    known.sort_by_key(Value::to_string);
                    known.dedup();
                }
                (Some(_), _) => {}
                (None, told) => drop(self.honoured.insert(kind, told)),
            }
        }
    }

    /// Returns the acknowledgement for the client when all servers have answered; otherwise `None`.
    fn acknowledgement(&mut self) -> Option<ServerEvent> {
        if self.is_acknowledged || !self.waiting.is_empty() {
            return None;
        }
        self.is_acknowledged = true;
        let honoured = Value::Object(self.honoured.clone());
        let id = &self.id;
        let params =
            format!(r#"{{"_meta":{{"{SUBSCRIPTION_ID}":{id}}},"notifications":{honoured}}}"#);
        let method = "notifications/subscriptions/acknowledged";
        let frame = frame::line(frame::notification(method, Some(&params)));
        Some(ServerEvent::message(frame).of(Some(self.key.clone())))
    }
}

/// Determines how a server's notification concerns the client's subscription streams.
pub(crate) fn heard(session: &Session, frame: &[u8], envelope: &Envelope<'_>) -> Heard {
    let mut streams = session.listening.0.lock();
    if streams.is_empty() || envelope.id.is_some() {
        return Heard::Other;
    }
    let params = envelope.params.and_then(object::<Params<'_>>);
    let Some(Params {
        meta: Some(meta),
        notifications,
    }) = params
    else {
        return Heard::Other;
    };
    let Some((ours, key)) = meta
        .get(SUBSCRIPTION_ID)
        .and_then(|id| Some((id, RequestId::of(id)?)))
    else {
        return Heard::Other;
    };
    let mut all = streams.iter_mut();
    let Some(stream) = all.find(|stream| stream.parts.contains_key(&key)) else {
        return Heard::Other;
    };
    let server = stream.parts.get(&key).cloned().unwrap_or_default();
    if envelope.method.as_deref() == Some("notifications/subscriptions/acknowledged") {
        stream.honours(as_shown(session, &server, notifications));
        stream.waiting.remove(&key);
        return Heard::Ours(stream.acknowledgement());
    }
    let mut splice = ByteEdits::default();
    splice.replace(span_in(frame, ours.get()), stream.id.as_str());
    splice.merge(links::told(session, &server, frame, envelope));
    Heard::Of(stream.key.clone(), splice)
}

/// Returns a server's filter with its resource URIs replaced by the client's URIs.
fn as_shown(session: &Session, server: &str, mut filter: Map<String, Value>) -> Map<String, Value> {
    let catalogue = &session.hub().catalogue;
    let uris = filter.get_mut("resourceSubscriptions");
    for uri in uris.and_then(Value::as_array_mut).into_iter().flatten() {
        let shown = uri
            .as_str()
            .and_then(|own| links::shown(catalogue, server, own));
        if let Some(shown) = shown {
            *uri = shown.into();
        }
    }
    filter
}

/// Removes a server's part of a stream. The stream ends when its last part is removed.
async fn ended(session: &Arc<Session>, part: &RequestId, how: RequestResult) {
    let told = {
        let mut streams = session.listening.0.lock();
        let at = streams
            .iter()
            .position(|stream| stream.parts.contains_key(part));
        let Some(at) = at else { return };
        let stream = &mut streams[at];
        let server = stream.parts.remove(part).unwrap_or_default();
        stream.waiting.remove(part);
        tracing::debug!(
            server,
            "a server no longer reports changes of its lists and resources"
        );
        match stream.parts.is_empty() {
            true => {
                let Stream { key, id, .. } = streams.remove(at);
                let frame = match how {
                    Ok(frame) => with_id(frame.in_small(), &id),
                    Err(how) => nobody_answered(&id, LISTEN, &format!("`{server}` {how}")),
                };
                Some(ServerEvent::message(frame).of(Some(key)))
            }
            false => stream.acknowledgement(),
        }
    };
    if let Some(event) = told {
        session.to.take(event).await;
    }
}

/// Ends a stream that the client closed. Returns whether such a stream existed.
pub(crate) async fn withdraw(session: &Arc<Session>, key: &RequestId) -> bool {
    let stream = {
        let mut streams = session.listening.0.lock();
        let at = streams.iter().position(|stream| stream.key == *key);
        at.map(|at| streams.remove(at))
    };
    let Some(stream) = stream else { return false };
    for (part, server) in stream.parts {
        drop(session.in_flight.take(&part));
        let upstream = session.upstreams.named(&server);
        let Some(connection) = upstream.and_then(|upstream| upstream.connection()) else {
            continue;
        };
        connection.abandon(&part).await;
        let reason = Some("nobody listens any more");
        let told = frame::line(frame::cancelled(part.as_json(), reason));
        // An error is ignored: a server that has ended need not be informed.
        drop(
            connection
                .send(Message::notice(
                    told.into(),
                    Some("notifications/cancelled"),
                ))
                .await,
        );
    }
    true
}

/// Returns the subscription for each server: every server reports its lists, but a resource is
/// reported only by the server that owns it, if the owner is known.
async fn wanted(session: &Arc<Session>, question: &Question) -> Vec<(Arc<Upstream>, String)> {
    let all: Map<String, Value> = serde_json::from_str(&question.params).unwrap_or_default();
    let filter = all.get("notifications").and_then(Value::as_object).cloned();
    let filter = filter.unwrap_or_default();
    let uris = filter
        .get("resourceSubscriptions")
        .and_then(Value::as_array);
    let mut owners = Vec::new();
    for uri in uris.into_iter().flatten() {
        let params = json!({"uri": uri, "_meta": all.get("_meta")}).to_string();
        let of_uri = Question {
            params,
            ..question.clone()
        };
        owners.push(match lists::owner(session, &of_uri).await {
            Some((server, Some((_, own)))) => (own.into(), Some(server)),
            other => (uri.clone(), other.map(|(server, _)| server)),
        });
    }
    let mut wanted = Vec::new();
    for upstream in session.upstreams.all().iter() {
        let is_its =
            |owner: &Option<String>| owner.as_deref().is_none_or(|name| name == upstream.name());
        let its: Vec<&Value> = owners
            .iter()
            .filter(|(_, owner)| is_its(owner))
            .map(|(uri, _)| uri)
            .collect();
        let mut filter = filter.clone();
        match its.is_empty() {
            true => drop(filter.remove("resourceSubscriptions")),
            false => drop(filter.insert("resourceSubscriptions".to_owned(), json!(its))),
        }
        if !filter.is_empty() {
            let mut params = all.clone();
            params.insert("notifications".to_owned(), filter.into());
            wanted.push((Arc::clone(upstream), Value::Object(params).to_string()));
        }
    }
    wanted
}
