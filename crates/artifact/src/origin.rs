//! The origin of a result, and the form of its bytes.

use serde::{Deserialize, Serialize};

/// Where a result comes from. Kept verbatim: the message for a dead handle names the call that
/// would produce the result again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The MCP server behind the gateway; `None` for a command or a pipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool, or the command's name.
    pub tool: String,
    /// The arguments as they were sent: JSON from the gateway, a command line from `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// The caller's own id of this call (the `tool_call_id` of `get_continuation`), if it has one.
    /// It leads to the artifact, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
}

impl Origin {
    /// Returns the origin of a result of `tool`, with nothing else known.
    #[must_use]
    pub fn tool(tool: impl Into<String>) -> Self {
        Self {
            server: None,
            tool: tool.into(),
            arguments: None,
            call_id: None,
        }
    }
}

/// How the text of a view lies in the raw bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RawForm {
    /// The raw bytes are the text.
    #[default]
    Plain,
    /// The raw bytes are JSON (an MCP result). The text is these parts of it, one after the other,
    /// joined by newlines.
    Parts(Vec<TextPart>),
    /// The raw bytes are the text in an encoding other than UTF-8.
    Encoded {
        /// The name of the encoding on the web: `UTF-16LE`, `windows-1251`.
        encoding: String,
        /// Bytes of the byte order mark before the text.
        mark: u64,
    },
}

/// A part of the raw bytes that is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextPart {
    /// Its first byte in the raw bytes.
    pub start: u64,
    /// The byte after its last one.
    pub end: u64,
    /// Whether it is the inside of a JSON string, to be decoded. Otherwise it is the text itself.
    pub is_string: bool,
}
