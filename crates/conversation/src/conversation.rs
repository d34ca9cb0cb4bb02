//! A conversation with a model: its messages, how the model is asked and what it replies.

mod fitting;

use std::sync::Arc;

use spillgate_llm::{Message, Reply, Request, Stop, ToolCall, ToolReply, ToolSpec, Usage};
use spillgate_text::TokenCounter;

use crate::calls::{Calls, Sorted};
use crate::guard::Guard;
use crate::slot::{Slot, SlotError};

pub use fitting::LeftOut;

/// Tokens that a message costs beside its text: its role and its ends, as
/// providers count them.
pub(crate) const MESSAGE_TOKENS: u64 = 4;

/// How long a conversation may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// Times that the model is asked.
    pub turns: u32,
    /// Calls of tools that are made of one reply.
    pub calls_per_turn: u32,
    /// Tokens that a reply may have.
    pub max_output_tokens: u64,
    /// Tokens that the conversation may have before the model must answer, those of a
    /// reply included.
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

/// What differs between those who lead conversations.
#[derive(Debug, Clone)]
pub struct TurnPolicy {
    /// Whether the second reply without an answer and without a call ends it.
    pub reminds_once: bool,
    /// Whether the window is kept at every moment. Then the last notice has its room from
    /// the start, a reminder is sent only if it fits beside it, and all but the first message
    /// may be left out. Else only what the tools gave is left out, and what is still too long
    /// is sent without tools.
    pub keeps_window: bool,
    /// The tools of the last turn; calls of others are refused. `None`: the request forbids
    /// calls, and lists the usual tools where the conversation has calls of them.
    pub last_tools: Option<Vec<ToolSpec>>,
    /// Says that a reply had neither a call nor an answer, and why.
    pub reminder: fn(&Slot, &str) -> String,
    /// Says that only the answer is left to do, and what was wrong with the reply before.
    pub last_turn: fn(&Slot, Option<&str>) -> String,
}

/// What the model said.
#[derive(Debug)]
pub struct Said {
    /// Its text.
    pub text: String,
    /// What stands in the slot, if something does.
    pub written: Result<String, SlotError>,
    /// Its calls, by whether they can be made.
    pub calls: Calls,
    /// The same in their order.
    pub sorted: Sorted,
}

/// A conversation under way. It asks nobody and calls nothing; who leads it decides what is
/// shown of a tool's results, and takes the room for it from [`Conversation::guard`].
///
/// The last turn comes when the turns are used up, or when the conversation would not fit the
/// window, by our count or by the provider's.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// What it takes of the window.
    pub guard: Guard,
    turns: Turns,
    policy: TurnPolicy,
    /// For each message what is known of it.
    notes: Vec<Note>,
    /// What was left out since it was told.
    left_out: Vec<LeftOut>,
    tools: Vec<ToolSpec>,
    /// Tokens that the guard counts for the last notice.
    reserved: u64,
    /// Times that the model was asked, and those of them that do not count.
    asked: u32,
    free: u32,
    usage: Usage,
    was_reminded: bool,
    is_last: bool,
}

/// What is known of a message.
#[derive(Debug, Clone, Default)]
struct Note {
    /// How often the model was asked before it.
    turn: u32,
    /// For each reply in it whether it leads to what is stored.
    handles: Vec<bool>,
}

impl Conversation {
    /// A conversation about to start. All that will ever be in `tools` is counted now.
    #[must_use]
    pub fn new(turns: Turns, policy: TurnPolicy, tools: Vec<ToolSpec>) -> Self {
        let limits = turns.limits;
        let limit = limits.window.saturating_sub(limits.max_output_tokens);
        let mut conversation = Self {
            guard: Guard::new(limit, 0),
            notes: vec![Note::default(); turns.messages.len()],
            left_out: Vec::new(),
            reserved: 0,
            asked: 0,
            free: 0,
            usage: Usage::default(),
            was_reminded: false,
            is_last: false,
            turns,
            policy,
            tools,
        };
        if conversation.policy.keeps_window {
            conversation.reserved = conversation.cost(&conversation.last_notice(None));
        }
        let count = |text: &str| conversation.count(text);
        let said = conversation.messages().iter();
        let said: u64 = said.map(|message| conversation.cost(message)).sum();
        let opening = count(&conversation.turns.system) + tokens_of(&conversation.tools, &count);
        let tokens = opening + said + conversation.reserved;
        conversation.guard.add(tokens);
        conversation
    }

    /// From now on these are the tools, until the last turn.
    pub fn offer(&mut self, tools: Vec<ToolSpec>) {
        self.tools = tools;
    }

    /// The tools that may be called in this turn.
    #[must_use]
    pub fn tools(&self) -> &[ToolSpec] {
        match &self.policy.last_tools {
            Some(tools) if self.is_last => tools,
            _ => &self.tools,
        }
    }

