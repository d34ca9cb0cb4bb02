//! What happens next?

use spillgate_llm::{ChatModel, LlmError, Message, Usage};

use crate::host::{Observer, ToolHost};
use crate::slot::{Slot, SlotError};

/// How long a loop may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Times that the model is asked.
    pub turns: u32,
    /// Calls of tools that are made of one reply.
    pub calls_per_turn: u32,
    /// Tokens that a reply may have.
    pub max_output_tokens: u64,
    /// Tokens that the conversation may have before the model must answer.
    pub window: u64,
}

/// A conversation.
#[derive(Debug, Clone)]
pub struct Turns {
    /// The system prompt.
    pub system: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// Where the answer will stand.
    pub slot: Slot,
    /// How long it may go on.
    pub limits: Limits,
}

/// How a loop ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// With an answer.
    Answered(String),
    /// The turns were used up, or the last reply had no answer in its slot.
    NoAnswer(SlotError),
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

/// Runs the loop to its end. Dropping the future cancels it.
pub async fn run(
    turns: Turns,
    model: &dyn ChatModel,
    host: &dyn ToolHost,
    observer: &dyn Observer,
) -> Finished {
    let _ = (turns, model, host, observer);
    Finished {
        ending: Ending::NoAnswer(SlotError::Missing),
        usage: Usage::default(),
        turns: 0,
    }
}
