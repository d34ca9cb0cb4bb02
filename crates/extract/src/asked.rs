//! The question of an extraction: the stored output, what to extract from it, and the mode.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use spillgate_artifact::Handle;

use crate::Strategy;

/// A question about a stored output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The output.
    pub handle: Handle,
    /// What to extract, in words.
    pub extract: String,
    /// The mode of extraction.
    pub mode: Mode,
}

/// The modes of extraction (docs/spec/texts.md, "Extraction tool"). `search` is not in the original
/// design; this project added it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Chooses by the output's size and shape.
    #[default]
    Auto,
    /// A model reads every chunk, then combines the answers.
    FullChunked,
    /// A model searches the output with `Read` and `Grep`.
    ReadGrep,
    /// Returns the beginning and the end of the output, without a model.
    Truncate,
    /// Returns the most relevant passages, without a model.
    Search,
}

impl Mode {
    /// All modes, in the order in which they are listed.
    pub const ALL: [Self; 5] = [
        Self::Auto,
        Self::FullChunked,
        Self::ReadGrep,
        Self::Truncate,
        Self::Search,
    ];

    /// Returns the mode's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::FullChunked => Strategy::FullChunked.name(),
            Self::ReadGrep => Strategy::ReadGrep.name(),
            Self::Truncate => Strategy::Truncate.name(),
            Self::Search => Strategy::Search.name(),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for a name that no mode has. Contains the name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown mode '{0}'; allowed are auto, full-chunked, read-grep, truncate and search")]
pub struct UnknownMode(pub String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        let name = text.trim();
        let known = Self::ALL.into_iter().find(|mode| mode.name() == name);
        known.ok_or_else(|| UnknownMode(name.chars().take(40).collect()))
    }
}
