//! What happens next?

use std::sync::Arc;

use spillgate_llm::{
    ErrorKind, LlmError, Message, Reply, Request, Stop, ToolCall, ToolReply, ToolSpec, Usage,
};
use spillgate_text::TokenCounter;

use crate::calls::{Calls, Sorted};
use crate::slot::{Slot, SlotError};
use crate::texts;

/// Tokens that a message costs beside its text: its role and its ends, as
/// providers count them.
const MESSAGE_TOKENS: u64 = 4;

/// How long a loop may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// Times that the model is asked.
    pub turns: u32,
    /// Calls of tools that are made of one reply.
    pub calls_per_turn: u32,
    /// Tokens that a reply may have.
    pub max_output_tokens: u64,
    /// Tokens that the conversation may have before the model must answer.
    pub window: u64,
}

/// A conversation that is to be led.
#[derive(Debug, Clone)]
pub struct Turns {
    /// The system prompt.
    pub system: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// Where the answer will stand.
    pub slot: Slot,
    /// How long it may go on.
    pub limits: TurnLimits,
    /// What counts it against the window.
    pub counter: Arc<dyn TokenCounter>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Nothing yet.
    Start,
    /// The model was asked, and this came of it.
    Replied(Result<Reply, LlmError>),
    /// The calls were made; a reply for each, in their order.
    Called(Vec<ToolReply>),
}

/// What to do next, and to tell when it is done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask the model.
    Ask(Request),
    /// Call tools.
    Call(Calls),
    /// Nothing: this came of it.
    Finish(Finished),
}

/// How a loop ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
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
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// What all replies used together.
    pub usage: Usage,
    /// Times that the model was asked.
    pub turns: u32,
}

/// A conversation under way. Pure: it asks nobody and calls nothing, so that
/// every way that a model can behave is a table in a test.
///
/// - An answer in the slot ends it, calls beside it are not made.
/// - A reply without an answer and without a call is told once what is missing;
///   the second ends it.
/// - A refusal ends it.
/// - On the last turn no tool may be called, and the model is told so. It comes when the
///   turns are used up, or when the conversation would not fit the window, by our
///   count or by the provider's; what the tools gave, the latest first, is then left
///   out as far as it must be.
#[derive(Debug, Clone)]
pub struct Conversation {
    turns: Turns,
    tools: Vec<ToolSpec>,
    /// Calls that wait for their replies.
    waiting: Option<Sorted>,
    /// Tokens of everything that the model reads.
    tokens: u64,
    asked: u32,
    usage: Usage,
    reminded: bool,
    is_last: bool,
    /// The provider said that it is too long.
    is_over: bool,
}

impl Turns {
    /// The conversation, about to start, with these tools.
    #[must_use]
    pub fn begin(self, tools: Vec<ToolSpec>) -> Conversation {
        let count = |text: &str| self.counter.count(text);
        let spoken = self.messages.iter().map(|message| cost(message, &count));
        let offered = tools.iter().map(|tool| {
            count(&tool.name) + count(&tool.description) + count(&tool.schema.to_string())
        });
        Conversation {
            tokens: count(&self.system) + spoken.sum::<u64>() + offered.sum::<u64>(),
            tools,
            waiting: None,
            asked: 0,
            usage: Usage::default(),
            reminded: false,
            is_last: false,
            is_over: false,
            turns: self,
        }
    }
}

impl Conversation {
    /// What to do after `event`.
    pub fn step(&mut self, event: Event) -> Effect {
        match event {
            Event::Start => self.ask(None),
            Event::Replied(Err(error)) => self.failed(error),
            Event::Replied(Ok(reply)) => self.replied(reply),
            Event::Called(replies) => {
                if let Some(sorted) = self.waiting.take() {
                    self.push(Message::Tools(sorted.with(replies)));
                }
                self.ask(None)
            }
        }
    }

