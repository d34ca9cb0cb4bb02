//! Errors of lookups.

use std::io;

use spillgate_artifact::{Handle, Interrupted, SourceTruncated};

/// Why a lookup could not be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// The caller's pattern is not a regular expression.
    #[error("the pattern is not a valid regular expression: {message}")]
    BadPattern {
        /// What is wrong with it and where.
        message: String,
    },
    /// The caller's pattern repeats so much that its compiled form would take too much memory.
    #[error("the pattern is too large: compiled, it takes more than {} MiB. Use smaller repetitions", crate::PATTERN_BYTES >> 20)]
    PatternTooLarge,
    /// The caller's pattern would take too long to search this text.
    #[error(transparent)]
    CostlyBoundary(crate::CostlyBoundary),
    /// The caller's question contains no word.
    #[error("the question has no word to look for")]
    EmptyQuestion,
    /// The caller requested a position after the end.
    #[error("{unit} {asked} is past the end: there are {total} {unit}s")]
    PastEnd {
        /// `line` or `byte`.
        unit: &'static str,
        /// The requested position.
        asked: u64,
        /// The number of lines or bytes that there are.
        total: u64,
    },
    /// The caller asked for the text inside a JSON document at a path where there is none.
    #[error("there is no text at `{path}`: {why}")]
    NoText {
        /// The path, shortened.
        path: String,
        /// What is there instead.
        why: String,
    },
    /// The stored line index is unusable.
    #[error(transparent)]
    Index(#[from] spillgate_text::IndexError),
    /// The stored bytes could not be read.
    #[error("the stored artifact could not be read: {0}")]
    Io(io::Error),
    /// Bytes of the stored artifact are missing.
    #[error("the stored artifact is damaged: {0}")]
    Shortened(SourceTruncated),
    /// The artifact has more secrets than can be marked, so nothing of it is shown.
    #[error(
        "the output has more than {} secrets, so no part of it is shown; \
         `spillgate cat --raw {handle}` shows it at a terminal",
        spillgate_redact::MOST_FINDINGS
    )]
    TooManySecrets {
        /// The artifact's handle.
        handle: Handle,
    },
    /// The lookup was ended before it was complete.
    #[error("the look-up was ended: {why}{}", advice(why))]
    Interrupted {
        /// Why it was ended.
        why: Interrupted,
    },
}

/// Returns advice on what to do after a lookup was ended.
fn advice(why: &Interrupted) -> &'static str {
    match why {
        Interrupted::TimedOut { .. } => {
            ". Ask for less at a time: a part (`start`), or a simpler pattern"
        }
        Interrupted::Cancelled => "",
    }
}

/// Keeps the cause of a read error if the cause is more specific than a failed read.
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
    /// Returns the kind, as a short word for `--json` and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BadPattern { .. } | Self::PatternTooLarge | Self::CostlyBoundary(_) => {
                "bad_pattern"
            }
            Self::EmptyQuestion => "empty_question",
            Self::PastEnd { .. } => "past_end",
            Self::NoText { .. } => "no_text",
            Self::TooManySecrets { .. } => "secrets",
            Self::Index(_) | Self::Shortened(_) => "store_damaged",
            Self::Interrupted {
                why: Interrupted::Cancelled,
            } => "cancelled",
            Self::Interrupted { .. } => "timeout",
            Self::Io(error) if error.kind() == io::ErrorKind::InvalidData => "store_damaged",
            Self::Io(_) => "store_io",
        }
    }

    /// Returns whether the caller can correct the error.
    #[must_use]
    pub fn is_callers(&self) -> bool {
        matches!(
            self,
            Self::BadPattern { .. }
                | Self::PatternTooLarge
                | Self::CostlyBoundary(_)
                | Self::EmptyQuestion
                | Self::PastEnd { .. }
                | Self::NoText { .. }
                | Self::Interrupted { .. }
        )
    }
}
