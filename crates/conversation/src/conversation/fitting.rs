//! Decides what is left out of a conversation that exceeds its window, and in which order.

use std::ops::Range;

use spillgate_llm::{ErrorKind, LlmError, Message};

use super::Conversation;
use crate::guard::Guard;
use crate::texts::{DROPPED, WORDS_LEFT_OUT};

/// A tool reply that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The turn in which the call was made, from 1.
    pub turn: u32,
    /// The id of the call.
    pub call_id: String,
}

impl Conversation {
    /// Makes room for `more` tokens by leaving out messages until they fit. Tool results are left
    /// out first, the latest before earlier ones. If the policy sets `keeps_window`, these follow:
    /// the model's own words, the oldest first; replies with the handles of stored results; and
    /// whole turns, the oldest first. If anything has to be left out, this turn is the last one.
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

    /// Leaves out the latest tool results, except messages with handles, if the provider reports
    /// that the conversation is too long although it fits according to our count. The next turn is
    /// then the last one. Returns whether the model is to be asked again.
    ///
    /// If the policy sets `keeps_window`, all results in the latest message are left out. If not,
    /// only results larger than the notice that replaces them are left out, in the latest message
    /// that has such results.
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

    /// Returns the tool replies that were left out since the last call of this function.
    pub fn take_left_out(&mut self) -> Vec<LeftOut> {
        std::mem::take(&mut self.left_out)
    }

    /// Leaves out the replies with handles, or all other replies, the latest first, until `more`
    /// tokens fit.
    fn leave_out_excess(&mut self, more: u64, handles: bool) {
        let dropped = self.count(DROPPED);
        self.leave_out(0..self.notes.len(), |guard, is_handle, tokens| {
            is_handle == handles && tokens > dropped && guard.excess(more) > 0
        });
    }

    /// Leaves out those replies in the messages `range` for which `goes` returns true. The
    /// arguments of `goes` are the guard, whether the reply names a handle, and the reply's tokens.
    /// Returns whether any reply was left out.
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

    /// Removes whole turns, the oldest first. The first message, the task, stays.
    fn leave_out_turns(&mut self, more: u64) {
        while let Some(next) = self.messages().get(1) {
            // Providers do not allow a reply without its call, so the reply is removed together
            // with the call.
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
