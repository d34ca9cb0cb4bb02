//! Receives what servers send, and processes their messages on the way to the client.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use spillgate_mcp::{ByteEdits, Envelope, RequestId, frame, messages, object, span_in};
use spillgate_store::StoreError;
use spillgate_transport::{
    ConnectionError, Connector, Frame, Item, Message, Refusal, ServerEvent, Spooled,
};
use spillgate_upstream::{
    DEFAULT_TIMEOUT, InFlight, Owner, RequestFailure, RequestOutcome, RequestResult, Slot,
    TOO_MUCH, TracePropagator, refused_answer,
};
use tokio::sync::oneshot;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::Instant;

use crate::aggregate::{self, Heard, why};
use crate::builtin_tools::list_changed;
use crate::error::internal;
use crate::gateway::Gateway;
use crate::resources;
use crate::rewrite::Rewriting;
use crate::session::Session;
use crate::session::in_flight::{InFlightRequest, RequestDetails, RequestKind};
use crate::upstream::{Greeted, ServerNotes, Upstream};

/// The requests that a frame answers and whose responses may need edits.
pub(crate) type Due = HashMap<RequestId, InFlightRequest>;

impl Owner for Session {
    type Details = RequestDetails;
    type Notes = ServerNotes;

    fn connector(&self) -> &dyn Connector {
        &*self.connector
    }

    fn in_flight(&self) -> &InFlight<RequestDetails> {
        &self.in_flight
    }

    fn upstream(&self, slot: Slot) -> Option<Arc<Upstream>> {
        self.upstreams.get(slot)
    }

    fn work(&self, task: impl Future<Output = ()> + Send + 'static) {
        Self::work(self, task);
    }

    fn is_closing(&self) -> bool {
        Self::is_closing(self)
    }

    fn traces(&self) -> Option<&dyn TracePropagator> {
        self.hub().traces()
    }

    fn greet_again(
        &self,
        upstream: &Upstream,
        initialize: &Message,
    ) -> (Message, oneshot::Receiver<RequestResult>) {
        self.question_again(upstream, initialize)
    }

    fn greeting_limit(&self, upstream: &Upstream) -> Duration {
        // With several servers, clients do not wait for a slow server, so each may take as long to
        // start as to answer a request.
        match self.is_solo() {
            true => spillgate_upstream::GREETING,
            false => upstream.server.timeout.unwrap_or(DEFAULT_TIMEOUT),
        }
    }

    fn greeted(&self, upstream: &Upstream, initialize: &Message, greeting: Map<String, Value>) {
        if !greeting.is_empty() {
            let mut known = greeting.clone();
            // If the server only repeated the version that this client requested, do not store it
            // as the server's limit.
            if known.get("protocolVersion").and_then(Value::as_str)
                == asked_version(initialize).as_deref()
            {
                known.remove("protocolVersion");
            }
            let memory = self.hub().known();
            memory.learn_greeting(upstream.name(), "initialize", &known);
        }
        let greeted = Greeted::Up(Arc::new(greeting));
        upstream.notes.greeted.send_replace(greeted);
    }

    fn not_opened(&self, upstream: &Upstream, error: &ConnectionError) {
        let failed = Greeted::Failed(why(error));
        upstream.notes.greeted.send_replace(failed);
    }

    async fn received(self: &Arc<Self>, upstream: &Arc<Upstream>, event: ServerEvent) {
        let ServerEvent { of, event, item } = match self.is_solo() {
            true => event,
            // Event ids are unique only within one server, so they are removed if there are
            // several.
            false => ServerEvent {
                event: None,
                ..event
            },
        };
        match item {
            Item::Message(Frame::Memory(frame)) => self.message(upstream, of, event, frame).await,
            Item::Message(Frame::Spooled(spooled)) if spooled.is_sound() => {
                self.large(upstream, of, event, spooled).await;
            }
            item @ Item::Message(Frame::Spooled(_)) => {
                let event = ServerEvent { of, event, item };
                self.unreadable(upstream, event).await;
            }
            // A large notification, which answers no request; a mark; or the end of a stream.
            item => self.to.take(ServerEvent { of, event, item }).await,
        }
    }

