//! Errors of look-ups.

use std::io;

use spillgate_artifact::{Interrupted, SourceTruncated};

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
    /// The caller's pattern repeats so much that it would take all memory.
    #[error("the pattern is too large: compiled, it takes more than {} MiB. Use smaller repetitions", crate::PATTERN_BYTES >> 20)]
    PatternTooLarge,
    /// The caller's pattern would take too long in this text.
    #[error(transparent)]
    CostlyBoundary(crate::CostlyBoundary),
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
    Index(#[from] spillgate_text::IndexError),
    /// The stored bytes could not be read.
    #[error("the stored artifact could not be read: {0}")]
    Io(io::Error),
    /// Bytes of the stored artifact are not there any more.
    #[error("the stored artifact is damaged: {0}")]
    Shortened(SourceTruncated),
    /// It was ended before its time.
    #[error("the look-up was ended: {why}{}", advice(why))]
    Interrupted {
        /// Why.
        why: Interrupted,
    },
}

/// What to do where a look-up was ended.
fn advice(why: &Interrupted) -> &'static str {
    match why {
        Interrupted::TimedOut { .. } => {
            ". Ask for less at a time: a part (`start`), or a simpler pattern"
        }
        Interrupted::Cancelled => "",
    }
}

/// What a read error says, where it says more than that reading failed.
impl From<io::Error> for LookupError {
    fn from(error: io::Error) -> Self {
        let inner = error.get_ref();
        if let Some(costly) = inner.and_then(|inner| inner.downcast_ref()) {
            return Self::CostlyBoundary(*costly);
        }
        match (Interrupted::of(&error), SourceTruncated::of(&error)) {
            (Some(why), _) => Self::Interrupted { why },
            (_, Some(missing)) => Self::Shortened(missing),
            (None, None) => Self::Io(error),
        }
    }
}

impl LookupError {
    /// The kind, as a short word for `--json` and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BadPattern { .. } | Self::PatternTooLarge | Self::CostlyBoundary(_) => {
                "bad_pattern"
            }
            Self::EmptyQuestion => "empty_question",
            Self::PastEnd { .. } => "past_end",
            Self::Index(_) | Self::Shortened(_) => "store_damaged",
            Self::Interrupted {
                why: Interrupted::Cancelled,
            } => "cancelled",
            Self::Interrupted { .. } => "timeout",
            Self::Io(error) if error.kind() == io::ErrorKind::InvalidData => "store_damaged",
            Self::Io(_) => "store_io",
        }
    }

    /// Whether the caller can mend it.
    #[must_use]
    pub fn is_callers(&self) -> bool {
        matches!(
            self,
            Self::BadPattern { .. }
                | Self::PatternTooLarge
                | Self::CostlyBoundary(_)
                | Self::EmptyQuestion
                | Self::PastEnd { .. }
                | Self::Interrupted { .. }
        )
    }
}
