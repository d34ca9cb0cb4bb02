//! Reads the arguments of a call as models write them.
//!
//! Numbers may be quoted, `null` means the default, and unknown arguments are ignored. An argument
//! that cannot be understood is an error (docs/spec/behaviour.md, "Arguments of models").

use serde_json::{Map, Value};

/// The arguments of a call cannot be understood.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// The arguments are JSON, but not an object.
    #[error("the arguments must be a JSON object")]
    NoObject,
    /// The arguments are not JSON.
    #[error("the arguments are not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// A required argument is missing.
    #[error("{0} is missing")]
    Missing(String),
    /// An argument has the wrong type.
    #[error("{name} must be {what}")]
    Kind {
        /// The argument's name.
        name: String,
        /// What the argument must be.
        what: &'static str,
    },
}

impl ArgumentError {
    fn kind(name: &str, what: &'static str) -> Self {
        let name = name.to_owned();
        Self::Kind { name, what }
    }
}

/// Converts the error for callers that only report its text to the model.
impl From<ArgumentError> for String {
    fn from(error: ArgumentError) -> Self {
        error.to_string()
    }
}

/// The arguments of a call. Errors name the argument.
#[derive(Debug, Clone, Default)]
pub struct Arguments(Map<String, Value>);

impl From<Map<String, Value>> for Arguments {
    fn from(members: Map<String, Value>) -> Self {
        Self(members)
    }
}

impl Arguments {
    /// Parses the arguments from `json`. An empty text and `null` mean no arguments.
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

    /// Returns a required text; a number is accepted.
    pub fn required(&self, name: &str) -> Result<String, ArgumentError> {
        self.optional(name)?
            .ok_or_else(|| ArgumentError::Missing(name.to_owned()))
    }

    /// Returns a text, unless it is missing or empty; a number is accepted.
    pub fn optional(&self, name: &str) -> Result<Option<String>, ArgumentError> {
        match self.get(name) {
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            _ => Ok(Some(self.text(name)?.to_owned()).filter(|text| !text.trim().is_empty())),
        }
    }

    /// Returns the first of these arguments that is present. Used where models give one argument
    /// different names.
    pub fn any_of(&self, names: &[&str]) -> Result<Option<String>, ArgumentError> {
        for name in names {
            if let Some(text) = self.optional(name)? {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    /// Returns a text; an empty text if it is missing.
    pub fn text(&self, name: &str) -> Result<&str, ArgumentError> {
        match self.get(name) {
            Some(Value::String(text)) => Ok(text),
            None => Ok(""),
            Some(_) => Err(ArgumentError::kind(name, "a string")),
        }
    }

    /// Returns a whole number that is not negative: `4`, `4.0` or `"4"`.
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

    /// Returns a number as [`number`](Self::number) does, but 0 and `"all"` mean no limit.
    pub fn limit(&self, name: &str) -> Result<Option<u64>, ArgumentError> {
        match self.get(name) {
            Some(Value::String(text)) if text.trim().eq_ignore_ascii_case("all") => Ok(None),
            _ => Ok(self.number(name)?.filter(|&limit| limit > 0)),
        }
    }

    /// Returns a flag; false if it is missing.
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