    /// Informs the sender of a request that a server refused it at the HTTP level.
    async fn refused(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        of: Option<RequestId>,
        mut waiting: Option<InFlightRequest>,
        refusal: Refusal,
    ) {
        if let Some(waiting) = &mut waiting {
            waiting.end(RequestOutcome::Refused);
            if self.tries_another(waiting, None) {
                return;
            }
            if self.lists_instead(waiting, &refusal.body) {
                return;
            }
        }
        if let Some(for_us) = waiting.and_then(|waiting| waiting.for_us) {
            // The caller may have stopped waiting.
            drop(for_us.send(refused_answer(refusal)));
            return;
        }
        tracing::debug!(
            server = upstream.name(),
            status = refusal.status,
            "a server refused a request"
        );
        let server = Some(upstream.name().to_owned());
        let server_event = ServerEvent {
            of,
            event: None,
            item: Item::Refused(Refusal { server, ..refusal }),
        };
        self.to.take(server_event).await;
    }

    /// Informs the sender of a request that there will be no response.
    async fn unanswered(
        &self,
        upstream: &Upstream,
        mut waiting: InFlightRequest,
        why: RequestFailure,
    ) {
        waiting.end(why.outcome());
        if self.tries_another(&mut waiting, None) {
            return;
        }
        let Some(for_us) = waiting.for_us else {
            let error = why.frame(&waiting.id, upstream.name());
            return self.to_client(error).await;
        };
        // The caller may have stopped waiting.
        drop(for_us.send(Err(why.reason())));
    }
}

impl Session {
    async fn message(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        mut of: Option<RequestId>,
        event: Option<String>,
        frame: Bytes,
    ) {
        let (mut due, mut mapped) = (Due::new(), ByteEdits::default());
        let envelopes = messages(&frame);
        if envelopes.is_empty() {
            let item = Item::Message(Frame::Memory(frame.clone()));
            let server_event = ServerEvent { of, event, item };
            return self.unreadable(upstream, server_event).await;
        }
        for envelope in &envelopes {
            if !envelope.is_response() {
                let changes = self.notified(upstream, &frame, envelope, &mut of);
                let Some(changes) = changes.await else { return };
                mapped.merge(changes);
                of = of.or_else(|| self.reported(envelope));
                continue;
            }
            let is_only = envelopes.len() == 1;
            match self.noted(upstream, &frame, envelope, is_only, &mut due) {
                ControlFlow::Break(()) => return,
                ControlFlow::Continue(key) => of = of.or(key),
            }
        }
        let frame = if mapped.is_empty() {
            frame
        } else {
            for waiting in due.values_mut() {
                waiting.details.result = None;
            }
            mapped.apply(&frame).into()
        };
        self.answered(
            upstream,
            ServerEvent {
                of,
                event,
                item: Item::Message(Frame::Memory(frame)),
            },
            due,
        )
        .await;
    }

    /// Records a response, and returns the client's request to which it belongs. Returns a break if
    /// the client must not receive the frame. `is_only` means that the frame contains no other
    /// message.
    fn noted(
        &self,
        upstream: &Upstream,
        frame: &Bytes,
        envelope: &Envelope<'_>,
        is_only: bool,
        due: &mut Due,
    ) -> ControlFlow<(), Option<RequestId>> {
        let Some(key) = envelope.key() else {
            return ControlFlow::Continue(None);
        };
        let Some(mut waiting) = self.in_flight.take(&key) else {
            if is_only && self.in_flight.is_given_up(&key) {
                tracing::debug!(
                    server = upstream.name(),
                    "a response was dropped: its request was cancelled or timed out"
                );
                return ControlFlow::Break(());
            }
            return ControlFlow::Continue(None);
        };
        waiting.answered(envelope, frame.len() as u64);
        if let Some(for_us) = waiting.for_us {
            // The caller may have stopped waiting.
            drop(for_us.send(Ok(Frame::Memory(frame.clone()))));
            return ControlFlow::Break(());
        }
        if envelope.result.is_none() && self.tries_another(&mut waiting, Some(frame.clone())) {
            return ControlFlow::Break(());
        }
        if envelope.result.is_none() && is_only && self.lists_instead(&waiting, frame) {
            return ControlFlow::Break(());
        }
        if self.may_change(upstream, &mut waiting, frame) {
            let result = envelope.result.map(RawValue::get);
            waiting.details.result = result.map(|result| span_in(frame, result));
            due.insert(key.clone(), waiting);
        } else if let Some(span) = &waiting.span
            && waiting.details.kind.has_result()
        {
            span.passed();
        }
        ControlFlow::Continue(Some(key))
    }

