//! Errors of names that lead to no text.

use std::io;

use spillgate_artifact::{Interrupted, SourceTruncated};
use spillgate_text::clip;

/// Characters of a name that an error repeats.
const NAME_CHARS: usize = 256;

/// A name leads to no text (docs/spec/texts.md, "Read and Grep").
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// No name.
    #[error("file must be non-empty")]
    Empty,
    /// A name from the machine's root, or with a drive letter.
    #[error("absolute paths are not allowed")]
    Absolute,
    /// A name with a step upwards.
    #[error("\"..\" is not allowed")]
    Parent,
    /// A name with a NUL or another control character.
    #[error("control characters are not allowed")]
    Control,
    /// A name over 4096 characters.
    #[error("file must have at most 4096 characters")]
    TooLong,
    /// Nothing is there.
    #[error("{}: no such file", short(.0))]
    Absent(String),
    /// A directory, a pipe or a device is there.
    #[error("{}: not a regular file", short(.0))]
    NotRegular(String),
    /// A link is there that leads out of the root.
    #[error("{}: leads out of the root", short(.0))]
    Outside(String),
    /// It could not be read.
    #[error("{}: {}", short(name), unreadable(error))]
    Unreadable {
        /// The name.
        name: String,
        /// What the system says.
        error: io::Error,
    },
}

fn short(name: &str) -> String {
    clip(name, NAME_CHARS)
}

/// Why a file could not be read, and what to do where that is known.
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
