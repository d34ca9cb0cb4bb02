//! The answer of a strategy, before its quotes are checked.

use std::io;

use spillgate_conversation::SlotError;
use spillgate_llm::LlmError;
use spillgate_lookup::LookupError;

use crate::Coverage;
use crate::prompt::NOTHING;

/// The result of a strategy.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Drafted {
    /// The answer.
    pub text: String,
    /// Whether the answer contains data.
    pub is_found: bool,
    /// Whether the answer covers only a part of the output.
    pub is_partial: bool,
    pub coverage: Coverage,
    /// Notes on how the answer was made.
    pub notes: Vec<String>,
}

impl Drafted {
    /// Returns the answer for an empty output.
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

/// Why a strategy could not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StrategyError {
    /// The prompt alone fills the model's window, for example because the text to extract is too
    /// long.
    #[error(
        "the prompt alone fills the model's window of {window} tokens; shorten `extract` or use a larger model"
    )]
    NoRoom {
        /// Tokens of the model's window.
        window: u64,
    },
    /// No chunk could be read.
    #[error("{0}")]
    Chunks(String),
    /// The model of the read-grep strategy could not be reached.
    #[error("{0}")]
    Model(#[from] LlmError),
    /// The model of the read-grep strategy refused to answer.
    #[error("the model refused")]
    Refused,
    /// The model of the read-grep strategy ended its search without an answer.
    #[error("{0}")]
    NoAnswer(#[from] SlotError),
    /// The output could not be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A lookup in the output failed.
    #[error("{0}")]
    Lookup(#[from] LookupError),
}
