//! A conversation with a model: its messages, how the model is asked and what it replies.

mod fitting;

use std::sync::Arc;

use spillgate_llm::{Message, Reply, Request, Stop, ToolCall, ToolReply, ToolSpec, Usage};
use spillgate_text::TokenCounter;

use crate::calls::{Calls, Sorted};
use crate::guard::Guard;
use crate::slot::{Slot, SlotError};

pub use fitting::LeftOut;

/// Tokens that a message costs in addition to its text, for its role and its delimiters, as
/// providers count them.
pub(crate) const MESSAGE_TOKENS: u64 = 4;

/// The limits at which a conversation ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// How often the model may be asked.
    pub turns: u32,
    /// Maximum number of calls that are made for one reply.
    pub calls_per_turn: u32,
    /// Maximum length of a reply, in tokens.
    pub max_output_tokens: u64,
    /// Maximum size of the conversation, in tokens, including the reply. When it is reached, the
    /// model must answer.
    pub window: u64,
}

/// A conversation to be held with a model.
#[derive(Debug, Clone)]
pub struct Turns {
    /// The system prompt.
    pub system: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The pair of tags between which the model must write its answer.
    pub slot: Slot,
    /// The limits at which the conversation ends.
    pub limits: TurnLimits,
    /// Counts the tokens of the conversation.
    pub counter: Arc<dyn TokenCounter>,
}

/// The differences between the two users of conversations: the loop of this crate, and an agent.
#[derive(Debug, Clone)]
pub struct TurnPolicy {
    /// Whether the model is reminded only once. If so, its second reply without an answer and
    /// without a call ends the conversation, even if other replies came in between.
    pub reminds_once: bool,
    /// Whether no request may exceed the window. If true, room for the last notice is reserved from
    /// the start, a reminder is sent only if it fits besides, and everything except the first
    /// message may be left out. If false, only tool results are left out, and a conversation that
    /// is still too long is sent without tools.
    pub keeps_window: bool,
    /// The tools that may be called in the last turn; calls of other tools are refused. If `None`,
    /// the last request forbids all calls, and lists the usual tools only if the conversation
    /// contains calls.
    pub last_tools: Option<Vec<ToolSpec>>,
    /// Returns the text that tells the model that its reply had neither a call nor an answer. The
    /// second argument says what was wrong with the reply.
    pub reminder: fn(&Slot, &str) -> String,
    /// Returns the text that tells the model to give only the answer now. The second argument says
    /// what was wrong with the previous reply, if anything.
    pub last_turn: fn(&Slot, Option<&str>) -> String,
}

/// What the model said.
#[derive(Debug)]
pub struct Said {
    /// The text of the reply.
    pub text: String,
    /// The content of the slot, or why the reply has none.
    pub written: Result<String, SlotError>,
    /// The calls of the reply, divided into those that are made and those that are refused.
    pub calls: Calls,
    /// The same calls in their original order.
    pub sorted: Sorted,
}

/// A conversation in progress. It does not ask models or call tools itself. Its user decides what
/// the model is shown of a tool's result, and reserves room for it through [`Conversation::guard`].
///
/// The last turn comes when the turns are used up, or when the conversation would no longer fit the
/// window according to our count or the provider's.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// Counts how much of the window the conversation takes.
    pub guard: Guard,
    turns: Turns,
    policy: TurnPolicy,
    /// Additional facts about the messages, one entry per message.
    notes: Vec<Note>,
    /// The tool replies that were left out since the last call of `take_left_out`.
    left_out: Vec<LeftOut>,
    tools: Vec<ToolSpec>,
    /// Tokens that the guard has reserved for the last notice.
    reserved: u64,
    /// How often the model was asked, and how many of these turns do not count.
    asked: u32,
    free: u32,
    usage: Usage,
    was_reminded: bool,
    is_last: bool,
}

/// Additional facts about a message.
#[derive(Debug, Clone, Default)]
struct Note {
    /// How often the model had been asked before the message.
    turn: u32,
    /// For each tool reply in the message, whether it names the handle of a stored result.
    handles: Vec<bool>,
}

impl Conversation {
    /// Creates a conversation that is about to start. `tools` must contain every tool that will
    /// ever be offered, so that all of them are counted now.
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

    /// Sets the tools that are offered from now on, until the last turn.
    pub fn offer(&mut self, tools: Vec<ToolSpec>) {
        self.tools = tools;
    }

    /// Returns the tools that may be called in this turn.
    #[must_use]
    pub fn tools(&self) -> &[ToolSpec] {
        match &self.policy.last_tools {
            Some(tools) if self.is_last => tools,
            _ => &self.tools,
        }
    }

    /// Returns the next request, or `None` if the model must not be asked again. `why` says what
    /// was wrong with the previous reply, and `is_last` makes this turn the last one.
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
            // Providers require that the tools of all calls in a conversation are listed. If the
            // window is too small for that, the tools are omitted anyway.
            tools: match no_calls && !(fits && has_calls) {
                true => Vec::new(),
                false => self.tools().to_vec(),
            },
            no_calls,
            max_output_tokens: self.turns.limits.max_output_tokens,
        })
    }

    /// Reads a reply; `None` if the model refused.
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

    /// Adds a reply without an answer. A reply with neither text nor calls is not added, because
    /// providers reject empty messages.
    pub fn hear(&mut self, text: String, calls: &[ToolCall]) {
        if calls.is_empty() && text.trim().is_empty() {
            return;
        }
        let calls = calls.to_vec();
        let said = Message::Assistant { text, calls };
        self.guard.add(self.cost(&said));
        self.push(said, Vec::new());
    }

    /// Adds the replies to the calls of the latest message. The flag of a reply says whether the
    /// reply names the handle of a stored result. Room for the tokens of all replies must already
    /// be reserved through the guard.
    pub fn answered(&mut self, replies: impl IntoIterator<Item = (ToolReply, bool)>) {
        let (replies, handles) = replies.into_iter().unzip();
        self.push(Message::Tools(replies), handles);
    }

    /// Excludes the current turn from the limit on turns, unless `most` turns are already excluded.
    pub fn free_turn(&mut self, most: u32) {
        self.free += u32::from(self.free < most);
    }

    /// Returns whether the model may be asked again within the limit on turns.
    #[must_use]
    pub fn has_turns(&self) -> bool {
        self.asked.saturating_sub(self.free) < self.turns.limits.turns
    }

    /// Returns how often the model was asked.
    #[must_use]
    pub fn asked(&self) -> u32 {
        self.asked
    }

    /// Returns whether this is the last turn, in which the model must give its answer.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.is_last
    }

    /// Returns the tokens and the cost of all replies together.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns the messages so far.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.turns.messages
    }

    /// Returns the number of tokens of a text.
    #[must_use]
    pub fn count(&self, text: &str) -> u64 {
        self.turns.counter.count(text)
    }

    /// Returns the tokens of a message. The tokens of a call include those that its reply will
    /// take besides the reply's text.
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

/// Returns the number of tokens of a list of tools.
pub fn tokens_of(tools: &[ToolSpec], count: &dyn Fn(&str) -> u64) -> u64 {
    let one = |tool: &ToolSpec| {
        count(&tool.name) + count(&tool.description) + count(&tool.schema.to_string())
    };
    tools.iter().map(one).sum()
}

#[cfg(test)]
mod tests;
