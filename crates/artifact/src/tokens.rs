//! Token counts and token budgets.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// The count.
    pub count: u64,
    /// Whether the tokenizer counted the whole text. Otherwise the count is extrapolated from
    /// samples that were counted exactly, and is shown with `≈`.
    pub exact: bool,
}

impl Tokens {
    /// Returns a count over the whole text.
    #[must_use]
    pub fn exact(count: u64) -> Self {
        Self { count, exact: true }
    }

    /// Returns an extrapolated count.
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

/// Maximum number of tokens in a text for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TokenBudget(u64);

impl TokenBudget {
    /// The smallest budget. No page fits into less: a single character may take four tokens, and
    /// the line number and the marks that show a cut take about a dozen.
    pub const LEAST: u64 = 32;

    /// Returns a budget of `tokens`, at least [`TokenBudget::LEAST`].
    #[must_use]
    pub fn new(tokens: u64) -> Self {
        Self(tokens.max(Self::LEAST))
    }

    /// Returns the number of tokens in the budget.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }

    /// Returns the budget that remains after `spent` tokens, at least one token.
    #[must_use]
    pub fn less(self, spent: u64) -> Self {
        Self(self.0.saturating_sub(spent).max(1))
    }
}
