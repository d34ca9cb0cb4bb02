//! The results of tools in the messages of a conversation: where they are, and whose calls they answer.
//!
//! Two forms are known: messages with the role `tool` (OpenAI), and blocks of the type `tool_result`
//! (Anthropic). Everything else stays as it is, byte for byte.

use std::collections::HashMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use spillgate_mcp::ObjectView;

/// A result of a tool in a conversation.
#[derive(Debug)]
pub(crate) struct ToolResult<'a> {
    /// The result: a text, or a list of parts.
    pub(crate) content: &'a RawValue,
    /// The name of the tool, if the conversation tells it.
    pub(crate) tool: Option<String>,
    pub(crate) is_error: bool,
}

/// A text of a result.
#[derive(Debug)]
pub(crate) struct ResultText<'a> {
    pub(crate) text: String,
    /// The JSON value that is replaced if the text is.
    pub(crate) place: &'a RawValue,
    /// The first part of the list that the text was joined from; `None` if the text is one string.
    list: Option<Map<String, Value>>,
}

/// Returns the results of tools in `messages`, and the other texts in them.
pub(crate) fn results<'a>(messages: &[&'a RawValue]) -> (Vec<ToolResult<'a>>, Vec<String>) {
    let (mut calls, mut found, mut others) = (HashMap::new(), Vec::new(), Vec::new());
    for message in messages
        .iter()
        .filter_map(|message| ObjectView::of(message))
    {
        let content = message.get("content");
        let role = message.text("role").unwrap_or_default();
        if role == "tool" || role == "function" {
            let called = message.text("tool_call_id");
            let called = called.and_then(|id| calls.get(&id).cloned());
            found.extend(content.map(|content| ToolResult {
                content,
                tool: called.or_else(|| message.text("name")),
                is_error: false,
            }));
            continue;
        }
        note_calls(&message, &mut calls);
        let Some(content) = content else {
            continue;
        };
        others.extend(serde_json::from_str::<String>(content.get()));
        for block in parts(content) {
            let Some(block) = ObjectView::of(block) else {
                continue;
            };
            let kind = block.text("type").unwrap_or_default();
            if kind != "tool_result" {
                others.extend(block.text("text"));
                continue;
            }
            let called = block.text("tool_use_id");
            found.extend(block.get("content").map(|content| ToolResult {
                content,
                tool: called.and_then(|id| calls.get(&id).cloned()),
                is_error: block.is_true("is_error"),
            }));
        }
    }
    (found, others)
}

/// Notes the names of the tools that a message of the model calls, by the ids of the calls.
fn note_calls(message: &ObjectView<'_>, calls: &mut HashMap<String, String>) {
    for call in message.get("tool_calls").map(parts).unwrap_or_default() {
        if let Some(call) = ObjectView::of(call)
            && let Some(id) = call.text("id")
            && let Some(name) = call.object("function").and_then(|one| one.text("name"))
        {
            calls.insert(id, name);
        }
    }
    for block in message.get("content").map(parts).unwrap_or_default() {
        if let Some(block) = ObjectView::of(block)
            && block.text("type").as_deref() == Some("tool_use")
            && let (Some(id), Some(name)) = (block.text("id"), block.text("name"))
        {
            calls.insert(id, name);
        }
    }
}

/// Returns the elements of a list; empty for any other value.
fn parts(value: &RawValue) -> Vec<&RawValue> {
    match value.get().starts_with('[') {
        true => serde_json::from_str(value.get()).unwrap_or_default(),
        false => Vec::new(),
    }
}

impl<'a> ToolResult<'a> {
    /// Returns the texts of the result. A list of text parts is one text; in a list with other
    /// parts, such as images, each text part is a text of its own.
    pub(crate) fn texts(&self) -> Vec<ResultText<'a>> {
        if let Ok(text) = serde_json::from_str(self.content.get()) {
            let place = self.content;
            let list = None;
            return vec![ResultText { text, place, list }];
        }
        let parts = parts(self.content);
        let views = parts.iter().filter_map(|part| ObjectView::of(part));
        let texts: Vec<(&RawValue, String)> = views
            .filter(|part| part.text("type").as_deref() == Some("text"))
            .filter_map(|part| Some((part.string("text")?, part.text("text")?)))
            .collect();
        if texts.len() < parts.len() || texts.is_empty() {
            let alone = |(place, text)| ResultText {
                text,
                place,
                list: None,
            };
            return texts.into_iter().map(alone).collect();
        }
        let joined: Vec<String> = texts.into_iter().map(|(_, text)| text).collect();
        vec![ResultText {
            text: joined.join("\n"),
            place: self.content,
            list: Some(merged(&parts)),
        }]
    }
}

/// Returns the part that takes the place of a list of text parts: the first one, with the last
/// breakpoint of the prompt cache, which covers everything up to its part.
fn merged(parts: &[&RawValue]) -> Map<String, Value> {
    let read = |part: &&RawValue| serde_json::from_str::<Map<String, Value>>(part.get()).ok();
    let mut merged = parts.first().and_then(read).unwrap_or_default();
    let cached = parts.iter().rev().filter_map(read);
    let cached = cached.filter_map(|mut part| part.remove("cache_control"));
    let mut cached = cached.filter(|control| !control.is_null());
    if let Some(control) = cached.next() {
        merged.insert("cache_control".to_owned(), control);
    }
    merged
}

impl ResultText<'_> {
    /// Returns the JSON that replaces the text.
    pub(crate) fn replaced(&self, with: &str) -> String {
        match &self.list {
            None => json!(with).to_string(),
            Some(part) => {
                let mut part = part.clone();
                part.insert("text".to_owned(), with.into());
                json!([part]).to_string()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn results_are_found_in_both_forms() {
        let messages = json!([
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "why?"}]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "logs", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "one"},
            {"role": "tool", "tool_call_id": "b", "name": "other", "content": [
                {"type": "text", "text": "two"}, {"type": "text", "text": "three", "cache_control": {"type": "ephemeral"}}]},
            {"role": "function", "name": "old", "content": "four"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "I look"}, {"type": "tool_use", "id": "c", "name": "read", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c", "is_error": true, "content": "five"},
                {"type": "tool_result", "tool_use_id": "d", "content": [
                    {"type": "text", "text": "six"}, {"type": "image", "source": {}}, {"type": "text", "text": "seven"}]},
                {"type": "tool_result", "tool_use_id": "e"},
                {"type": "text", "text": "go on"}]},
            {"role": "tool", "content": null},
            {"role": "tool", "content": 7},
            "no message",
            null,
        ]);
        let messages = messages.to_string();
        let messages: Vec<&RawValue> = serde_json::from_str(&messages).unwrap();
        let (results, others) = results(&messages);
        let mut all: Vec<String> = Vec::new();
        for result in &results {
            for text in result.texts() {
                let tool = result.tool.as_deref().unwrap_or("-");
                let replaced = text.replaced("NEW");
                let error = result.is_error;
                all.push(format!("{tool} {error} {:?} -> {replaced}", text.text));
            }
        }
        all.push(others.join(", "));
        assert_snapshot!(all.join("\n"), @r#"
        logs false "one" -> "NEW"
        other false "two\nthree" -> [{"cache_control":{"type":"ephemeral"},"text":"NEW","type":"text"}]
        old false "four" -> "NEW"
        read true "five" -> "NEW"
        - false "six" -> "NEW"
        - false "seven" -> "NEW"
        be brief, why?, I look, go on
        "#);
    }
}