    /// Answers a stateless request for a list of resources if the only server refused it because it
    /// has no resources. Returns whether it was answered.
    fn lists_instead(&self, waiting: &InFlightRequest, refused: &[u8]) -> bool {
        let is_asked = self.is_stateless() && self.is_solo() && waiting.for_us.is_none();
        let list = || resources::listed_instead(&waiting.method, refused);
        let Some(list) = is_asked.then(list).flatten() else {
            return false;
        };
        let frame = frame::line(frame::response(&waiting.id, &list));
        let session = self.arc();
        self.work(async move { session.to_client(frame).await });
        true
    }

    /// Returns the edits to a message other than a response; `None` if it was meant for the
    /// gateway.
    async fn notified(
        &self,
        upstream: &Upstream,
        frame: &Bytes,
        envelope: &Envelope<'_>,
        of: &mut Option<RequestId>,
    ) -> Option<ByteEdits> {
        if self.only().is_some() {
            return Some(ByteEdits::default());
        }
        aggregate::note_change(self, upstream, envelope);
        match aggregate::heard(self, frame, envelope) {
            Heard::Other => {
                let mut splice = aggregate::mark_request(upstream.slot, frame, envelope);
                splice.merge(aggregate::told(self, upstream.name(), frame, envelope));
                Some(splice)
            }
            Heard::Of(stream, splice) => {
                *of = Some(stream);
                Some(splice)
            }
            Heard::Ours(told) => {
                if let Some(server_event) = told {
                    self.to.take(server_event).await;
                }
                None
            }
        }
    }

