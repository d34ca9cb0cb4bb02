//! Results of tool calls: text, oversized output and errors.

use std::fmt;
use std::io::Read;

use spillgate_files::ArgumentError;
use spillgate_offload::{Rejection, estimated_tokens};

use crate::Rules;

/// The result of a tool call.
#[derive(Debug)]
pub struct ToolResult {
    /// The answer.
    pub body: Body,
    /// Whether the call failed. The text then begins with `Error: `.
    pub is_error: bool,
}

/// The content of an answer.
pub enum Body {
    /// A text within the limit.
    Text(String),
    /// The whole of an answer that exceeds the limit. Returned only if the rules say
    /// [`OnOverflow::Offload`](crate::OnOverflow). It is meant for the offload pipeline, not for a
    /// model.
    Oversized(OversizedOutput),
}

/// An output that exceeds the limit.
pub struct OversizedOutput {
    /// The whole output, byte for byte.
    pub whole: Box<dyn Read + Send>,
    /// Notes that a model must see with the output, such as how a command ended; may be empty. The
    /// notes are not stored with the output, so that JSON output stays valid JSON.
    pub notes: String,
    /// Whether the call failed although it has output. The notes then begin with `Error: `.
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
    /// Joins the preview of the output with its notes. Notes of an error come first.
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

/// A tool's answer, or the reason there is none.
pub(crate) type Reply = Result<Body, ToolError>;

/// Why a call has no answer. Its text is shown to the model and begins with `Error: `
/// (docs/spec/texts.md, "Reject profile").
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolError(String);

impl ToolError {
    /// Creates an error from a text that says what happened and what to do instead.
    pub(crate) fn new(what: impl fmt::Display) -> Self {
        Self(format!("Error: {what}"))
    }

    /// Appends `more` after an empty line.
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

/// Reports invalid arguments.
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
    /// Whether `bytes` exceed the limit. Tokens are estimated as bytes / 4, rounded down: at
    /// the default limit 100,003 bytes pass and 100,004 do not.
    pub(crate) fn exceeds(&self, bytes: u64) -> bool {
        estimated_tokens(bytes) > self.max_tokens
    }

    /// Maximum bytes of an answer that is within the limit.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.max_tokens.saturating_mul(4).saturating_add(3)
    }
}
