//! The origin of a result (server, tool, arguments), how its call ended, and the form of its bytes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The origin of a result. It is kept exactly as given, because the message for a handle whose
/// artifact was removed names the call that would produce the result again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The MCP server behind the gateway; `None` for a command or a pipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The name of the tool or of the command.
    pub tool: String,
    /// The arguments as they were sent: JSON from the gateway, or a command line from `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// The id that the caller gave this call (the `tool_call_id` of `get_continuation`), if any.
    /// The artifact can also be found by this id.
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

/// How the command or the tool call that made a result ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ending {
    /// The exit code of a command; `None` after a signal, and for a tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The number of the signal that ended a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Milliseconds from the start of the command or call to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

impl Ending {
    /// Returns whether the command failed; `None` for a tool call.
    #[must_use]
    pub fn is_failure(&self) -> Option<bool> {
        match (self.exit_code, self.signal) {
            (None, None) => None,
            (code, signal) => Some(signal.is_some() || code != Some(0)),
        }
    }
}

/// Returns whether a tool reports a failure (`isError`), or a command failed.
#[must_use]
pub fn has_failed(is_error: bool, ending: Option<Ending>) -> bool {
    is_error || ending.and_then(|ending| ending.is_failure()) == Some(true)
}

impl fmt::Display for Ending {
    /// Writes `exit code 3 after 1.2 s`, or the parts of it that are known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match (self.exit_code, self.signal) {
            (_, Some(signal)) => Some(format!("ended by signal {signal}")),
            (Some(code), None) => Some(format!("exit code {code}")),
            (None, None) => None,
        };
        let time = self.duration_ms.map(|ms| match ms {
            0..1000 => format!("after {ms} ms"),
            1000..10_000 => format!("after {}.{} s", ms / 1000, ms / 100 % 10),
            10_000..120_000 => format!("after {} s", ms / 1000),
            _ => format!("after {} min {} s", ms / 60_000, ms / 1000 % 60),
        });
        let parts: Vec<String> = how.into_iter().chain(time).collect();
        f.write_str(&parts.join(" "))
    }
}

/// How the raw bytes contain the text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RawForm {
    /// The raw bytes are the text.
    #[default]
    Plain,
    /// The raw bytes are JSON (an MCP result). The text consists of these parts of the JSON in
    /// order, joined by newlines.
    Parts(Vec<TextPart>),
    /// The raw bytes are the text in an encoding other than UTF-8.
    Encoded {
        /// The name of the encoding in the Encoding Standard, such as `UTF-16LE` or `windows-1251`.
        encoding: String,
        /// Bytes of the byte order mark before the text.
        mark: u64,
    },
}

/// A part of the raw bytes that is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextPart {
    /// The offset of its first byte in the raw bytes.
    pub start: u64,
    /// The offset after its last byte.
    pub end: u64,
    /// Whether the part is the inside of a JSON string, which must be decoded. Otherwise the part
    /// is the text itself.
    pub is_string: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_it_ended_in_words() {
        let of = |exit_code, signal, duration_ms| Ending {
            exit_code,
            signal,
            duration_ms,
        };
        for (ending, words, is_failure) in [
            (
                of(Some(3), None, Some(1_290)),
                "exit code 3 after 1.2 s",
                Some(true),
            ),
            (
                of(Some(0), None, Some(999)),
                "exit code 0 after 999 ms",
                Some(false),
            ),
            (
                of(None, Some(9), Some(119_999)),
                "ended by signal 9 after 119 s",
                Some(true),
            ),
            (of(None, None, Some(605_000)), "after 10 min 5 s", None),
            (of(Some(-1), None, None), "exit code -1", Some(true)),
            (Ending::default(), "", None),
        ] {
            assert_eq!(
                (&*ending.to_string(), ending.is_failure()),
                (words, is_failure)
            );
        }
    }
}