    /// Returns the client's request whose progress a notification reports.
    fn reported(&self, envelope: &Envelope<'_>) -> Option<RequestId> {
        #[derive(Deserialize)]
        struct Reported<'a> {
            #[serde(borrow, rename = "progressToken")]
            token: &'a RawValue,
        }
        if envelope.method.as_deref() != Some("notifications/progress") {
            return None;
        }
        let reported: Reported<'_> = object(envelope.params?)?;
        self.in_flight
            .progressed(reported.token.get(), Instant::now())
    }

    /// Passes on a message with a value that is too large for memory.
    async fn large(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        mut of: Option<RequestId>,
        event: Option<String>,
        spooled: Box<Spooled>,
    ) {
        let mut due = Due::new();
        let mut is_ours = false;
        for envelope in spooled.messages().iter().filter(|one| one.is_response()) {
            let Some(key) = envelope.key() else { continue };
            let Some(mut waiting) = self.in_flight.take(&key) else {
                is_ours |= self.in_flight.is_given_up(&key);
                continue;
            };
            waiting.answered(envelope, spooled.len());
            if let Some(for_us) = waiting.for_us.take() {
                drop(for_us.send(Err(TOO_MUCH.to_owned())));
                is_ours = true;
            }
            of.get_or_insert_with(|| key.clone());
            due.insert(key, waiting);
        }
        if !is_ours {
            let item = Item::Message(Frame::Spooled(spooled));
            self.answered(upstream, ServerEvent { of, event, item }, due)
                .await;
        }
    }

    /// Sends the client a frame from a server, with the edits that its responses need.
    pub(crate) async fn answered(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        event: ServerEvent,
        due: Due,
    ) {
        let ServerEvent { of, event, item } = event;
        let to_client = |item| ServerEvent { of, event, item };
        let frame = match item {
            Item::Message(frame) if !matches!(frame, Frame::Pieces(_)) => frame,
            item => return self.to.take(to_client(item)).await,
        };
        let has_links = !self.is_solo() && aggregate::may_have_any(frame.in_small());
        if due.is_empty() && (frame.in_memory().is_some() || !has_links) {
            return self.to.take(to_client(Item::Message(frame))).await;
        }
        let room = self.hub().room(frame.in_small().len()).await;
        let (session, upstream) = (Arc::clone(self), Arc::clone(upstream));
        let to_client = |frame| to_client(Item::Message(frame));
        let work = async move {
            if has_links {
                aggregate::learn_links(&session).await;
            }
            let turn = session.hub().turn().await;
            let ids: Vec<String> = due.values().map(|waiting| waiting.id.clone()).collect();
            let (rewriter, original) = (Arc::clone(&session), frame.in_memory().cloned());
            let rewrite = move || rewriter.rewrite(&upstream, frame, &due, has_links);
            let rewritten = spawn_blocking(rewrite).await;
            if session.builtin_tools.take_announcement() {
                session.to_client(list_changed()).await;
            }
            match (rewritten, original) {
                (Ok(Ok(frame)), _) => session.to.take(to_client(frame)).await,
                // If the edits failed, send the server's original frame.
                (_, Some(original)) => session.to.take(to_client(Frame::Memory(original))).await,
                (lost, None) => session.is_lost(ids, lost).await,
            }
            drop((turn, room));
        };
        self.work(work);
    }

    /// Informs the client that these requests get no response.
    async fn is_lost(&self, ids: Vec<String>, how: Result<Result<Frame, StoreError>, JoinError>) {
        if let Ok(Err(error)) = how {
            tracing::warn!(%error, "a large message could not be stored and was dropped");
        }
        for id in ids {
            self.to_client(internal(&id)).await;
        }
    }

    /// Returns the entry of a request whose response is about to be sent, if the response may need
    /// edits.
    pub(crate) fn due(
        &self,
        upstream: &Upstream,
        key: RequestId,
        mut waiting: InFlightRequest,
    ) -> Due {
        let may_change = self.may_change(upstream, &mut waiting, &[]);
        may_change.then_some((key, waiting)).into_iter().collect()
    }

    fn may_change(&self, upstream: &Upstream, waiting: &mut InFlightRequest, frame: &[u8]) -> bool {
        // With several servers, the URIs in the response may have to be mapped.
        let is_mapped = !self.is_solo() && waiting.details.kind != RequestKind::Other;
        if is_mapped && aggregate::may_have_any(frame) {
            return true;
        }
        let gateway = self.gateway();
        self.rewriting(&gateway, upstream)
            .may_change(waiting, frame)
    }

    /// Returns the frame for the client. Fails if a value of the frame is in a file of the store and
    /// the file cannot be read.
    fn rewrite(
        &self,
        upstream: &Upstream,
        frame: Frame,
        due: &Due,
        has_links: bool,
    ) -> Result<Frame, StoreError> {
        let gateway = self.gateway();
        let rewriting = self.rewriting(&gateway, upstream);
        let links = |frame: &[u8]| match has_links {
            true => aggregate::in_results(self, upstream.name(), frame),
            false => ByteEdits::default(),
        };
        let mut asked = due.values().map(|waiting| &waiting.details.kind);
        let is_list = self.is_solo() && asked.any(|kind| *kind == RequestKind::ToolsList);
        let rewritten = match frame {
            Frame::Memory(frame) => {
                let frame = rewriting.rewrite(&frame, due).map_or(frame, Bytes::from);
                let links = links(&frame);
                Frame::Memory(match links.is_empty() {
                    true => frame,
                    false => links.apply(&frame).into(),
                })
            }
            Frame::Spooled(spooled) => rewriting.rewrite_large(*spooled, due, &links)?,
            frame @ Frame::Pieces(_) => frame,
        };
        if is_list {
            self.hub()
                .listed(upstream.name(), self.builtin_tools.known());
        }
        Ok(rewritten)
    }

    /// Returns the inputs that determine the edits to a server's responses.
    pub(crate) fn rewriting<'a>(
        &'a self,
        gateway: &'a Gateway,
        upstream: &'a Upstream,
    ) -> Rewriting<'a> {
        Rewriting {
            offloader: &gateway.offloader,
            server: upstream.name(),
            filter: self.is_solo().then_some(&upstream.server.tools),
            builtin_tools: &self.builtin_tools,
            learnt: &upstream.notes.learnt,
            shown_part: self.client.shown_part(),
            client: self.client.name(),
            catalogue: &self.hub().catalogue,
            tool_search: &gateway.tool_search,
            upstreams: Some(&self.upstreams),
            history: self.known_history(),
        }
    }
}

/// Returns the protocol version that a client requested.
fn asked_version(initialize: &Message) -> Option<String> {
    let all = messages(&initialize.frame);
    let params: Value = serde_json::from_str(all.first()?.params?.get()).ok()?;
    params["protocolVersion"].as_str().map(str::to_owned)
}
