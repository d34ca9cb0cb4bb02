//! The `handle` profile: three lines, byte for byte as in its original format.

use spillgate_artifact::{ContentKind, Handle as Name, HandleForm, Stats, Tokens};
use spillgate_text::{ScanFacts, TokenCounter};

use super::truncate::DEFAULT_MAX_BYTES;
use crate::RetrieveError;
use crate::limits::Limits;
use crate::present::{Message, Sizes, Strategy, Subject, estimated};

/// The `handle` profile.
pub(crate) struct Handle;

impl Strategy for Handle {
    fn name(&self) -> &'static str {
        "handle"
    }

    /// The form that the profile's texts and tests were written for.
    fn handle_form(&self) -> HandleForm {
        HandleForm::Long
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            bytes: Some(DEFAULT_MAX_BYTES),
            ..Sizes::default()
        }
    }

    fn cost(
        &self,
        scan: &ScanFacts,
        kind: ContentKind,
        _: &Limits,
        counter: &dyn TokenCounter,
    ) -> u64 {
        let stats = Stats {
            bytes: scan.bytes,
            lines: scan.lines(),
            chars: scan.chars,
            tokens: Tokens::estimated(estimated(scan)),
            kind,
        };
        counter.count(&told(&stats, any_handle()))
    }

    fn message(&self, subject: &Subject<'_>) -> Result<Message, RetrieveError> {
        let text = told(&subject.facts().stats, subject.manifest.handle);
        Ok(Message::fixed(text))
    }
}

/// Returns a sample handle for estimates: its digits are as mixed as those of any other, so that it
/// costs as much.
fn any_handle() -> Name {
    "session-7c9e6679-7425-40de-944b-e07fc1f90ae7/f47ac10b-58cc-4372-a567-0e02b2c3d479"
        .parse()
        .expect("invariant: it is a handle")
}

/// Formats the message. This is the only profile in which a model must call `tool_output`.
fn told(stats: &Stats, handle: Name) -> String {
    let Stats {
        bytes,
        lines,
        tokens,
        ..
    } = stats;
    // ai-agent's rule: the tokenizer's count, but at least a quarter of the text's characters
    // (docs/spec/texts.md, "Handle profile").
    let tokens = tokens.count.max(stats.chars.div_ceil(4));
    format!(
        "Tool output is too large ({bytes} bytes, {lines} lines, {tokens} tokens).\n\
         Call tool_output(handle = \"{handle}\", extract = \"what to extract\").\n\
         Provide precise and detailed instructions in `extract` about what you are looking for."
    )
}
