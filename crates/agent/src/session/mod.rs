//! A session under way: told what happened, it says what to do.
//!
//! ```text
//! ask → replied → round of calls → each result: fits · stored · cut · dropped → ask …
//! ```
//!
//! Pure: it asks nobody, calls nothing and stores nothing ([`Effect`]). The rules:
//! docs/spec/behaviour.md, "The agent".

mod asking;
mod batches;
mod replying;
mod results;
mod round;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use spillgate_conversation::Slot;
use spillgate_llm::{Message, ToolSpec, Usage};
use spillgate_text::TokenCounter;

use crate::event::{Abort, Effect, Event};
use crate::guard::Guard;
use crate::internal::listed;
use crate::report::{Ending, Finished, Report};
use crate::settings::Settings;
use crate::texts;
use round::Round;

/// Tokens that a message costs beside its text: its role and its ends, as
/// providers count them.
const MESSAGE_TOKENS: u64 = 4;

/// The prompt and the task alone are more than the model may be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the prompt, the task and the tools are {tokens} tokens, more than the {limit} that the model's window leaves \
     (window − buffer − max output)"
)]
pub struct TooLong {
    /// What they are.
    pub tokens: u64,
    /// What there is.
    pub limit: u64,
}

/// A session under way.
#[derive(Debug, Clone)]
pub struct Session {
    settings: Settings,
    system: String,
    slot: Slot,
    counter: Arc<dyn TokenCounter>,
    guard: Guard,
    messages: Vec<Message>,
    /// For each message whether replies of it lead to what is stored.
    handles: Vec<Vec<bool>>,
    /// For each message how often the model was asked before it.
    told_in: Vec<u32>,
    /// What was left out since the model was asked last.
    left_out: Vec<Effect>,
    round: Option<Round>,
    /// Results that were stored.
    stored: u32,
    /// Turns that count, times that the model was asked, and turns of nothing but
    /// paging.
    turns: u32,
    asked: u32,
    paging: u32,
    is_final: bool,
    /// Why the run that it is part of may ask no more, if it may not.
    used_up: Option<String>,
    is_done: bool,
    usage: Usage,
    /// The model's last words.
    said: Option<String>,
    /// The last call of the conversation that went well: its tool, its arguments,
    /// its reply.
    last_call: Option<(String, String, String)>,
}

impl Session {
    /// A session about to start. `slot` is where a written report will stand.
    pub fn begin(
        settings: Settings,
        slot: Slot,
        counter: Arc<dyn TokenCounter>,
    ) -> Result<Self, TooLong> {
        let slot = slot.of_format(settings.format.name());
        let own = texts::instructions(&slot, &settings.format, settings.offers.batch);
        let system = format!("{}\n\n{own}", settings.system.trim_end());
        let messages = vec![Message::User(settings.task.clone())];
        let count = |text: &str| counter.count(text);
        // All tools and the last notice, from the start: they must always fit.
        let tools = tokens_of(&listed(&settings, true, false), &count);
        let notice = count(&texts::final_turn(&slot, None)) + MESSAGE_TOKENS;
        let tokens = count(&system) + count(&settings.task) + MESSAGE_TOKENS + tools + notice;
        let limit = settings.window.limit();
        if tokens > limit {
            return Err(TooLong { tokens, limit });
        }
        Ok(Self {
            guard: Guard::new(&settings.window, tokens),
            settings,
            system,
            slot,
            counter,
            handles: vec![Vec::new(); messages.len()],
            told_in: vec![0; messages.len()],
            left_out: Vec::new(),
            messages,
            round: None,
            stored: 0,
            turns: 0,
            asked: 0,
            paging: 0,
            is_final: false,
            used_up: None,
            is_done: false,
            usage: Usage::default(),
            said: None,
            last_call: None,
        })
    }

    /// What to do after `event`. Once the session is finished, nothing.
    pub fn step(&mut self, event: Event) -> Vec<Effect> {
        if self.is_done {
            return Vec::new();
        }
        match event {
            Event::Start => self.ask(None),
            Event::Replied(Ok(reply)) => self.replied(reply),
            Event::Replied(Err(error)) => self.unanswered(&error),
            Event::Returned(id, returned) => self.returned(&id, returned),
            Event::Kept(id, kept) => self.kept(&id, kept),
            Event::Ended(Abort::Cancelled) => {
                self.finish(Ending::Cancelled, "the session was cancelled")
            }
            Event::Ended(Abort::TimedOut) => {
                self.finish(Ending::TimedOut, "the session took too long")
            }
            Event::Ended(Abort::UsedUp) => {
                let why = self.used_up.clone().unwrap_or_default();
                self.finish(Ending::UsedUp(why.clone()), &why)
            }
        }
    }

    /// The run that it is part of may ask no more, for this reason: the next turn is the
    /// final one.
    pub fn conclude(&mut self, why: &str) {
        self.used_up.get_or_insert_with(|| why.to_owned());
    }

    /// Whether [`Session::conclude`] was called.
    #[must_use]
    pub fn is_concluded(&self) -> bool {
        self.used_up.is_some()
    }

    /// What was said so far.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The system prompt, the session's own instructions included.
    #[must_use]
    pub fn system(&self) -> &str {
        &self.system
    }

    /// Tokens of the conversation by the guard's count, with all tools and the last
    /// notice, which are never taken from.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.guard.tokens()
    }

    /// Whether only the report is left to do.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.is_final
    }

    fn push(&mut self, message: Message, handles: Vec<bool>) {
        self.messages.push(message);
        self.handles.push(handles);
        self.told_in.push(self.asked);
    }

    fn count(&self, text: &str) -> u64 {
        self.counter.count(text)
    }

    /// Ends without a report of the model.
    fn finish(&mut self, ending: Ending, why: &str) -> Vec<Effect> {
        let report = Report::synthetic(why, self.said.as_deref(), &self.settings.format);
        self.end(ending, report)
    }

    fn end(&mut self, ending: Ending, report: Report) -> Vec<Effect> {
        self.is_done = true;
        vec![Effect::Finish(Box::new(Finished {
            ending,
            report,
            usage: self.usage,
            turns: self.asked,
        }))]
    }
}

/// What a list of tools costs.
fn tokens_of(tools: &[ToolSpec], count: &dyn Fn(&str) -> u64) -> u64 {
    let one = |tool: &ToolSpec| {
        count(&tool.name) + count(&tool.description) + count(&tool.schema.to_string())
    };
    tools.iter().map(one).sum()
}
