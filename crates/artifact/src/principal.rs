//! The principal: the person or program on whose behalf a request is made.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Maximum bytes of a name. Subjects of authorization servers have at most 255 (`OpenID` Connect).
const MOST: usize = 255;

/// A principal, by its name: the name of a token, or the subject of an access token. Two principals
/// are the same exactly if their names have the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Principal(Arc<str>);

/// Why a text is no name of a principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PrincipalError {
    /// It is empty.
    #[error("the name of a principal is empty")]
    Empty,
    /// It is too long.
    #[error("the name of a principal may have {MOST} bytes")]
    Long,
    /// It has a control character, or white space at its beginning or end.
    #[error(
        "the name of a principal has a control character, or white space at its beginning or end"
    )]
    Character,
    /// It is the operator's.
    #[error("the name `{LOCAL}` is reserved: it means the operator")]
    Reserved,
}

/// The name of the operator, and of a program without authentication.
const LOCAL: &str = "local";

impl Principal {
    /// The operator, and the principal of a program without authentication. Its name cannot be parsed, so
    /// that nobody else has it.
    #[must_use]
    pub fn local() -> Self {
        Self(LOCAL.into())
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl FromStr for Principal {
    type Err = PrincipalError;

    fn from_str(name: &str) -> Result<Self, PrincipalError> {
        if name.is_empty() {
            Err(PrincipalError::Empty)
        } else if name.len() > MOST {
            Err(PrincipalError::Long)
        } else if name.trim() != name || name.contains(char::is_control) {
            Err(PrincipalError::Character)
        } else if name == LOCAL {
            Err(PrincipalError::Reserved)
        } else {
            Ok(Self(name.into()))
        }
    }
}

impl TryFrom<String> for Principal {
    type Error = PrincipalError;

    fn try_from(name: String) -> Result<Self, PrincipalError> {
        name.parse()
    }
}

impl From<Principal> for String {
    fn from(principal: Principal) -> Self {
        principal.0.as_ref().to_owned()
    }
}

impl fmt::Display for Principal {
    /// Writes the name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_name() {
        let long = "a".repeat(MOST + 1);
        for (name, wrong) in [
            ("alice", None),
            ("auth0|5f7c8ec7c33c6c004bbafe82", None),
            ("Ada Lovelace <ada@example.org>", None),
            ("zoë", None),
            ("../../etc", None),
            (&long[1..], None),
            (&long, Some(PrincipalError::Long)),
            ("", Some(PrincipalError::Empty)),
            (" alice", Some(PrincipalError::Character)),
            ("alice\n", Some(PrincipalError::Character)),
            ("al\u{0}ice", Some(PrincipalError::Character)),
            ("al\u{85}ice", Some(PrincipalError::Character)),
            ("local", Some(PrincipalError::Reserved)),
            ("Local", None),
        ] {
            let parsed = name.parse::<Principal>();
            assert_eq!(parsed.as_ref().err(), wrong.as_ref(), "{name:?}");
            assert!(parsed.is_err() || parsed.unwrap().name() == name);
        }
    }
}
