//! Does what a session wants done.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use spillgate_llm::{ChatModel, OnDelta, Request};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::event::{Abort, Effect, Event, Status};
use crate::orchestrator::Orchestrator;
use crate::report::Finished;
use crate::session::Session;

/// Who is told what goes on while a session runs.
pub trait Watcher: Send + Sync {
    /// Something happened.
    fn happened(&self, event: &Event);
    /// The model is asked.
    fn asks(&self, request: &Request);
    /// The model tells how far it is.
    fn status(&self, status: &Status);
    /// The text of the model's reply, while it comes.
    fn delta(&self, text: &str);
}

/// Nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWatcher;

impl Watcher for NoWatcher {
    fn happened(&self, _: &Event) {}
    fn asks(&self, _: &Request) {}
    fn status(&self, _: &Status) {}
    fn delta(&self, _: &str) {}
}

struct Deltas<'a>(&'a dyn Watcher);

impl OnDelta for Deltas<'_> {
    fn text(&self, more: &str) {
        self.0.delta(more);
    }
}

/// When a session has to end.
#[derive(Debug, Clone)]
pub struct Until {
    /// So long after its start.
    pub timeout: Option<Duration>,
    /// When this becomes true, or its sender goes.
    pub cancelled: Option<watch::Receiver<bool>>,
}

impl Until {
    async fn over(self) -> Abort {
        let timed_out = async {
            match self.timeout {
                Some(timeout) => sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        let cancelled = async {
            match self.cancelled {
                Some(mut cancelled) => {
                    let _gone = cancelled.wait_for(|cancelled| *cancelled).await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = timed_out => Abort::TimedOut,
            () = cancelled => Abort::Cancelled,
        }
    }
}

/// Runs a session to its end. What is under way when it ends is dropped, and so
/// cancelled.
pub async fn run(
    mut session: Session,
    model: &dyn ChatModel,
    orchestrator: &Orchestrator,
    watcher: &dyn Watcher,
    until: Until,
) -> (Finished, Session) {
    let deltas = Deltas(watcher);
    let mut doing: FuturesUnordered<BoxFuture<'_, Event>> = FuturesUnordered::new();
    doing.push(Box::pin(async { Event::Ended(until.over().await) }));
    let mut event = Event::Start;
    loop {
        watcher.happened(&event);
        for effect in session.step(event) {
            match effect {
                Effect::Ask(request) => {
                    watcher.asks(&request);
                    let deltas = &deltas;
                    doing.push(Box::pin(async move {
                        Event::Replied(model.chat(&request, deltas).await)
                    }));
                }
                Effect::Call(planned) => doing.push(Box::pin(async move {
                    let returned = orchestrator.call(&planned).await;
                    Event::Returned(planned.id, returned)
                })),
                Effect::Store(id, reason) => doing.push(Box::pin(async move {
                    let kept = orchestrator.store(&id, reason).await;
                    Event::Kept(id, kept)
                })),
                Effect::Release(id) => orchestrator.release(&id),
                Effect::Status(status) => watcher.status(&status),
                Effect::Finish(finished) => return (*finished, session),
            }
        }
        event = match doing.next().await {
            Some(event) => event,
            None => Event::Ended(Abort::Cancelled),
        };
    }
}
