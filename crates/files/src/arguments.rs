//! What did a model mean?
//!
//! Numbers may stand in quotes, `null` is the default, what is not known is
//! ignored (SPEC 2.6). What cannot be meant is said.

use serde_json::{Map, Value};

/// The arguments of a call.
#[derive(Debug)]
pub(crate) struct Arguments(Map<String, Value>);

impl Arguments {
    /// Those that stand in `json`.
    pub(crate) fn parse(json: &str) -> Result<Self, String> {
        match serde_json::from_str(json) {
            Ok(Value::Object(map)) => Ok(Self(map)),
            Ok(Value::Null) => Ok(Self(Map::new())),
            _ if json.trim().is_empty() => Ok(Self(Map::new())),
            Ok(_) => Err("the arguments must be a JSON object".to_owned()),
            Err(error) => Err(format!("the arguments are not JSON: {error}")),
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// A text; empty where there is none.
    pub(crate) fn text(&self, name: &str) -> Result<&str, String> {
        match self.get(name) {
            Some(Value::String(text)) => Ok(text),
            None => Ok(""),
            Some(_) => Err(format!("{name} must be a string")),
        }
    }

    /// A whole number from 0 on: `4`, `4.0` or `"4"`.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, String> {
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
        number.map_err(|_| format!("{name} must be a whole number from 0 on"))
    }

    /// The same, where 0 and `"all"` are no limit.
    pub(crate) fn limit(&self, name: &str) -> Result<Option<u64>, String> {
        match self.get(name) {
            Some(Value::String(text)) if text.trim().eq_ignore_ascii_case("all") => Ok(None),
            _ => Ok(self.number(name)?.filter(|&limit| limit > 0)),
        }
    }

    /// Yes or no; no where nothing is said.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, String> {
        let text = match self.get(name) {
            Some(Value::String(text)) => text.trim().to_ascii_lowercase(),
            Some(value) => value.to_string(),
            None => String::new(),
        };
        match text.as_str() {
            "true" | "1" => Ok(true),
            "false" | "0" | "" => Ok(false),
            _ => Err(format!("{name} must be true or false")),
        }
    }
}
