//! Presents several servers to a client as one server.
//!
//! Tools, prompts and resources keep their names. If two servers use the same name, the server's
//! name becomes a prefix of it. The client receives one complete list of each kind. The ids of
//! requests from servers begin with the server's slot, so that they stay distinct. A slow or silent
//! server delays only requests that need it.

pub(crate) mod index;

mod client;
mod faults;
mod fetch;
mod greeting;
mod known;
mod links;
pub(crate) mod listening;
mod lists;
mod marks;
mod names;
mod outbox;
mod standing;

use std::sync::Arc;

use futures_util::FutureExt;
use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_transport::{Frame, Item, ServerEvent};

use crate::error::no_message;
use crate::session::Session;
use crate::session::asked_mode;
use crate::session::attempts::Attempts;
use crate::session::in_flight::{CallParams, InFlightRequest, RequestDetails, asked};
use crate::session::incoming::Incoming;
use crate::upstream::{Upstream, is_out};
use spillgate_mcp::{
    ByteEdits, Envelope, Generation, ObjectView, RequestId, frame, messages, object, span_in,
};
use spillgate_offload::ResultMode;
use spillgate_upstream::invalid_params;

pub(crate) use client::{SessionKind, Told};
pub(crate) use faults::{plain, why};
pub(crate) use fetch::Fetches;
pub(crate) use known::Known;
pub(crate) use links::{in_results, learn as learn_links, may_have_any, told};
pub(crate) use listening::{Heard, heard};
pub(crate) use lists::{Kind, all_tools};
pub(crate) use marks::mark_request;
pub(crate) use names::prefixed;
pub(crate) use outbox::{Lane, Outbox};
pub(crate) use standing::Standing;

/// A client's request that may concern more than one server, copied from its frame.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) key: RequestId,
    /// The exact text of the id.
    pub(crate) id: String,
    pub(crate) method: String,
    /// The exact text of the parameters; an empty object if there are none.
    pub(crate) params: String,
    /// What the request says about its result.
    pub(crate) results: Option<ResultMode>,
}

impl Question {
    /// Returns a request of the gateway itself. Only its parameters are used.
    fn of_ours(params: &str) -> Self {
        Self {
            key: RequestId::number(0),
            id: "0".to_owned(),
            method: String::new(),
            params: params.to_owned(),
            results: None,
        }
    }

    fn of(envelope: &Envelope<'_>, headers: &[(String, String)]) -> Option<Self> {
        Some(Self {
            results: asked_mode::of(envelope, None, headers).unwrap_or_default(),
            key: envelope.key()?,
            id: envelope.id?.get().to_owned(),
            method: envelope.method.as_deref()?.to_owned(),
            params: envelope.params.map_or("{}", RawValue::get).to_owned(),
        })
    }
}

/// Returns the error for input that is not a message, because no server can be chosen for it.
pub(crate) fn refuse() -> Vec<u8> {
    no_message()
}

