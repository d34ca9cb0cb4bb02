//! Extends output schemas so that they also allow the replacement of an oversized result.
//!
//! The replacement is the envelope `{"spillgate": <preview>}`. For `FastMCP`'s wrapped results, it
//! is `{"result": {"spillgate": <preview>}}` (ADR 4, 9 and 19).

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use spillgate_mcp::{ObjectView, object_in};

use crate::results::intercept::ENVELOPE_KEY;

/// The key by which `FastMCP` marks that the value is the member `result` of the object. Its client
/// then returns only this member.
const WRAPS: &str = "x-fastmcp-wrap-result";

/// Keywords at the root that the envelope would violate. All other members are kept at the root:
/// annotations, definitions and unknown members.
const RESTRICTING: [&str; 18] = [
    "required",
    "anyOf",
    "allOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "const",
    "enum",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "patternProperties",
    "unevaluatedProperties",
];

/// Keywords whose effect changes if a property is added beside them: the added property may be one
/// that they apply to.
const LOOKING_AROUND: [&str; 2] = ["patternProperties", "unevaluatedProperties"];

/// Returns a schema that allows everything that `schema` allows, and also our envelope.
pub(crate) fn widened(tool: &str, schema: &str) -> String {
    let original: Value = serde_json::from_str(schema).unwrap_or_default();
    in_place(schema, &original).unwrap_or_else(|| beside_the_envelope(tool, schema, &original))
}

/// Adds our property to the schema. Clients that generate types from schemas, such as `FastMCP`,
/// then find the server's properties where they expect them. This is done, if possible, for every
/// schema with `properties` at its root.
fn in_place(schema: &str, original: &Value) -> Option<String> {
    let members: ObjectView<'_> = object_in(schema)?;
    let properties = ObjectView::of(members.get("properties")?)?;
    let looks_around = LOOKING_AROUND
        .iter()
        .any(|name| members.get(name).is_some());
    // Whether a keyword of the root moves into the `anyOf`, as a part of the server's own schema. The
    // other branch of the `anyOf` allows Spillgate's replacement object.
    let is_moved = |name: &str| {
        RESTRICTING.contains(&name) || (name == "additionalProperties" && looks_around)
    };
    let wraps = members.get(WRAPS).is_some_and(|flag| flag.get() == "true");
    let is_within = |path: &str| is_within_a_choice(path, wraps);
    // A key that is not valid text could not be written back.
    let mut names = members.names().chain(properties.names());
    if names.any(|name| name.is_empty()) {
        return None;
    }
    if !allows_objects(original) || refers_into(original, &is_moved, &is_within) {
        return None;
    }
    let widened = widened_properties(&properties, wraps);
    let (mut root, mut strict, mut written) = (Vec::new(), Vec::new(), false);
    for (name, value) in members.iter() {
        let value = match &*name {
            "properties" => widened.as_str(),
            _ => value.get(),
        };
        let member = format!("{}:{value}", json!(name));
        if !is_moved(&name) {
            root.push(member);
            continue;
        }
        strict.push(member);
        if !written {
            root.push(String::new()); // the `anyOf` is inserted here
            written = true;
        }
    }
    if looks_around {
        let known = properties
            .names()
            .map(|name| format!("{}:true", json!(name)));
        let known: Vec<String> = known.collect();
        strict.push(format!("\"properties\":{{{}}}", known.join(",")));
    }
    let choice = format!(
        r#""anyOf":[{{{}}},{{"required":["{ENVELOPE_KEY}"]}}]"#,
        strict.join(",")
    );
    for member in &mut root {
        if member.is_empty() {
            member.clone_from(&choice);
        }
    }
    Some(format!("{{{}}}", root.join(",")))
}

