//! What do the gateway's own tools look like in `tools/list`?
//!
//! Every word is paid for in every request of every session, so there are few:
//! at most 500 tokens for all of them together (SPEC 4.1).

use serde_json::{Value, json};

/// The tools' names.
pub(crate) const READ: &str = "spillgate_read";
pub(crate) const GREP: &str = "spillgate_grep";
pub(crate) const QUERY: &str = "spillgate_query";
pub(crate) const SEARCH: &str = "spillgate_search";
/// Seed 002's tool, listed where its profile is in use.
pub(crate) const CONTINUE: &str = "get_continuation";

/// The definitions in their order; the last only `with_continuation`.
pub(crate) fn definitions(with_continuation: bool) -> Vec<Value> {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer"});
    let handle = json!({"type": "string", "description": "from a [spillgate] message"});
    let mut tools = vec![
        tool(
            READ,
            "Read lines or bytes of a tool output that was stored because of its size.",
            &json!({
                "handle": handle,
                "start": {"type": "integer", "description": "first line, from 1"},
                "lines": number,
                "tail": {"type": "boolean", "description": "last lines instead"},
                "bytes": {"type": "string", "description": "A..B instead"},
                "max_tokens": number,
            }),
            &["handle"],
        ),
        tool(
            GREP,
            "Find lines of a stored output by regex.",
            &json!({
                "handle": text,
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
            "Rank a stored output's passages for words or a question.",
            &json!({"handle": text, "words": text, "max_tokens": number}),
            &["handle", "words"],
        ),
    ];
    if with_continuation {
        tools.push(get_continuation());
    }
    tools
}

fn tool(name: &str, description: &str, properties: &Value, required: &[&str]) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties, "required": required},
        "annotations": {"readOnlyHint": true},
    })
}

/// As the seed defines it (seed 002, task 2a).
fn get_continuation() -> Value {
    json!({
        "name": CONTINUE,
        "description": "Retrieve the next chunk of a truncated tool result. \
                        Use when a previous tool result shows [truncated].",
        "inputSchema": {
            "type": "object",
            "properties": {
                "tool_call_id": {
                    "type": "string",
                    "description": "The tool_call_id from the truncation message",
                },
                "offset": {
                    "type": "integer",
                    "description": "Character offset to read from",
                },
            },
            "required": ["tool_call_id"],
        },
    })
}

#[cfg(test)]
mod tests {
    use spillgate_measure::Tokenizer;

    use super::*;

    #[test]
    fn the_tools_cost_little() {
        let tools: Vec<String> = definitions(true).iter().map(Value::to_string).collect();
        let tokens = Tokenizer::O200kBase.counter().count(&tools.join(","));
        assert!(tokens <= 500, "{tokens} tokens");
    }
}
