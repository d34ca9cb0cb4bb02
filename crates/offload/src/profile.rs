//! How is an oversized result shown, and from which size on by default?

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Tokens over which a result is offloaded unless configured otherwise. Codex
/// cuts the middle of results over about 10 KB, which is some 2,500 tokens
/// (deps.md): what passes whole through Spillgate shall arrive whole.
pub const DEFAULT_MAX_TOKENS: u64 = 2500;

/// ai-agent's `toolResponseMaxBytes` (seed 001): the limit of the `handle`
/// profile, and limit and size of the `truncate` profile.
pub const DEFAULT_MAX_BYTES: u64 = 12_288;

/// Characters of a slice in the `continuation` profile (seed 002).
pub const DEFAULT_SLICE_CHARS: u64 = 4000;

/// Lines and characters from which on the `funnel` works (seed 003).
pub const FUNNEL_LINES: u64 = 50;
/// See [`FUNNEL_LINES`].
pub const FUNNEL_CHARS: u64 = 2000;

/// Tokens that the `reject` profile allows, at four bytes each (seed 004).
pub const REJECT_TOKENS: u64 = 25_000;

/// How an oversized result is shown (SPEC 2.5).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Profile {
    /// Handle, figures, shape, head and tail, and what to call next.
    #[default]
    Preview,
    /// The exact three lines of seed 001.
    Handle,
    /// The first characters and how to get more (seed 002).
    Continuation,
    /// A receipt, a trailer and guidance (seed 003).
    Funnel,
    /// An error with figures and the way out; no data (seed 004).
    Reject,
    /// The middle cut out, down to a byte cap.
    Truncate,
    /// The user's own words: a template of that name.
    Template(Arc<str>),
}

/// The sizes over which a result is offloaded; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sizes {
    pub(crate) tokens: Option<u64>,
    pub(crate) bytes: Option<u64>,
    pub(crate) lines: Option<u64>,
    pub(crate) chars: Option<u64>,
}

impl Profile {
    /// Those that are built in, for help texts.
    pub const BUILT_IN: [Self; 6] = [
        Self::Preview,
        Self::Handle,
        Self::Continuation,
        Self::Funnel,
        Self::Reject,
        Self::Truncate,
    ];

    /// Its name in the configuration.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Preview => "preview",
            Self::Handle => "handle",
            Self::Continuation => "continuation",
            Self::Funnel => "funnel",
            Self::Reject => "reject",
            Self::Truncate => "truncate",
            Self::Template(name) => name,
        }
    }

    /// The limits that hold where nobody set any: each seed's own.
    pub(crate) fn default_sizes(&self) -> Sizes {
        let none = Sizes::default();
        match self {
            Self::Preview | Self::Template(_) => Sizes {
                tokens: Some(DEFAULT_MAX_TOKENS),
                ..none
            },
            Self::Handle | Self::Truncate => Sizes {
                bytes: Some(DEFAULT_MAX_BYTES),
                ..none
            },
            Self::Continuation => Sizes {
                chars: Some(DEFAULT_SLICE_CHARS),
                ..none
            },
            Self::Funnel => Sizes {
                lines: Some(FUNNEL_LINES),
                chars: Some(FUNNEL_CHARS),
                ..none
            },
            Self::Reject => Sizes {
                tokens: Some(REJECT_TOKENS),
                ..none
            },
        }
    }

    /// Whether what is shown follows the result's size, so that a small one may
    /// cost less than what would stand in its place (SPEC 2, invariant 4).
    #[must_use]
    pub fn is_budgeted(&self) -> bool {
        matches!(self, Self::Preview | Self::Template(_))
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<&str> for Profile {
    /// The built-in profile of that name, otherwise the template.
    fn from(name: &str) -> Self {
        let mut built_in = Self::BUILT_IN.into_iter();
        built_in
            .find(|profile| profile.name() == name)
            .unwrap_or_else(|| Self::Template(name.into()))
    }
}

impl From<String> for Profile {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<Profile> for String {
    fn from(profile: Profile) -> Self {
        profile.name().to_owned()
    }
}

impl FromStr for Profile {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(Self::from(name))
    }
}
