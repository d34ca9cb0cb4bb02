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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indicatif::ProgressBar;
use spillgate_agent::{Event, Op, OpKind, Planned, Status, Watcher};
use spillgate_llm::{Reply, Request, Usage};

use super::words::one_line;
pub(super) use lines::decided;
pub(super) use screen::Look;
use screen::Screen;

/// Of what a model says so many bytes are kept: only the end is shown.
const KEPT: usize = 4096;

/// Shows a person what an agent does; its sub-agents each have one of their own
/// that shares the screen.
#[derive(Debug)]
pub(super) struct Live {
    screen: Arc<Screen>,
    is_verbose: bool,
    /// Which agent it is: nothing for the first.
    who: String,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    turn: u32,
    tokens: u64,
    /// Tokens that the conversation may have.
    limit: u64,
    used: Usage,
    /// What the model says just now.
    said: String,
    /// Calls by their places in the tree.
    calls: HashMap<Vec<usize>, Seeing>,
}

/// A call that was seen.
#[derive(Debug)]
enum Seeing {
    UnderWay(Option<ProgressBar>),
    Told,
}

impl Live {
    /// Of the first agent.
    pub(super) fn new(look: Look, is_verbose: bool) -> Self {
        Self {
            screen: Arc::new(Screen::of(look)),
            is_verbose,
            who: String::new(),
            seen: Mutex::default(),
        }
    }

    /// The same for an agent that this one calls.
    pub(super) fn within(&self, name: &str) -> Self {
        Self {
            screen: Arc::clone(&self.screen),
            is_verbose: self.is_verbose,
            who: format!("{}{}: ", self.who, one_line(name, 40)),
            seen: Mutex::default(),
        }
    }

    /// It begins, with a conversation that may have so many tokens.
    pub(super) fn begins(&self, limit: u64) {
        self.seen().limit = limit;
    }

    /// Takes a look at what is done: `root` is the first agent.
    pub(super) fn look(&self, root: &Op) {
        let mut seen = self.seen();
        self.look_at(root, &mut Vec::new(), &self.who, &mut seen.calls);
        if let Some(tokens) = tokens_of(root) {
            seen.tokens = tokens;
        }
        self.show_state(&seen);
    }

    fn look_at(
        &self,
        op: &Op,
        path: &mut Vec<usize>,
        who: &str,
        calls: &mut HashMap<Vec<usize>, Seeing>,
    ) {
        if op.kind == OpKind::Session {
            return; // an extraction's own calls
        }
        let who = match op.kind {
            OpKind::Agent if !path.is_empty() => format!("{who}{}: ", one_line(&op.name, 40)),
            _ => who.to_owned(),
        };
        if op.kind == OpKind::Tool {
            self.call(op, path, &who, calls);
        }
        for (at, child) in op.children.iter().enumerate() {
            path.push(at);
            self.look_at(child, path, &who, calls);
            path.pop();
        }
    }

    fn call(&self, op: &Op, path: &[usize], who: &str, calls: &mut HashMap<Vec<usize>, Seeing>) {
        let is_over = !op.unfinished && op.decided.is_some();
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
                if let Some(Seeing::UnderWay(Some(bar))) = calls.insert(path.to_vec(), Seeing::Told)
                {
                    bar.finish_and_clear();
                }
                self.screen.line(&format!("{who}  {}", lines::came(op)));
            }
        }
    }

    /// It is over: nothing moves any more.
    pub(super) fn end(&self) {
        let mut seen = self.seen();
        for (_, call) in seen.calls.drain() {
            if let Seeing::UnderWay(Some(bar)) = call {
                bar.finish_and_clear();
            }
        }
        if self.who.is_empty() {
            self.screen.end();
        }
    }

    fn replied(&self, reply: &Reply) {
        let mut seen = self.seen();
        seen.used += reply.usage;
        self.end_of_words(&mut seen);
        self.line(&lines::replied(seen.turn, reply));
    }

    fn end_of_words(&self, seen: &mut Seen) {
        seen.said.clear();
        self.screen.words("");
        self.show_state(seen);
    }

    fn show_state(&self, seen: &Seen) {
        let state = lines::state(seen.turn, seen.tokens, seen.limit, &seen.used);
        self.screen.state(format!("{}{state}", self.who));
    }

    fn line(&self, line: &str) {
        self.screen.line(&format!("{}{line}", self.who));
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher for Live {
    fn happened(&self, event: &Event) {
        match event {
            Event::Replied(Ok(reply)) => self.replied(reply),
            Event::Replied(Err(error)) => {
                let mut seen = self.seen();
                self.end_of_words(&mut seen);
                self.line(&lines::unanswered(seen.turn, &error.to_string()));
            }
            _ => {}
        }
    }

    fn asks(&self, _: &Request) {
        let mut seen = self.seen();
        seen.turn += 1;
        self.end_of_words(&mut seen);
    }

    fn calls(&self, planned: &Planned) {
        let line = lines::called(&planned.call, self.is_verbose);
        self.line(&format!("  {line}"));
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
        self.screen.words(&seen.said);
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
            return Some(usage.input + usage.output + shown.sum::<u64>());
        }
    }
    None
}
