//! Runs a session: carries out the effects that the session returns.

use std::future::ready;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use spillgate_llm::{ChatModel, OnDelta, Request};
use spillgate_untrusted::line;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, field};

use crate::allowance::Share;
use crate::event::{Abort, CallId, Effect, Event, Planned, Settled, Status};
use crate::orchestrator::Orchestrator;
use crate::report::{Ending, Finished};
use crate::session::Session;
use crate::trace::Journal;

/// Maximum length of a tool's name in a span, in characters. A model can write any name.
const MOST_NAME: usize = 100;

/// Observes a session while it runs.
pub trait Watcher: Send + Sync {
    /// An event occurred.
    fn happened(&self, event: &Event);
    /// The model is asked.
    fn asks(&self, request: &Request);
    /// The model reported its progress.
    fn status(&self, status: &Status);
    /// More text of the model's reply arrived.
    fn delta(&self, text: &str);
    /// A tool is called.
    fn calls(&self, planned: &Planned) {
        let _ = planned;
    }
    /// The session decided what the model is shown of a call's result.
    fn settled(&self, id: &CallId, settled: &Settled) {
        let _ = (id, settled);
    }
}

/// A watcher that ignores everything.
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

/// The conditions that end a session early.
#[derive(Debug, Clone, Default)]
pub struct Until {
    /// The session ends this long after its start.
    pub timeout: Option<Duration>,
    /// The session ends when this is cancelled.
    pub cancelled: Option<CancellationToken>,
    /// The session ends when this allowance is used up: the first agent after one more turn, other
    /// agents before their next request.
    pub share: Option<Share>,
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
                Some(cancelled) => {
                    cancelled.cancelled().await;
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

/// Releases all results that are held for a session. This happens on drop, and therefore however
/// the session ends.
struct Leaving<'a>(&'a Journal, &'a Orchestrator);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.left();
        self.1.let_go();
    }
}

/// Takes one request from the allowance of the run and returns whether there was one. If not, tells
/// the session why.
fn may_ask(session: &mut Session, share: Option<&Share>) -> bool {
    let taken = share.map(|share| share.allowance.take(session.is_concluded()));
    if let Some(Err(why)) = taken {
        session.conclude(&why);
        return false;
    }
    true
}

/// Returns the span of a call.
fn tool_span(planned: &Planned) -> tracing::Span {
    let name = line(&planned.call.name, MOST_NAME);
    tracing::info_span!(
        "execute_tool",
        otel.name = format!("execute_tool {name}"),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = name,
    )
}

/// Records in the journal the effects that report what happened to calls, and passes a status on to
/// the watcher. Ignores all other effects.
fn write_down(effect: &Effect, journal: &Journal, watcher: &dyn Watcher) {
    match effect {
        Effect::Settled(id, settled) => {
            journal.settled(id, settled);
            watcher.settled(id, settled);
        }
        Effect::Refused { id, tool, why } => journal.refused(id, tool, why),
        Effect::Batched(planned) => journal.batched(planned),
        Effect::LeftOut(left_out) => journal.left_out(left_out),
        Effect::Status(status) => watcher.status(status),
        _ => {}
    }
}

/// If this is the session of the first agent and the allowance of the run is used up, tells the
/// session so.
fn conclude(session: &mut Session, share: Option<&Share>) {
    let first = share.filter(|share| share.is_first);
    if let Some(why) = first.and_then(|share| share.allowance.used_up()) {
        session.conclude(&why);
    }
}

/// Runs a session to its end. Operations still in progress at the end are dropped, which cancels
/// them. Dropping this future cancels the session in the same way.
pub async fn run(
    session: Session,
    model: &dyn ChatModel,
    orchestrator: &Orchestrator,
    journal: &Journal,
    watcher: &dyn Watcher,
    until: Until,
) -> (Finished, Session) {
    let name = journal.agent();
    // The names are those of OpenTelemetry's conventions for generative AI.
    let span = tracing::info_span!(
        "invoke_agent",
        otel.name = format!("invoke_agent {name}"),
        otel.status_code = field::Empty,
        "error.type" = field::Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = name,
    );
    let (finished, session) = run_to_its_end(session, model, orchestrator, journal, watcher, until)
        .instrument(span.clone())
        .await;
    let error = match &finished.ending {
        Ending::Success => None,
        Ending::Failed(_) => Some("failed"),
        Ending::Cancelled => Some("cancelled"),
        Ending::TimedOut => Some("timed_out"),
        Ending::UsedUp(_) => Some("used_up"),
    };
    if let Some(error) = error {
        span.record("error.type", error);
        span.record("otel.status_code", "ERROR");
    }
    (finished, session)
}

async fn run_to_its_end(
    mut session: Session,
    model: &dyn ChatModel,
    orchestrator: &Orchestrator,
    journal: &Journal,
    watcher: &dyn Watcher,
    until: Until,
) -> (Finished, Session) {
    // Declared first, so that it is dropped after the operations in progress.
    let _leaving = Leaving(journal, orchestrator);
    let deltas = Deltas(watcher);
    let share = until.share.clone();
    let mut doing: FuturesUnordered<BoxFuture<'_, Event>> = FuturesUnordered::new();
    doing.push(Box::pin(async { Event::Ended(until.over().await) }));
    let mut event = Event::Start;
    loop {
        watcher.happened(&event);
        conclude(&mut session, share.as_ref());
        for effect in session.step(event) {
            match effect {
                Effect::Ask(request) => {
                    if !may_ask(&mut session, share.as_ref()) {
                        doing.push(Box::pin(ready(Event::Ended(Abort::UsedUp))));
                        continue;
                    }
                    watcher.asks(&request);
                    let (span, deltas, share) = (journal.asks(&request), &deltas, share.clone());
                    doing.push(Box::pin(async move {
                        let reply = model.chat(&request, deltas).await;
                        if let (Some(share), Ok(reply)) = (&share, &reply) {
                            share.allowance.add(reply.usage);
                        }
                        span.replied(&reply, None);
                        Event::Replied(reply)
                    }));
                }
                Effect::Call(planned) => {
                    watcher.calls(&planned);
                    let span = journal.calls(&planned);
                    doing.push(Box::pin(async move {
                        let call = orchestrator.call(&planned, span.scope());
                        let returned = call.instrument(tool_span(&planned)).await;
                        span.end();
                        Event::Returned(planned.id, returned)
                    }));
                }
                Effect::Store(id, reason) => doing.push(Box::pin(async move {
                    let kept = orchestrator.store(&id, reason).await;
                    Event::Kept(id, kept)
                })),
                Effect::Release(id) => orchestrator.release(&id),
                Effect::Finish(finished) => {
                    journal.finished(&finished);
                    return (*finished, session);
                }
                noted => write_down(&noted, journal, watcher),
            }
        }
        event = doing.next().await.unwrap_or(Event::Ended(Abort::Cancelled));
    }
}
