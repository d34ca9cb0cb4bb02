//! What does `tools/list` gain?
//!
//! The gateway's own tools, after the server's and always in the same order
//! (prompt caches stay warm); and, for each tool with an `outputSchema`, the
//! small object that stands in for an oversized result, so that clients which
//! validate accept it (ADR 4).

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::frame::span_in;
use crate::intercept::ENVELOPE_KEY;
use crate::splice::Splice;
use crate::tools;

#[derive(Deserialize)]
struct ToolsList<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(borrow, default, rename = "nextCursor")]
    next_cursor: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Tool<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default, rename = "outputSchema")]
    output_schema: Option<&'a RawValue>,
}

/// The changes to `frame` for the tools list `result` in it, and whether the
/// server has tools of our names already (it is a Spillgate itself): ours are
/// then left out, for a name must mean one tool.
pub(crate) fn extend(frame: &[u8], result: &RawValue) -> (Splice, bool) {
    let mut splice = Splice::default();
    let Ok(list) = serde_json::from_str::<ToolsList<'_>>(result.get()) else {
        return (splice, false);
    };
    let mut has_ours = false;
    for raw in &list.tools {
        let Ok(tool) = serde_json::from_str::<Tool<'_>>(raw.get()) else {
            continue;
        };
        has_ours = has_ours || tools::is_ours(&tool.name);
        if let Some(schema) = tool.output_schema {
            splice.replace(
                span_in(frame, schema.get()),
                widened(&tool.name, schema.get()),
            );
        }
    }
    // Ours come last, so after the last page.
    let is_last = list.next_cursor.is_none_or(|cursor| cursor.get() == "null");
    if is_last && !has_ours {
        let ours: Vec<String> = tools::definitions().iter().map(Value::to_string).collect();
        let ours = ours.join(",");
        match list.tools.last() {
            Some(last) => {
                let end = span_in(frame, last.get()).end;
                splice.replace(end..end, format!(",{ours}"));
            }
            None => {
                if let Some(end) = end_of_empty_tools(frame, result) {
                    splice.replace(end..end, ours);
                }
            }
        }
    }
    (splice, has_ours)
}

/// Where the first element of an empty `tools` array would stand.
fn end_of_empty_tools(frame: &[u8], result: &RawValue) -> Option<usize> {
    #[derive(Deserialize)]
    struct Tools<'a> {
        #[serde(borrow)]
        tools: &'a RawValue,
    }
    let list: Tools<'_> = serde_json::from_str(result.get()).ok()?;
    Some(span_in(frame, list.tools.get()).start + 1)
}

/// A schema that allows what `schema` allows, and our envelope.
fn widened(tool: &str, schema: &str) -> String {
    let original: Value = serde_json::from_str(schema).unwrap_or_default();
    let envelope = json!({
        "type": "object",
        "properties": {ENVELOPE_KEY: {"type": "string"}},
        "required": [ENVELOPE_KEY],
        "additionalProperties": false,
    });
    // Clients older than 2026-07-28 demand an object at the root.
    let is_object = original.get("type").is_some_and(|kind| kind == "object");
    let root = if is_object {
        "\"type\":\"object\","
    } else {
        ""
    };
    let (schema, shared) = rooted(tool, schema, &original);
    format!("{{{root}\"anyOf\":[{schema},{envelope}]{shared}}}")
}

/// References such as `#/$defs/x` start from the root, which is another one
/// now: definitions are repeated there; a schema that refers to itself in other
/// ways becomes a root of its own.
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
