//! `get_continuation`: the text after the slice that a message showed.

use serde_json::{Value, json};
use spillgate_lookup::{LookupError, slice};

use super::RetrieveError;
use crate::Offloader;
use crate::present::{ContinuationError, DEFAULT_SLICE_CHARS, Presentation, later};

/// The description of `get_continuation` for models (docs/spec/texts.md, "Continuation tool").
pub const CONTINUATION_TOOL: &str = "Retrieve the next chunk of a truncated tool result. \
     Use when a previous tool result shows [truncated].";

/// Returns the JSON Schema of its arguments.
#[must_use]
pub fn continuation_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "tool_call_id": {
                "type": "string",
                "description": "The tool_call_id from the truncation message",
            },
            "offset": {
                "type": "integer",
                "description": "Character offset to read from",
            },
        },
        "required": ["tool_call_id"],
    })
}

impl Offloader {
    /// Runs `get_continuation`: returns the slice of a result from character `offset`, given as the
    /// model typed it. Without an offset the slice starts at the end of what the message showed.
    /// Recorded in the ledger.
    pub fn continuation(
        &self,
        id: &str,
        offset: Option<&str>,
    ) -> Result<Presentation, ContinuationError> {
        let unknown = || ContinuationError::UnknownId {
            id: id.chars().take(200).collect(),
        };
        let handle = self.by_call_id(id).map_err(RetrieveError::from)?;
        let handle = handle.ok_or_else(unknown)?;
        let artifact = self.artifact(handle)?;
        let facts = &artifact.manifest().facts;
        let length = facts.first_slice.unwrap_or(DEFAULT_SLICE_CHARS);
        let offset = match offset {
            Some(text) => whole_number(text).ok_or(ContinuationError::BadOffset)?,
            None => length,
        };
        let slice = match slice(&artifact, offset, length) {
            Err(LookupError::PastEnd { .. }) => return Err(ContinuationError::PastEnd),
            slice => slice.map_err(RetrieveError::from)?,
        };
        let text = later(&slice, id);
        self.retrieved(&artifact, &text, None);
        Ok(Presentation::of_format(text, &**self.counter()))
    }
}

/// Parses a non-negative whole number as models write it: `4000`, ` 4000 `, `4000.0`. `None` for
/// anything else (docs/spec/behaviour.md, "Arguments of models").
#[must_use]
pub fn whole_number(text: &str) -> Option<u64> {
    let text = text.trim();
    let whole = match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole,
        _ => text,
    };
    whole.parse().ok()
}
