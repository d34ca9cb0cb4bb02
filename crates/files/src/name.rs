//! Checks the file names that a model passes to `Read` and `Grep`.

use crate::FileError;

/// Maximum length of a name, in characters (docs/spec/limits.md, "Look-ups").
const LONGEST: usize = 4096;

/// Returns the name if it contains nothing that leads out of the root, such as `..`. Links are
/// checked later, when the root opens the file.
///
/// `\` separates components as `/` does, so that a name means the same on every system.
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