    /// What was said so far.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.turns.messages
    }

    /// A provider counts other tokens than we do: what it calls too long is asked once
    /// more without what the tools gave last, as the last turn.
    fn failed(&mut self, error: LlmError) -> Effect {
        let has_replies = matches!(self.turns.messages.last(), Some(Message::Tools(_)));
        if error.kind != ErrorKind::ContextLength || !has_replies || self.is_last {
            return self.finish(Ending::Failed(error));
        }
        self.is_over = true;
        self.shrink(|_| false);
        self.ask(None)
    }

    fn replied(&mut self, reply: Reply) -> Effect {
        self.usage += reply.usage;
        if reply.stop == Stop::Refused {
            return self.finish(Ending::Refused);
        }
        // Who reads it counts it best.
        self.tokens = self.tokens.max(reply.usage.input);
        let error = match self.turns.slot.answer(&reply.text, &reply.stop) {
            Ok(answer) => return self.finish(Ending::Answered(answer)),
            // Calls are something, but no answer.
            Err(SlotError::Empty) if !reply.calls.is_empty() => SlotError::Missing,
            Err(error) => error,
        };
        let is_silent = reply.calls.is_empty();
        if self.is_last || is_silent && self.reminded {
            return self.finish(Ending::NoAnswer(error));
        }
        let limit = self.turns.limits.calls_per_turn;
        let (calls, sorted) = Sorted::of(reply.calls, &self.tools, limit);
        // Providers refuse messages that say nothing.
        if !(is_silent && reply.text.trim().is_empty()) {
            self.push(Message::Assistant {
                text: reply.text,
                calls: sorted.calls().to_vec(),
            });
        }
        if is_silent {
            self.reminded = true;
            return self.ask(Some(&error));
        }
        self.waiting = Some(sorted);
        Effect::Call(calls)
    }

    /// Asks again; `error` is why the reply before had no answer.
    fn ask(&mut self, error: Option<&SlotError>) -> Effect {
        let limits = self.turns.limits;
        if self.asked >= limits.turns {
            return self.finish(Ending::NoAnswer(SlotError::Missing));
        }
        let last = Message::User(texts::last_turn(&self.turns.slot, error));
        let room = limits.window.saturating_sub(limits.max_output_tokens);
        let room = room.saturating_sub(self.cost(&last));
        let is_full = self.is_over || self.tokens > room;
        self.is_last = self.asked + 1 >= limits.turns || is_full;
        while self.tokens > room && self.shrink(|tokens| tokens <= room) {}
        let is_over = self.tokens > room;
        match (self.is_last, error) {
            (true, _) => self.push(last),
            (false, Some(error)) => {
                let reminder = texts::reminder(&self.turns.slot, error);
                self.push(Message::User(reminder));
            }
            (false, None) => {}
        }
        self.asked += 1;
        Effect::Ask(Request {
            system: self.turns.system.clone(),
            messages: self.turns.messages.clone(),
            // Providers want the tools listed that a conversation has calls of; in a
            // window that is too small for that they go all the same.
            tools: match self.is_last && (is_over || !self.has_calls()) {
                true => Vec::new(),
                false => self.tools.clone(),
            },
            no_calls: self.is_last,
            max_output_tokens: limits.max_output_tokens,
        })
    }

    /// Leaves out what the tools gave in the latest message where something of it is
    /// left, the last first, until the rest `fits`; tells whether there was one.
    fn shrink(&mut self, fits: impl Fn(u64) -> bool) -> bool {
        let counter = Arc::clone(&self.turns.counter);
        let dropped = counter.count(texts::DROPPED);
        let mut messages = self.turns.messages.iter_mut().rev();
        let is_large = |reply: &ToolReply| counter.count(&reply.text) > dropped;
        let replies = messages.find_map(|message| match message {
            Message::Tools(replies) if replies.iter().any(is_large) => Some(replies),
            _ => None,
        });
        let Some(replies) = replies else {
            return false;
        };
        for reply in replies.iter_mut().rev().filter(|reply| is_large(reply)) {
            if fits(self.tokens) {
                break;
            }
            let tokens = counter.count(&reply.text);
            self.tokens = self.tokens.saturating_sub(tokens) + dropped;
            texts::DROPPED.clone_into(&mut reply.text);
            reply.is_error = true;
        }
        true
    }

    fn has_calls(&self) -> bool {
        let is_reply = |message: &Message| matches!(message, Message::Tools(_));
        self.turns.messages.iter().any(is_reply)
    }

    fn push(&mut self, message: Message) {
        self.tokens += self.cost(&message);
        self.turns.messages.push(message);
    }

    fn cost(&self, message: &Message) -> u64 {
        cost(message, &|text| self.turns.counter.count(text))
    }

    fn finish(&self, ending: Ending) -> Effect {
        Effect::Finish(Finished {
            ending,
            usage: self.usage,
            turns: self.asked,
        })
    }
}

/// Tokens of a message.
fn cost(message: &Message, count: &dyn Fn(&str) -> u64) -> u64 {
    let text = match message {
        Message::User(text) => count(text),
        Message::Assistant { text, calls } => {
            let call = |call: &ToolCall| {
                count(&call.id) + count(&call.name) + count(&call.arguments) + MESSAGE_TOKENS
            };
            count(text) + calls.iter().map(call).sum::<u64>()
        }
        Message::Tools(replies) => {
            let reply =
                |reply: &ToolReply| count(&reply.call_id) + count(&reply.text) + MESSAGE_TOKENS;
            replies.iter().map(reply).sum()
        }
    };
    text + MESSAGE_TOKENS
}
