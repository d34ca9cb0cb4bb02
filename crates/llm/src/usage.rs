//! The tokens of a request and its reply, as the provider counts them, and their cost.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Tokens of a request and its reply, as counted by the provider. All counts are zero if the
/// provider does not count them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt, including cached ones.
    pub input: u64,
    /// Tokens of the prompt that were read from the provider's cache.
    #[serde(default)]
    pub cached_input: u64,
    /// Tokens of the prompt that were written to the provider's cache.
    #[serde(default)]
    pub cache_write: u64,
    /// Tokens of the reply, including thinking.
    pub output: u64,
    /// The cost; `None` if the price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Dollars>,
}

impl AddAssign for Usage {
    /// Adds another usage. The sum has a cost if either part has one.
    fn add_assign(&mut self, more: Self) {
        // A provider may report any number, so the sum must not overflow.
        self.input = self.input.saturating_add(more.input);
        self.cached_input = self.cached_input.saturating_add(more.cached_input);
        self.cache_write = self.cache_write.saturating_add(more.cache_write);
        self.output = self.output.saturating_add(more.output);
        self.cost = match (self.cost, more.cost) {
            (Some(one), Some(other)) => Some(Dollars::new(one.get() + other.get())),
            (one, other) => one.or(other),
        };
    }
}

/// US dollars.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Dollars(f64);

impl Dollars {
    /// Creates an amount. It is rounded to a millionth of a cent, so that sums contain no
    /// floating-point noise.
    #[must_use]
    pub fn new(dollars: f64) -> Self {
        Self((dollars * 1e8).round() / 1e8)
    }

    /// Returns the amount.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            small if small > 0.0 && small < 0.01 => write!(f, "${small:.6}"),
            dollars => write!(f, "${dollars:.4}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_provider_says_overflows_nothing() {
        let all = Usage {
            input: u64::MAX,
            cached_input: u64::MAX,
            cache_write: u64::MAX,
            output: u64::MAX,
            cost: None,
        };
        let mut sum = all;
        sum += all;
        assert_eq!(sum, all);
    }
}
