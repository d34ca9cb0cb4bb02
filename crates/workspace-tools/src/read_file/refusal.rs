//! The errors of `read_file`, with advice for the model.

use std::io;
use std::time::Duration;

use spillgate_offload::{Rejection, estimated_tokens};

use crate::rules::Rules;
use crate::tool_result::ToolError;

/// Why a file, or a page of one, is not returned.
#[derive(Debug)]
pub(super) enum ReadError {
    /// The file or page is too large: about this many bytes.
    Large {
        bytes: u64,
        /// The number of the line, counted from 1, if the page is a single line.
        line: Option<u64>,
    },
    /// The file is too large and does not seem to be text. Contains its size in bytes.
    LargeBinary(u64),
    /// The file is not text.
    Binary {
        /// The type, if known.
        kind: Option<&'static str>,
        bytes: u64,
    },
    /// The lines from the first of these numbers to the second are not text.
    BinaryLines(u64, u64),
    /// The page begins past the end.
    PastEnd { offset: u64, lines: u64 },
    /// Counting the lines exceeded the time limit. Contains the size of the file in bytes, and the
    /// limit.
    TimeOut(u64, Duration),
    /// The file changed after its lines were counted, so the line offsets are wrong.
    Changed,
    /// The caller stopped waiting.
    Stopped,
    /// Reading the file failed.
    Unreadable(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Changed,
            _ => Self::Unreadable(error),
        }
    }
}

impl ReadError {
    /// The text for the model; `name` is formatted on one line.
    pub(super) fn refused(self, name: &str, rules: &Rules) -> ToolError {
        let otherwise = match rules.has_shell() {
            true => "Use execute_shell with a program that knows such data, or go on without it.",
            false => "Go on without it.",
        };
        match self {
            Self::Large { bytes, line } => too_large(bytes, line, rules),
            Self::LargeBinary(bytes) => ToolError::new(format!(
                "{} It does not begin as text does: no lines of it are given. {otherwise}",
                rejection(bytes, rules)
            )),
            Self::Binary { kind, bytes } => {
                let kind = kind.map_or(String::new(), |kind| format!("{kind}, "));
                ToolError::new(format!(
                    "'{name}' is not a text file ({kind}{bytes} bytes). {otherwise}"
                ))
            }
            Self::BinaryLines(first, last) => ToolError::new(format!(
                "Lines {first}-{last} of '{name}' are not text: they hold NUL characters. {otherwise}"
            )),
            Self::PastEnd { offset, lines } => ToolError::new(format!(
                "Offset {offset} is past the end of '{name}', which has {lines} {}. \
                 Use an offset from 0 to {}.",
                if lines == 1 { "line" } else { "lines" },
                lines.saturating_sub(1),
            )),
            Self::TimeOut(bytes, time) => ToolError::new(format!(
                "The lines of '{name}' ({bytes} bytes) were not counted within {} s. {}",
                time.as_secs(),
                match rules.has_shell() {
                    true => "Use execute_shell with head, tail or sed for some of them.",
                    false => "Go on without it.",
                }
            )),
            Self::Changed => ToolError::new(format!(
                "'{name}' changed while it was read. Read it again."
            )),
            Self::Stopped => ToolError::new(format!("Reading '{name}' was stopped.")),
            Self::Unreadable(error) => ToolError::new(format!(
                "'{name}' cannot be read: {error}. Try again, or go on without it."
            )),
        }
    }
}

/// Returns the refusal (docs/spec/texts.md, "Reject profile"). If a single line is too large, the
/// refusal adds other advice, because even a `limit` of 1 would not help.
fn too_large(bytes: u64, line: Option<u64>, rules: &Rules) -> ToolError {
    let rejection = rejection(bytes, rules);
    let Some(line) = line else {
        return rejection.into();
    };
    let shell = match rules.has_shell() {
        true => format!(", and execute_shell any part (sed -n {line}p FILE | cut -c 1-2000)"),
        false => String::new(),
    };
    ToolError::new(format!(
        "{rejection} Line {line} alone is too large for any page: \
         grep_content shows the part of it around a match{shell}."
    ))
}

fn rejection(bytes: u64, rules: &Rules) -> Rejection {
    Rejection::File {
        tokens: estimated_tokens(bytes),
        limit: rules.max_tokens,
    }
}
