//! Token counts and token budgets.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Tokens that a text costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// The count.
    pub count: u64,
    /// Whether it was counted by the tokenizer over the whole text; otherwise
    /// it was extrapolated from exactly counted samples and is shown with `≈`.
    pub exact: bool,
}

impl Tokens {
    /// A count over the whole text.
    #[must_use]
    pub fn exact(count: u64) -> Self {
        Self { count, exact: true }
    }

    /// An extrapolation.
    #[must_use]
    pub fn estimated(count: u64) -> Self {
        Self {
            count,
            exact: false,
        }
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = if self.exact { "" } else { "≈" };
        write!(f, "{about}{}", self.count)
    }
}

/// The most tokens that one text to a model may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TokenBudget(u64);

impl TokenBudget {
    /// Below this not even one page of anything fits: a character may cost
    /// four tokens, its line number and the marks of a cut a dozen.
    pub const LEAST: u64 = 32;

    /// A budget of `tokens`, at least [`TokenBudget::LEAST`].
    #[must_use]
    pub fn new(tokens: u64) -> Self {
        Self(tokens.max(Self::LEAST))
    }

    /// The tokens it allows.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }

    /// What is left of it after `spent` tokens, at least one.
    #[must_use]
    pub fn less(self, spent: u64) -> Self {
        Self(self.0.saturating_sub(spent).max(1))
    }
}
