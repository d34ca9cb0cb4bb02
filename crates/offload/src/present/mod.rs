//! Renders what a model sees instead of an oversized result.
//!
//! A profile is a variant of [`Profile`] and a [`Strategy`] in its own file. The strategy makes a
//! [`Message`], which stays structured until [`Message::render`].

mod audience;
mod compat;
mod inside;
mod message;
mod preview;
mod subject;
mod template;

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use spillgate_artifact::{ContentKind, Facts, HandleForm, Stats, TokenBudget};
use spillgate_text::{ScanFacts, TokenCounter, clip};
use spillgate_untrusted::{is_hidden, marked};

use crate::RetrieveError;
use crate::limits::Limits;

pub use audience::{Audience, Purpose, Quoting, Way};
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
    /// Handle, figures, shape, head and tail, and the next calls.
    #[default]
    Preview,
    /// Three lines that name the handle and `tool_output`.
    Handle,
    /// The first characters and how to get more.
    Continuation,
    /// A receipt (the figures of the result), a trailer (its first and last lines) and guidance for
    /// the model.
    Funnel,
    /// An error with figures and advice; no data.
    Reject,
    /// The text with its middle cut out, within a byte limit.
    Truncate,
    /// A user's template of that name.
    Template(TemplateName),
}

impl Profile {
    /// The built-in profiles, for help texts.
    pub const BUILT_IN: [Self; 6] = [
        Self::Preview,
        Self::Handle,
        Self::Continuation,
        Self::Funnel,
        Self::Reject,
        Self::Truncate,
    ];

    /// Returns the strategy that implements the profile.
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

    /// Returns the name in the configuration.
    #[must_use]
    pub fn name(&self) -> &str {
        self.strategy().name()
    }

    /// Returns whether the message scales with the result's size, so that a small result may cost
    /// less than the message that would replace it.
    #[must_use]
    pub fn is_budgeted(&self) -> bool {
        self.strategy().is_budgeted()
    }

    /// Returns whether the message is an error that refuses the result.
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
    /// Returns the built-in profile of that name, otherwise the template.
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

/// The behaviour of one profile.
pub(crate) trait Strategy {
    /// Returns the name in the configuration.
    fn name(&self) -> &str;

    /// Returns the limits that apply if the user sets none.
    fn sizes(&self) -> Sizes;

    /// Returns whether the message scales with the result's size, within a token budget.
    fn is_budgeted(&self) -> bool {
        false
    }

    /// Returns whether the message is an error that refuses the result.
    fn is_refusal(&self) -> bool {
        false
    }

    /// Returns whether a result exceeds `limit` tokens, for profiles that estimate; `None` if the
    /// tokens must be counted.
    fn exceeds_tokens(&self, _scan: &ScanFacts, _limit: u64) -> Option<bool> {
        None
    }

    /// Returns whether the message has an outline. The outline is then made while the result is
    /// stored.
    fn shows_outline(&self, _limits: &Limits) -> bool {
        false
    }

    /// Returns whether the message says what differs from an earlier result.
    fn has_history(&self) -> bool {
        false
    }

    /// Returns the form of the handle under which a result is stored.
    fn handle_form(&self) -> HandleForm {
        HandleForm::Short
    }

    /// Adds facts that the artifact needs later, such as its file name.
    fn note(&self, _facts: &mut Facts, _limits: &Limits) {}

    /// Returns the limits for a result that is stored although it is within them.
    fn tightened(&self, limits: Limits, _stats: &Stats) -> Limits {
        limits
    }

    /// Estimates the tokens of the message for a result whose tokens are not counted yet.
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

    /// Makes the message for a stored result.
    fn message(&self, subject: &Subject<'_>) -> Result<Message, RetrieveError>;
}

/// Estimates tokens at four bytes each.
fn estimated(scan: &ScanFacts) -> u64 {
    scan.bytes.div_ceil(4)
}

/// The sizes above which a result is offloaded; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sizes {
    pub(crate) tokens: Option<u64>,
    pub(crate) bytes: Option<u64>,
    pub(crate) lines: Option<u64>,
    pub(crate) chars: Option<u64>,
}

/// Turns an untrusted name into a single line of limited length, for use in one of our lines.
pub(crate) fn name_in_line(name: &str) -> String {
    const LONGEST: usize = 80;
    let spaced: String = name.chars().take(2 * LONGEST).collect();
    clip(&marked(&spaced.replace(['\t', '\n'], " ")), LONGEST)
}

/// Replaces tabs, line breaks and hidden characters by spaces. Leading spaces stay, because an
/// entry may be indented.
pub(crate) fn spaced(text: &str) -> String {
    let is_gone = |c: char| matches!(c, '\t' | '\n') || is_hidden(c);
    text.replace(is_gone, " ")
}
