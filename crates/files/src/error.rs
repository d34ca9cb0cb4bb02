//! The errors of opening and reading a file.

use std::io;

use spillgate_artifact::{Interrupted, SourceTruncated};
use spillgate_text::clip;

/// Maximum characters of a name that an error repeats.
const NAME_CHARS: usize = 256;

/// Why the text with a given name cannot be read (docs/spec/texts.md, "Read and Grep").
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The name is empty.
    #[error("file must be non-empty")]
    Empty,
    /// The name is absolute or has a drive letter.
    #[error("absolute paths are not allowed")]
    Absolute,
    /// The name contains `..`.
    #[error("\"..\" is not allowed")]
    Parent,
    /// The name contains a NUL or another control character.
    #[error("control characters are not allowed")]
    Control,
    /// The name is longer than 4096 characters.
    #[error("file must have at most 4096 characters")]
    TooLong,
    /// Nothing exists at this path.
    #[error("{}: no such file", short(.0))]
    Absent(String),
    /// The path leads to a directory, a pipe or a device.
    #[error("{}: not a regular file", short(.0))]
    NotRegular(String),
    /// A link on the path leads out of the root.
    #[error("{}: leads out of the root", short(.0))]
    Outside(String),
    /// The file could not be read.
    #[error("{}: {}", short(name), unreadable(error))]
    Unreadable {
        /// The name.
        name: String,
        /// The system's error.
        error: io::Error,
    },
}

fn short(name: &str) -> String {
    clip(name, NAME_CHARS)
}

/// Says why a file could not be read, with advice for some reasons.
fn unreadable(error: &io::Error) -> String {
    match (Interrupted::of(error), SourceTruncated::of(error)) {
        (Some(why @ Interrupted::TimedOut { .. }), _) => {
            format!("the call was ended: {why}. Use a simpler regex, or a part of the file")
        }
        (Some(why), _) => format!("the call was ended: {why}"),
        (_, Some(missing)) => format!("{missing}. Call again"),
        (None, None) => format!("cannot be read: {error}"),
    }
}