/// Returns the server's properties and ours. If the server has a property with our name, an `anyOf`
/// allows both.
fn widened_properties(properties: &ObjectView<'_>, wraps: bool) -> String {
    const OURS: &str = r#"{"type":"string"}"#;
    let mut all: Vec<String> = Vec::new();
    for (name, schema) in properties.iter() {
        let schema: Cow<'_, str> = match &*name {
            ENVELOPE_KEY if schema.get() != OURS => {
                format!(r#"{{"anyOf":[{schema},{OURS}]}}"#).into()
            }
            "result" if wraps => format!(r#"{{"anyOf":[{schema},{}]}}"#, envelope()).into(),
            _ => schema.get().into(),
        };
        all.push(format!("{}:{schema}", json!(name)));
    }
    if properties.get(ENVELOPE_KEY).is_none() {
        all.push(format!(r#""{ENVELOPE_KEY}":{OURS}"#));
    }
    format!("{{{}}}", all.join(","))
}

fn envelope() -> Value {
    json!({
        "type": "object",
        "properties": {ENVELOPE_KEY: {"type": "string"}},
        "required": [ENVELOPE_KEY],
        "additionalProperties": false,
    })
}

/// Whether the root's `type` allows objects.
fn allows_objects(root: &Value) -> bool {
    match root.get("type") {
        None => true,
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(_) => false,
    }
}

/// Whether a path leads into a property that becomes an `anyOf`. The path would then no longer
/// resolve.
fn is_within_a_choice(path: &str, wraps: bool) -> bool {
    let below = path
        .strip_prefix("properties/")
        .and_then(|rest| rest.split_once('/'));
    below.is_some_and(|(name, _)| name == ENVELOPE_KEY || (wraps && name == "result"))
}

/// Whether the root refers to another schema, or contains a reference to a member that is moved.
fn refers_into(
    root: &Value,
    is_moved: &dyn Fn(&str) -> bool,
    is_within: &dyn Fn(&str) -> bool,
) -> bool {
    const OF_ROOT: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
    let leads_into = |reference: &&str| {
        let path = reference.strip_prefix("#/").unwrap_or_default();
        is_moved(path.split('/').next().unwrap_or_default()) || is_within(path)
    };
    OF_ROOT.iter().any(|key| root.get(key).is_some()) || references(root).iter().any(leads_into)
}

/// Returns an `anyOf` of the schema and the envelope. Used for schemas that cannot be extended in
/// place.
fn beside_the_envelope(tool: &str, schema: &str, original: &Value) -> String {
    let envelope = envelope();
    // Repeat the dialect at the root: in the newest dialect, some older schemas are invalid, for
    // example those with tuples.
    let dialect = original.get("$schema");
    let dialect = dialect.map_or_else(String::new, |uri| format!("\"$schema\":{uri},"));
    // Clients older than 2026-07-28 require an object at the root.
    let is_object = original.get("type").is_some_and(|kind| kind == "object");
    let kind = if is_object {
        "\"type\":\"object\","
    } else {
        ""
    };
    let (schema, shared) = rooted(tool, schema, original);
    format!("{{{dialect}{kind}\"anyOf\":[{schema},{envelope}]{shared}}}")
}

/// Keeps references such as `#/$defs/x` valid. They start at the root, which is now a new schema,
/// so the definitions are repeated there. A schema that refers to itself in any other way gets its
/// own `$id`, so that its references start from it.
fn rooted<'s>(tool: &str, schema: &'s str, original: &Value) -> (Cow<'s, str>, String) {
    let refers = schema.contains("\"$ref\"");
    if !refers {
        return (schema.into(), String::new());
    }
    let to_definitions = |reference: &&str| {
        ["#/$defs/", "#/definitions/"]
            .iter()
            .any(|root| reference.starts_with(root))
    };
    if references(original).iter().all(to_definitions) {
        let shared = ["$defs", "definitions"].iter().filter_map(|key| {
            let definitions = original.get(key)?;
            Some(format!(",\"{key}\":{definitions}"))
        });
        return (schema.into(), shared.collect());
    }
    let mut own = original.clone();
    if let Some(object) = own.as_object_mut() {
        let id = || json!(format!("urn:spillgate:output-schema:{tool}"));
        object.entry("$id").or_insert_with(id);
    }
    (own.to_string().into(), String::new())
}

fn references(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(members) => members
            .iter()
            .flat_map(|(key, value)| match value.as_str() {
                Some(reference) if key == "$ref" => vec![reference],
                _ => references(value),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// Whether a result is marked as wrapped: its value is the member `result`.
pub(crate) fn is_wrapped(meta: Option<&RawValue>) -> bool {
    let ours = meta
        .and_then(ObjectView::of)
        .and_then(|meta| meta.get("fastmcp"));
    let flag = ours
        .and_then(ObjectView::of)
        .and_then(|ours| ours.get("wrap_result"));
    flag.is_some_and(|flag| flag.get() == "true")
}

/// Returns the replacement of `structuredContent`.
pub(crate) fn instead(preview: &str, meta: Option<&RawValue>) -> String {
    let envelope = json!({ENVELOPE_KEY: preview});
    match is_wrapped(meta) {
        true => json!({"result": envelope}).to_string(),
        false => envelope.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn schemas_are_widened() {
        let schemas = [
            r#"{"type":"object","properties":{"a":{"type":"number","maximum":1.0}}}"#,
            r#"{"required" : ["a"],"additionalProperties":false,"properties":{"a":true },"type":"object"}"#,
            r#"{"type":"object","properties":{},"required":[]}"#,
            r#"{"type":"object","properties":{"a":true},"maxProperties":1}"#,
            r#"{"type":"object","properties":{"spillgate":{"type":"number"}}}"#,
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}"#,
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"x":1}}}"##,
            r##"{"properties":{"a":{"$ref":"#/definitions/n"}},"definitions":{"n":true}}"##,
            r##"{"type":"object","properties":{"a":{"$ref":"#"}}}"##,
            r##"{"$id":"urn:x","anyOf":[{"$ref":"#/properties/a"}],"properties":{"a":true}}"##,
            "true",
            // Schemas with unknown members, and with all other constraints on objects.
            r#"{"type":"object","properties":{"a":true},"required":["a"],"x-a":{"b":1},"examples":[{}]}"#,
            r#"{"properties":{"result":{"type":"string"}},"required":["result"],"type":"object","x-fastmcp-wrap-result":true}"#,
            r#"{"type":["object","null"],"properties":{"a":true},"minProperties":2,"oneOf":[{"required":["a"]},{"required":["b"]}]}"#,
            r#"{"type":"object","properties":{"a":true},"patternProperties":{".":{"type":"number"}},"additionalProperties":false}"#,
            r#"{"properties":{"spillgate":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["spillgate"]}]}"#,
            r##"{"properties":{"a":{"$ref":"#/allOf/0"}},"allOf":[{"type":"object"}]}"##,
            r#"{"type":"array","properties":{"a":true}}"#,
            // A reference into a property that becomes an `anyOf` would no longer resolve.
            r##"{"type":"object","properties":{"result":{"items":{"x":1}},"a":{"$ref":"#/properties/result/items"}},"x-fastmcp-wrap-result":true}"##,
        ];
        let all: Vec<String> = schemas.map(|schema| widened("get it", schema)).into();
        assert_snapshot!(all.join("\n"), @r##"
        {"type":"object","properties":{"a":{"type":"number","maximum":1.0},"spillgate":{"type":"string"}}}
        {"anyOf":[{"required":["a"]},{"required":["spillgate"]}],"additionalProperties":false,"properties":{"a":true,"spillgate":{"type":"string"}},"type":"object"}
        {"type":"object","properties":{"spillgate":{"type":"string"}},"anyOf":[{"required":[]},{"required":["spillgate"]}]}
        {"type":"object","properties":{"a":true,"spillgate":{"type":"string"}},"anyOf":[{"maxProperties":1},{"required":["spillgate"]}]}
        {"type":"object","properties":{"spillgate":{"anyOf":[{"type":"number"},{"type":"string"}]}}}
        {"$schema":"http://json-schema.org/draft-07/schema#","type":"object","anyOf":[{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"},{"additionalProperties":false,"properties":{"spillgate":{"type":"string"}},"required":["spillgate"],"type":"object"}]}
        {"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"spillgate":{"type":"string"}},"$defs":{"n":{"x":1}}}
        {"properties":{"a":{"$ref":"#/definitions/n"},"spillgate":{"type":"string"}},"definitions":{"n":true}}
        {"type":"object","properties":{"a":{"$ref":"#"},"spillgate":{"type":"string"}}}
        {"$id":"urn:x","anyOf":[{"anyOf":[{"$ref":"#/properties/a"}]},{"required":["spillgate"]}],"properties":{"a":true,"spillgate":{"type":"string"}}}
        {"anyOf":[true,{"additionalProperties":false,"properties":{"spillgate":{"type":"string"}},"required":["spillgate"],"type":"object"}]}
        {"type":"object","properties":{"a":true,"spillgate":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["spillgate"]}],"x-a":{"b":1},"examples":[{}]}
        {"properties":{"result":{"anyOf":[{"type":"string"},{"additionalProperties":false,"properties":{"spillgate":{"type":"string"}},"required":["spillgate"],"type":"object"}]},"spillgate":{"type":"string"}},"anyOf":[{"required":["result"]},{"required":["spillgate"]}],"type":"object","x-fastmcp-wrap-result":true}
        {"type":["object","null"],"properties":{"a":true,"spillgate":{"type":"string"}},"anyOf":[{"minProperties":2,"oneOf":[{"required":["a"]},{"required":["b"]}]},{"required":["spillgate"]}]}
        {"type":"object","properties":{"a":true,"spillgate":{"type":"string"}},"anyOf":[{"patternProperties":{".":{"type":"number"}},"additionalProperties":false,"properties":{"a":true}},{"required":["spillgate"]}]}
        {"properties":{"spillgate":{"type":"string"}},"anyOf":[{"anyOf":[{"required":["a"]},{"required":["spillgate"]}]},{"required":["spillgate"]}]}
        {"anyOf":[{"$id":"urn:spillgate:output-schema:get it","allOf":[{"type":"object"}],"properties":{"a":{"$ref":"#/allOf/0"}}},{"additionalProperties":false,"properties":{"spillgate":{"type":"string"}},"required":["spillgate"],"type":"object"}]}
        {"anyOf":[{"type":"array","properties":{"a":true}},{"additionalProperties":false,"properties":{"spillgate":{"type":"string"}},"required":["spillgate"],"type":"object"}]}
        {"type":"object","anyOf":[{"$id":"urn:spillgate:output-schema:get it","properties":{"a":{"$ref":"#/properties/result/items"},"result":{"items":{"x":1}}},"type":"object","x-fastmcp-wrap-result":true},{"additionalProperties":false,"properties":{"spillgate":{"type":"string"}},"required":["spillgate"],"type":"object"}]}
        "##);
    }

    #[test]
    fn what_a_widened_schema_allows() {
        let wraps = r#"{"type":"object","properties":{"result":{"type":"array"}},"required":["result"],"x-fastmcp-wrap-result":true}"#;
        let odd = r#"{"type":"object","properties":{"a":{"type":"number"}},"required":["a"],"maxProperties":1,
            "patternProperties":{"^s":{"type":"number"}},"additionalProperties":false}"#;
        for (schema, value, fits) in [
            (wraps, json!({"result": [1]}), true),
            (wraps, json!({"result": {"spillgate": "p"}}), true),
            (wraps, json!({"spillgate": "p"}), true),
            (wraps, json!({"result": "x"}), false),
            (wraps, json!({"result": {"spillgate": "p", "x": 1}}), false),
            (wraps, json!({}), false),
            (odd, json!({"a": 1}), true),
            (odd, json!({"spillgate": "p"}), true),
            (odd, json!({"a": 1, "s": 1}), false),
            (odd, json!({"a": 1, "b": 1}), false),
            (odd, json!({"s": 1}), false),
            (odd, json!({"a": "x"}), false),
        ] {
            let widened: Value = serde_json::from_str(&widened("t", schema)).unwrap();
            let validator = jsonschema::validator_for(&widened).unwrap();
            assert_eq!(validator.is_valid(&value), fits, "{value} {widened}");
        }
    }
}
