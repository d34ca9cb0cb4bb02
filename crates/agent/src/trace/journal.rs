//! Records what a session does while it runs.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use spillgate_artifact::{Clock, Timestamp};
use spillgate_conversation::LeftOut;
use spillgate_extract::{Decided, Op, OpKind, Scope, Span, preview};
use spillgate_llm::{Request, Target};

use super::{Accounting, Setup, TRACE_VERSION, Trace};
use crate::event::{CallId, Planned, Settled};
use crate::report::{Ending, Finished};
use crate::settings::Settings;

/// Describes the session that a journal records.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// The agent's name.
    agent: String,
    /// The beginning of its task.
    task: String,
    task_bytes: u64,
    setup: Setup,
}

impl About {
    /// Describes a session of the agent `agent` with these settings. `models` are asked in this
    /// order.
    #[must_use]
    pub fn new(agent: &str, settings: &Settings, models: Vec<Target>) -> Self {
        let task = &settings.task;
        Self {
            agent: agent.to_owned(),
            task: preview(task).to_owned(),
            task_bytes: task.len() as u64,
            setup: Setup {
                models,
                window: settings.window,
                max_turns: settings.max_turns,
                calls_per_turn: settings.calls_per_turn,
                format: settings.format.name().to_owned(),
                tools: settings.tools.len(),
                retrieval: settings.retrieval.as_ref().map(|tool| tool.name.clone()),
            },
        }
    }
}

/// Everything that a session does, as a tree. Clones are cheap and share the same journal.
#[derive(Debug, Clone)]
pub struct Journal(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    about: About,
    clock: Arc<dyn Clock>,
    started: Timestamp,
    root: Scope,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The operation of the session; `None` once it has ended.
    session: Option<Span>,
    turn: Option<Span>,
    turns: u32,
    /// The calls by turn and id, because ids are unique only within one turn.
    calls: HashMap<(u32, CallId), Scope>,
    /// The batches of the current turn.
    batches: Vec<(CallId, Span)>,
    ended: Option<(Timestamp, Finished)>,
}

impl Journal {
    /// Returns the journal of a session that begins now.
    #[must_use]
    pub fn begin(about: About, clock: Arc<dyn Clock>) -> Self {
        let span = Span::root(OpKind::Agent, &about.agent);
        Self::of(span, about, clock)
    }

    /// Returns the journal of a sub-agent, below the call that runs it. Its operations are part of
    /// the tree and of the account of the calling session.
    #[must_use]
    pub fn within(scope: &Scope, about: About, clock: Arc<dyn Clock>) -> Self {
        let span = scope.begin(OpKind::Agent, &about.agent);
        Self::of(span, about, clock)
    }

