//! Edits `tools/list`.
//!
//! The gateway's own tools follow the server's tools, always in the same order, so that prompt
//! caches stay valid. An oversized result is replaced by a small object, so the `outputSchema` of
//! each tool is extended to allow this object; clients that validate results then accept it
//! (ADR 4). The caller supplies all other edits to a tool (`tool_annotations`).

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::builtin_tools::BuiltinTools;
use crate::rewrite::output_schema::widened;
use spillgate_mcp::{ByteEdits, object, span_in};
use spillgate_upstream::ToolFilter;

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

/// What decides about the tools in a list.
pub(crate) struct Listing<'a> {
    /// Selects the server's tools; `None` if they were selected earlier.
    pub(crate) filter: Option<&'a ToolFilter>,
    /// Returns the edits to a tool of the server, given its name.
    pub(crate) noted: &'a dyn Fn(&str, &RawValue) -> ByteEdits,
    /// Returns whether the `outputSchema` of a tool is extended.
    pub(crate) is_widened: &'a dyn Fn(&str) -> bool,
    /// Returns whether a tool is left out because it is found by a search, given its name and its
    /// definition.
    pub(crate) is_hidden: &'a dyn Fn(&str, &RawValue) -> bool,
    /// Returns the definitions of the tools that find and call tools; `None` if no tool is left out.
    pub(crate) finders: &'a dyn Fn() -> Option<String>,
}

