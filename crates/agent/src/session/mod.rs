//! An agent's session as a step function: it takes an event and returns what to do next.
//!
//! ```text
//! ask → replied → round of calls → each result: fits · stored · cut · dropped → ask …
//! ```
//!
//! The session is pure: it returns [`Effect`]s and does not itself ask models, call tools or store
//! results. The [`Conversation`] holds the messages and checks that they fit into the model's
//! window; this module decides what happens to results (docs/spec/behaviour.md, "The agent").

mod batches;
mod replying;
mod results;
mod round;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use spillgate_conversation::{Conversation, Slot, TurnLimits, TurnPolicy, Turns};
use spillgate_llm::Message;
use spillgate_text::TokenCounter;

use crate::event::{Abort, Effect, Event};
use crate::internal::{final_report, listed};
use crate::report::{Ending, Finished, Report};
use crate::settings::Settings;
use crate::texts;
use round::Round;

/// The prompt, the task and the tools alone exceed the tokens that may be sent to the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the prompt, the task and the tools are {tokens} tokens, more than the {limit} that the model's window leaves \
     (window − buffer − max output)"
)]
pub struct TooLong {
    /// The size of the prompt, the task and the tools, in tokens.
    pub tokens: u64,
    /// The maximum size, in tokens.
    pub limit: u64,
}

/// A session in progress.
#[derive(Debug, Clone)]
pub struct Session {
    settings: Settings,
    conversation: Conversation,
    round: Option<Round>,
    /// Why the run of this session must not make more requests; `None` if it still may.
    used_up: Option<String>,
    is_done: bool,
    /// The model's last text that is not blank.
    said: Option<String>,
    /// The last successful call of the conversation: its tool, its arguments and its reply.
    last_call: Option<(String, String, String)>,
}

impl Session {
    /// Creates a session that is about to start. `slot` is the pair of tags between which the model
    /// may write its report.
    pub fn begin(
        settings: Settings,
        slot: Slot,
        counter: Arc<dyn TokenCounter>,
    ) -> Result<Self, TooLong> {
        let slot = slot.of_format(settings.format.name());
        let own = texts::instructions(&slot, &settings.format, settings.offers.batch);
        let window = settings.window;
        let turns = Turns {
            system: format!("{}\n\n{own}", settings.system.trim_end()),
            messages: vec![Message::User(settings.task.clone())],
            slot,
            limits: TurnLimits {
                turns: settings.max_turns,
                calls_per_turn: settings.calls_per_turn,
                max_output_tokens: window.max_output,
                window: window.window.saturating_sub(window.buffer),
            },
            counter,
        };
        let policy = TurnPolicy {
            reminds_once: false,
            keeps_window: true,
            last_tools: Some(vec![final_report(&settings.format)]),
            reminder: texts::reminder,
            last_turn: texts::final_turn,
        };
        // All tools are counted from the start, because there must always be room for them.
        let mut conversation = Conversation::new(turns, policy, listed(&settings, true));
        let (tokens, limit) = (conversation.guard.tokens(), window.limit());
        if tokens > limit {
            return Err(TooLong { tokens, limit });
        }
        conversation.offer(listed(&settings, false));
        Ok(Self {
            settings,
            conversation,
            round: None,
            used_up: None,
            is_done: false,
            said: None,
            last_call: None,
        })
    }

    /// Returns the actions to take after `event`; none once the session is finished.
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

    /// Tells the session that its run must not make more requests, and why. The next turn is the
    /// final one.
    pub fn conclude(&mut self, why: &str) {
        self.used_up.get_or_insert_with(|| why.to_owned());
    }

    /// Returns whether [`Session::conclude`] was called.
    #[must_use]
    pub fn is_concluded(&self) -> bool {
        self.used_up.is_some()
    }

    /// Returns the messages so far.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        self.conversation.messages()
    }

    /// Asks the model. `why` says what was wrong with the previous reply; `None` if nothing was.
    fn ask(&mut self, why: Option<&str>) -> Vec<Effect> {
        let request = self.conversation.ask(why, self.is_concluded());
        let Some(request) = request else {
            return self.unreported(why);
        };
        let left_out = self.conversation.take_left_out().into_iter();
        let left_out = left_out.map(Effect::LeftOut);
        left_out.chain([Effect::Ask(request)]).collect()
    }

    /// Ends the session without a report, because the model must not be asked again.
    fn unreported(&mut self, why: Option<&str>) -> Vec<Effect> {
        // This text is for the user, who has not read what the model was told.
        let said = why.map(|why| format!(", the last reply had no report (\"{why}\")"));
        let said = said.unwrap_or_default();
        let (end, ending): (_, fn(String) -> Ending) = match &self.used_up {
            Some(used_up) => (used_up.as_str(), Ending::UsedUp),
            None if self.conversation.has_turns() => ("the conversation was full", Ending::Failed),
            None => ("the turns were used up", Ending::Failed),
        };
        let why = format!("{end}{said}");
        self.finish(ending(why.clone()), &why)
    }

    /// Ends the session without a report of the model.
    fn finish(&mut self, ending: Ending, why: &str) -> Vec<Effect> {
        let report = Report::synthetic(why, self.said.as_deref(), &self.settings.format);
        self.end(ending, report)
    }

    fn end(&mut self, ending: Ending, report: Report) -> Vec<Effect> {
        self.is_done = true;
        vec![Effect::Finish(Box::new(Finished {
            ending,
            report,
            usage: self.conversation.usage(),
            turns: self.conversation.asked(),
        }))]
    }
}
