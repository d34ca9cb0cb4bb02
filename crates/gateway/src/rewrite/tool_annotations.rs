//! Additions to the definition of a server's tool in `tools/list`.
//!
//! If a tool accepts references in its arguments, a sentence about them is added to its
//! description. Claude Code writes large results to a file unless the tool is marked. If the user
//! lets such results pass, the gateway adds this mark, so that Claude Code shows them.

use serde_json::json;
use serde_json::value::RawValue;
use spillgate_mcp::{ByteEdits, ObjectView, span_in};
use spillgate_offload::Limits;

use crate::references::HINT;
use crate::results::intercept::insert_members;

/// Claude Code shows larger results only for tools that declare their size, in characters
/// (measured; docs/gateway.md).
const SIZE_MARK: &str = "anthropic/maxResultSizeChars";

/// Maximum size, in bytes, of a result that Claude Code shows without the mark
/// (docs/spec/limits.md, "What clients take").
const SHOWN_UNASKED: u64 = 48 << 10;

/// The maximum value of [`SIZE_MARK`] that Claude Code accepts according to its documentation.
const MOST_ASKED: u64 = 500_000;

/// Average bytes per token of ordinary text.
const BYTES_PER_TOKEN: u64 = 4;

/// Appends the sentence about references to the tool's description.
pub(crate) fn reference_hint(frame: &[u8], tool: &RawValue) -> ByteEdits {
    let mut splice = ByteEdits::default();
    let description = ObjectView::of(tool).and_then(|tool| tool.get("description"));
    let hint = json!(HINT).to_string();
    match description.map(RawValue::get) {
        Some(text) if text.starts_with('"') && text.len() > 2 => {
            let end = span_in(frame, text).end - 1;
            splice.replace(end..end, format!("\\n{}", &hint[1..hint.len() - 1]));
        }
        Some(text) => splice.replace(span_in(frame, text), hint),
        None => insert_members(
            &mut splice,
            frame,
            tool.get(),
            format!("\"description\":{hint},"),
        ),
    }
    splice
}

/// Adds the mark to a tool with these limits. Does nothing if Claude Code shows all results that
/// pass without the mark, or if the server has set the mark itself.
pub(crate) fn size_mark(frame: &[u8], tool: &RawValue, limits: &Limits) -> ByteEdits {
    let mut splice = ByteEdits::default();
    let of_tokens = limits
        .tokens
        .map(|tokens| tokens.saturating_mul(BYTES_PER_TOKEN));
    let all = [of_tokens, limits.bytes, limits.chars];
    let most = all.into_iter().flatten().min().unwrap_or(u64::MAX);
    if most <= SHOWN_UNASKED {
        return splice;
    }
    let size = most.min(MOST_ASKED);
    let Some(meta) = ObjectView::of(tool).and_then(|tool| tool.get("_meta")) else {
        let member = format!("\"_meta\":{},", json!({SIZE_MARK: size}));
        insert_members(&mut splice, frame, tool.get(), member);
        return splice;
    };
    match ObjectView::of(meta) {
        Some(members) if members.get(SIZE_MARK).is_some() => {}
        Some(_) => {
            let member = format!("\"{SIZE_MARK}\":{size},");
            insert_members(&mut splice, frame, meta.get(), member);
        }
        None => splice.replace(
            span_in(frame, meta.get()),
            json!({SIZE_MARK: size}).to_string(),
        ),
    }
    splice
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use spillgate_offload::Rule;
    use spillgate_text::Tokenizer;

    use super::*;

    fn noted(tool: &str, change: &dyn Fn(&[u8], &RawValue) -> ByteEdits) -> String {
        let raw: &RawValue = serde_json::from_str(tool).unwrap();
        let changed = change(tool.as_bytes(), raw).apply(tool.as_bytes());
        let changed = String::from_utf8(changed).unwrap();
        serde_json::from_str::<serde_json::Value>(&changed).unwrap();
        changed
    }

    #[test]
    fn the_hint_costs_little() {
        let tokens = Tokenizer::O200kBase.counter().count(&format!("\n{HINT}"));
        assert!(tokens <= 40, "{tokens}");
        assert_snapshot!(tokens, @"40");
    }

    #[test]
    fn the_hint_ends_the_description() {
        let tools = [
            r#"{"name":"a","description":"Write \"it\".","x":1.0}"#,
            r#"{"name":"a","description":""}"#,
            r#"{"name":"a","description":null}"#,
            r#"{"name":"a"}"#,
        ];
        let all = tools.map(|tool| noted(tool, &reference_hint));
        let hint = json!(HINT).to_string();
        let all = all.join("\n").replace(&hint[1..hint.len() - 1], "HINT");
        assert_snapshot!(all, @r#"
        {"name":"a","description":"Write \"it\".\nHINT","x":1.0}
        {"name":"a","description":"HINT"}
        {"name":"a","description":"HINT"}
        {"description":"HINT","name":"a"}
        "#);
    }

    #[test]
    fn the_size_is_marked_where_more_may_pass() {
        let limits = |max_tokens, max_bytes| {
            let rule = Rule {
                max_tokens,
                max_bytes,
                ..Rule::default()
            };
            rule.resolve()
        };
        let tools = [
            r#"{"name":"a"}"#,
            r#"{"name":"a","_meta":{}}"#,
            r#"{"name":"a","_meta":{"x":1.0}}"#,
            r#"{"name":"a","_meta":null}"#,
            r#"{"name":"a","_meta":{"anthropic/maxResultSizeChars":7}}"#,
        ];
        let all = tools.map(|tool| {
            let limits = limits(Some(20_000), None);
            noted(tool, &|frame, tool| size_mark(frame, tool, &limits))
        });
        assert_snapshot!(all.join("\n"), @r#"
        {"_meta":{"anthropic/maxResultSizeChars":80000},"name":"a"}
        {"name":"a","_meta":{"anthropic/maxResultSizeChars":80000}}
        {"name":"a","_meta":{"anthropic/maxResultSizeChars":80000,"x":1.0}}
        {"name":"a","_meta":{"anthropic/maxResultSizeChars":80000}}
        {"name":"a","_meta":{"anthropic/maxResultSizeChars":7}}
        "#);
        let of = [
            limits(None, None),
            limits(Some(0), None),
            limits(Some(12_288), None),
            limits(Some(0), Some(49_153)),
            limits(Some(1_000_000), Some(49_152)),
        ];
        let of = of.map(|limits| noted(r#"{"name":"a"}"#, &|f, t| size_mark(f, t, &limits)));
        assert_snapshot!(of.join("\n"), @r#"
        {"name":"a"}
        {"_meta":{"anthropic/maxResultSizeChars":500000},"name":"a"}
        {"name":"a"}
        {"_meta":{"anthropic/maxResultSizeChars":49153},"name":"a"}
        {"name":"a"}
        "#);
    }
}
