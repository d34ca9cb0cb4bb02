//! The form of a call: its JSON with a description in place of each value, for example
//! `{"name": "get-sum", "arguments": {"a": <number: First number>, "b": <number: Second number>}}`.

use serde_json::Value;
use spillgate_untrusted::line;

/// Most levels of objects and lists in a form.
const MOST_LEVELS: usize = 5;
/// Most members of an object in a form.
const MOST_MEMBERS: usize = 30;
/// Most bytes of a form.
const MOST_BYTES: usize = 4000;
/// Most characters of a name, and of the description of a value.
const MOST_NAME: usize = 60;
const MOST_DESCRIPTION: usize = 90;
/// Most values that a form lists.
const MOST_VALUES: usize = 8;

/// The forms of the arguments that a schema describes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// An object with the required arguments.
    pub(crate) required: String,
    /// The other arguments as members of an object; empty if there are none.
    pub(crate) optional: String,
}

impl Form {
    /// Whether a value is a text that the form has as a placeholder, or contains one.
    pub(crate) fn is_unfilled(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => {
                let is_marked = text.starts_with('<') && text.ends_with('>');
                is_marked && (self.required.contains(text) || self.optional.contains(text))
            }
            Value::Array(values) => values.iter().any(|value| self.is_unfilled(value)),
            Value::Object(members) => members.values().any(|value| self.is_unfilled(value)),
            _ => false,
        }
    }
}

/// Returns the forms of the arguments of a tool; `None` if they would be too long, or if the schema
/// does not simply list the arguments.
pub(crate) fn form(schema: &Value) -> Option<Form> {
    let mut writer = Writer {
        root: schema,
        left: MOST_BYTES,
    };
    let properties = schema["properties"].as_object();
    if is_combined(schema) || properties.is_some_and(|all| all.len() > MOST_MEMBERS) {
        return None;
    }
    let (required, optional): (Vec<_>, Vec<_>) = properties
        .into_iter()
        .flatten()
        .partition(|(name, _)| is_required(schema, name));
    let form = Form {
        required: format!("{{{}}}", writer.members(&required, 1)),
        optional: writer.members(&optional, 1),
    };
    (writer.left > 0).then_some(form)
}

/// Whether more is needed than what the schema lists as required.
fn is_combined(schema: &Value) -> bool {
    let combined = ["anyOf", "oneOf", "allOf", "$ref", "patternProperties"];
    combined.iter().any(|key| !schema[*key].is_null())
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema["required"].as_array();
    required.is_some_and(|all| all.iter().any(|one| one == name))
}

/// Writes forms of values until their bytes are used up.
struct Writer<'s> {
    /// The schema in which references are found.
    root: &'s Value,
    left: usize,
}

impl Writer<'_> {
    fn members(&mut self, members: &[(&String, &Value)], level: usize) -> String {
        let shown = members.iter().take(MOST_MEMBERS).map(|(name, schema)| {
            let plain = line(name, MOST_NAME);
            if plain != **name {
                self.left = 0; // a call with another name would fail
            }
            format!("{}: {}", Value::from(plain), self.value(schema, level))
        });
        let mut shown: Vec<String> = shown.collect();
        if members.len() > MOST_MEMBERS {
            shown.push("…".to_owned());
        }
        shown.join(", ")
    }

    /// Returns the form of a value.
    fn value(&mut self, schema: &Value, level: usize) -> String {
        let text = self.written(schema, level);
        self.left = self.left.saturating_sub(text.len());
        text
    }

    fn written(&mut self, schema: &Value, level: usize) -> String {
        if level > MOST_LEVELS || self.left == 0 {
            return "<…>".to_owned();
        }
        if let Some(inner) = self.inner(schema) {
            return self.value(&inner, level + 1);
        }
        let description = line(
            schema["description"].as_str().unwrap_or_default(),
            MOST_DESCRIPTION,
        );
        let of = |kind: &str| match description.is_empty() {
            true => format!("<{kind}>"),
            false => format!("<{kind}: {description}>"),
        };
        if let Some(value) = schema.get("const") {
            return line(&value.to_string(), MOST_NAME);
        }
        if let Some(values) = schema["enum"].as_array() {
            let values = values.iter().take(MOST_VALUES);
            let values: Vec<String> = values
                .map(|value| line(&value.to_string(), MOST_NAME))
                .collect();
            return format!("<{}>", values.join(" or "));
        }
        match kind(schema) {
            "string" if description.is_empty() => "\"<text>\"".to_owned(),
            "string" => format!("\"<{description}>\""),
            "array" => format!("[{}]", self.value(&schema["items"], level + 1)),
            "object" => match schema["properties"].as_object() {
                Some(properties) => {
                    let mut members: Vec<_> = properties.iter().collect();
                    if members.iter().any(|(name, _)| is_required(schema, name)) {
                        members.retain(|(name, _)| is_required(schema, name));
                    }
                    format!("{{{}}}", self.members(&members, level + 1))
                }
                None => of("object"),
            },
            "boolean" => of("true or false"),
            "" => of("value"),
            other => of(other),
        }
    }

    /// Returns the schema that a reference or the first alternative stands for.
    fn inner(&self, schema: &Value) -> Option<Value> {
        if let Some(pointer) = schema["$ref"].as_str().and_then(|at| at.strip_prefix('#')) {
            return self.root.pointer(pointer).cloned();
        }
        ["anyOf", "oneOf", "allOf"].iter().find_map(|key| {
            let mut variants = schema[*key].as_array()?.iter();
            let mut inner = variants.find(|one| one["type"] != "null")?.clone();
            if let (Value::Object(inner), Some(text)) = (&mut inner, schema.get("description")) {
                inner.entry("description").or_insert_with(|| text.clone());
            }
            Some(inner)
        })
    }
}

