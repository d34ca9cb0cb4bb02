//! What is left out of a conversation that its window does not hold, and in which order.

use std::ops::Range;

use spillgate_llm::{ErrorKind, LlmError, Message};

use super::Conversation;
use crate::guard::Guard;
use crate::texts::{DROPPED, WORDS_LEFT_OUT};

/// The reply to a call that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The turn in which the call was made, from 1.
    pub turn: u32,
    /// The id of the call.
    pub call_id: String,
}

impl Conversation {
    /// Makes room for `more` tokens: what tools gave is left out, the latest first; then, if
    /// the window is to be kept, what the model said, the oldest first; then what leads to
    /// stored results; and if names alone are too many, whole turns, the oldest first. A
    /// conversation that needs this comes to its end.
    pub(super) fn fit(&mut self, more: u64) {
        if self.guard.excess(more) == 0 {
            return;
        }
        self.guard.close();
        self.leave_out_excess(more, false);
        if self.policy.keeps_window {
            self.leave_out_words(more);
            self.leave_out_excess(more, true);
            self.leave_out_turns(more);
        }
    }

    /// Leaves out what tools gave last, handles excepted, if a provider called the
    /// conversation too long: it counts other tokens than we do. The next turn is then the
    /// last. Tells whether the model is to be asked again.
    ///
    /// Where the window is kept, the latest message loses all; else the latest one that has
    /// replies of more tokens than the words for it loses those.
    pub fn shorten(&mut self, error: &LlmError) -> bool {
        let has_replies = matches!(self.messages().last(), Some(Message::Tools(_)));
        if error.kind != ErrorKind::ContextLength || !has_replies || self.is_last {
            return false;
        }
        self.guard.close();
        let least = match self.policy.keeps_window {
            true => 0,
            false => self.count(DROPPED) + 1,
        };
        for at in (0..self.notes.len()).rev() {
            let has_left_out = self.leave_out(at..at + 1, |_, is_handle, tokens| {
                !is_handle && tokens >= least
            });
            if has_left_out || self.policy.keeps_window {
                break;
            }
        }
        true
    }

    /// What was left out since this was asked last.
    pub fn take_left_out(&mut self) -> Vec<LeftOut> {
        std::mem::take(&mut self.left_out)
    }

    /// Leaves out the handles, or the other replies, the latest first, until `more` fit.
    fn leave_out_excess(&mut self, more: u64, handles: bool) {
        let dropped = self.count(DROPPED);
        self.leave_out(0..self.notes.len(), |guard, is_handle, tokens| {
            is_handle == handles && tokens > dropped && guard.excess(more) > 0
        });
    }

    /// Leaves out those replies of the messages `range` of which `goes` says so, told the guard,
    /// whether they lead to what is stored, and their tokens. Tells whether there was one.
    fn leave_out(&mut self, range: Range<usize>, goes: impl Fn(&Guard, bool, u64) -> bool) -> bool {
        let (dropped, before) = (self.count(DROPPED), self.left_out.len());
        for at in range.rev() {
            let Message::Tools(replies) = &mut self.turns.messages[at] else {
                continue;
            };
            let note = &self.notes[at];
            for (reply, is_handle) in replies.iter_mut().zip(&note.handles).rev() {
                let tokens = self.turns.counter.count(&reply.text);
                if goes(&self.guard, *is_handle, tokens) {
                    self.guard.free(tokens.saturating_sub(dropped));
                    DROPPED.clone_into(&mut reply.text);
                    reply.is_error = true;
                    self.left_out.push(LeftOut {
                        turn: note.turn,
                        call_id: reply.call_id.clone(),
                    });
                }
            }
        }
        self.left_out.len() > before
    }

    fn leave_out_words(&mut self, more: u64) {
        for at in 0..self.notes.len() {
            let said = &self.messages()[at];
            let Message::Assistant { calls, .. } = said else {
                continue;
            };
            let mut calls = calls.clone();
            for call in &mut calls {
                "{}".clone_into(&mut call.arguments);
            }
            let text = if calls.is_empty() { WORDS_LEFT_OUT } else { "" }.to_owned();
            let shorter = Message::Assistant { text, calls };
            let (now, then) = (self.cost(said), self.cost(&shorter));
            if then < now && self.guard.excess(more) > 0 {
                self.guard.free(now - then);
                self.turns.messages[at] = shorter;
            }
        }
    }

    /// The first message is the task, which stays.
    fn leave_out_turns(&mut self, more: u64) {
        while let Some(next) = self.messages().get(1) {
            // No reply stays without its call.
            let is_reply = matches!(next, Message::Tools(_));
            if self.guard.excess(more) == 0 && !is_reply {
                return;
            }
            self.guard.free(self.cost(next));
            let turn = self.notes.remove(1).turn;
            if let Message::Tools(replies) = self.turns.messages.remove(1) {
                let told = replies.into_iter().filter(|reply| reply.text != DROPPED);
                let call_ids = told.map(|reply| reply.call_id);
                let left_out = call_ids.map(|call_id| LeftOut { turn, call_id });
                self.left_out.extend(left_out);
            }
        }
    }
}
