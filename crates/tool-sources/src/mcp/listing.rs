//! Lists the tools of a server.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use spillgate_llm::ToolSpec;

use super::peer::Peer;

/// Maximum number of pages of a list, because a faulty server may always name another page.
const MOST_PAGES: usize = 100;

/// Maximum number of tools of a server.
const MOST_TOOLS: usize = 2000;

/// Returns all tools of a server that may be used, in the server's order. An error says what the
/// server did wrong.
pub(crate) async fn tools(peer: &Peer) -> Result<Vec<ToolSpec>, String> {
    let (mut tools, mut cursors) = (Vec::new(), BTreeSet::new());
    let mut params = json!({});
    for _ in 0..MOST_PAGES {
        let page = peer.ask("tools/list", &params).await?;
        tools.extend(
            page["tools"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(spec)
                .filter(|tool| peer.admits(&tool.name)),
        );
        if tools.len() > MOST_TOOLS {
            return Err(format!("has more than {MOST_TOOLS} tools"));
        }
        match page["nextCursor"].as_str() {
            Some(next) if cursors.insert(next.to_owned()) => params = json!({"cursor": next}),
            _ => return Ok(tools),
        }
    }
    Err(format!("lists its tools on more than {MOST_PAGES} pages"))
}

/// Returns a tool's definition for a model; `None` for a tool without a name.
fn spec(tool: &Value) -> Option<ToolSpec> {
    let text = |key: &str| tool[key].as_str().filter(|text| !text.trim().is_empty());
    let titles = [
        text("description"),
        text("title"),
        tool["annotations"]["title"].as_str(),
    ];
    let mut schema = tool["inputSchema"].clone();
    match schema.as_object_mut() {
        // The APIs of models require the member `type` in a schema.
        Some(members) => drop(members.entry("type").or_insert_with(|| json!("object"))),
        None => schema = json!({"type": "object"}),
    }
    Some(ToolSpec {
        name: text("name")?.to_owned(),
        description: titles
            .into_iter()
            .flatten()
            .next()
            .unwrap_or_default()
            .to_owned(),
        schema,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_made_whole() {
        for (tool, want) in [
            (
                json!({"name": "a", "description": "Does a.", "title": "A", "inputSchema": {"type": "object", "properties": {}}}),
                Some(("a", "Does a.", json!({"type": "object", "properties": {}}))),
            ),
            (
                json!({"name": "a", "description": " ", "title": "A", "inputSchema": {"properties": {}}}),
                Some(("a", "A", json!({"properties": {}, "type": "object"}))),
            ),
            (
                json!({"name": "a", "annotations": {"title": "B"}, "inputSchema": 7}),
                Some(("a", "B", json!({"type": "object"}))),
            ),
            (json!({"description": "nameless"}), None),
            (json!({"name": ""}), None),
            (json!("a"), None),
        ] {
            let want = want.map(|(name, description, schema)| ToolSpec {
                name: name.to_owned(),
                description: description.to_owned(),
                schema,
            });
            assert_eq!(spec(&tool), want, "{tool}");
        }
    }
}
