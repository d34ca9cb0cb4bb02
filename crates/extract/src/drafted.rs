//! The answer of a strategy before it is checked.

use std::io;

use spillgate_conversation::SlotError;
use spillgate_llm::LlmError;
use spillgate_lookup::LookupError;

use crate::Coverage;
use crate::prompt::NOTHING;

/// What a strategy gave.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Drafted {
    /// The answer.
    pub text: String,
    /// Whether it says that there is something.
    pub is_found: bool,
    /// Whether it is of a part of the output only.
    pub is_partial: bool,
    pub coverage: Coverage,
    /// What is to be said of how it was made.
    pub notes: Vec<String>,
}

impl Drafted {
    /// The answer of an output that holds nothing.
    pub(crate) fn empty() -> Self {
        Self {
            text: format!("{NOTHING}\nThe tool output is empty."),
            is_found: false,
            is_partial: false,
            coverage: Coverage::default(),
            notes: Vec::new(),
        }
    }
}

/// A strategy could not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StrategyError {
    /// What to extract fills the model.
    #[error(
        "the prompt alone fills the model's window of {window} tokens; shorten `extract` or use a larger model"
    )]
    NoRoom {
        /// Tokens of the model.
        window: u64,
    },
    /// No chunk could be read.
    #[error("{0}")]
    Chunks(String),
    /// The child could not ask its model.
    #[error("{0}")]
    Model(#[from] LlmError),
    /// The child's model refused.
    #[error("the model refused")]
    Refused,
    /// The child ended without an answer.
    #[error("{0}")]
    NoAnswer(#[from] SlotError),
    /// The output cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The output cannot be looked into.
    #[error("{0}")]
    Lookup(#[from] LookupError),
}