/// Sends a message to the servers that it is meant for.
pub(crate) async fn route(session: &Arc<Session>, envelope: &Envelope<'_>, incoming: &Incoming) {
    if envelope.is_response() {
        return pass_answer(session, envelope, incoming);
    }
    let Some(question) = Question::of(envelope, &incoming.headers) else {
        return pass_notice(session, envelope, incoming).await;
    };
    note_meta(session, envelope);
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

/// Stores the `_meta` of modern requests, because the gateway's own requests also need it.
fn note_meta(session: &Session, envelope: &Envelope<'_>) {
    if session.said.lock().meta.is_none() && Generation::of(envelope.params) == Generation::Modern {
        let meta = envelope.params.and_then(ObjectView::of);
        let meta = meta.and_then(|params| params.get("_meta"));
        let meta = meta.and_then(ObjectView::of);
        let meta = meta.map(|meta| meta.written(&["progressToken"], &[]));
        session.said.lock().meta = meta;
    }
}

/// Discards what is known of a server's list, because the list has changed.
pub(crate) fn note_change(session: &Session, upstream: &Upstream, envelope: &Envelope<'_>) {
    let changed = match envelope.method.as_deref() {
        Some("notifications/tools/list_changed") => &[Kind::Tools][..],
        Some("notifications/prompts/list_changed") => &[Kind::Prompts],
        Some("notifications/resources/list_changed") => &[Kind::Resources, Kind::Templates],
        _ => &[],
    };
    for kind in changed {
        session.hub().catalogue.forget(*kind);
        upstream.notes.fetches.forget(*kind);
    }
}

/// Answers a request that concerns more than one server.
async fn answer(session: &Arc<Session>, question: &Question, incoming: &Incoming) {
    let frame = match &*question.method {
        "initialize" => greeting::initialize(session, question).await,
        "server/discover" => greeting::discover(session, question).await,
        "ping" => frame::line(frame::response(&question.id, "{}")),
        "logging/setLevel" => set_level(session, question),
        listening::LISTEN => return listening::begin(session, question).await,
        method => match lists::Kind::of_list(method) {
            Some(kind) => lists::gather(session, kind, question).await,
            None => return try_each(session, question, incoming).await,
        },
    };
    if matches!(&*question.method, "tools/list" | "server/discover") {
        session.tell_faults_with(question).await;
    }
    let Some(first) = session.upstreams.first() else {
        return;
    };
    let details = RequestDetails {
        results: question.results,
        ..asked(&question.method, None, None).into()
    };
    let waiting = InFlightRequest::new(&question.id, &question.method, first.slot, details);
    let event = ServerEvent {
        of: Some(question.key.clone()),
        event: None,
        item: Item::Message(Frame::Memory(frame.into())),
    };
    let due = session.due(&first, question.key.clone(), waiting);
    session.answered(&first, event, due).await;
}

/// Forwards a call of a tool or a prompt to the server that owns its name.
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
        let what = unknown(session, kind, &shown);
        return session.to_client(invalid_params(id, &what)).await;
    };
    let Some(upstream) = session.upstreams.named(&server) else {
        let what = format!("the server `{server}` was taken out of the configuration");
        return session.to_client(invalid_params(id, &what)).await;
    };
    let mut frame = incoming.frame.clone();
    if name != shown {
        let mut splice = ByteEdits::default();
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
        session.expect(&upstream, envelope, call.as_ref(), &incoming.headers);
        session.post(&upstream, Lane::Messages, &incoming);
    }
}

/// Returns the error text for an unknown name. It lists similar names, because the name may have
/// changed since. If there are none, it lists the unavailable servers, because one of them may own
/// the name.
fn unknown(session: &Arc<Session>, kind: lists::Kind, shown: &str) -> String {
    let noun = kind.noun();
    let name = faults::plain(shown, 128);
    let similar = session.hub().catalogue.similar(kind, shown);
    let mut what = match &*similar {
        [] => format!("no server behind this gateway has the {noun} `{name}`"),
        [only] => format!("no {noun} `{name}`; there is {only}"),
        [all @ .., last] => format!(
            "no {noun} `{name}`; there are {} and {last}",
            all.join(", ")
        ),
    };
    let asker = session.asker();
    let all = asker.upstreams.all();
    let missing = all
        .iter()
        .filter(|one| one.notes.standing.fault().is_some());
    let missing: Vec<String> = missing.map(|one| format!("`{}`", one.name())).collect();
    if similar.is_empty() && !missing.is_empty() {
        what.push_str("; not available now: ");
        what.push_str(&missing.join(", "));
    }
    what
}

/// Returns the headers without `mcp-name`. This header contains the name that is called, and the
/// connection derives it from the body.
fn without_name(incoming: &Incoming) -> Vec<(String, String)> {
    let headers = incoming
        .headers
        .iter()
        .filter(|(name, _)| name != "mcp-name");
    headers.cloned().collect()
}

