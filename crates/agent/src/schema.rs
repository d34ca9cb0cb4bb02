//! Checks a value against a JSON Schema, with errors that are short enough for a conversation.

use jsonschema::Validator;
use serde_json::Value;

/// Maximum number of errors that are reported. A model that corrects these sees the next ones.
const FAULTS: usize = 3;

/// Maximum length of one error, in characters. An error quotes the value, which may be the model's
/// whole text.
const CHARS: usize = 300;

/// Returns what is wrong with the value; `None` if nothing is.
pub(crate) fn faults(validator: &Validator, value: &Value) -> Option<String> {
    let faults = validator.iter_errors(value).take(FAULTS);
    let told: Vec<String> = faults
        .map(|fault| {
            let place = clipped(&fault.instance_path().to_string());
            format!("{} at '{place}'", clipped(&fault.to_string()))
        })
        .collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// Cuts the middle out of a long text, because errors begin with the value and end with the
/// violated rule.
pub(crate) fn clipped(text: &str) -> String {
    let chars = text.chars().count();
    if chars <= CHARS {
        return text.to_owned();
    }
    let half = (CHARS - 1) / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(chars - half).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fault_is_short_however_large_the_value() {
        let property = json!({"type": "integer"});
        let schema =
            json!({"properties": {"a": property, "b": property, "c": property, "d": property}});
        let validator = jsonschema::validator_for(&schema).unwrap();
        let large = "ä".repeat(10_000);
        let value = json!({"a": large, "b": large, "c": large, "d": large});
        let told = faults(&validator, &value).unwrap();
        assert_eq!(
            told.matches("is not of type \"integer\" at '/").count(),
            FAULTS
        );
        assert!(told.chars().count() < FAULTS * (CHARS + 20), "{told}");
        assert_eq!(faults(&validator, &json!({"a": 1})), None);
    }
}
