//! What does `tools/list` gain?
//!
//! The gateway's own tools, after the server's and always in the same order
//! (prompt caches stay warm); and, for each tool with an `outputSchema`, the
//! small object that stands in for an oversized result, so that clients which
//! validate accept it (ADR 4). What else a tool gains is the caller's to say
//! (`notes`).

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::gateway::ToolFilter;
use crate::intercept::ENVELOPE_KEY;
use crate::own::OwnTools;
use spillgate_wire::Splice;
use spillgate_wire::{object, span_in};

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

/// The changes to `frame` for the tools list `result` in it, and our
/// definitions if they are among them. A server that has tools of our names is a
/// Spillgate itself: ours are then left out, here and on later pages. `noted`
/// gives the changes to each of the server's tools, by its name.
pub(crate) fn extend(
    frame: &[u8],
    result: &RawValue,
    own: &OwnTools,
    filter: Option<&ToolFilter>,
    noted: &dyn Fn(&str, &RawValue) -> Splice,
) -> (Splice, Option<String>) {
    let mut splice = Splice::default();
    let Some(list) = object::<ToolsList<'_>>(result) else {
        return (splice, None);
    };
    let mut kept = 0;
    for (at, raw) in list.tools.iter().enumerate() {
        let Some(tool) = object::<Tool<'_>>(raw) else {
            kept += 1;
            continue;
        };
        if filter.is_some_and(|filter| !filter.admits(&tool.name)) {
            splice.replace(without(frame, &list.tools, at, kept > 0), "");
            continue;
        }
        kept += 1;
        own.note_servers(&tool.name);
        splice.merge(noted(&tool.name, raw));
        if let Some(schema) = tool.output_schema {
            splice.replace(
                span_in(frame, schema.get()),
                widened(&tool.name, schema.get()),
            );
        }
    }
    // Ours come last, so after the last page.
    let is_last = list.next_cursor.is_none_or(|cursor| cursor.get() == "null");
    let ours = own.listed();
    if !is_last || ours.is_empty() {
        return (splice, None);
    }
    match list.tools.last() {
        Some(final_tool) => {
            let end = span_in(frame, final_tool.get()).end;
            let comma = if kept > 0 { "," } else { "" };
            splice.replace(end..end, format!("{comma}{ours}"));
        }
        None => {
            if let Some(end) = end_of_empty_tools(frame, result) {
                splice.replace(end..end, ours.clone());
            }
        }
    }
    (splice, Some(ours))
}

/// The bytes to leave out for an element to go, with the comma that goes with
/// it.
fn without(frame: &[u8], all: &[&RawValue], at: usize, is_any_before: bool) -> Range<usize> {
    let span = |at: usize| Some(span_in(frame, all.get(at)?.get()));
    let own = span(at).unwrap_or_default();
    match (at.checked_sub(1).and_then(span), span(at + 1)) {
        (Some(before), _) if is_any_before => before.end..own.end,
        (_, Some(after)) => own.start..after.start,
        _ => own,
    }
}

/// Where the first element of an empty `tools` array would stand.
fn end_of_empty_tools(frame: &[u8], result: &RawValue) -> Option<usize> {
    #[derive(Deserialize)]
    struct Tools<'a> {
        #[serde(borrow)]
        tools: &'a RawValue,
    }
    let list: Tools<'_> = object(result)?;
    Some(span_in(frame, list.tools.get()).start + 1)
}

/// A schema that allows what `schema` allows, and our envelope.
fn widened(tool: &str, schema: &str) -> String {
    let original: Value = serde_json::from_str(schema).unwrap_or_default();
    if let Some(plain) = with_another_property(schema, &original) {
        return plain;
    }
    let envelope = json!({
        "type": "object",
        "properties": {ENVELOPE_KEY: {"type": "string"}},
        "required": [ENVELOPE_KEY],
        "additionalProperties": false,
    });
    // The dialect is said at the root: under the newest, an older schema with
    // tuples, say, is no schema at all.
    let dialect = original.get("$schema");
    let dialect = dialect.map_or_else(String::new, |uri| format!("\"$schema\":{uri},"));
    // Clients older than 2026-07-28 demand an object at the root.
    let is_object = original.get("type").is_some_and(|kind| kind == "object");
    let kind = if is_object {
        "\"type\":\"object\","
    } else {
        ""
    };
    let (schema, shared) = rooted(tool, schema, &original);
    format!("{{{dialect}{kind}\"anyOf\":[{schema},{envelope}]{shared}}}")
}

