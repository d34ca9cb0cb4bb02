//! The arguments of a call, as a model means them.
//!
//! Numbers may stand in quotes, `null` is the default, what is not known is
//! ignored; what cannot be meant is said (docs/spec/behaviour.md, "Arguments of models").

use serde_json::{Map, Value};

/// A call has arguments that cannot be meant.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// They are JSON, and no object.
    #[error("the arguments must be a JSON object")]
    NoObject,
    /// They are no JSON.
    #[error("the arguments are not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// One that the call needs is not there.
    #[error("{0} is missing")]
    Missing(String),
    /// One is of another kind than it must be.
    #[error("{name} must be {what}")]
    Kind {
        /// Its name.
        name: String,
        /// What it must be.
        what: &'static str,
    },
}

impl ArgumentError {
    fn kind(name: &str, what: &'static str) -> Self {
        let name = name.to_owned();
        Self::Kind { name, what }
    }
}

/// Callers that tell the model what is wrong need the words only.
impl From<ArgumentError> for String {
    fn from(error: ArgumentError) -> Self {
        error.to_string()
    }
}

/// The arguments of a call. What cannot be meant is told by the argument's name.
#[derive(Debug, Clone, Default)]
pub struct Arguments(Map<String, Value>);

impl From<Map<String, Value>> for Arguments {
    fn from(members: Map<String, Value>) -> Self {
        Self(members)
    }
}

impl Arguments {
    /// Those that stand in `json`.
    pub fn parse(json: &str) -> Result<Self, ArgumentError> {
        match serde_json::from_str(json) {
            Ok(Value::Object(map)) => Ok(Self(map)),
            Ok(Value::Null) => Ok(Self(Map::new())),
            _ if json.trim().is_empty() => Ok(Self(Map::new())),
            Ok(_) => Err(ArgumentError::NoObject),
            Err(error) => Err(error.into()),
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// A text that a call cannot do without; a number will do.
    pub fn required(&self, name: &str) -> Result<String, ArgumentError> {
        self.optional(name)?
            .ok_or_else(|| ArgumentError::Missing(name.to_owned()))
    }

    /// A text, unless it is missing or empty; a number will do.
    pub fn optional(&self, name: &str) -> Result<Option<String>, ArgumentError> {
        match self.get(name) {
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            _ => Ok(Some(self.text(name)?.to_owned()).filter(|text| !text.trim().is_empty())),
        }
    }

    /// The first of these that is there: what models call one thing by several names.
    pub fn any_of(&self, names: &[&str]) -> Result<Option<String>, ArgumentError> {
        for name in names {
            if let Some(text) = self.optional(name)? {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    /// A text; empty where there is none.
    pub fn text(&self, name: &str) -> Result<&str, ArgumentError> {
        match self.get(name) {
            Some(Value::String(text)) => Ok(text),
            None => Ok(""),
            Some(_) => Err(ArgumentError::kind(name, "a string")),
        }
    }

    /// A whole number from 0 on: `4`, `4.0` or `"4"`.
    pub fn number(&self, name: &str) -> Result<Option<u64>, ArgumentError> {
        let text = match self.get(name) {
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::String(text)) => text.trim().to_owned(),
            None => String::new(),
            Some(_) => "?".to_owned(),
        };
        if text.is_empty() {
            return Ok(None);
        }
        let whole = match text.split_once('.') {
            Some((whole, zeros)) if zeros.bytes().all(|digit| digit == b'0') => whole,
            _ => &text,
        };
        let number = whole.parse().map(Some);
        number.map_err(|_| ArgumentError::kind(name, "a whole number from 0 on"))
    }

    /// The same, where 0 and `"all"` are no limit.
    pub fn limit(&self, name: &str) -> Result<Option<u64>, ArgumentError> {
        match self.get(name) {
            Some(Value::String(text)) if text.trim().eq_ignore_ascii_case("all") => Ok(None),
            _ => Ok(self.number(name)?.filter(|&limit| limit > 0)),
        }
    }

    /// Yes or no; no where nothing is said.
    pub fn flag(&self, name: &str) -> Result<bool, ArgumentError> {
        let text = match self.get(name) {
            Some(Value::String(text)) => text.trim().to_ascii_lowercase(),
            Some(value) => value.to_string(),
            None => String::new(),
        };
        match text.as_str() {
            "true" | "1" => Ok(true),
            "false" | "0" | "" => Ok(false),
            _ => Err(ArgumentError::kind(name, "true or false")),
        }
    }
}
