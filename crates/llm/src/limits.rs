//! Defines the limits and prices of a model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::usage::{Dollars, Usage};

/// The limits of a request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelLimits {
    /// Size of the context window, in tokens: prompt and reply together.
    pub window: u64,
    /// Maximum length of a reply, in tokens.
    pub max_output: u64,
}

/// The prices of a model, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// The price of tokens of the prompt.
    pub input: f64,
    /// The price of tokens of the reply.
    pub output: f64,
    /// The price of tokens of the prompt that the provider reads from its cache; by default the
    /// same as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// The price of tokens of the prompt that the provider writes to its cache; by default the same
    /// as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Prices {
    /// Returns the price of what a reply used.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> Dollars {
        let cached = self.cached_input.unwrap_or(self.input);
        let written = self.cache_write.unwrap_or(self.input);
        let plain = usage
            .input
            .saturating_sub(usage.cached_input + usage.cache_write);
        Dollars::new(
            (plain as f64 * self.input
                + usage.cached_input as f64 * cached
                + usage.cache_write as f64 * written
                + usage.output as f64 * self.output)
                / 1e6,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_have_a_price_of_their_own() {
        let prices = Prices {
            input: 2.0,
            output: 8.0,
            cached_input: Some(0.5),
            cache_write: None,
        };
        let usage = Usage {
            input: 1_000_000,
            cached_input: 400_000,
            output: 500_000,
            ..Usage::default()
        };
        assert_eq!(prices.of(&usage), Dollars::new(1.2 + 0.2 + 4.0));
    }
}