/// What the root of a schema may say for its envelope to be one more property.
const PLAIN: [&str; 9] = [
    "$schema",
    "$defs",
    "definitions",
    "title",
    "description",
    "type",
    "properties",
    "required",
    "additionalProperties",
];

/// A plain object stays one, and spelled as it was: clients that make types of
/// schemas (`FastMCP` does) then have the server's fields where they expect them.
fn with_another_property(schema: &str, original: &Value) -> Option<String> {
    #[derive(Deserialize)]
    struct Root<'a> {
        #[serde(borrow)]
        properties: &'a RawValue,
        #[serde(borrow, default)]
        required: Option<&'a RawValue>,
    }
    let members = original.as_object()?;
    let properties = members.get("properties")?.as_object()?;
    let plain = members.keys().all(|key| PLAIN.contains(&key.as_str()))
        && members.get("type").is_some_and(|kind| kind == "object")
        && !properties.contains_key(ENVELOPE_KEY)
        // To itself: it would allow the envelope further down.
        && !references(original).contains(&"#");
    if !plain {
        return None;
    }
    let root: Root<'_> = serde_json::from_str(schema).ok()?;
    let mut splice = Splice::default();
    let end = span_in(schema.as_bytes(), root.properties.get()).end - 1;
    let comma = if properties.is_empty() { "" } else { "," };
    let property = format!(r#"{comma}"{ENVELOPE_KEY}":{{"type":"string"}}"#);
    splice.replace(end..end, property);
    if let Some(required) = root.required {
        let value = span_in(schema.as_bytes(), required.get());
        let key = schema[..value.start].trim_end().strip_suffix(':')?;
        let key = key.trim_end().strip_suffix(r#""required""#)?.len();
        let either =
            format!(r#""anyOf":[{{"required":{required}}},{{"required":["{ENVELOPE_KEY}"]}}]"#);
        splice.replace(key..value.end, either);
    }
    String::from_utf8(splice.apply(schema.as_bytes())).ok()
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

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use spillgate_offload::{Profile, Rule};

    use super::*;
    use crate::fixture::{offloader, offloader_with};
    use crate::own::ListTools;
    use spillgate_retrieval::{Extraction, definitions, listed};
    use spillgate_wire::messages;

    fn own() -> OwnTools {
        OwnTools::new(&offloader(), None, ListTools::Always)
    }

    /// A list as the client gets it, our tools cut down to their names.
    fn extended(result: &str, own: &OwnTools) -> String {
        let frame = format!(r#"{{"id":1,"result":{result}}}"#);
        let envelope = &messages(frame.as_bytes())[0];
        let (splice, _) = extend(
            frame.as_bytes(),
            envelope.result.unwrap(),
            own,
            None,
            &|_, _| Splice::default(),
        );
        let mut text = String::from_utf8(splice.apply(frame.as_bytes())).unwrap();
        serde_json::from_str::<Value>(&text).unwrap();
        for tool in definitions(&listed(true, false), Extraction::Ours) {
            let name = format!("<{}>", tool["name"].as_str().unwrap());
            text = text.replace(&tool.to_string(), &name);
        }
        text
    }

    #[test]
    fn tools_that_are_not_allowed_go() {
        let list = r#"{"tools":[{"name":"a"}, {"name":"b"} ,{"name":"c"},{"name":"d"}],"x":1.0}"#;
        let frame = format!(r#"{{"id":1,"result":{list}}}"#);
        let result = messages(frame.as_bytes())[0].result.unwrap();
        let mut told = Vec::new();
        for (allow, deny) in [
            (vec![], vec!["a"]),
            (vec![], vec!["b", "c"]),
            (vec![], vec!["a", "b"]),
            (vec!["[bc]"], vec![]),
            (vec!["*"], vec!["d"]),
            (vec!["x"], vec![]),
        ] {
            let [allow, deny] =
                [allow, deny].map(|globs| globs.into_iter().map(str::to_owned).collect::<Vec<_>>());
            let filter = ToolFilter::new(&allow, &deny).unwrap();
            let own = own();
            let (splice, ours) = extend(frame.as_bytes(), result, &own, Some(&filter), &|_, _| {
                Splice::default()
            });
            let text = String::from_utf8(splice.apply(frame.as_bytes())).unwrap();
            serde_json::from_str::<Value>(&text).unwrap();
            told.push(text.replace(&ours.unwrap(), "OURS"));
        }
        assert_snapshot!(told.join("\n"), @r#"
        {"id":1,"result":{"tools":[{"name":"b"} ,{"name":"c"},{"name":"d"},OURS],"x":1.0}}
        {"id":1,"result":{"tools":[{"name":"a"},{"name":"d"},OURS],"x":1.0}}
        {"id":1,"result":{"tools":[{"name":"c"},{"name":"d"},OURS],"x":1.0}}
        {"id":1,"result":{"tools":[{"name":"b"} ,{"name":"c"},OURS],"x":1.0}}
        {"id":1,"result":{"tools":[{"name":"a"}, {"name":"b"} ,{"name":"c"},OURS],"x":1.0}}
        {"id":1,"result":{"tools":[OURS],"x":1.0}}
        "#);
    }

    #[test]
    fn our_tools_come_last() {
        let lists = [
            r#"{"tools":[]}"#,
            r#"{"tools": [ ],"nextCursor":null}"#,
            r#"{"tools":[{"name":"a","x":1.0} ],"_meta":{"y":1e2}}"#,
            r#"{"tools":[{"name":"a"}],"nextCursor":"2"}"#,
            r#"{"tools":[{"name":"spillgate_read"}]}"#,
            r#"{"tools":[17,{"name":"b"}]}"#,
            r#"{"tools":"odd"}"#,
            r#"{"task":{}}"#,
        ];
        assert_snapshot!(lists.map(|list| extended(list, &own())).join("\n"), @r#"
        {"id":1,"result":{"tools":[<spillgate_read>,<spillgate_grep>,<spillgate_query>,<spillgate_search>]}}
        {"id":1,"result":{"tools": [<spillgate_read>,<spillgate_grep>,<spillgate_query>,<spillgate_search> ],"nextCursor":null}}
        {"id":1,"result":{"tools":[{"name":"a","x":1.0},<spillgate_read>,<spillgate_grep>,<spillgate_query>,<spillgate_search> ],"_meta":{"y":1e2}}}
        {"id":1,"result":{"tools":[{"name":"a"}],"nextCursor":"2"}}
        {"id":1,"result":{"tools":[{"name":"spillgate_read"}]}}
        {"id":1,"result":{"tools":[17,{"name":"b"},<spillgate_read>,<spillgate_grep>,<spillgate_query>,<spillgate_search>]}}
        {"id":1,"result":{"tools":"odd"}}
        {"id":1,"result":{"task":{}}}
        "#);
    }

    #[test]
    fn our_names_on_an_earlier_page_count() {
        let own = own();
        extended(
            r#"{"tools":[{"name":"spillgate_grep"}],"nextCursor":"2"}"#,
            &own,
        );
        let text = extended(r#"{"tools":[{"name":"a"}]}"#, &own);
        assert_eq!(text, r#"{"id":1,"result":{"tools":[{"name":"a"}]}}"#);
    }

    #[test]
    fn they_may_wait_until_something_is_stored() {
        let own = OwnTools::new(&offloader(), None, ListTools::WhenStored);
        let list = r#"{"tools":[]}"#;
        let before = extended(list, &own);
        own.note_stored();
        assert!(own.take_announcement() && !own.take_announcement());
        own.note_stored();
        assert!(!own.take_announcement(), "announced once");
        assert_snapshot!(format!("{before}\n{}", extended(list, &own)), @r#"
        {"id":1,"result":{"tools":[]}}
        {"id":1,"result":{"tools":[<spillgate_read>,<spillgate_grep>,<spillgate_query>,<spillgate_search>]}}
        "#);
    }

    #[test]
    fn get_continuation_is_listed_where_its_profile_is_used() {
        let rule = Rule {
            profile: Some(Profile::Continuation),
            ..Rule::default()
        };
        let own = || OwnTools::new(&offloader_with(rule.clone()), None, ListTools::Always);
        let ours = extended(r#"{"tools":[]}"#, &own());
        // A server's own tool of that name keeps it.
        let theirs = extended(r#"{"tools":[{"name":"get_continuation"}]}"#, &own());
        assert_snapshot!(format!("{ours}\n{theirs}"), @r#"
        {"id":1,"result":{"tools":[<spillgate_read>,<spillgate_grep>,<spillgate_query>,<spillgate_search>,<get_continuation>]}}
        {"id":1,"result":{"tools":[{"name":"get_continuation"},<spillgate_read>,<spillgate_grep>,<spillgate_query>,<spillgate_search>]}}
        "#);
    }

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
        ];
        let all: Vec<String> = schemas.map(|schema| widened("get it", schema)).into();
        assert_snapshot!(all.join("\n"), @r##"
        {"type":"object","properties":{"a":{"type":"number","maximum":1.0},"spillgate":{"type":"string"}}}
        {"anyOf":[{"required":["a"]},{"required":["spillgate"]}],"additionalProperties":false,"properties":{"a":true ,"spillgate":{"type":"string"}},"type":"object"}
        {"type":"object","properties":{"spillgate":{"type":"string"}},"anyOf":[{"required":[]},{"required":["spillgate"]}]}
        {"type":"object","anyOf":[{"type":"object","properties":{"a":true},"maxProperties":1},{"additionalProperties":false,"properties":{"spillgate":{"type":"string"}},"required":["spillgate"],"type":"object"}]}
        {"type":"object","anyOf":[{"type":"object","properties":{"spillgate":{"type":"number"}}},{"additionalProperties":false,"properties":{"spillgate":{"type":"string"}},"required":["spillgate"],"type":"object"}]}
        {"$schema":"http://json-schema.org/draft-07/schema#","type":"object","anyOf":[{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"},{"additionalProperties":false,"properties":{"spillgate":{"type":"string"}},"required":["spillgate"],"type":"object"}]}
        {"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"spillgate":{"type":"string"}},"$defs":{"n":{"x":1}}}
        {"anyOf":[{"properties":{"a":{"$ref":"#/definitions/n"}},"definitions":{"n":true}},{"additionalProperties":false,"properties":{"spillgate":{"type":"string"}},"required":["spillgate"],"type":"object"}],"definitions":{"n":true}}
        {"type":"object","anyOf":[{"$id":"urn:spillgate:output-schema:get it","properties":{"a":{"$ref":"#"}},"type":"object"},{"additionalProperties":false,"properties":{"spillgate":{"type":"string"}},"required":["spillgate"],"type":"object"}]}
        {"anyOf":[{"$id":"urn:x","anyOf":[{"$ref":"#/properties/a"}],"properties":{"a":true}},{"additionalProperties":false,"properties":{"spillgate":{"type":"string"}},"required":["spillgate"],"type":"object"}]}
        {"anyOf":[true,{"additionalProperties":false,"properties":{"spillgate":{"type":"string"}},"required":["spillgate"],"type":"object"}]}
        "##);
    }

    #[test]
    fn a_widened_schema_stands_in_its_place() {
        let tool = r#"{"name":"a","outputSchema":{"type":"object"},"x":1.0}"#;
        let own = own();
        own.note_servers("spillgate_read");
        let text = extended(&format!(r#"{{"tools":[{tool}]}}"#), &own);
        assert_snapshot!(text, @r#"{"id":1,"result":{"tools":[{"name":"a","outputSchema":{"type":"object","anyOf":[{"type":"object"},{"additionalProperties":false,"properties":{"spillgate":{"type":"string"}},"required":["spillgate"],"type":"object"}]},"x":1.0}]}}"#);
    }
}