/// Returns the type of a value, other than `null`; empty if the schema names none.
pub(super) fn kind(schema: &Value) -> &str {
    match &schema["type"] {
        Value::String(kind) => kind,
        Value::Array(kinds) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.find(|kind| *kind != "null").unwrap_or_default()
        }
        _ if schema["properties"].is_object() => "object",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_has_a_place_for_each_value() {
        let string = json!({"type": "string"});
        let schemas = [
            json!({"type": "object"}),
            json!({"properties": {"a": {"type": "number", "description": "First\nnumber"}, "b": string}, "required": ["a"]}),
            json!({"properties": {"kind": {"enum": ["png", "jpeg"]}, "fixed": {"const": 3}, "is": {"type": "boolean"}, "any": {}}}),
            json!({"properties": {"edits": {"type": "array", "items": {"type": "object", "required": ["old"],
                "properties": {"old": string, "new": string}}}}, "required": ["edits"]}),
            json!({"properties": {"since": {"anyOf": [{"type": "null"}, string], "description": "a day"}}}),
            json!({"properties": {"at": {"$ref": "#/$defs/Place"}}, "$defs": {"Place": {"properties": {"x": {"type": ["null", "integer"]}}}}}),
            json!({"properties": {"node": {"$ref": "#"}}, "required": ["node"]}),
            json!({"properties": {"a": string}, "anyOf": [{"required": ["a"]}]}),
            json!({"properties": {"a\nb": string}}),
            json!({"properties": (0..40).map(|at| (at.to_string(), string.clone())).collect::<serde_json::Map<_, _>>()}),
            json!(7),
        ];
        let forms = schemas.map(|schema| match form(&schema) {
            Some(form) => format!("{} | {}", form.required, form.optional),
            None => "-".to_owned(),
        });
        assert_snapshot!(forms.join("\n"), @r#"
        {} | 
        {"a": <number: First number>} | "b": "<text>"
        {} | "any": <value>, "fixed": 3, "is": <true or false>, "kind": <"png" or "jpeg">
        {"edits": [{"old": "<text>"}]} | 
        {} | "since": "<a day>"
        {} | "at": {"x": <integer>}
        {"node": {"node": {"node": <…>}}} | 
        -
        -
        -
        {} |
        "#);
    }

    #[test]
    fn placeholders_are_no_values() {
        let string = json!({"type": "string"});
        let schema = json!({"properties": {
            "key": {"type": "string", "description": "Key to \"get\""},
            "list": {"type": "array", "items": {"properties": {"old": string}}},
            "kind": {"enum": ["a", "b"]},
            "most": {"type": "integer", "description": "how many"},
        }, "required": ["key"]});
        let form = form(&schema).unwrap();
        let values = [
            json!("<Key to \"get\">"),
            json!([{"old": "<text>"}]),
            json!("<text>"),
            json!("<html>"),
            json!("Key to \"get\""),
            json!([7, null, {"old": "text"}]),
            json!("<\"a\" or \"b\">"),
            json!("<integer: how many>"),
        ];
        let unfilled = values.map(|value| form.is_unfilled(&value));
        assert_eq!(
            unfilled,
            [true, true, true, false, false, false, true, true]
        );
    }
}
