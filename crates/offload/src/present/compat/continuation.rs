//! The `continuation` profile: slices and markers, byte for byte as in its original format.

use serde_json::json;
use spillgate_artifact::{ContentKind, Facts, HandleForm, Stats};
use spillgate_lookup::{Slice, slice};
use spillgate_text::{ScanFacts, TokenCounter};

use crate::RetrieveError;
use crate::limits::Limits;
use crate::present::{Message, Sizes, Strategy, Subject};

/// Default characters of a slice.
pub const DEFAULT_SLICE_CHARS: u64 = 4000;

/// Tokens of the marker after a slice, which says how much it shows and how to get more.
const SLICE_WORDS: u64 = 60;

/// The `continuation` profile.
pub(crate) struct Continuation;

impl Strategy for Continuation {
    fn name(&self) -> &'static str {
        "continuation"
    }

    /// The form that the profile's texts and tests were written for.
    fn handle_form(&self) -> HandleForm {
        HandleForm::Long
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            chars: Some(DEFAULT_SLICE_CHARS),
            ..Sizes::default()
        }
    }

    fn note(&self, facts: &mut Facts, limits: &Limits) {
        facts.first_slice = Some(slice_chars(limits));
    }

    fn tightened(&self, limits: Limits, stats: &Stats) -> Limits {
        // The text is within one page: a first slice of page size would repeat all of it.
        let part = stats.chars.div_ceil(4).max(1);
        Limits {
            chars: Some(slice_chars(&limits).min(part)),
            ..limits
        }
    }

    fn cost(&self, scan: &ScanFacts, _: ContentKind, limits: &Limits, _: &dyn TokenCounter) -> u64 {
        slice_chars(limits).min(scan.chars.div_ceil(4)).div_ceil(4) + SLICE_WORDS
    }

    fn message(&self, subject: &Subject<'_>) -> Result<Message, RetrieveError> {
        let slice = slice(subject.artifact()?, 0, slice_chars(subject.limits))?;
        let handle = subject.manifest.handle.to_string();
        let id = subject.facts().origin.call_id.as_ref();
        Ok(Message::fixed(first(&slice, id.unwrap_or(&handle))))
    }
}

/// Returns the characters of a slice: the limit itself.
fn slice_chars(limits: &Limits) -> u64 {
    limits.chars.unwrap_or(DEFAULT_SLICE_CHARS)
}

/// Formats the first slice and the call that returns the next one.
fn first(slice: &Slice, id: &str) -> String {
    let Slice {
        text, end, total, ..
    } = slice;
    format!(
        "{text}\n\n[truncated — showing {end}/{total} chars. \
         Call get_continuation with tool_call_id=\"{id}\" to read more]"
    )
}

/// Formats a later slice, and the call for more if there is more.
pub(crate) fn later(slice: &Slice, id: &str) -> String {
    let Slice {
        text,
        start,
        end,
        total,
    } = slice;
    match total - end {
        0 => text.clone(),
        remaining => format!(
            "{text}\n\n[truncated — showing {start}-{end}/{total} chars. \
             {remaining} chars remaining. \
             Call get_continuation with tool_call_id=\"{id}\" offset={end} to read more]"
        ),
    }
}

/// The reason why there is no further slice.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContinuationError {
    /// No stored result has that id.
    #[error("No cached result for tool_call_id '{id}'")]
    UnknownId {
        /// The requested id, cut at 200 characters.
        id: String,
    },
    /// The text ends before that offset.
    #[error("Offset beyond end of result")]
    PastEnd,
    /// The offset is not a non-negative integer.
    #[error("offset must be a non-negative integer")]
    BadOffset,
    /// The stored text could not be read.
    #[error(transparent)]
    Retrieve(#[from] crate::RetrieveError),
}

impl ContinuationError {
    /// Returns the error in its original format: a JSON object as text.
    #[must_use]
    pub fn to_json(&self) -> String {
        // The format has a space after the colon (docs/spec/texts.md, "Continuation tool").
        format!("{{\"error\": {}}}", json!(self.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn of(text: &str, start: u64, total: u64) -> Slice {
        Slice {
            text: text.to_owned(),
            start,
            end: start + text.chars().count() as u64,
            total,
        }
    }

    #[test]
    fn markers() {
        assert_snapshot!(first(&of("abc", 0, 10), "call_1"), @r#"
        abc

        [truncated — showing 3/10 chars. Call get_continuation with tool_call_id="call_1" to read more]
        "#);
        assert_snapshot!(later(&of("äöü", 3, 10), "call_1"), @r#"
        äöü

        [truncated — showing 3-6/10 chars. 4 chars remaining. Call get_continuation with tool_call_id="call_1" offset=6 to read more]
        "#);
        assert_eq!(later(&of("last", 6, 10), "call_1"), "last");
    }

    #[test]
    fn errors() {
        let unknown = ContinuationError::UnknownId {
            id: "a\"b".to_owned(),
        };
        let all = [
            unknown,
            ContinuationError::PastEnd,
            ContinuationError::BadOffset,
        ];
        assert_snapshot!(all.map(|error| error.to_json()).join("\n"), @r#"
        {"error": "No cached result for tool_call_id 'a\"b'"}
        {"error": "Offset beyond end of result"}
        {"error": "offset must be a non-negative integer"}
        "#);
    }
}
