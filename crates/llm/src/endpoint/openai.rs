//! Speaks the chat completions API of OpenAI and of compatible servers.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::fault::Fault;
use super::reply_builder::{PartialCall, RawReply, ReplyBuilder, arguments_object, parse};
use crate::{Message, OnDelta, Request, Stop, ToolSpec, Usage};

/// Returns the body of a request.
pub(super) fn body(request: &Request, model: &str, max_tokens: &str) -> Value {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({ "role": "system", "content": request.system }));
    }
    for message in &request.messages {
        match message {
            Message::User(text) => messages.push(json!({ "role": "user", "content": text })),
            Message::Assistant { text, calls } => messages.push(assistant_message(text, calls)),
            Message::Tools(replies) => messages.extend(replies.iter().map(|reply| {
                json!({ "role": "tool", "tool_call_id": reply.call_id, "content": reply.text })
            })),
        }
    }
    let mut body = json!({ "model": model, "messages": messages });
    body[max_tokens] = request.max_output_tokens.into();
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
        if request.no_calls {
            body["tool_choice"] = "none".into();
        }
    }
    body
}

fn assistant_message(text: &str, calls: &[crate::ToolCall]) -> Value {
    if calls.is_empty() {
        return json!({ "role": "assistant", "content": text });
    }
    let calls: Vec<Value> = calls
        .iter()
        .map(|call| {
            // Arguments that are an object stay as the model wrote them, so that a server with a
            // prompt cache recognises them.
            let arguments = match arguments_object(&call.arguments) {
                Value::Object(same) if same.contains_key("not_an_object") || same.is_empty() => {
                    Value::Object(same).to_string()
                }
                _ => call.arguments.clone(),
            };
            json!({
                "id": call.id,
                "type": "function",
                "function": { "name": call.name, "arguments": arguments },
            })
        })
        .collect();
    let content = Some(text).filter(|text| !text.is_empty());
    json!({ "role": "assistant", "content": content, "tool_calls": calls })
}

fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema,
        },
    })
}

/// A complete answer or one part of a stream. Both have the same format, except that a part has
/// `delta` where a complete answer has `message`.
#[derive(Debug, Deserialize)]
// With `expecting`, parse errors name `struct Answer`, so that renaming the type does not change
// them.
#[serde(expecting = "struct Answer")]
struct CompletionResponse {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<TokenCounts>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default, alias = "message")]
    delta: Option<AssistantMessage>,
    #[serde(default)]
    finish_reason: Option<String>,
}

/// A message of the model. Thinking (`reasoning`, `reasoning_content`) is ignored.
#[derive(Debug, Deserialize)]
// With `expecting`, parse errors name `struct Said`, so that renaming the type does not change
// them.
#[serde(expecting = "struct Said")]
struct AssistantMessage {
    /// A text, or a list of parts.
    #[serde(default)]
    content: Option<Value>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<ToolCallPart>>,
}

#[derive(Debug, Deserialize)]
// With `expecting`, parse errors name `struct Called`, so that renaming the type does not change
// them.
#[serde(expecting = "struct Called")]
struct ToolCallPart {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<Function>,
}

#[derive(Debug, Deserialize)]
struct Function {
    #[serde(default)]
    name: Option<String>,
    /// JSON in a string. Some servers send the JSON object itself.
    #[serde(default)]
    arguments: Option<Value>,
}

#[derive(Debug, Deserialize)]
// With `expecting`, parse errors name `struct Counted`, so that renaming the type does not change
// them.
#[serde(expecting = "struct Counted")]
struct TokenCounts {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
    /// DeepSeek's name for cached tokens.
    #[serde(default)]
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

impl TokenCounts {
    fn usage(&self) -> Usage {
        let details = self.prompt_tokens_details.as_ref();
        let cached = details.and_then(|details| details.cached_tokens);
        let input = self.prompt_tokens.unwrap_or(0);
        Usage {
            input,
            cached_input: cached
                .or(self.prompt_cache_hit_tokens)
                .unwrap_or(0)
                .min(input),
            cache_write: 0,
            output: self.completion_tokens.unwrap_or(0),
            cost: None,
        }
    }
}

/// A reply that is arriving.
#[derive(Debug, Default)]
pub(super) struct CompletionBuilder {
    text: String,
    refusal: String,
    calls: Vec<PartialCall>,
    finish: Option<String>,
    usage: Usage,
    /// Whether the answer contained a choice.
    has_choice: bool,
    /// Whether the server said that the stream is complete.
    is_done: bool,
}

impl ReplyBuilder for CompletionBuilder {
    fn event(&mut self, data: &str, deltas: &dyn OnDelta) -> Result<bool, Fault> {
        if data.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(true);
        }
        self.add(parse(data)?, deltas)?;
        Ok(false)
    }

