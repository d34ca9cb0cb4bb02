//! The live view of a running agent, on standard error.
//!
//! It shows turns, running calls, decisions about their results, the model's text as it arrives,
//! how full the context window is, and the cost. Replies and their text arrive as events
//! ([`Watcher`]). Calls are read from the tree of operations, because it also contains the calls of
//! sub-agents and extractions.

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
use crate::marks::redacted;
pub(super) use lines::decided;
pub(super) use screen::Look;
use screen::Screen;

/// Maximum bytes of the model's text that are held, because only its end is shown.
const KEPT: usize = 4096;
/// Maximum length of an agent's name, in characters.
const NAME: usize = 40;

/// The live view of one agent. Each sub-agent has one of its own; all of them share the screen.
#[derive(Debug)]
pub(super) struct Live {
    shared: Arc<Shared>,
    /// Prefix that names the agent; empty for the main agent.
    who: String,
    seen: Mutex<Seen>,
}

/// The state that the views of all agents of a run share.
#[derive(Debug)]
struct Shared {
    screen: Screen,
    is_verbose: bool,
    /// The operations of the run, from the main agent on.
    journal: OnceLock<Journal>,
    /// Calls by their paths in the tree.
    calls: Mutex<HashMap<Vec<usize>, Seeing>>,
    /// Whether something happened since the last update.
    has_changed: AtomicBool,
    /// Turns of the main agent.
    turns: AtomicU32,
}

/// The figures and the text of one agent that the view shows.
#[derive(Debug, Default)]
struct Seen {
    turn: u32,
    tokens: u64,
    /// Maximum tokens of the conversation.
    limit: u64,
    used: Usage,
    /// The end of the text that the model has written in this reply so far.
    said: String,
}

/// How a call is shown.
#[derive(Debug)]
enum Seeing {
    UnderWay(Option<ProgressBar>),
    Told,
}

impl Shared {
    /// Updates the view of an operation and of those within it.
    fn look(
        &self,
        op: &Op,
        path: &mut Vec<usize>,
        who: &str,
        calls: &mut HashMap<Vec<usize>, Seeing>,
        is_given_up: bool,
    ) {
        if op.kind == OpKind::Session {
            return; // the calls within an extraction are not shown
        }
        let who = match op.kind {
            OpKind::Agent if !path.is_empty() => format!("{who}{}: ", one_line(&op.name, NAME)),
            _ => who.to_owned(),
        };
        if op.kind == OpKind::Tool {
            self.call(op, path, &who, calls, is_given_up);
        }
        // After a tool call has ended, the operations within it that are still unfinished were
        // abandoned.
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
        let under_way = || {
            let text = format!("{who}{}", lines::under_way(op));
            redacted(&text).into_owned()
        };
        match calls.get(path) {
            Some(Seeing::Told) => {}
            Some(Seeing::UnderWay(bar)) if !is_over => {
                if let Some(bar) = bar {
                    bar.set_message(under_way());
                }
            }
            None if !is_over => {
                let bar = self.screen.under_way(under_way());
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
    /// Creates the view of the main agent.
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

    /// Creates the view of a sub-agent that this agent calls.
    pub(super) fn within(&self, name: &str) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            who: format!("{}{}: ", self.who, one_line(name, NAME)),
            seen: Mutex::default(),
        }
    }

    /// Records that the agent begins. Its conversation is limited to `limit` tokens; `journal`
    /// records what the agent does.
    pub(super) fn begins(&self, limit: u64, journal: &Journal) {
        self.seen().limit = limit;
        // Only the first call sets the journal, because the main agent's journal covers all agents.
        drop(self.shared.journal.set(journal.clone()));
    }

    /// Returns whether an update can show anything new. If nothing moves ([`Look::Lines`]), it can
    /// do so only after an event.
    pub(super) fn is_to_look(&self) -> bool {
        let has_changed = self.shared.has_changed.swap(false, Ordering::SeqCst);
        match self.shared.screen {
            Screen::Moving { .. } => true,
            Screen::Lines => has_changed,
            Screen::Nothing => false,
        }
    }

    /// Returns the current turn of the main agent.
    pub(super) fn turn(&self) -> u32 {
        self.shared.turns.load(Ordering::SeqCst)
    }

    /// Updates the view; `root` is the operation of the main agent.
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

    /// Removes all moving parts, because the agent has ended.
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
        // The outcomes of earlier calls must be printed above the next turn.
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
        // The flag is set again after the event, because an update may have cleared it in between.
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
    /// Ends the view even when the run is dropped.
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns the tokens of an agent's conversation: the last count of its model, plus the tokens of
/// the results shown since then.
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
