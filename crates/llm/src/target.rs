//! The name of a model with its provider: `provider/model`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A target, written `provider/model`. The first slash separates the two, because names of models
/// may contain slashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Target {
    /// Name of the provider in the configuration.
    pub provider: String,
    /// Name of the model at the provider.
    pub model: String,
}

impl Target {
    /// Creates a target from its parts.
    #[must_use]
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            model: model.into(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// The text is not a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Invalid provider/model pair '{0}'. Expected format provider/model.")]
pub struct TargetError(String);

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        match text.trim().split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
                Ok(Self::new(provider, model))
            }
            _ => Err(TargetError(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Target {
    type Error = TargetError;

    fn try_from(text: String) -> Result<Self, TargetError> {
        text.parse()
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        target.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_slash_splits() {
        let target: Target = "openrouter/meta/llama-3".parse().unwrap();
        assert_eq!(target, Target::new("openrouter", "meta/llama-3"));
        assert_eq!(target.to_string(), "openrouter/meta/llama-3");
        for wrong in ["gpt-4o", "/gpt-4o", "openai/", ""] {
            let error = wrong.parse::<Target>().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("Invalid provider/model pair '{wrong}'. Expected format provider/model.")
            );
        }
    }
}
