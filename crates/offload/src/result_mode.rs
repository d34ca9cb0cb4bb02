//! What a client receives of an oversized result: a preview, or data for a program.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a client receives of an oversized result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResultMode {
    /// The result is stored, and a preview stands in its place.
    #[default]
    Preview,
    /// The result is stored and a preview stands in place of its text, for a model. Its
    /// `structuredContent` stays whole, for a program.
    Structured,
    /// The result passes as the server sent it, for a program.
    Whole,
}

impl ResultMode {
    const ALL: [Self; 3] = [Self::Preview, Self::Structured, Self::Whole];

    fn name(self) -> &'static str {
        match self {
            Self::Preview => "preview",
            Self::Structured => "structured",
            Self::Whole => "whole",
        }
    }
}

impl fmt::Display for ResultMode {
    /// Formats the value as in the configuration.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no [`ResultMode`].
#[derive(Debug, thiserror::Error)]
#[error("is none of preview, structured, whole")]
pub struct UnknownMode;

impl FromStr for ResultMode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        let mode = Self::ALL.into_iter().find(|mode| mode.name() == text);
        mode.ok_or(UnknownMode)
    }
}
