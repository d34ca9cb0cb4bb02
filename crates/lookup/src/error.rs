//! Why could a look-up not be answered?

use std::io;

/// A look-up could not be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// The caller's pattern is no regular expression.
    #[error("the pattern is not a valid regular expression: {message}")]
    BadPattern {
        /// What is wrong with it and where.
        message: String,
    },
    /// The caller's question has no word in it.
    #[error("the question has no word to look for")]
    EmptyQuestion,
    /// The caller asked for a place behind the end.
    #[error("{unit} {asked} is past the end: there are {total} {unit}s")]
    PastEnd {
        /// `line` or `byte`.
        unit: &'static str,
        /// What was asked for.
        asked: u64,
        /// How many there are.
        total: u64,
    },
    /// The stored line index cannot be used.
    #[error(transparent)]
    Index(#[from] spillgate_view::IndexError),
    /// The stored bytes could not be read.
    #[error("the stored artifact could not be read: {0}")]
    Io(#[from] io::Error),
}

impl LookupError {
    /// The kind, as a short word for `--json` and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BadPattern { .. } => "bad_pattern",
            Self::EmptyQuestion => "empty_question",
            Self::PastEnd { .. } => "past_end",
            Self::Index(_) => "store_damaged",
            Self::Io(error) if error.kind() == io::ErrorKind::InvalidData => "store_damaged",
            Self::Io(_) => "store_io",
        }
    }

    /// Whether the caller can mend it.
    #[must_use]
    pub fn is_callers(&self) -> bool {
        matches!(
            self,
            Self::BadPattern { .. } | Self::EmptyQuestion | Self::PastEnd { .. }
        )
    }
}
