//! The manifest of a stored artifact: the record of its origin, sizes and hashes.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::origin::has_failed;
use crate::{ContentKind, Ending, FileName, Handle, Origin, RawForm, Timestamp, Tokens};

/// The size and the kind of a text as it was received (docs/spec/behaviour.md, "Figures").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Bytes of the text.
    pub bytes: u64,
    /// Number of newlines + 1; 0 if the text is empty.
    pub lines: u64,
    /// Unicode scalar values; each invalid byte sequence counts as one.
    pub chars: u64,
    /// Tokens, exact or extrapolated.
    pub tokens: Tokens,
    /// The kind of content.
    pub kind: ContentKind,
}

/// Why a result was offloaded. If several reasons apply, the first one in this list is recorded
/// (docs/spec/behaviour.md, "Deciding").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A set limit of bytes, tokens, lines or characters was exceeded.
    SizeCap,
    /// The result would have exceeded the token budget of the conversation.
    TokenBudget,
    /// Another result used up the token budget at the same time.
    ReserveFailed,
    /// The result fits, but it has secrets, and the configuration shows such results with marks or
    /// not at all.
    Secrets,
}

impl fmt::Display for Reason {
    /// Formats the reason as in JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SizeCap => "size_cap",
            Self::TokenBudget => "token_budget",
            Self::ReserveFailed => "reserve_failed",
            Self::Secrets => "secrets",
        })
    }
}

/// The size and the layout of the view, which is the readable text made from the raw bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewFacts {
    /// Bytes of the view.
    pub bytes: u64,
    /// Number of view lines, which is the number of lines that tools can address. A newline at the
    /// end of the view ends the last line and does not begin another one.
    pub lines: u64,
    /// Bytes of the longest stretch without a newline. A very long stretch is split into several
    /// view lines.
    pub longest_line: u64,
    /// Whether the raw bytes are also the view, so that the artifact has only one file for both.
    pub is_raw: bool,
    /// How the view was laid out.
    pub layout: Layout,
    /// Bytes of the text lines that precede a laid-out JSON document, such as progress notes. The
    /// view contains them unchanged.
    #[serde(default)]
    pub prelude: u64,
}

/// How a view was laid out (docs/spec/behaviour.md, "Views").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// The view has the same lines as the text.
    #[default]
    AsIs,
    /// One JSON document with one member or element per line, after the prelude.
    Json,
    /// Markup, broken between tags.
    Markup,
}

/// The facts that a store records about an artifact. The manifest is written last: an artifact
/// exists if its manifest exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format of the manifest: 2 if the artifact is encrypted, otherwise 1.
    #[serde(default = "first_format")]
    pub format: u32,
    /// The artifact's name.
    pub handle: Handle,
    /// Whether the artifact is exempt from the quota and from the age limit.
    #[serde(default)]
    pub pinned: bool,
    /// Checksums of the data that the SHA-256 does not cover. `None` in old manifests and in stores
    /// in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
    /// How the artifact's files are encrypted; `None` if they are not. The call's arguments are
    /// then not in the file of the manifest as they are: a manifest that was read without the key
    /// lacks them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Box<Encryption>>,
    /// Facts about the result.
    #[serde(flatten)]
    pub facts: Facts,
}

/// The format of a manifest without the member `format`, which early manifests of format 1 lack.
const fn first_format() -> u32 {
    1
}

impl Facts {
    /// Returns whether the tool reports a failure, or the command failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        has_failed(self.is_error, self.ending)
    }
}

impl Manifest {
    /// The newest format that this version can read. The number changes when a manifest, a view or
    /// an index changes its meaning, but not when members are added.
    pub const FORMAT: u32 = 2;

    /// The format of a manifest with `encryption`. Versions that know only format 1 would take the
    /// encrypted bytes for the result.
    pub const ENCRYPTED: u32 = 2;

    /// Returns the manifest of an artifact that is not encrypted.
    #[must_use]
    pub fn new(handle: Handle, facts: Facts) -> Self {
        Self {
            format: first_format(),
            handle,
            pinned: false,
            checks: None,
            encryption: None,
            facts,
        }
    }
}

/// How an artifact's files are encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encryption {
    /// The cipher and the layout of the files.
    pub scheme: Scheme,
    /// The name of the key, from which the key cannot be computed.
    pub key: String,
    /// A random id that binds the files to the manifest.
    pub id: String,
    /// The encrypted arguments of the call, in Base64. They also authenticate the manifest.
    pub arguments: String,
}

/// A cipher and a layout of encrypted files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scheme {
    /// Chunks of 64 KiB with ChaCha20-Poly1305, and a key for each file by HKDF-SHA-256.
    #[serde(rename = "hkdf-sha256-chacha20-poly1305-64k")]
    ChaCha20Poly1305,
}

/// CRC-32 checksums that detect damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checks {
    /// Checksum of the view; `None` if the raw bytes are the view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<u32>,
    /// Checksum of the line index.
    pub index: u32,
    /// Checksum of the manifest's other members except `pinned`, as compact JSON.
    pub manifest: u32,
}

/// Facts about a result, recorded when it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// When the result was stored.
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
    /// How the command or the call ended, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// Bytes of the raw payload.
    pub raw_bytes: u64,
    /// SHA-256 of the raw payload, 64 hex digits.
    pub sha256: String,
    /// How the text is contained in the raw payload.
    #[serde(default)]
    pub form: RawForm,
    /// Figures of the text.
    pub stats: Stats,
    /// Figures of the view.
    pub view: ViewFacts,
    /// Why the result was offloaded.
    pub reason: Reason,
    /// Number of characters that the message showed of the text, if the next call continues after
    /// them (the `continuation` profile).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_slice: Option<u64>,
    /// The name of the file under which other programs can open the text, if a store on disk
    /// provides one (the `funnel` profile).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_name: Option<FileName>,
    /// The secrets found in the view. `None` if it was not scanned: the user turned redaction off,
    /// or an earlier version stored the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<Box<SecretFacts>>,
}

/// What a scan for secrets found in a result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SecretFacts {
    /// The identity of the rules that the scan used. A view that was scanned with other rules is
    /// scanned again when it is opened.
    pub rules: String,
    /// The number of secrets found in the view, by the id of the rule.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub found: BTreeMap<String, u64>,
    /// The number of secrets in whose place marks are stored, by the id of the rule. The bytes that
    /// came are gone, and the SHA-256 is that of the bytes with marks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub removed: BTreeMap<String, u64>,
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer};

    use super::*;

    #[test]
    fn a_reason_is_spelled_as_on_the_wire() {
        for reason in [
            Reason::SizeCap,
            Reason::TokenBudget,
            Reason::ReserveFailed,
            Reason::Secrets,
        ] {
            let name = reason.to_string();
            let name: StrDeserializer<'_, Error> = name.as_str().into_deserializer();
            assert_eq!(Reason::deserialize(name), Ok(reason));
        }
    }
}