async fn pass_notice(session: &Arc<Session>, envelope: &Envelope<'_>, incoming: &Incoming) {
    if let Some((slot, frame)) = marks::progress_of_client(envelope, &incoming.frame) {
        if let Some(upstream) = session.upstreams.get(slot) {
            let headers = incoming.headers.clone();
            session.post(&upstream, Lane::Messages, &Incoming { frame, headers });
        }
        return;
    }
    for upstream in session.upstreams.all().iter() {
        session.post(upstream, Lane::Messages, incoming);
    }
    if envelope.method.as_deref() == Some("notifications/initialized") {
        session.is_ready_to_hear().await;
    }
}

/// Forwards the client's response to a server's request.
fn pass_answer(session: &Arc<Session>, envelope: &Envelope<'_>, incoming: &Incoming) {
    let Some((slot, frame)) = marks::unmarked_answer(envelope, &incoming.frame) else {
        // The server may have sent the request while it was the only server. The id of the request
        // is then not marked.
        if let Some(first) = session.began_with() {
            session.post(&first, Lane::Answers, incoming);
        }
        return;
    };
    if let Some(upstream) = session.upstreams.get(slot) {
        let headers = incoming.headers.clone();
        session.post(&upstream, Lane::Answers, &Incoming { frame, headers });
    }
}

/// Stores the client's log level and sends it to all servers, including those that are still
/// starting.
fn set_level(session: &Arc<Session>, question: &Question) -> Vec<u8> {
    let params: serde_json::Value = serde_json::from_str(&question.params).unwrap_or_default();
    let level = params["level"]
        .as_str()
        .filter(|level| faults::is_level(level));
    let Some(level) = level else {
        return invalid_params(&question.id, "there is no such `level` of log messages");
    };
    session.said.lock().level = Some(level.to_owned());
    for upstream in session.upstreams.all().iter() {
        let (asks, of, told) = (Arc::clone(session), Arc::clone(upstream), question.clone());
        let mut told = async move {
            // An error is ignored, because servers without logging refuse the request.
            drop(asks.ask(&of, &told.method, &told.params).await);
        }
        .boxed();
        if (&mut told).now_or_never().is_none() {
            tokio::spawn(told);
        }
    }
    frame::line(frame::response(&question.id, "{}"))
}

/// Sends a request to one server after another until one succeeds; otherwise returns the first
/// error. The server that the request is meant for comes first. Servers that are unlikely to answer
/// are skipped.
async fn try_each(session: &Arc<Session>, question: &Question, incoming: &Incoming) {
    let mut incoming = Incoming {
        frame: lists::named_by_its_server(session, question, &incoming.frame).await,
        headers: without_name(incoming),
    };
    let (first, own) = lists::owner(session, question).await.unzip();
    let is_first = |upstream: &Arc<Upstream>| first.as_deref() == Some(upstream.name());
    // A URI with a server prefix concerns this server only.
    let is_named = own.flatten().is_some_and(|(shown, own)| {
        incoming.frame = links::readdressed(&incoming.frame, &own);
        shown != own
    });
    let asker = session.asker();
    let is_out = |upstream: &Arc<Upstream>| {
        let watched = asker.upstreams.named(upstream.name());
        watched.is_some_and(|watched| is_out(&watched)) || is_out(upstream)
    };
    let all = session.upstreams.all();
    let mut order: Vec<_> = all
        .iter()
        .filter(|one| is_first(one) || !is_named && !is_out(one))
        .collect();
    order.sort_by_key(|upstream| !is_first(upstream));
    let attempts = Attempts {
        incoming,
        left: order.iter().map(|upstream| upstream.slot).collect(),
        refused: None,
    };
    Arc::clone(session).attempt(attempts).await;
}

/// Replaces the id in a response to our own request by the id of the client's request.
fn with_id(frame: &[u8], id: &str) -> Vec<u8> {
    let mut splice = ByteEdits::default();
    if let [answer] = &*messages(frame)
        && let Some(ours) = answer.id
    {
        splice.replace(span_in(frame, ours.get()), id);
    }
    splice.apply(frame)
}
