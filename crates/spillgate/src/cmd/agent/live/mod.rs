//! What does a person see of an agent while it works?
//!
//! Turns, calls under way and what became of their results, the model's words as
//! they come, how full its window is, and the cost. All of it on standard error.
//! Replies and words are told as they come ([`Watcher`]); calls are looked up in the
//! tree of operations, which has those of sub-agents and extractions, too.

mod lines;
mod screen;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use indicatif::ProgressBar;
use parking_lot::{Mutex, MutexGuard};
use spillgate_agent::{CallId, Event, Journal, Op, OpKind, Planned, Settled, Status, Watcher};
use spillgate_llm::{Request, Usage};

use super::words::one_line;
pub(super) use lines::decided;
pub(super) use screen::Look;
use screen::Screen;

/// Of what a model says so many bytes are kept: only the end is shown.
const KEPT: usize = 4096;
/// Characters of an agent's name.
const NAME: usize = 40;

/// Shows a person what an agent does; its sub-agents each have one of their own
/// that shares what is seen.
#[derive(Debug)]
pub(super) struct Live {
    shared: Arc<Shared>,
    /// Which agent it is: nothing for the first.
    who: String,
    seen: Mutex<Seen>,
}

/// What all agents of a run share.
#[derive(Debug)]
struct Shared {
    screen: Screen,
    is_verbose: bool,
    /// What is done, from the first agent on.
    journal: OnceLock<Journal>,
    /// Calls by their places in the tree.
    calls: Mutex<HashMap<Vec<usize>, Seeing>>,
    /// Whether something happened since the last look.
    has_changed: AtomicBool,
    /// Turns of the first agent.
    turns: AtomicU32,
}

/// What was seen of one agent.
#[derive(Debug, Default)]
struct Seen {
    turn: u32,
    tokens: u64,
    /// Tokens that the conversation may have.
    limit: u64,
    used: Usage,
    /// What the model says just now.
    said: String,
}

/// A call that was seen.
#[derive(Debug)]
enum Seeing {
    UnderWay(Option<ProgressBar>),
    Told,
}

impl Shared {
    /// Takes a look at an operation and those within it.
    fn look(
        &self,
        op: &Op,
        path: &mut Vec<usize>,
        who: &str,
        calls: &mut HashMap<Vec<usize>, Seeing>,
        is_given_up: bool,
    ) {
        if op.kind == OpKind::Session {
            return; // an extraction's own calls
        }
        let who = match op.kind {
            OpKind::Agent if !path.is_empty() => format!("{who}{}: ", one_line(&op.name, NAME)),
            _ => who.to_owned(),
        };
        if op.kind == OpKind::Tool {
            self.call(op, path, &who, calls, is_given_up);
        }
        // What a call that is over has left unfinished comes to no end of its own.
        let is_given_up = is_given_up || op.kind == OpKind::Tool && !op.unfinished;
        for (at, child) in op.children.iter().enumerate() {
            path.push(at);
            self.look(child, path, &who, calls, is_given_up);
            path.pop();
        }
    }

    fn call(
        &self,
        op: &Op,
        path: &[usize],
        who: &str,
        calls: &mut HashMap<Vec<usize>, Seeing>,
        is_given_up: bool,
    ) {
        let is_over = is_given_up || !op.unfinished && op.decided.is_some();
        match calls.get(path) {
            Some(Seeing::Told) => {}
            Some(Seeing::UnderWay(bar)) if !is_over => {
                if let Some(bar) = bar {
                    bar.set_message(format!("{who}{}", lines::under_way(op)));
                }
            }
            None if !is_over => {
                let bar = self
                    .screen
                    .under_way(format!("{who}{}", lines::under_way(op)));
                calls.insert(path.to_vec(), Seeing::UnderWay(bar));
            }
            _ => {
                let before = calls.insert(path.to_vec(), Seeing::Told);
                if let Some(Seeing::UnderWay(Some(bar))) = before {
                    bar.finish_and_clear();
                }
                self.screen.line(&format!("{who}  {}", lines::came(op)));
            }
        }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<Vec<usize>, Seeing>> {
        self.calls.lock()
    }
}

impl Live {
    /// Of the first agent.
    pub(super) fn new(look: Look, is_verbose: bool) -> Self {
        let shared = Shared {
            screen: Screen::of(look),
            is_verbose,
            journal: OnceLock::new(),
            calls: Mutex::default(),
            has_changed: AtomicBool::new(true),
            turns: AtomicU32::new(0),
        };
        Self {
            shared: Arc::new(shared),
            who: String::new(),
            seen: Mutex::default(),
        }
    }