    fn whole(&mut self, body: &str, deltas: &dyn OnDelta) -> Result<(), Fault> {
        self.is_done = true;
        self.add(parse(body)?, deltas)
    }

    fn end(self: Box<Self>, numbered: &dyn Fn(usize) -> String) -> Result<RawReply, Fault> {
        // A finish reason completes the reply, because some servers send nothing after it.
        if !self.is_done && self.finish.is_none() {
            let cut = "the answer ended before its end";
            return Err(Fault::new(crate::ErrorKind::CutOff, cut));
        }
        if !self.has_choice {
            return Err(Fault::bad_reply("the answer has no choices"));
        }
        let stop = self.stop();
        let calls = self.calls.into_iter().enumerate();
        Ok(RawReply {
            text: match self.text.is_empty() {
                true => self.refusal,
                false => self.text,
            },
            calls: calls
                .map(|(place, call)| call.end(place, numbered))
                .collect(),
            stop,
            usage: self.usage,
        })
    }
}

impl CompletionBuilder {
    fn add(&mut self, answer: CompletionResponse, deltas: &dyn OnDelta) -> Result<(), Fault> {
        if let Some(error) = answer.error {
            return Err(Fault::of_error(&json!({ "error": error })));
        }
        if let Some(counted) = answer.usage {
            self.usage = counted.usage();
        }
        // We request one choice. If there are more, the first one is used.
        let choices = answer.choices.unwrap_or_default();
        for choice in choices
            .into_iter()
            .filter(|one| one.index.unwrap_or(0) == 0)
        {
            self.has_choice = true;
            if let Some(message) = choice.delta {
                self.say(message, deltas);
            }
            if let Some(finish) = choice.finish_reason.filter(|word| !word.is_empty()) {
                self.finish = Some(finish);
            }
        }
        Ok(())
    }

    fn say(&mut self, message: AssistantMessage, deltas: &dyn OnDelta) {
        let text = message.content.map(text_of).unwrap_or_default();
        if !text.is_empty() {
            deltas.text(&text);
            self.text.push_str(&text);
        }
        self.refusal.push_str(&message.refusal.unwrap_or_default());
        for called in message.tool_calls.unwrap_or_default() {
            self.call(called);
        }
    }

    /// Adds a part of a call to the call with the same index. A new id at the same index begins a
    /// new call, because some servers give every call the index 0.
    fn call(&mut self, part: ToolCallPart) {
        let id = part.id.unwrap_or_default();
        let index = part.index.unwrap_or_else(|| match id.is_empty() {
            true => self.calls.last().map_or(0, |last| last.index),
            false => self.calls.len() as u64,
        });
        let known = self.calls.iter().rposition(|call| {
            call.index == index && (id.is_empty() || call.id.is_empty() || call.id == id)
        });
        let at = known.unwrap_or_else(|| {
            self.calls.push(PartialCall {
                index,
                ..PartialCall::default()
            });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id = id;
        }
        let Some(function) = part.function else {
            return;
        };
        if call.name.is_empty() {
            call.name = function.name.unwrap_or_default();
        }
        match function.arguments {
            None | Some(Value::Null) => {}
            Some(Value::String(more)) => call.arguments.push_str(&more),
            Some(object) => call.arguments = object.to_string(),
        }
    }

    fn stop(&self) -> Stop {
        if !self.refusal.is_empty() {
            return Stop::Refused;
        }
        match self.finish.as_deref() {
            Some("length") => Stop::Length,
            Some("content_filter") => Stop::Refused,
            // Some servers send `stop` for a reply with calls, and some `tool_calls` for a reply
            // without.
            Some("stop" | "tool_calls" | "function_call") | None => match self.calls.is_empty() {
                true => Stop::End,
                false => Stop::ToolCalls,
            },
            Some(other) => Stop::Other(other.to_owned()),
        }
    }
}

/// Returns the text of a content: the string itself, or its parts of type `text`. Thinking is left
/// out.
fn text_of(content: Value) -> String {
    let part = |part: &Map<String, Value>| match part.get("type").and_then(Value::as_str) {
        Some("text" | "output_text") | None => part.get("text")?.as_str().map(str::to_owned),
        Some(_) => None,
    };
    match content {
        Value::String(text) => text,
        Value::Array(parts) => parts
            .iter()
            .filter_map(Value::as_object)
            .filter_map(part)
            .collect(),
        _ => String::new(),
    }
}