    fn of(span: Span, about: About, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            about,
            started: clock.now(),
            clock,
            root: span.scope().clone(),
            state: Mutex::new(State {
                session: Some(span),
                ..State::default()
            }),
        }))
    }

    /// Returns the agent's name.
    pub(crate) fn agent(&self) -> &str {
        &self.0.about.agent
    }

    /// Returns all operations so far, including those that are running.
    #[must_use]
    pub fn snapshot(&self) -> Op {
        self.0.root.snapshot()
    }

    /// Returns the account so far.
    #[must_use]
    pub fn accounting(&self) -> Accounting {
        Accounting::of(&self.snapshot())
    }

    /// Returns the session so far as a document.
    #[must_use]
    pub fn trace(&self) -> Trace {
        let root = self.snapshot();
        let ended = self.state().ended.clone();
        let (ended, finished) = ended.unzip();
        let (ending, report) = finished.map(|it| (it.ending, it.report)).unzip();
        let About {
            agent,
            task,
            task_bytes,
            setup,
        } = self.0.about.clone();
        Trace {
            version: TRACE_VERSION,
            agent,
            task,
            task_bytes,
            setup,
            started: self.0.started,
            ended,
            ending,
            report,
            accounting: Accounting::of(&root),
            root,
        }
    }

    /// Begins the next turn, with a request to the model.
    pub(crate) fn asks(&self, request: &Request) -> Span {
        let mut state = self.state();
        state.batches.drain(..).for_each(|(_, batch)| batch.end());
        if let Some(before) = state.turn.take() {
            before.end();
        }
        state.turns += 1;
        let name = format!("turn {}", state.turns);
        let turn = self.0.root.begin(OpKind::Turn, &name);
        let asks = turn.scope().asks("model", request);
        state.turn = Some(turn);
        asks
    }

    /// Begins a call of the turn.
    pub(crate) fn calls(&self, planned: &Planned) -> Span {
        let mut state = self.state();
        let span = self.tool(&state, &planned.id, &planned.call.name);
        let bytes = planned.call.arguments.len() as u64;
        span.scope().note(|op| op.request_bytes = Some(bytes));
        let key = (state.turns, planned.id.clone());
        state.calls.insert(key, span.scope().clone());
        span
    }

    /// Begins a batch of the turn. Calls within it are recorded below it.
    pub(crate) fn batched(&self, planned: &Planned) {
        let mut state = self.state();
        let span = self.tool(&state, &planned.id, &planned.call.name);
        let bytes = planned.call.arguments.len() as u64;
        span.scope().note(|op| op.request_bytes = Some(bytes));
        state.batches.push((planned.id.clone(), span));
    }

    /// Records that a call of the turn was not made.
    pub(crate) fn refused(&self, id: &CallId, tool: &str, why: &str) {
        let mut state = self.state();
        let span = self.tool(&state, id, tool);
        let key = (state.turns, id.clone());
        state.calls.insert(key, span.scope().clone());
        span.scope().note(|op| op.decided = Some(Decided::Refused));
        span.end_with(Some(preview(why).to_owned()));
    }

    /// Begins the operation of a call: below its batch, its turn or the session.
    fn tool(&self, state: &State, id: &CallId, tool: &str) -> Span {
        let mut batches = state.batches.iter();
        let batch = batches.find(|(batch, _)| id.is_within(batch));
        let above = batch.map(|(_, span)| span).or(state.turn.as_ref());
        let above = above.map_or(&self.0.root, Span::scope);
        above.begin(OpKind::Tool, tool)
    }

    /// Records what the model is shown of a call's result.
    pub(crate) fn settled(&self, id: &CallId, settled: &Settled) {
        let mut state = self.state();
        if settled.decided == Decided::NotMade {
            let span = self.tool(&state, id, &settled.tool);
            let key = (state.turns, id.clone());
            state.calls.insert(key, span.scope().clone());
            span.end();
        }
        if let Some(call) = state.calls.get(&(state.turns, id.clone())) {
            call.note(|op| {
                op.decided = Some(settled.decided);
                op.tokens_shown = Some(settled.tokens);
            });
        }
    }

    /// Records that the text of a call, or of the calls of a batch, was left out of the
    /// conversation.
    pub(crate) fn left_out(&self, left_out: &LeftOut) {
        let (state, id) = (self.state(), CallId::named(&left_out.call_id));
        for ((turn, call), scope) in &state.calls {
            if *turn == left_out.turn && (*call == id || call.is_within(&id)) {
                scope.note(|op| op.left_out = true);
            }
        }
    }

    /// Ends the session.
    pub(crate) fn finished(&self, finished: &Finished) {
        let error = match &finished.ending {
            Ending::Success => None,
            Ending::Failed(why) | Ending::UsedUp(why) => Some(why.clone()),
            Ending::Cancelled => Some("it was cancelled".to_owned()),
            Ending::TimedOut => Some("it took too long".to_owned()),
        };
        let mut state = self.state();
        let is_cut_off = matches!(finished.ending, Ending::Cancelled | Ending::TimedOut);
        if !is_cut_off {
            state.batches.drain(..).for_each(|(_, batch)| batch.end());
        }
        state.batches.clear();
        match state.turn.take() {
            Some(turn) if !is_cut_off => turn.end(),
            turn => drop(turn),
        }
        if let Some(session) = state.session.take() {
            session.end_with(error);
        }
        state.ended = Some((self.0.clock.now(), finished.clone()));
    }

    /// Closes all open operations when the run is dropped. If the session has not ended, it stays
    /// marked as unfinished.
    pub(crate) fn left(&self) {
        let mut state = self.state();
        state.batches.clear();
        state.turn = None;
        state.session = None;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }
}