    /// The same for an agent that this one calls.
    pub(super) fn within(&self, name: &str) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            who: format!("{}{}: ", self.who, one_line(name, NAME)),
            seen: Mutex::default(),
        }
    }

    /// It begins, with a conversation that may have so many tokens; what it does is in
    /// `journal`.
    pub(super) fn begins(&self, limit: u64, journal: &Journal) {
        self.seen().limit = limit;
        // The first agent's has those of all others.
        drop(self.shared.journal.set(journal.clone()));
    }

    /// Whether there is something to see: on a pipe only what happened.
    pub(super) fn is_to_look(&self) -> bool {
        let has_changed = self.shared.has_changed.swap(false, Ordering::SeqCst);
        match self.shared.screen {
            Screen::Moving { .. } => true,
            Screen::Lines => has_changed,
            Screen::Nothing => false,
        }
    }

    /// In which turn the first agent is.
    pub(super) fn turn(&self) -> u32 {
        self.shared.turns.load(Ordering::SeqCst)
    }

    /// Takes a look at what is done: `root` is the first agent.
    pub(super) fn look(&self, root: &Op) {
        let mut calls = self.shared.calls();
        self.shared
            .look(root, &mut Vec::new(), "", &mut calls, false);
        drop(calls);
        if !self.is_first() {
            return;
        }
        let mut seen = self.seen();
        if let Some(tokens) = tokens_of(root) {
            seen.tokens = tokens;
        }
        self.show_state(&seen);
    }

    /// It is over: nothing moves any more.
    pub(super) fn end(&self) {
        if !self.is_first() {
            return;
        }
        for call in self.shared.calls().values_mut() {
            if let Seeing::UnderWay(bar) = call
                && let Some(bar) = bar.take()
            {
                bar.finish_and_clear();
            }
        }
        self.shared.screen.end();
    }

    fn is_first(&self) -> bool {
        self.who.is_empty()
    }

    fn end_of_words(&self, seen: &mut Seen) {
        seen.said.clear();
        self.shared.screen.words("");
        self.show_state(seen);
    }

    fn show_state(&self, seen: &Seen) {
        if self.is_first() {
            let state = lines::state(seen.turn, seen.tokens, seen.limit, &seen.used);
            self.shared.screen.state(state);
        }
    }

    fn line(&self, line: &str) {
        self.shared.screen.line(&format!("{}{line}", self.who));
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock()
    }
}

impl Watcher for Live {
    fn happened(&self, event: &Event) {
        self.shared.has_changed.store(true, Ordering::SeqCst);
        let Event::Replied(reply) = event else {
            return;
        };
        let mut seen = self.seen();
        if let Ok(reply) = reply {
            seen.used += reply.usage;
        }
        self.end_of_words(&mut seen);
        let line = match reply {
            Ok(reply) => lines::replied(seen.turn, reply),
            Err(error) => lines::unanswered(seen.turn, &error.to_string()),
        };
        self.line(&line);
    }

    fn asks(&self, _: &Request) {
        // What came of the calls before stands above the next turn.
        if let Some(journal) = self.shared.journal.get()
            && !matches!(self.shared.screen, Screen::Nothing)
        {
            self.look(&journal.snapshot());
        }
        if self.is_first() {
            self.shared.turns.fetch_add(1, Ordering::SeqCst);
        }
        let mut seen = self.seen();
        seen.turn += 1;
        self.end_of_words(&mut seen);
    }

    fn calls(&self, planned: &Planned) {
        let line = lines::called(&planned.call, self.shared.is_verbose);
        self.line(&format!("  {line}"));
    }

    fn settled(&self, _: &CallId, _: &Settled) {
        // After the event, by which a look may have come.
        self.shared.has_changed.store(true, Ordering::SeqCst);
    }

    fn status(&self, status: &Status) {
        self.line(&lines::status(status));
    }

    fn delta(&self, text: &str) {
        let mut seen = self.seen();
        seen.said.push_str(text);
        if seen.said.len() > 2 * KEPT {
            let from = seen.said.ceil_char_boundary(seen.said.len() - KEPT);
            seen.said.drain(..from);
        }
        self.shared.screen.words(&seen.said);
    }
}

impl Drop for Live {
    /// Also where its run was dropped.
    fn drop(&mut self) {
        self.end();
    }
}

/// Tokens of the conversation of an agent: what its model counted last, and what
/// came since.
fn tokens_of(agent: &Op) -> Option<u64> {
    let turns = agent.children.iter().filter(|op| op.kind == OpKind::Turn);
    let mut turns: Vec<&Op> = turns.collect();
    while let Some(turn) = turns.pop() {
        let asked = turn.children.iter().find(|op| op.kind == OpKind::Llm);
        if let Some(usage) = asked.and_then(|op| op.usage) {
            let shown = turn.children.iter().filter_map(|op| op.tokens_shown);
            let asked = usage.input.saturating_add(usage.output);
            return Some(shown.fold(asked, u64::saturating_add));
        }
    }
    None
}
