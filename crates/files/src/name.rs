//! Checks the names that a model gives.

use crate::FileError;

/// The longest name, in characters (docs/spec/limits.md, "Look-ups").
const LONGEST: usize = 4096;

/// Returns the name if, judged by its text, it stays below the root; links are checked when the
/// root opens it.
///
/// `\` separates parts as `/` does: a name written for one system must not mean something else
/// on another.
pub(crate) fn checked(name: &str) -> Result<&str, FileError> {
    let mut parts = name.split(['/', '\\']);
    let bytes = name.as_bytes();
    if name.trim().is_empty() {
        Err(FileError::Empty)
    } else if name.chars().nth(LONGEST).is_some() {
        Err(FileError::TooLong)
    } else if name.chars().any(char::is_control) {
        Err(FileError::Control)
    } else if name.starts_with(['/', '\\']) || has_drive(bytes) {
        Err(FileError::Absolute)
    } else if parts.any(|part| part == "..") {
        Err(FileError::Parent)
    } else {
        Ok(name)
    }
}

fn has_drive(name: &[u8]) -> bool {
    matches!(name, [letter, b':', ..] if letter.is_ascii_alphabetic())
}
