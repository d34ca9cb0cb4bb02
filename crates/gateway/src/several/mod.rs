//! Several servers behind one client: which of them is meant?
//!
//! Tools, prompts and resources keep their names; what two servers call the
//! same gets its server's name in front. Lists are gathered whole: a client
//! sees one server. Requests of servers are told apart by their ids, which get
//! the server's place in front.

mod greeting;
pub(crate) mod listening;
mod lists;
mod marks;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_wire::{
    Envelope, Frame, Item, Key, LinkError, Parcel, Splice, messages, object, span_in,
};

use bytes::Bytes;

use crate::attempts::Attempts;
use crate::error::{invalid_params, no_message, nobody_answered};
use crate::incoming::Incoming;
use crate::pending::{CallParams, Waiting, asked};
use crate::session::Session;
use crate::upstream::Upstream;

pub(crate) use listening::{Heard, heard};
pub(crate) use lists::Kind;
pub(crate) use marks::mark_request;

/// A request of the client that more than one server may have to answer, taken
/// out of its frame.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) key: Key,
    /// The id as it is spelled.
    pub(crate) id: String,
    pub(crate) method: String,
    /// Its parameters, verbatim; an empty object if it has none.
    pub(crate) params: String,
}

impl Question {
    fn of(envelope: &Envelope<'_>) -> Option<Self> {
        Some(Self {
            key: envelope.key()?,
            id: envelope.id?.get().to_owned(),
            method: envelope.method.as_deref()?.to_owned(),
            params: envelope.params.map_or("{}", RawValue::get).to_owned(),
        })
    }
}

/// The error for what is no message: nobody knows for which server it is.
pub(crate) fn refuse() -> Vec<u8> {
    no_message()
}

/// Brings a message to the servers that it is for.
pub(crate) async fn route(session: &Arc<Session>, envelope: &Envelope<'_>, incoming: &Incoming) {
    if envelope.is_response() {
        return pass_answer(session, envelope, incoming).await;
    }
    let Some(question) = Question::of(envelope) else {
        return pass_notice(session, envelope, incoming).await;
    };
    let named = match &*question.method {
        "tools/call" => Some(lists::Kind::Tools),
        "prompts/get" => Some(lists::Kind::Prompts),
        _ => None,
    };
    if let Some(kind) = named
        && session.hub().catalogue.knows(kind)
    {
        return call(session, kind, envelope, incoming).await;
    }
    let (session, incoming) = (Arc::clone(session), incoming.clone());
    session.arc().work(async move {
        match named {
            Some(kind) => {
                lists::learn(&session, kind, &question).await;
                if let [envelope] = &*messages(&incoming.frame) {
                    call(&session, kind, envelope, &incoming).await;
                }
            }
            None => answer(&session, &question, &incoming).await,
        }
    });
}

/// A server's list has changed: what is known of it does not hold any more.
pub(crate) fn note_change(session: &Session, envelope: &Envelope<'_>) {
    let changed = match envelope.method.as_deref() {
        Some("notifications/tools/list_changed") => &[Kind::Tools][..],
        Some("notifications/prompts/list_changed") => &[Kind::Prompts],
        Some("notifications/resources/list_changed") => &[Kind::Resources, Kind::Templates],
        _ => &[],
    };
    for kind in changed {
        session.hub().catalogue.forget(*kind);
    }
}

/// Answers what more than one server is asked for.
async fn answer(session: &Arc<Session>, question: &Question, incoming: &Incoming) {
    let frame = match &*question.method {
        "initialize" | "server/discover" => greeting::greet(session, question).await,
        "ping" => result_frame(&question.id, "{}"),
        "logging/setLevel" => set_level(session, question).await,
        listening::LISTEN => return listening::begin(session, question).await,
        method => match lists::Kind::of_list(method) {
            Some(kind) => lists::gather(session, kind, question).await,
            None => return try_each(session, question, incoming).await,
        },
    };
    let Some(first) = session.roster.first() else {
        return;
    };
    let waiting = Waiting {
        asked: asked(&question.method, None, None),
        ..Waiting::of_client(&question.id, &question.method)
    };
    let parcel = Parcel {
        of: Some(question.key.clone()),
        event: None,
        item: Item::Message(Frame::Memory(frame.into())),
    };
    let due = session.due(&first, question.key.clone(), waiting);
    session.answered(&first, parcel, due).await;
}

