//! The definitions of our tools in `tools/list`.
//!
//! Every request of every session costs tokens for each word, so the definitions are short: at most
//! 500 tokens together (docs/spec/limits.md, "What clients take").

use serde_json::{Value, json};

/// Reads lines or bytes of a stored output.
pub const READ: &str = "spillgate_read";
/// Finds the lines of a stored output that match a regular expression.
pub const GREP: &str = "spillgate_grep";
/// Runs a jq filter over a stored output.
pub const QUERY: &str = "spillgate_query";
/// Finds the passages of a stored output, or of all outputs of a session, that are relevant to some
/// words.
pub const SEARCH: &str = "spillgate_search";
/// The tool of the `continuation` profile. Listed only where that profile is in use.
pub const CONTINUE: &str = "get_continuation";

/// Extracts from a stored output: the only tool that the `handle` profile names.
pub const TOOL_OUTPUT: &str = "tool_output";

/// All our tools.
pub const NAMES: [&str; 6] = [READ, GREP, QUERY, SEARCH, CONTINUE, TOOL_OUTPUT];

/// The variant of `tool_output` that is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extraction {
    /// The variant for the `handle` profile, whose messages name only this tool. Its schema is
    /// fixed by the specification of that profile.
    Seed,
    /// The variant with the additional mode `search`.
    Ours,
}

/// Returns the names of the listed tools, in order. Only as many tools are listed as fit into 500
/// tokens. `tool_output` replaces `spillgate_search`, because it can search, too. If
/// `get_continuation` is also listed, `tool_output` replaces `spillgate_grep` as well.
pub fn listed(continuation: bool, extraction: bool) -> Vec<&'static str> {
    match (continuation, extraction) {
        (false, false) => vec![READ, GREP, QUERY, SEARCH],
        (true, false) => vec![READ, GREP, QUERY, SEARCH, CONTINUE],
        (false, true) => vec![READ, GREP, QUERY, TOOL_OUTPUT],
        (true, true) => vec![READ, QUERY, CONTINUE, TOOL_OUTPUT],
    }
}

/// Returns the definitions of the tools with these names.
pub fn definitions(names: &[&str], extraction: Extraction) -> Vec<Value> {
    let mut all = ours();
    all.push(get_continuation());
    all.push(tool_output(extraction));
    all.retain(|tool| names.iter().any(|&name| tool["name"] == name));
    all
}

fn ours() -> Vec<Value> {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer"});
    let handle = json!({"type": "string", "description": "from a [spillgate] message"});
    vec![
        tool(
            READ,
            "Read a stored tool output, or a JSON string in it (path).",
            &json!({
                "handle": handle,
                "path": text,
                "start": {"type": "integer", "description": "first line"},
                "lines": number,
                "tail": {"type": "boolean", "description": "last lines instead"},
                "bytes": {"type": "string", "description": "A..B instead"},
                "max_tokens": number,
            }),
            &["handle"],
        ),
        tool(
            GREP,
            "Find lines of the same by regex.",
            &json!({
                "handle": text,
                "path": text,
                "pattern": text,
                "ignore_case": {"type": "boolean"},
                "before": number,
                "after": number,
                "start": number,
                "max_matches": number,
            }),
            &["handle", "pattern"],
        ),
        tool(
            QUERY,
            "Apply a jq filter to stored JSON, NDJSON or CSV.",
            &json!({"handle": text, "filter": text, "start": number}),
            &["handle", "filter"],
        ),
        tool(
            SEARCH,
            "Rank passages of stored outputs for words or a question.",
            &json!({
                "handle": {"type": "string", "description": "default: all outputs of this session"},
                "words": text,
                "max_tokens": number,
            }),
            &["words"],
        ),
    ]
}

fn tool(name: &str, description: &str, properties: &Value, required: &[&str]) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties, "required": required},
        "annotations": read_only(),
    })
}

/// Without this hint, Codex asks a person before each call, and refuses the call if no person can
/// answer.
fn read_only() -> Value {
    json!({"readOnlyHint": true})
}

/// Returns the definition of `get_continuation`, whose texts are fixed (docs/spec/texts.md,
/// "Continuation tool").
fn get_continuation() -> Value {
    json!({
        "name": CONTINUE,
        "description": spillgate_offload::CONTINUATION_TOOL,
        "inputSchema": spillgate_offload::continuation_schema(),
        "annotations": read_only(),
    })
}

/// Returns the definition of `tool_output`. Its schema is byte for byte the specified schema
/// (docs/spec/texts.md, "Extraction tool"), except for our mode `search`.
fn tool_output(extraction: Extraction) -> Value {
    let has_search = extraction == Extraction::Ours;
    json!({
        "name": TOOL_OUTPUT,
        "description": spillgate_extract::TOOL,
        "inputSchema": spillgate_extract::tool_schema(has_search),
        "annotations": read_only(),
    })
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use spillgate_text::Tokenizer;

    use super::*;

    #[test]
    fn the_tools_cost_little() {
        let (mut told, mut is_cheap) = (Vec::new(), true);
        for (continuation, extraction) in [
            (false, None),
            (true, None),
            (false, Some(Extraction::Seed)),
            (false, Some(Extraction::Ours)),
            (true, Some(Extraction::Ours)),
        ] {
            let names = listed(continuation, extraction.is_some());
            let tools = definitions(&names, extraction.unwrap_or(Extraction::Ours));
            let tools: Vec<String> = tools.iter().map(Value::to_string).collect();
            let tokens = Tokenizer::O200kBase.counter().count(&tools.join(","));
            is_cheap &= tokens <= 500;
            told.push(format!("{tokens} {}", names.join(" ")));
        }
        assert_snapshot!(told.join("\n"), @"
        367 spillgate_read spillgate_grep spillgate_query spillgate_search
        459 spillgate_read spillgate_grep spillgate_query spillgate_search get_continuation
        492 spillgate_read spillgate_grep spillgate_query tool_output
        499 spillgate_read spillgate_grep spillgate_query tool_output
        491 spillgate_read spillgate_query get_continuation tool_output
        ");
        assert!(is_cheap);
    }

    #[test]
    fn tool_output_is_the_seeds() {
        let schema = tool_output(Extraction::Seed)["inputSchema"].clone();
        let seed = include_str!("seed_001_2b.json");
        assert_eq!(schema, serde_json::from_str::<Value>(seed).unwrap());
    }
}