/// Returns the edits to the tools list `result` in `frame`, and our definitions if they were added.
/// If the server has tools with our names, it is itself a Spillgate; ours are then omitted on this
/// page and on later pages.
pub(crate) fn extend(
    frame: &[u8],
    result: &RawValue,
    builtin_tools: &BuiltinTools,
    listing: &Listing<'_>,
) -> (ByteEdits, Option<String>) {
    let mut splice = ByteEdits::default();
    let Some(list) = object::<ToolsList<'_>>(result) else {
        return (splice, None);
    };
    let is_out = |name: &str| listing.filter.is_some_and(|filter| !filter.admits(name));
    let tools = list.tools.iter().map(|raw| object::<Tool<'_>>(raw));
    let tools: Vec<_> = tools.collect();
    // Whether a tool is hidden depends on all names.
    for tool in tools.iter().flatten().filter(|tool| !is_out(&tool.name)) {
        builtin_tools.note_servers(&tool.name);
        builtin_tools.note_known(&tool.name);
    }
    let mut kept = 0;
    for (at, (raw, tool)) in list.tools.iter().zip(tools).enumerate() {
        let Some(tool) = tool else {
            kept += 1;
            continue;
        };
        if is_out(&tool.name) || (listing.is_hidden)(&tool.name, raw) {
            splice.replace(without(frame, &list.tools, at, kept > 0), "");
            continue;
        }
        kept += 1;
        splice.merge((listing.noted)(&tool.name, raw));
        if let Some(schema) = tool.output_schema
            && (listing.is_widened)(&tool.name)
        {
            splice.replace(
                span_in(frame, schema.get()),
                widened(&tool.name, schema.get()),
            );
        }
    }
    // Our tools come last, so they are added to the last page.
    let is_last = list.next_cursor.is_none_or(|cursor| cursor.get() == "null");
    // A model that knows no tool for its task looks at the first ones.
    let mut ours = (listing.finders)().unwrap_or_default();
    let lookups = builtin_tools.listed();
    if !ours.is_empty() && !lookups.is_empty() {
        ours.push(',');
    }
    ours.push_str(&lookups);
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

/// Returns the range of an element with its comma, to be removed.
fn without(frame: &[u8], all: &[&RawValue], at: usize, is_any_before: bool) -> Range<usize> {
    let span = |at: usize| Some(span_in(frame, all.get(at)?.get()));
    let element = span(at).unwrap_or_default();
    match (at.checked_sub(1).and_then(span), span(at + 1)) {
        (Some(before), _) if is_any_before => before.end..element.end,
        (_, Some(after)) => element.start..after.start,
        _ => element,
    }
}

/// Returns the position of the first element in an empty `tools` array.
fn end_of_empty_tools(frame: &[u8], result: &RawValue) -> Option<usize> {
    #[derive(Deserialize)]
    struct Tools<'a> {
        #[serde(borrow)]
        tools: &'a RawValue,
    }
    let list: Tools<'_> = object(result)?;
    Some(span_in(frame, list.tools.get()).start + 1)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::Value;

    use spillgate_offload::{Profile, Rule};

    use super::*;
    use crate::builtin_tools::ListTools;
    use crate::fixture::{offloader, offloader_with};
    use spillgate_mcp::messages;
    use spillgate_retrieval::{Extraction, definitions, listed};

    fn builtin_tools() -> BuiltinTools {
        BuiltinTools::new(&offloader(), None, ListTools::Always, false)
    }

    fn listing(filter: Option<&ToolFilter>) -> Listing<'_> {
        Listing {
            filter,
            noted: &|_, _| ByteEdits::default(),
            is_widened: &|_| true,
            is_hidden: &|_, _| false,
            finders: &|| None,
        }
    }

    /// Returns a list as the client receives it, with our tools reduced to their names.
    fn extended(result: &str, builtin_tools: &BuiltinTools) -> String {
        let frame = format!(r#"{{"id":1,"result":{result}}}"#);
        let envelope = &messages(frame.as_bytes())[0];
        let (splice, _) = extend(
            frame.as_bytes(),
            envelope.result.unwrap(),
            builtin_tools,
            &listing(None),
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
            let builtin_tools = builtin_tools();
            let (splice, ours) = extend(
                frame.as_bytes(),
                result,
                &builtin_tools,
                &listing(Some(&filter)),
            );
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
        assert_snapshot!(lists.map(|list| extended(list, &builtin_tools())).join("\n"), @r#"
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
        let builtin_tools = builtin_tools();
        extended(
            r#"{"tools":[{"name":"spillgate_grep"}],"nextCursor":"2"}"#,
            &builtin_tools,
        );
        let text = extended(r#"{"tools":[{"name":"a"}]}"#, &builtin_tools);
        assert_eq!(text, r#"{"id":1,"result":{"tools":[{"name":"a"}]}}"#);
    }

    #[test]
    fn they_may_wait_until_something_is_stored() {
        let builtin_tools = BuiltinTools::new(&offloader(), None, ListTools::WhenStored, false);
        let list = r#"{"tools":[]}"#;
        let before = extended(list, &builtin_tools);
        builtin_tools.note_stored();
        assert!(builtin_tools.take_announcement() && !builtin_tools.take_announcement());
        builtin_tools.note_stored();
        assert!(!builtin_tools.take_announcement(), "announced once");
        assert_snapshot!(format!("{before}\n{}", extended(list, &builtin_tools)), @r#"
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
        let builtin_tools = || {
            BuiltinTools::new(
                &offloader_with(rule.clone()),
                None,
                ListTools::Always,
                false,
            )
        };
        let ours = extended(r#"{"tools":[]}"#, &builtin_tools());
        // If the server has its own tool with this name, ours is not listed.
        let theirs = extended(
            r#"{"tools":[{"name":"get_continuation"}]}"#,
            &builtin_tools(),
        );
        assert_snapshot!(format!("{ours}\n{theirs}"), @r#"
        {"id":1,"result":{"tools":[<spillgate_read>,<spillgate_grep>,<spillgate_query>,<spillgate_search>,<get_continuation>]}}
        {"id":1,"result":{"tools":[{"name":"get_continuation"},<spillgate_read>,<spillgate_grep>,<spillgate_query>,<spillgate_search>]}}
        "#);
    }

    #[test]
    fn a_widened_schema_stands_in_its_place() {
        let tool = r#"{"name":"a","outputSchema":{"type":"object"},"x":1.0}"#;
        let builtin_tools = builtin_tools();
        builtin_tools.note_servers("spillgate_read");
        let text = extended(&format!(r#"{{"tools":[{tool}]}}"#), &builtin_tools);
        assert_snapshot!(text, @r#"{"id":1,"result":{"tools":[{"name":"a","outputSchema":{"type":"object","anyOf":[{"type":"object"},{"additionalProperties":false,"properties":{"spillgate":{"type":"string"}},"required":["spillgate"],"type":"object"}]},"x":1.0}]}}"#);
    }
}
