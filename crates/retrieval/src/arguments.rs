//! Reads the arguments of a call as the model means them.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use spillgate_artifact::{Handle, TokenBudget};
use spillgate_offload::whole_number;

/// Maximum tokens of a page, even if a call asks for more (docs/spec/behaviour.md, "Invariants",
/// 2).
pub const MOST_PAGE_TOKENS: u64 = 10_000;

/// Maximum characters of a caller's argument that an error quotes.
const LONGEST_QUOTED: usize = 60;

/// The arguments of a call, interpreted as models mean them (docs/spec/behaviour.md, "Arguments of
/// models").
pub(crate) struct Arguments(Map<String, Value>);

impl Arguments {
    pub(crate) fn parse(arguments: Option<&RawValue>) -> Self {
        let parsed = arguments.and_then(|raw| serde_json::from_str(raw.get()).ok());
        Self(match parsed {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        })
    }

    pub(crate) fn handle(&self) -> Result<Handle, String> {
        let text = self
            .text("handle")
            .ok_or("`handle` is missing: give the one that a [spillgate] message names")?;
        text.parse()
            .map_err(|error: spillgate_artifact::HandleError| error.to_string())
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        match self.0.get(name) {
            Some(Value::Bool(set)) => *set,
            Some(Value::String(text)) => {
                let meant = text.trim().to_ascii_lowercase();
                ["true", "1", "yes", "on"].contains(&meant.as_str())
            }
            Some(Value::Number(number)) => number.as_u64().is_some_and(|n| n > 0),
            _ => false,
        }
    }

    /// Returns the given flags and numbers that are set, formatted as arguments of another call.
    pub(crate) fn repeated<const N: usize>(&self, names: [&str; N]) -> String {
        let set = names.into_iter().filter_map(|name| {
            let number = self
                .number(name)
                .ok()
                .flatten()
                .filter(|&number| number > 0);
            let number = number.map(|number| format!(", {name}={number}"));
            number.or_else(|| self.flag(name).then(|| format!(", {name}=true")))
        });
        set.collect()
    }

    /// Returns a value as it was written, without the quotes of a string. Returns `None` for `null`
    /// and for an empty string.
    pub(crate) fn spelled(&self, name: &str) -> Option<String> {
        let given = match self.0.get(name)? {
            Value::Null => return None,
            Value::String(text) => text.trim().to_owned(),
            other => other.to_string(),
        };
        Some(given).filter(|given| !given.is_empty())
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, String> {
        let Some(given) = self.spelled(name) else {
            return Ok(None);
        };
        whole_number(&given).map(Some).ok_or_else(|| {
            format!(
                "`{name}` must be a whole number from 0 on, not `{}`",
                quoted(&given)
            )
        })
    }

    pub(crate) fn budget(&self, page: TokenBudget) -> Result<TokenBudget, String> {
        let asked = self.number("max_tokens")?.filter(|&tokens| tokens > 0);
        let most = MOST_PAGE_TOKENS.max(page.get());
        Ok(asked.map_or(page, |tokens| TokenBudget::new(tokens.min(most))))
    }
}

/// Returns a caller's text, shortened for an error.
pub(crate) fn quoted(given: &str) -> String {
    given.chars().take(LONGEST_QUOTED).collect()
}
