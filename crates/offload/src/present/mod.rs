//! Present: what a model sees instead of an oversized result.
//!
//! A profile is a variant of [`Profile`] and a [`Strategy`] in a file of its own. The
//! strategy makes a [`Message`], which is data until [`Message::render`].

mod audience;
mod compat;
mod message;
mod preview;
mod subject;
mod template;

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use spillgate_artifact::{ContentKind, Facts, Stats, TokenBudget};
use spillgate_text::{ScanFacts, TokenCounter, clip};
use spillgate_untrusted::{is_hidden, marked};

use crate::RetrieveError;
use crate::limits::Limits;

pub use audience::{Audience, Purpose, Way};
pub(crate) use compat::continuation::later;
pub use compat::continuation::{ContinuationError, DEFAULT_SLICE_CHARS};
pub use compat::funnel::{FUNNEL_CHARS, FUNNEL_LINES, FUNNEL_PROMPT, ObservationSummary};
pub use compat::reject::REJECT_TOKENS;
pub use compat::truncate::{DEFAULT_MAX_BYTES, middle_cut};
pub(crate) use compat::truncate::{Ends, LEAST_BYTES, not_stored, truncate};
pub use message::{Bounds, Presentation};
pub(crate) use message::{Message, holds_as_json};
pub use preview::DEFAULT_MAX_TOKENS;
pub(crate) use subject::{Presenter, Subject};
pub use template::{TemplateError, TemplateName, Templates};

/// How an oversized result is shown (docs/profiles.md).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Profile {
    /// Handle, figures, shape, head and tail, and what to call next.
    #[default]
    Preview,
    /// Three lines that name the handle and `tool_output`.
    Handle,
    /// The first characters and how to get more.
    Continuation,
    /// A receipt, a trailer and guidance.
    Funnel,
    /// An error with figures and the way out; no data.
    Reject,
    /// The middle cut out, down to a byte cap.
    Truncate,
    /// The user's own words: a template of that name.
    Template(TemplateName),
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

    /// What it does, in its own file.
    pub(crate) fn strategy(&self) -> &dyn Strategy {
        match self {
            Self::Preview => &preview::Preview,
            Self::Handle => &compat::handle::Handle,
            Self::Continuation => &compat::continuation::Continuation,
            Self::Funnel => &compat::funnel::Funnel,
            Self::Reject => &compat::reject::Reject,
            Self::Truncate => &compat::truncate::Truncate,
            Self::Template(name) => name,
        }
    }

    /// Its name in the configuration.
    #[must_use]
    pub fn name(&self) -> &str {
        self.strategy().name()
    }

    /// Whether what is shown follows the result's size, so that a small one may
    /// cost less than what would stand in its place.
    #[must_use]
    pub fn is_budgeted(&self) -> bool {
        self.strategy().is_budgeted()
    }

    /// Whether its message is an error: the result is refused.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.strategy().is_refusal()
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

/// What one profile does.
pub(crate) trait Strategy {
    /// Its name in the configuration.
    fn name(&self) -> &str;

    /// The limits that hold where nobody set any.
    fn sizes(&self) -> Sizes;

    /// Whether what is shown follows the result's size, within a budget of tokens.
    fn is_budgeted(&self) -> bool {
        false
    }

    /// Whether its message is an error: the result is refused.
    fn is_refusal(&self) -> bool {
        false
    }

    /// Whether a result is over so many tokens, where that is no count.
    fn exceeds_tokens(&self, _scan: &ScanFacts, _limit: u64) -> Option<bool> {
        None
    }

    /// Whether its message has an outline; it is then made while the result is stored.
    fn shows_outline(&self, _limits: &Limits) -> bool {
        false
    }

    /// Adds what the artifact must know for later, such as the name of its file.
    fn note(&self, _facts: &mut Facts, _limits: &Limits) {}

    /// The limits for a result that is stored though it is within them.
    fn tightened(&self, limits: Limits, _stats: &Stats) -> Limits {
        limits
    }

    /// Tokens, about, of the message for a result of which nothing is counted yet.
    fn cost(
        &self,
        scan: &ScanFacts,
        _kind: ContentKind,
        limits: &Limits,
        _counter: &dyn TokenCounter,
    ) -> u64 {
        let half = TokenBudget::new(estimated(scan) / 2);
        limits.preview.min(half).get()
    }

    /// The message for a stored result.
    fn message(&self, subject: &Subject<'_>) -> Result<Message, RetrieveError>;
}

/// Tokens of a text that is not counted, at four bytes each.
fn estimated(scan: &ScanFacts) -> u64 {
    scan.bytes.div_ceil(4)
}

/// The sizes over which a result is offloaded; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sizes {
    pub(crate) tokens: Option<u64>,
    pub(crate) bytes: Option<u64>,
    pub(crate) lines: Option<u64>,
    pub(crate) chars: Option<u64>,
}

/// A name from outside, fit to stand in a line of ours: one line, bounded.
pub(crate) fn name_in_line(name: &str) -> String {
    const LONGEST: usize = 80;
    let spaced: String = name.chars().take(2 * LONGEST).collect();
    clip(&marked(&spaced.replace(['\t', '\n'], " ")), LONGEST)
}

/// A text without anything that ends a line or changes how it is seen. What is left keeps
/// its place: an entry may be indented.
pub(crate) fn spaced(text: &str) -> String {
    let is_gone = |c: char| matches!(c, '\t' | '\n') || is_hidden(c);
    text.replace(is_gone, " ")
}
