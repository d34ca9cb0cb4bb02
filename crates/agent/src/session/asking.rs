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
            let said = said.unwrap_or_default();
            if let Some(used_up) = &self.used_up {
                let why = format!("{used_up}{said}");
                return self.finish(Ending::UsedUp(why.clone()), &why);
            }
            let end = match self.turns >= self.settings.max_turns {
                true => "the turns were used up",
                false => "the conversation was full",
            };
            let why = format!("{end}{said}");
            return self.finish(Ending::Failed(why.clone()), &why);
        }
        self.turns += 1;
        self.asked += 1;
        self.fit(0);
        let reminder = why.map(|why| texts::reminder(&self.slot, why));
        let tokens = reminder
            .as_ref()
            .map(|text| self.count(text) + MESSAGE_TOKENS);
        let tokens = tokens.unwrap_or_default();
        self.is_final = self.turns >= self.settings.max_turns
            || self.guard.is_over()
            || self.used_up.is_some()
            || !self.guard.holds(tokens);
        if self.is_final {
            let notice = self.last_notice(why);
            self.push(Message::User(notice), Vec::new());
        } else if let Some(reminder) = reminder {
            self.guard.add(tokens);
            self.push(Message::User(reminder), Vec::new());
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

    /// The last words to the model. Without a reason they have their room from the
    /// start; with one they have not, and it is left out if there is none to be made.
    fn last_notice(&mut self, why: Option<&str>) -> String {
        self.guard.close();
        let plain = texts::final_turn(&self.slot, None);
        let Some(why) = why else {
            return plain;
        };
        let notice = texts::final_turn(&self.slot, Some(why));
        let more = self.count(&notice).saturating_sub(self.count(&plain));
        self.fit(more);
        if self.guard.excess(more) > 0 {
            return plain;
        }
        self.guard.add(more);
        notice
    }

    /// Makes room for `more` tokens: what tools gave is left out, the latest first; then
    /// what the model said, the oldest first; then what leads to stored results; and if
    /// names alone are too many, whole turns, the oldest first. A conversation that needs
    /// this comes to its end.
    pub(super) fn fit(&mut self, more: u64) {
        if self.guard.excess(more) == 0 {
            return;
        }
        self.guard.close();
        self.leave_out_replies(more, false);
        self.leave_out_words(more);
        self.leave_out_replies(more, true);
        self.leave_out_turns(more);
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

    /// The first message is the task, which stays.
    fn leave_out_turns(&mut self, more: u64) {
        loop {
            // No reply stays without its call.
            let is_reply = matches!(self.messages.get(1), Some(Message::Tools(_)));
            if self.messages.len() == 1 || (self.guard.excess(more) == 0 && !is_reply) {
                return;
            }
            let (turn, count) = (self.told_in.remove(1), |text: &str| {
                self.counter.count(text)
            });
            self.handles.remove(1);
            let tokens = match self.messages.remove(1) {
                Message::User(text) => count(&text) + MESSAGE_TOKENS,
                Message::Assistant { text, calls } => self.words(&text, &calls),
                Message::Tools(replies) => {
                    let all = replies.iter().map(|reply| count(&reply.text)).sum();
                    let told = replies
                        .into_iter()
                        .filter(|reply| reply.text != texts::DROPPED);
                    self.left_out.extend(told.map(|reply| Effect::LeftOut {
                        turn,
                        id: CallId::named(&reply.call_id),
                    }));
                    all
                }
            };
            self.guard.free(tokens);
        }
    }
}
