//! The result of a call.

use std::fmt;
use std::io::Read;

use spillgate_files::ArgumentError;
use spillgate_offload::{Rejection, estimated_tokens};

use crate::Rules;

/// What a call gave.
#[derive(Debug)]
pub struct ToolResult {
    /// What is told.
    pub body: Body,
    /// Whether the call failed: what is told begins with `Error: `.
    pub is_error: bool,
}

/// What is told.
pub enum Body {
    /// A text within the limit.
    Text(String),
    /// More than the limit allows, whole: only where the rules say
    /// [`OnOverflow::Offload`](crate::OnOverflow). It is for the pipeline, not for a
    /// model.
    Oversized(OversizedOutput),
}

/// More than the limit allows.
pub struct OversizedOutput {
    /// All of it, byte for byte.
    pub whole: Box<dyn Read + Send>,
    /// What a model has to be told beside it, how a command ended; empty if nothing.
    /// It is no part of what is stored: JSON stays JSON.
    pub notes: String,
    /// Whether the call failed nevertheless: then the notes begin with `Error: `.
    pub(crate) has_failed: bool,
}

impl fmt::Debug for OversizedOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Oversized")
            .field("notes", &self.notes)
            .field("has_failed", &self.has_failed)
            .finish_non_exhaustive()
    }
}

impl OversizedOutput {
    /// What is shown of it, with what is to be told beside it: an error comes first.
    #[must_use]
    pub fn with_notes(notes: &str, is_error: bool, shown: &str) -> String {
        match (notes, is_error) {
            ("", _) => shown.to_owned(),
            (notes, true) => format!("{notes}\n\n{shown}"),
            (notes, false) => format!("{}\n{notes}", shown.trim_end_matches('\n')),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.debug_tuple("Text").field(text).finish(),
            Self::Oversized(all) => all.fmt(f),
        }
    }
}

/// A tool's reply: something, or why not.
pub(crate) type Reply = Result<Body, ToolError>;

/// Why a call gives nothing. Its text is what the model is told, and begins with
/// `Error: ` (docs/spec/texts.md, "Reject profile").
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolError(String);

impl ToolError {
    /// What happened, and what to do instead.
    pub(crate) fn new(what: impl fmt::Display) -> Self {
        Self(format!("Error: {what}"))
    }

    /// With more behind it, after an empty line.
    pub(crate) fn with(self, more: &str) -> Self {
        match more.is_empty() {
            true => self,
            false => Self(format!("{}\n\n{more}", self.0)),
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Rejection> for ToolError {
    fn from(rejection: Rejection) -> Self {
        Self::new(rejection)
    }
}

/// What arguments say that cannot be meant.
impl From<ArgumentError> for ToolError {
    fn from(error: ArgumentError) -> Self {
        error.to_string().into()
    }
}

impl From<String> for ToolError {
    fn from(what: String) -> Self {
        Self::new(what)
    }
}

impl From<Reply> for ToolResult {
    fn from(reply: Reply) -> Self {
        match reply {
            Ok(body) => Self {
                is_error: matches!(&body, Body::Oversized(all) if all.has_failed),
                body,
            },
            Err(refused) => Self {
                body: Body::Text(refused.to_string()),
                is_error: true,
            },
        }
    }
}

impl Rules {
    /// Whether so many bytes are too much: estimated as bytes / 4, rounded down, by which
    /// 100,003 bytes pass and 100,004 do not.
    pub(crate) fn exceeds(&self, bytes: u64) -> bool {
        estimated_tokens(bytes) > self.max_tokens
    }

    /// The most bytes that pass.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.max_tokens.saturating_mul(4).saturating_add(3)
    }
}
