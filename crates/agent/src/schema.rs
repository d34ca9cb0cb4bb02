//! What is wrong with a value, by its schema, in words that fit into a conversation?

use jsonschema::Validator;
use serde_json::Value;

/// Faults that are told: who mends these sees the next.
const FAULTS: usize = 3;

/// Characters of one: it quotes the value, which may be all that the model wrote.
const CHARS: usize = 300;

/// What is wrong with the value; `None` where nothing is.
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

/// A text of which the middle is left out if it is long: faults begin with the value
/// and end with the rule.
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
