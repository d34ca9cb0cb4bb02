//! The loop in which a model calls tools until it answers, as a pure step function. It shows every
//! tool result to the model unchanged.

use spillgate_llm::{LlmError, Reply, Request, ToolReply, ToolSpec};

use crate::calls::{Calls, Sorted};
use crate::conversation::{Conversation, MESSAGE_TOKENS, TurnPolicy, Turns};
use crate::slot::SlotError;
use crate::texts;

/// An event in a loop.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// The loop starts.
    Start,
    /// The model replied, or could not be asked.
    Replied(Result<Reply, LlmError>),
    /// The calls were made. One reply per call, in the order of the calls.
    Called(Vec<ToolReply>),
}

/// What the caller must do next. The resulting event is then passed to [`ToolLoop::step`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    /// Ask the model.
    Ask(Request),
    /// Call tools.
    Call(Calls),
    /// Do nothing more: the loop has ended.
    Finish(LoopOutcome),
}

/// How a loop ended.
#[derive(Debug, Clone, PartialEq)]
pub enum LoopEnding {
    /// The loop ended with an answer.
    Answered(String),
    /// There is no answer: the turns were used up, or the last reply has none in the slot, the pair
    /// of tags between which an answer must stand.
    NoAnswer(SlotError),
    /// The model refused.
    Refused,
    /// The model could not be asked.
    Failed(LlmError),
}

/// The outcome of a loop.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopOutcome {
    /// How the loop ended.
    pub ending: LoopEnding,
    /// How often the model was asked.
    pub turns: u32,
}

/// A loop in progress. It reacts to a reply of the model as follows:
///
/// - An answer in the form that the caller asked for ([`Slot`](crate::Slot)) ends the loop; calls in
///   the same reply are not made.
/// - After a reply without an answer and without a call, the model is told once what is missing; a
///   second such reply ends the loop.
/// - A refusal ends the loop.
/// - On the last turn no tool may be called, and the model is told so.
#[derive(Debug, Clone)]
pub(crate) struct ToolLoop {
    conversation: Conversation,
    /// Calls that were requested and wait for their replies.
    waiting: Option<Sorted>,
}

impl Turns {
    /// Creates a loop that is about to start with these tools.
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
    /// Returns what to do after `event`.
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
            // A reply with calls but without text is not empty. It only lacks the slot.
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
        // The message that contains the replies takes tokens, too. (An agent reserves room only for
        // the results themselves.)
        self.conversation.guard.add(tokens + MESSAGE_TOKENS);
        let replies = replies.into_iter().map(|reply| (reply, false));
        self.conversation.answered(replies);
    }

    /// Asks the model again. `error` says why the previous reply had no answer.
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
