//! What is the model sent next, and does it fit?

use spillgate_llm::{Message, Request, ToolReply};

use super::{MESSAGE_TOKENS, Session};
use crate::event::{CallId, Effect};
use crate::internal::listed;
use crate::report::Ending;
use crate::texts;

impl Session {
    /// Asks the model; `why` is what was wrong with its reply before.
    pub(super) fn ask(&mut self, why: Option<&str>) -> Vec<Effect> {
        if self.is_final || self.turns >= self.settings.max_turns {
            // Said to a person, who has not read what the model was told.
            let said = why.map(|why| format!(", the last reply had no report (\"{why}\")"));
            let end = match self.turns >= self.settings.max_turns {
                true => "the turns were used up",
                false => "the conversation was full",
            };
            let why = format!("{end}{}", said.unwrap_or_default());
            return self.finish(Ending::Failed(why.clone()), &why);
        }
        self.turns += 1;
        self.asked += 1;
        self.fit(0);
        self.is_final = self.turns >= self.settings.max_turns || self.guard.is_over();
        let notice = match (self.is_final, why) {
            (true, why) => Some(texts::final_turn(&self.slot, why)),
            (false, Some(why)) => Some(texts::reminder(&self.slot, why)),
            (false, None) => None,
        };
        if let Some(notice) = notice {
            // The last one has its room from the start.
            let tokens = match (self.is_final, why) {
                (true, None) => 0,
                _ => self.count(&notice) + MESSAGE_TOKENS,
            };
            self.fit(tokens);
            self.guard.add(tokens);
            self.push(Message::User(notice), Vec::new());
        }
        let tools = listed(&self.settings, self.stored > 0, self.is_final);
        let mut effects = std::mem::take(&mut self.left_out);
        effects.push(Effect::Ask(Request {
            system: self.system.clone(),
            messages: self.messages.clone(),
            tools,
            no_calls: false,
            max_output_tokens: self.settings.window.max_output,
        }));
        effects
    }

    /// Makes room for `more` tokens: what tools gave is left out, the latest first and
    /// what leads to stored results last; then what the model said, the oldest first.
    /// A conversation that needs this comes to its end.
    pub(super) fn fit(&mut self, more: u64) {
        if self.guard.excess(more) == 0 {
            return;
        }
        self.guard.close();
        for handles in [false, true] {
            self.leave_out_replies(more, handles);
        }
        self.leave_out_words(more);
    }

    /// Leaves out what tools gave last, handles excepted.
    pub(super) fn leave_out_last(&mut self) {
        let dropped = self.count(texts::DROPPED);
        let (Some(Message::Tools(replies)), Some(handles)) =
            (self.messages.last_mut(), self.handles.last())
        else {
            return;
        };
        for (reply, _) in replies
            .iter_mut()
            .zip(handles)
            .filter(|(_, is_handle)| !**is_handle)
        {
            let tokens = self.counter.count(&reply.text);
            self.guard.free(tokens.saturating_sub(dropped));
            texts::DROPPED.clone_into(&mut reply.text);
            reply.is_error = true;
            self.left_out.push(Effect::LeftOut {
                turn: self.told_in.last().copied().unwrap_or_default(),
                id: CallId::named(&reply.call_id),
            });
        }
    }

    fn leave_out_replies(&mut self, more: u64, handles: bool) {
        let dropped = self.count(texts::DROPPED);
        for at in (0..self.messages.len()).rev() {
            let Message::Tools(mut replies) = self.messages[at].clone() else {
                continue;
            };
            for (reply, is_handle) in replies.iter_mut().zip(&self.handles[at]).rev() {
                let tokens = self.counter.count(&reply.text);
                if *is_handle != handles || tokens <= dropped || self.guard.excess(more) == 0 {
                    continue;
                }
                self.guard.free(tokens - dropped);
                self.left_out.push(Effect::LeftOut {
                    turn: self.told_in[at],
                    id: CallId::named(&reply.call_id),
                });
                *reply = ToolReply {
                    text: texts::DROPPED.to_owned(),
                    is_error: true,
                    call_id: reply.call_id.clone(),
                };
            }
            self.messages[at] = Message::Tools(replies);
        }
    }

    fn leave_out_words(&mut self, more: u64) {
        for at in 0..self.messages.len() {
            if self.guard.excess(more) == 0 {
                return;
            }
            let Message::Assistant { text, calls } = &self.messages[at] else {
                continue;
            };
            let mut shorter = calls.clone();
            for call in &mut shorter {
                "{}".clone_into(&mut call.arguments);
            }
            let arguments = |call: &spillgate_llm::ToolCall| self.counter.count(&call.arguments);
            let now: u64 = self.counter.count(text) + calls.iter().map(arguments).sum::<u64>();
            let words = match calls.is_empty() {
                true => "(left out)".to_owned(),
                false => String::new(),
            };
            let then = self.counter.count(&words) + shorter.iter().map(arguments).sum::<u64>();
            if then < now {
                self.guard.free(now - then);
                self.messages[at] = Message::Assistant {
                    text: words,
                    calls: shorter,
                };
            }
        }
    }
}