/// A call of something by its name.
async fn call(
    session: &Arc<Session>,
    kind: lists::Kind,
    envelope: &Envelope<'_>,
    incoming: &Incoming,
) {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        name: &'a RawValue,
    }
    let id = envelope.id.map_or("null", RawValue::get);
    let named: Option<Named<'_>> = envelope.params.and_then(object);
    let shown = named
        .as_ref()
        .and_then(|named| serde_json::from_str::<String>(named.name.get()).ok());
    let (Some(named), Some(shown)) = (named, shown) else {
        let what = format!(
            "`{}` needs a `name`",
            envelope.method.as_deref().unwrap_or_default()
        );
        return session.to_client(invalid_params(id, &what)).await;
    };
    let Some((server, name)) = session.hub().catalogue.find(kind, &shown) else {
        let what = format!(
            "no server behind this gateway has {} `{}`",
            kind.noun(),
            shown.escape_debug()
        );
        return session.to_client(invalid_params(id, &what)).await;
    };
    let Some(upstream) = session.roster.named(&server) else {
        let what = format!("the server `{server}` was taken out of the configuration");
        return session.to_client(invalid_params(id, &what)).await;
    };
    let mut frame = incoming.frame.clone();
    if name != shown {
        let mut splice = Splice::default();
        let spelled = serde_json::Value::from(&*name).to_string();
        splice.replace(span_in(&frame, named.name.get()), spelled);
        frame = splice.apply(&frame).into();
    }
    let incoming = Incoming {
        frame: frame.clone(),
        headers: without_name(incoming),
    };
    if let [envelope] = &*messages(&frame) {
        let call = CallParams::of(envelope);
        let call = call.as_ref();
        session.forward(&upstream, &incoming, envelope, call).await;
    }
}

/// The headers but the one that names what is called: the link makes it of the
/// body.
fn without_name(incoming: &Incoming) -> Vec<(String, String)> {
    let headers = incoming
        .headers
        .iter()
        .filter(|(name, _)| name != "mcp-name");
    headers.cloned().collect()
}

async fn pass_notice(session: &Arc<Session>, envelope: &Envelope<'_>, incoming: &Incoming) {
    if let Some((slot, frame)) = marks::progress_of_client(envelope, &incoming.frame) {
        if let Some(upstream) = session.roster.get(slot) {
            let headers = incoming.headers.clone();
            let incoming = Incoming { frame, headers };
            session.pass(&upstream, &incoming, Some(envelope)).await;
        }
        return;
    }
    for upstream in session.roster.all().iter() {
        session.pass(upstream, incoming, Some(envelope)).await;
    }
}

/// The client's answer to a request of a server.
async fn pass_answer(session: &Arc<Session>, envelope: &Envelope<'_>, incoming: &Incoming) {
    let Some((slot, frame)) = marks::unmarked_answer(envelope, &incoming.frame) else {
        // It may have been asked when there was only one.
        if let Some(first) = session.began_with() {
            session.pass(&first, incoming, None).await;
        }
        return;
    };
    if let Some(upstream) = session.roster.get(slot) {
        let headers = incoming.headers.clone();
        let incoming = Incoming { frame, headers };
        session.pass(&upstream, &incoming, None).await;
    }
}

/// Asks all servers the same, at once.
pub(crate) async fn all(
    session: &Arc<Session>,
    question: &Question,
) -> Vec<(Arc<Upstream>, Result<Bytes, LinkError>)> {
    let all = session.roster.all();
    let asked = all.iter().map(|upstream| async move {
        let answer = session
            .ask(upstream, &question.method, &question.params)
            .await;
        (Arc::clone(upstream), answer)
    });
    futures_util::future::join_all(asked).await
}

/// Tells all servers which log messages the client wants; an error if none of
/// them has any.
async fn set_level(session: &Arc<Session>, question: &Question) -> Vec<u8> {
    let mut refused = None;
    for (_, answer) in all(session, question).await {
        let Ok(frame) = answer else { continue };
        if messages(&frame).iter().any(|one| one.result.is_some()) {
            return result_frame(&question.id, "{}");
        }
        refused.get_or_insert_with(|| with_id(&frame, &question.id));
    }
    let silent = || nobody_answered(&question.id, &question.method, "all are silent");
    refused.unwrap_or_else(silent)
}

/// Asks one server after the other until one has an answer; the first error is
/// given otherwise. What it is about tells who comes first.
async fn try_each(session: &Arc<Session>, question: &Question, incoming: &Incoming) {
    let incoming = Incoming {
        frame: lists::named_by_its_server(session, question, &incoming.frame).await,
        headers: without_name(incoming),
    };
    let first = lists::owner(session, question).await;
    let mut order = session.roster.all().to_vec();
    order.sort_by_key(|upstream| first.as_deref() != Some(upstream.name()));
    let attempts = Attempts {
        incoming,
        left: order.iter().map(|upstream| upstream.slot).collect(),
        refused: None,
    };
    Arc::clone(session).attempt(attempts).await;
}

/// An answer to a question of ours as an answer to the client's.
fn with_id(frame: &[u8], id: &str) -> Vec<u8> {
    let mut splice = Splice::default();
    if let [answer] = &*messages(frame)
        && let Some(ours) = answer.id
    {
        splice.replace(span_in(frame, ours.get()), id);
    }
    splice.apply(frame)
}

pub(crate) fn result_frame(id: &str, result: &str) -> Vec<u8> {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n").into_bytes()
}
