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

/// Seeds 000's and 001's tool.
pub(crate) const TOOL_OUTPUT: &str = "tool_output";

/// Which tools stand beside those that always do.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beside {
    /// `get_continuation`.
    pub(crate) continuation: bool,
    /// `tool_output`, and how.
    pub(crate) extraction: Option<Extraction>,
}

/// In which company `tool_output` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extraction {
    /// Every message names it and nothing else (the `handle` profile): it is
    /// as the seed has it.
    Alone,
    /// With our own tools; its modes have `search` among them.
    Beside,
}

/// The definitions in their order.
pub(crate) fn definitions(beside: Beside) -> Vec<Value> {
    let mut tools = ours();
    if beside.continuation {
        tools.push(get_continuation());
    }
    tools.extend(beside.extraction.map(tool_output));
    tools
}

fn ours() -> Vec<Value> {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer"});
    let handle = json!({"type": "string", "description": "from a [spillgate] message"});
    vec![
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
    ]
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

/// Its schema is the seed's to the byte (seed 001, 2b), but for the mode that
/// is ours.
fn tool_output(company: Extraction) -> Value {
    let mut modes = vec!["auto", "full-chunked", "read-grep", "truncate"];
    let mut last = "";
    if company == Extraction::Beside {
        modes.push("search");
        last = "; search=ranks passages";
    }
    let mode = format!(
        "Optional override. auto=module decides; full-chunked=LLM chunk+reduce; \
         read-grep=dynamic sub-agent with Read/Grep; \
         truncate=keeps top and bottom, truncates in the middle{last}."
    );
    json!({
        "name": TOOL_OUTPUT,
        "description": "Extract from a stored tool output what you describe.",
        "inputSchema": {
            "type": "object",
            "additionalProperties": false,
            "required": ["handle", "extract"],
            "properties": {
                "handle": {
                    "type": "string",
                    "minLength": 1,
                    "description": "UUID handle of the stored tool output (provided in the \
                                    tool-result message: tool_output(handle = \"<uuid>\", ...)).",
                },
                "extract": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Provide precise, detailed instructions about what you need \
                                    from the tool output (be specific, include \
                                    keys/fields/sections if known).",
                },
                "mode": {"type": "string", "enum": modes, "description": mode},
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use spillgate_measure::Tokenizer;

    use super::*;

    /// What a company of tools costs.
    fn tokens(continuation: bool, extraction: Option<Extraction>) -> u64 {
        let beside = Beside {
            continuation,
            extraction,
        };
        let tools: Vec<String> = definitions(beside).iter().map(Value::to_string).collect();
        Tokenizer::O200kBase.counter().count(&tools.join(","))
    }

    #[test]
    fn the_tools_cost_little() {
        use Extraction::{Alone, Beside};
        let all: Vec<String> = [None, Some(Alone), Some(Beside)]
            .into_iter()
            .flat_map(|extraction| {
                [false, true].map(|continuation| {
                    let tokens = tokens(continuation, extraction);
                    format!("{extraction:?} {continuation}: {tokens}")
                })
            })
            .collect();
        assert_snapshot!(all.join("\n"), @"");
    }

    #[test]
    fn tool_output_is_the_seeds() {
        let schema = tool_output(Extraction::Alone)["inputSchema"].clone();
        let seed = include_str!("seed_001_2b.json");
        assert_eq!(schema, serde_json::from_str::<Value>(seed).unwrap());
    }
}
