//! The way of a message to the client that is too large for the memory.

use std::collections::HashMap;
use std::sync::Arc;

use spillgate_mcp::{ByteEdits, Envelope, RequestId};
use spillgate_store::StoreError;
use spillgate_wire::{Frame, Item, Pieces, ServerEvent, Spooled};
use tokio::task::{JoinError, spawn_blocking};

use crate::aggregate;
use crate::builtin_tools::list_changed;
use crate::error::internal;
use crate::intercept::Case;
use crate::request_span::RequestSpan;
use crate::session::Session;
use crate::spooled::intercept_spooled;
use crate::upstream::Upstream;

/// The requests that a message answers.
#[derive(Default)]
struct Answered {
    ids: Vec<String>,
    cases: HashMap<RequestId, Case>,
    of: Option<RequestId>,
    /// Over once the answers are worked on.
    seen: Vec<RequestSpan>,
    /// The gateway itself asked, or has given the answer itself: nobody else
    /// waits.
    is_ours: bool,
}

/// What becomes of a message, and whether one of its results was stored.
type Made = Result<(Pieces, bool), StoreError>;

/// A frame in memory where it is small, as a preview is.
fn held(pieces: Pieces) -> Frame {
    match pieces.in_memory() {
        Ok(bytes) => Frame::Memory(bytes),
        Err(pieces) => Frame::Pieces(pieces),
    }
}

impl Session {
    /// Passes on a message that is too large for the memory.
    pub(crate) async fn large(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        of: Option<RequestId>,
        event: Option<String>,
        spooled: Spooled,
    ) {
        let answered = self.answered_by(upstream, &spooled);
        if answered.is_ours {
            return;
        }
        if self.hub().is_relay() {
            let item = Item::Message(Frame::Spooled(Box::new(spooled)));
            let of = of.or(answered.of);
            return self.to.take(ServerEvent { of, event, item }).await;
        }
        self.intercepted(upstream, answered, of, event, spooled)
            .await;
    }

    /// Passes it on with what is oversized replaced.
    async fn intercepted(
        self: &Arc<Self>,
        upstream: &Upstream,
        answered: Answered,
        of: Option<RequestId>,
        event: Option<String>,
        spooled: Spooled,
    ) {
        let room = self.hub().room(spooled.stand_in().len()).await;
        let (session, server) = (Arc::clone(self), upstream.name().to_owned());
        let has_links = !self.is_solo() && aggregate::may_have_any(spooled.stand_in());
        self.work(async move {
            if has_links {
                aggregate::learn_links(&session).await;
            }
            let turn = session.hub().turn().await;
            let Answered {
                ids,
                cases,
                of: key,
                seen,
                ..
            } = answered;
            let of = of.or(key);
            let offloader = session.hub().gateway().offloader.clone();
            let span = seen.first().map(|seen| seen.span().clone());
            let asks = Arc::clone(&session);
            let rewritten = spawn_blocking(move || {
                let _entered = span.map(tracing::Span::entered);
                let case = |envelope: &Envelope<'_>| cases.get(&envelope.key()?).cloned();
                let links = |frame: &[u8]| match has_links {
                    true => aggregate::in_results(&asks, &server, frame),
                    false => ByteEdits::default(),
                };
                intercept_spooled(&offloader, spooled, &case, &links)
            });
            let rewritten = rewritten.await;
            drop(seen);
            match rewritten {
                Ok(Ok((pieces, stored))) => {
                    if stored {
                        session.own.note_stored();
                    }
                    if session.own.take_announcement() {
                        session.to_client(list_changed()).await;
                    }
                    let item = Item::Message(held(pieces));
                    session.to.take(ServerEvent { of, event, item }).await;
                }
                lost => session.is_lost(ids, lost).await,
            }
            drop((turn, room));
        });
    }

    /// Tells the client that there are no answers to these requests.
    async fn is_lost(&self, ids: Vec<String>, how: Result<Made, JoinError>) {
        if let Ok(Err(error)) = how {
            tracing::warn!(%error, "a large message could not be kept and is lost");
        }
        for id in ids {
            self.to_client(internal(&id)).await;
        }
    }

    fn answered_by(&self, upstream: &Upstream, spooled: &Spooled) -> Answered {
        let mut answered = Answered::default();
        for envelope in spooled.messages().iter().filter(|one| one.is_response()) {
            let Some(key) = envelope.key() else { continue };
            let Some(mut waiting) = self.pending.take(&key) else {
                answered.is_ours |= self.pending.is_given_up(&key);
                continue;
            };
            if let Some(seen) = &mut waiting.seen {
                seen.answered(envelope, spooled.len());
            }
            if let Some(for_us) = waiting.for_us.take() {
                // Lists and greetings are never so large.
                drop(for_us.send(Err("answered with too much".to_owned())));
                answered.is_ours = true;
            }
            answered.of.get_or_insert_with(|| key.clone());
            let gateway = self.hub().gateway();
            if let Some(case) = self.rewriting(&gateway, upstream).case(&waiting) {
                answered.cases.insert(key, case);
            }
            answered.ids.push(waiting.id);
            answered.seen.extend(waiting.seen);
        }
        answered
    }
}
