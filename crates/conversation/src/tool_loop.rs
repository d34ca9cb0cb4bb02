//! A loop of a model with tools as a pure step function, for those who show every result.

use spillgate_llm::{LlmError, Reply, Request, ToolReply, ToolSpec};

use crate::calls::{Calls, Sorted};
use crate::conversation::{Conversation, MESSAGE_TOKENS, TurnPolicy, Turns};
use crate::slot::SlotError;
use crate::texts;

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// Nothing yet.
    Start,
    /// The model was asked, and this came of it.
    Replied(Result<Reply, LlmError>),
    /// The calls were made; a reply for each, in their order.
    Called(Vec<ToolReply>),
}

/// What to do next, and to tell when it is done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    /// Ask the model.
    Ask(Request),
    /// Call tools.
    Call(Calls),
    /// Nothing: this came of it.
    Finish(LoopOutcome),
}

/// How a loop ended.
#[derive(Debug, Clone, PartialEq)]
pub enum LoopEnding {
    /// With an answer.
    Answered(String),
    /// The turns were used up, or the last reply had no answer in its slot.
    NoAnswer(SlotError),
    /// The model refused.
    Refused,
    /// The model could not be asked.
    Failed(LlmError),
}

/// What came of a loop.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopOutcome {
    /// How it ended.
    pub ending: LoopEnding,
    /// Times that the model was asked.
    pub turns: u32,
}

/// A loop under way: every way that a model can behave is a table in a test.
///
/// - An answer in the slot ends it, calls beside it are not made.
/// - A reply without an answer and without a call is told once what is missing;
///   the second ends it.
/// - A refusal ends it.
/// - On the last turn no tool may be called, and the model is told so.
#[derive(Debug, Clone)]
pub(crate) struct ToolLoop {
    conversation: Conversation,
    /// Calls that wait for their replies.
    waiting: Option<Sorted>,
}

impl Turns {
    /// The loop, about to start, with these tools.
    pub(crate) fn begin(self, tools: Vec<ToolSpec>) -> ToolLoop {
        let policy = TurnPolicy {
            reminds_once: true,
            keeps_window: false,
            last_tools: None,
            reminder: texts::reminder,
            last_turn: texts::last_turn,
        };
        ToolLoop {
            conversation: Conversation::new(self, policy, tools),
            waiting: None,
        }
    }
}

impl ToolLoop {
    /// What to do after `event`.
    pub(crate) fn step(&mut self, event: Event) -> Effect {
        match event {
            Event::Start => self.ask(None),
            Event::Replied(Ok(reply)) => self.replied(reply),
            Event::Replied(Err(error)) => match self.conversation.shorten(&error) {
                true => self.ask(None),
                false => self.finish(LoopEnding::Failed(error)),
            },
            Event::Called(replies) => {
                if let Some(sorted) = self.waiting.take() {
                    self.called(sorted.with(replies));
                }
                self.ask(None)
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn messages(&self) -> &[spillgate_llm::Message] {
        self.conversation.messages()
    }

    fn replied(&mut self, reply: Reply) -> Effect {
        let Some(said) = self.conversation.read(reply) else {
            return self.finish(LoopEnding::Refused);
        };
        let is_silent = said.sorted.calls().is_empty();
        let error = match said.written {
            Ok(answer) => return self.finish(LoopEnding::Answered(answer)),
            // Calls are something, but no answer.
            Err(SlotError::Empty) if !is_silent => SlotError::Missing,
            Err(error) => error,
        };
        if self.conversation.is_last() {
            return self.finish(LoopEnding::NoAnswer(error));
        }
        self.conversation.hear(said.text, said.sorted.calls());
        if is_silent {
            return self.ask(Some(error));
        }
        self.waiting = Some(said.sorted);
        Effect::Call(said.calls)
    }

    fn called(&mut self, replies: Vec<ToolReply>) {
        let count = |reply: &ToolReply| self.conversation.count(&reply.text);
        let tokens: u64 = replies.iter().map(count).sum();
        // Their message costs, too; an agent, which takes room result by result, leaves it out.
        self.conversation.guard.add(tokens + MESSAGE_TOKENS);
        let replies = replies.into_iter().map(|reply| (reply, false));
        self.conversation.answered(replies);
    }

    /// Asks again; `error` is why the reply before had no answer.
    fn ask(&mut self, error: Option<SlotError>) -> Effect {
        let why = error.as_ref().map(texts::what_was_wrong);
        match self.conversation.ask(why, false) {
            Some(request) => Effect::Ask(request),
            None => self.finish(LoopEnding::NoAnswer(error.unwrap_or(SlotError::Missing))),
        }
    }

    fn finish(&self, ending: LoopEnding) -> Effect {
        let turns = self.conversation.asked();
        Effect::Finish(LoopOutcome { ending, turns })
    }
}
