//! The name of the file under which other programs can open a stored text.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Maximum bytes of a tool's name in a file name.
const LONGEST_TOOL: usize = 80;

/// Number of hexadecimal digits of the hash in a file name (docs/spec/texts.md, "File names").
const HASH_DIGITS: usize = 8;

/// A file's name: `<tool>_<YYYYmmdd_HHMMSS>_<hash>.txt` (docs/spec/texts.md, "File names"). It
/// contains only letters, digits, `_`, `-` and one dot, so it is a single component of a path and
/// safe in any shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileName(String);

impl FileName {
    /// Returns the file name for a result of `tool` at a point in time. `sha256` is the hash of the
    /// result's bytes, in hexadecimal.
    #[must_use]
    pub fn of(tool: &str, at: Timestamp, sha256: &str) -> Self {
        let tool: String = tool.chars().filter(|c| is_plain(*c)).collect();
        let tool = tool.get(..LONGEST_TOOL).unwrap_or(&tool);
        let tool = if tool.is_empty() { "tool" } else { tool };
        let moment: String = at.to_string();
        let digits: String = moment.chars().filter(char::is_ascii_digit).collect();
        let (day, time) = digits.split_at_checked(8).unwrap_or((&digits, ""));
        let hash: String = sha256.chars().take(HASH_DIGITS).collect();
        Self(format!("{tool}_{day}_{time}_{hash}.txt"))
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The error for a text that [`FileName::of`] cannot have returned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the file name of a stored text")]
pub struct FileNameError;

impl FromStr for FileName {
    type Err = FileNameError;

    fn from_str(text: &str) -> Result<Self, FileNameError> {
        let stem = text.strip_suffix(".txt").ok_or(FileNameError)?;
        match !stem.is_empty() && stem.len() < 200 && stem.chars().all(is_plain) {
            true => Ok(Self(text.to_owned())),
            false => Err(FileNameError),
        }
    }
}

impl TryFrom<String> for FileName {
    type Error = FileNameError;

    fn try_from(text: String) -> Result<Self, FileNameError> {
        text.parse()
    }
}

impl From<FileName> for String {
    fn from(name: FileName) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn names_are_one_component() {
        let at = Timestamp::new(UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let hash = "0123456789abcdef";
        for (tool, name) in [
            (
                "content_search",
                "content_search_20270115_080000_01234567.txt",
            ),
            ("../../etc/passwd", "etcpasswd_20270115_080000_01234567.txt"),
            ("", "tool_20270115_080000_01234567.txt"),
            ("läuft\n$(x)", "luftx_20270115_080000_01234567.txt"),
        ] {
            let made = FileName::of(tool, at, hash);
            assert_eq!(made.as_str(), name);
            assert_eq!(name.parse(), Ok(made));
        }
        let long = FileName::of(&"x".repeat(500), at, hash);
        assert!(long.as_str().len() < 120);
    }

    #[test]
    fn other_names_are_refused() {
        for name in ["", ".txt", "a", "a/b.txt", "../a.txt", "a.b.txt", "a\n.txt"] {
            assert_eq!(name.parse::<FileName>(), Err(FileNameError), "{name:?}");
        }
    }
}
