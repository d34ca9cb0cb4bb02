//! Handles: the names of stored results.
//!
//! `session-<uuid>/<file-uuid>` (docs/spec/behaviour.md, "Storing"). A handle is
//! parsed into two UUIDs and printed from them again, so no text of a caller ever
//! becomes part of a path.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// One run of a producer: a process, a gateway, an agent session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Uuid);

/// One stored artifact inside its session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(Uuid);

impl SessionId {
    /// Returns a new random id of 122 random bits, so that a handle cannot be guessed.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl FileId {
    /// Returns a new random id of 122 random bits, so that a handle cannot be guessed.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session-{}", self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for SessionId {
    type Err = HandleError;

    fn from_str(text: &str) -> Result<Self, HandleError> {
        let uuid = text.strip_prefix("session-").and_then(parse_uuid);
        uuid.map(Self).ok_or_else(|| HandleError::new(text))
    }
}

impl FromStr for FileId {
    type Err = HandleError;

    fn from_str(text: &str) -> Result<Self, HandleError> {
        parse_uuid(text)
            .map(Self)
            .ok_or_else(|| HandleError::new(text))
    }
}

/// Accepts the hyphenated form only: other spellings of a UUID would give one artifact several
/// names.
fn parse_uuid(text: &str) -> Option<Uuid> {
    const HYPHENATED: usize = 36;
    (text.len() == HYPHENATED).then(|| Uuid::try_parse(text).ok())?
}

/// The name of a stored artifact, `session-<uuid>/<file-uuid>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle {
    /// The run of the producer.
    pub session: SessionId,
    /// The artifact in that run.
    pub file: FileId,
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.session, self.file)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Handle {
    type Err = HandleError;

    /// Surrounding blanks and quotes are dropped, because models copy them along.
    fn from_str(text: &str) -> Result<Self, HandleError> {
        let trimmed = text.trim_matches(|c: char| c.is_whitespace() || "\"'`<>".contains(c));
        let error = || HandleError::new(text);
        let (session, file) = trimmed.split_once('/').ok_or_else(error)?;
        Ok(Self {
            session: session.parse().map_err(|_| error())?,
            file: file.parse().map_err(|_| error())?,
        })
    }
}

impl Serialize for Handle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Handle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The text is not a handle. Nothing was looked up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a handle; handles look like session-<uuid>/<uuid>")]
pub struct HandleError {
    /// The given text, cut at 80 characters: it may be anything.
    given: String,
}

impl HandleError {
    fn new(given: &str) -> Self {
        const SHOWN: usize = 80;
        let mut given: String = given.escape_debug().collect();
        if let Some((cut, _)) = given.char_indices().nth(SHOWN) {
            given.truncate(cut);
            given.push('…');
        }
        Self { given }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001";

    #[test]
    fn prints_what_it_parsed() {
        for given in [
            GOOD.to_owned(),
            format!(" \"{GOOD}\"\n"),
            format!("`{GOOD}`"),
        ] {
            let handle: Handle = given.parse().unwrap();
            assert_eq!(handle.to_string(), GOOD);
        }
    }

    #[test]
    fn refuses_all_else() {
        for bad in [
            "",
            "/",
            "session-/",
            "../../etc/passwd",
            "/etc/passwd",
            "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d",
            "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/../x",
            "session-0b0e9c3e6f0a4a1e9d6a0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001",
            "session-{0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d}/5f3c2b1a-0000-4000-8000-000000000001",
        ] {
            assert!(bad.parse::<Handle>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_error_is_bounded_and_one_line() {
        let error = "x\n".repeat(500).parse::<Handle>().unwrap_err().to_string();
        assert!(error.len() < 250 && !error.contains('\n'), "{error}");
    }
}