    /// The next request; `why` is what was wrong with the reply before, and `is_last` says
    /// that this turn must be the last. `None` where the model is not asked again.
    pub fn ask(&mut self, why: Option<&str>, is_last: bool) -> Option<Request> {
        let is_repeated = why.is_some() && self.was_reminded && self.policy.reminds_once;
        if self.is_last || is_repeated || !self.has_turns() {
            return None;
        }
        self.asked += 1;
        self.was_reminded |= why.is_some();
        let notice = self.last_notice(why);
        let more = self.cost(&notice).saturating_sub(self.reserved);
        let reminder = why.map(|why| Message::User((self.policy.reminder)(&self.turns.slot, why)));
        let reminding = reminder.as_ref().map_or(0, |reminder| self.cost(reminder));
        let keeps_window = self.policy.keeps_window;
        let needed = if keeps_window { reminding } else { more };
        self.is_last =
            is_last || !self.has_turns() || self.guard.is_over() || !self.guard.holds(needed);
        let (mut said, mut tokens, mut fits) = (reminder, reminding, true);
        if self.is_last {
            self.fit(more);
            fits = self.guard.excess(more) == 0;
            (said, tokens) = match fits || !keeps_window {
                true => (Some(notice), more),
                false => (Some(self.last_notice(None)), 0),
            };
        }
        if let Some(said) = said {
            self.guard.add(tokens);
            self.push(said, Vec::new());
        }
        let is_reply = |message: &Message| matches!(message, Message::Tools(_));
        let has_calls = self.messages().iter().any(is_reply);
        let no_calls = self.is_last && self.policy.last_tools.is_none();
        Some(Request {
            system: self.turns.system.clone(),
            messages: self.turns.messages.clone(),
            // Providers want the tools listed that a conversation has calls of; in a
            // window that is too small for that they go all the same.
            tools: match no_calls && !(fits && has_calls) {
                true => Vec::new(),
                false => self.tools().to_vec(),
            },
            no_calls,
            max_output_tokens: self.turns.limits.max_output_tokens,
        })
    }

    /// Reads a reply; `None` where the model refused.
    pub fn read(&mut self, reply: Reply) -> Option<Said> {
        self.usage += reply.usage;
        self.guard.counted(reply.usage.input);
        if reply.stop == Stop::Refused {
            return None;
        }
        let limit = self.turns.limits.calls_per_turn;
        let (calls, sorted) = Sorted::of(reply.calls, self.tools(), limit);
        Some(Said {
            written: self.turns.slot.answer(&reply.text, &reply.stop),
            text: reply.text,
            calls,
            sorted,
        })
    }

    /// Takes in a reply without an answer. Providers refuse messages that say nothing.
    pub fn hear(&mut self, text: String, calls: &[ToolCall]) {
        if calls.is_empty() && text.trim().is_empty() {
            return;
        }
        let calls = calls.to_vec();
        let said = Message::Assistant { text, calls };
        self.guard.add(self.cost(&said));
        self.push(said, Vec::new());
    }

    /// Takes in the replies to the calls of the latest message, each with whether it leads to
    /// what is stored. Their tokens must have been taken from the guard.
    pub fn answered(&mut self, replies: impl IntoIterator<Item = (ToolReply, bool)>) {
        let (replies, handles) = replies.into_iter().unzip();
        self.push(Message::Tools(replies), handles);
    }

    /// The turn at hand does not count, unless `most` already did not.
    pub fn free_turn(&mut self, most: u32) {
        self.free += u32::from(self.free < most);
    }

    /// Whether there are turns left.
    #[must_use]
    pub fn has_turns(&self) -> bool {
        self.asked.saturating_sub(self.free) < self.turns.limits.turns
    }

    /// Times that the model was asked.
    #[must_use]
    pub fn asked(&self) -> u32 {
        self.asked
    }

    /// Whether only the answer is left to do.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.is_last
    }

    /// What all replies used together.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// What was said so far.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.turns.messages
    }

    /// Tokens of a text.
    #[must_use]
    pub fn count(&self, text: &str) -> u64 {
        self.turns.counter.count(text)
    }

    /// Tokens of a message. A call costs what its reply costs beside its text, too.
    fn cost(&self, message: &Message) -> u64 {
        let call = |call: &ToolCall| {
            2 * (self.count(&call.id) + MESSAGE_TOKENS)
                + self.count(&call.name)
                + self.count(&call.arguments)
        };
        match message {
            Message::User(text) => self.count(text) + MESSAGE_TOKENS,
            Message::Assistant { text, calls } => {
                self.count(text) + calls.iter().map(call).sum::<u64>() + MESSAGE_TOKENS
            }
            Message::Tools(replies) => replies.iter().map(|reply| self.count(&reply.text)).sum(),
        }
    }

    fn last_notice(&self, why: Option<&str>) -> Message {
        Message::User((self.policy.last_turn)(&self.turns.slot, why))
    }

    fn push(&mut self, message: Message, handles: Vec<bool>) {
        self.turns.messages.push(message);
        let turn = self.asked;
        self.notes.push(Note { turn, handles });
    }
}

/// Tokens of a list of tools.
pub fn tokens_of(tools: &[ToolSpec], count: &dyn Fn(&str) -> u64) -> u64 {
    let one = |tool: &ToolSpec| {
        count(&tool.name) + count(&tool.description) + count(&tool.schema.to_string())
    };
    tools.iter().map(one).sum()
}

#[cfg(test)]
mod tests;
