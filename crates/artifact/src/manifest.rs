//! The manifest of a stored artifact.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ContentKind, FileName, Handle, Origin, RawForm, Timestamp, Tokens};

/// The figures of a text as it came in (docs/spec/behaviour.md, "Figures").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Bytes of the text.
    pub bytes: u64,
    /// Newlines + 1; 0 when empty.
    pub lines: u64,
    /// Unicode scalar values; each invalid byte sequence counts as one.
    pub chars: u64,
    /// Tokens, exact or extrapolated.
    pub tokens: Tokens,
    /// The kind of content.
    pub kind: ContentKind,
}

/// Why a result was offloaded, in reporting order (docs/spec/behaviour.md, "Deciding").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A set limit of bytes, tokens, lines or characters was exceeded.
    SizeCap,
    /// The conversation would have overflowed.
    TokenBudget,
    /// Another result took the budget meanwhile.
    ReserveFailed,
}

impl fmt::Display for Reason {
    /// Returns its name in JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SizeCap => "size_cap",
            Self::TokenBudget => "token_budget",
            Self::ReserveFailed => "reserve_failed",
        })
    }
}

/// The view: the readable text beside the raw bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewFacts {
    /// Bytes of the view.
    pub bytes: u64,
    /// View lines: as many as line tools can address. A final newline ends a
    /// line and begins none.
    pub lines: u64,
    /// Bytes of the longest run without a newline; above the soft-break limit
    /// one such run is several view lines.
    pub longest_line: u64,
    /// Whether the raw bytes serve as the view, so that there is one file.
    pub is_raw: bool,
    /// How the view was laid out.
    pub layout: Layout,
    /// Bytes of text lines that stand before a laid-out JSON document, such as
    /// progress notes; they are the same in the view.
    #[serde(default)]
    pub prelude: u64,
}

/// How a view was laid out (docs/spec/behaviour.md, "Views").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Lines as they came.
    #[default]
    AsIs,
    /// One JSON document, a member or element a line, after its prelude.
    Json,
    /// Markup, broken between tags.
    Markup,
}

/// What a store keeps besides the bytes of an artifact. It is written last: an artifact exists when
/// its manifest exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format; [`Manifest::FORMAT`] in new manifests.
    #[serde(default = "first_format")]
    pub format: u32,
    /// The artifact's name.
    pub handle: Handle,
    /// Whether it is exempt from quota and age.
    #[serde(default)]
    pub pinned: bool,
    /// Checksums of what the SHA-256 does not cover; `None` in old manifests and in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
    /// What is known of the result.
    #[serde(flatten)]
    pub facts: Facts,
}

/// The first format. Manifests were written without a format before there was a second one.
const fn first_format() -> u32 {
    1
}

impl Manifest {
    /// The newest format that this version knows. It changes when a manifest, a view or an index
    /// changes its meaning, not when members are added.
    pub const FORMAT: u32 = 1;

    /// Returns the manifest of an artifact that is stored now.
    #[must_use]
    pub fn new(handle: Handle, facts: Facts) -> Self {
        Self {
            format: Self::FORMAT,
            handle,
            pinned: false,
            checks: None,
            facts,
        }
    }
}

/// CRC-32 checksums that detect damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checks {
    /// Of the view; `None` if the raw bytes are the view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<u32>,
    /// Of the line index.
    pub index: u32,
    /// Of the manifest's other members but `pinned`, as compact JSON.
    pub manifest: u32,
}

/// What is known of a result when it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// When it was stored.
    pub created: Timestamp,
    /// Its origin.
    #[serde(flatten)]
    pub origin: Origin,
    /// MIME type of the raw bytes, if the producer named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Whether the tool reports a failure (`isError`).
    #[serde(default)]
    pub is_error: bool,
    /// Bytes of the raw payload.
    pub raw_bytes: u64,
    /// SHA-256 of the raw payload, 64 hex digits.
    pub sha256: String,
    /// How the text lies in the raw payload.
    #[serde(default)]
    pub form: RawForm,
    /// Figures of the text.
    pub stats: Stats,
    /// Figures of the view.
    pub view: ViewFacts,
    /// Why it was offloaded.
    pub reason: Reason,
    /// Characters of the text that its message showed, if further slices begin after them (the
    /// `continuation` profile).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_slice: Option<u64>,
    /// The name under which a store of files also keeps the text, for other programs (the `funnel`
    /// profile).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_name: Option<FileName>,
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer};

    use super::*;

    #[test]
    fn a_reason_is_spelled_as_on_the_wire() {
        for reason in [Reason::SizeCap, Reason::TokenBudget, Reason::ReserveFailed] {
            let name = reason.to_string();
            let name: StrDeserializer<'_, Error> = name.as_str().into_deserializer();
            assert_eq!(Reason::deserialize(name), Ok(reason));
        }
    }
}
