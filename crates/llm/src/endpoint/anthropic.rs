//! Speaks the Messages API of Anthropic.

use serde::Deserialize;
use serde_json::{Value, json};

use super::fault::Fault;
use super::reply_builder::{PartialCall, RawReply, ReplyBuilder, arguments_object, parse};
use crate::{ErrorKind, Message, OnDelta, Request, Stop, Usage};

/// Returns the body of a request.
pub(super) fn body(request: &Request, model: &str, stream: bool) -> Value {
    let messages: Vec<Value> = request.messages.iter().filter_map(message).collect();
    let mut body = json!({
        "model": model,
        "max_tokens": request.max_output_tokens,
        "messages": messages,
    });
    if !request.system.is_empty() {
        body["system"] = request.system.clone().into();
    }
    if !request.tools.is_empty() {
        body["tools"] = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.schema,
                })
            })
            .collect();
        if request.no_calls {
            body["tool_choice"] = json!({ "type": "none" });
        }
    }
    if stream {
        body["stream"] = true.into();
    }
    body
}

/// Returns a message as JSON; `None` for an empty message of the model, because the API rejects
/// empty messages.
fn message(message: &Message) -> Option<Value> {
    match message {
        Message::User(text) => Some(json!({ "role": "user", "content": text })),
        Message::Assistant { text, calls } => {
            let said = Some(text)
                .filter(|text| !text.trim().is_empty())
                .map(|text| json!({ "type": "text", "text": text }));
            let called = calls.iter().map(|call| {
                json!({
                    "type": "tool_use",
                    "id": call.id,
                    "name": call.name,
                    "input": arguments_object(&call.arguments),
                })
            });
            let content: Vec<Value> = said.into_iter().chain(called).collect();
            (!content.is_empty()).then(|| json!({ "role": "assistant", "content": content }))
        }
        Message::Tools(replies) => {
            let content: Vec<Value> = replies
                .iter()
                .map(|reply| {
                    let mut result = json!({
                        "type": "tool_result",
                        "tool_use_id": reply.call_id,
                        "content": reply.text,
                    });
                    if reply.is_error {
                        result["is_error"] = true.into();
                    }
                    result
                })
                .collect();
            Some(json!({ "role": "user", "content": content }))
        }
    }
}

/// An event of a stream. Events that this type does not list do not affect the reply.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: MessageStart,
    },
    ContentBlockStart {
        index: u64,
        content_block: Block,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    MessageDelta {
        delta: MessageEnd,
        #[serde(default)]
        usage: Option<TokenCounts>,
    },
    MessageStop,
    Error {
        error: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
// With `expecting`, parse errors name `struct Start`, so that renaming the type does not change
// them.
#[serde(expecting = "struct Start")]
struct MessageStart {
    #[serde(default)]
    usage: Option<TokenCounts>,
}

/// A complete answer.
#[derive(Debug, Deserialize)]
// With `expecting`, parse errors name `struct Answer`, so that renaming the type does not change
// them.
#[serde(expecting = "struct Answer")]
struct MessageResponse {
    #[serde(default)]
    content: Option<Vec<Block>>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Option<TokenCounts>,
    #[serde(default)]
    error: Option<Value>,
}

/// A part of the reply. Thinking is ignored.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    ToolUse {
        #[serde(default)]
        id: String,
        #[serde(default)]
        name: String,
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    Input { partial_json: String },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
// With `expecting`, parse errors name `struct Ending`, so that renaming the type does not change
// them.
#[serde(expecting = "struct Ending")]
struct MessageEnd {
    #[serde(default)]
    stop_reason: Option<String>,
}

/// Token counts. Each may be missing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
// With `expecting`, parse errors name `struct Counted`, so that renaming the type does not change
// them.
#[serde(expecting = "struct Counted")]
struct TokenCounts {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cached: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    written: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
}

impl TokenCounts {
    /// Returns these counts, completed by the earlier ones. The later counts are totals and not
    /// increments, so they replace the earlier ones.
    fn or(&self, earlier: &Self) -> Self {
        Self {
            input: self.input.or(earlier.input),
            cached: self.cached.or(earlier.cached),
            written: self.written.or(earlier.written),
            output: self.output.or(earlier.output),
        }
    }

    /// Returns the usage. Anthropic's input count excludes tokens that were read from or written to
    /// the cache; ours is the whole prompt.
    fn usage(&self) -> Usage {
        let cached = self.cached.unwrap_or(0);
        let written = self.written.unwrap_or(0);
        let plain = self.input.unwrap_or(0);
        Usage {
            input: plain.saturating_add(cached).saturating_add(written),
            cached_input: cached,
            cache_write: written,
            output: self.output.unwrap_or(0),
            cost: None,
        }
    }
}

/// A reply that is arriving.
#[derive(Debug, Default)]
pub(super) struct MessageBuilder {
    text: String,
    calls: Vec<PartialCall>,
    stop_reason: Option<String>,
    counts: TokenCounts,
    is_done: bool,
}

impl ReplyBuilder for MessageBuilder {
    fn event(&mut self, data: &str, deltas: &dyn OnDelta) -> Result<bool, Fault> {
        match parse(data)? {
            Event::MessageStart { message } => self.count(message.usage),
            Event::ContentBlockStart {
                index,
                content_block,
            } => self.block(index, content_block, deltas),
            Event::ContentBlockDelta { index, delta } => self.more(index, delta, deltas),
            Event::MessageDelta { delta, usage } => {
                self.stop_reason = delta.stop_reason.or(self.stop_reason.take());
                self.count(usage);
            }
            Event::MessageStop => self.is_done = true,
            Event::Error { error } => return Err(Fault::of_error(&json!({ "error": error }))),
            Event::Other => {}
        }
        Ok(self.is_done)
    }

    fn whole(&mut self, body: &str, deltas: &dyn OnDelta) -> Result<(), Fault> {
        let answer: MessageResponse = parse(body)?;
        if let Some(error) = answer.error {
            return Err(Fault::of_error(&json!({ "error": error })));
        }
        let Some(content) = answer.content else {
            return Err(Fault::bad_reply("the answer has no content"));
        };
        for (index, block) in content.into_iter().enumerate() {
            self.block(index as u64, block, deltas);
        }
        self.stop_reason = answer.stop_reason;
        self.count(answer.usage);
        self.is_done = true;
        Ok(())
    }

    fn end(self: Box<Self>, numbered: &dyn Fn(usize) -> String) -> Result<RawReply, Fault> {
        if !self.is_done {
            let cut = "the answer ended before its end";
            return Err(Fault::new(ErrorKind::CutOff, cut));
        }
        let stop = self.stop();
        let calls = self.calls.into_iter().enumerate();
        Ok(RawReply {
            text: self.text,
            calls: calls
                .map(|(place, call)| call.end(place, numbered))
                .collect(),
            stop,
            usage: self.counts.usage(),
        })
    }
}

impl MessageBuilder {
    fn count(&mut self, more: Option<TokenCounts>) {
        self.counts = more.unwrap_or_default().or(&self.counts);
    }

    fn say(&mut self, text: &str, deltas: &dyn OnDelta) {
        if !text.is_empty() {
            deltas.text(text);
            self.text.push_str(text);
        }
    }

    fn block(&mut self, index: u64, block: Block, deltas: &dyn OnDelta) {
        match block {
            Block::Text { text } => self.say(&text, deltas),
            // In a stream, a call begins with an empty input, which later events fill.
            Block::ToolUse { id, name, input } => self.calls.push(PartialCall {
                index,
                id,
                name,
                arguments: match &input {
                    Value::Object(fields) if !fields.is_empty() => input.to_string(),
                    Value::String(text) => text.clone(),
                    _ => String::new(),
                },
            }),
            Block::Other => {}
        }
    }

    fn more(&mut self, index: u64, delta: Delta, deltas: &dyn OnDelta) {
        match delta {
            Delta::Text { text } => self.say(&text, deltas),
            Delta::Input { partial_json } => {
                let mut calls = self.calls.iter_mut();
                // Tools that run at the provider also receive input, but such a tool is not one of
                // ours and has no entry here.
                if let Some(call) = calls.rfind(|call| call.index == index) {
                    call.arguments.push_str(&partial_json);
                }
            }
            Delta::Other => {}
        }
    }

    fn stop(&self) -> Stop {
        match self.stop_reason.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
            Some("refusal") => Stop::Refused,
            Some("end_turn" | "stop_sequence" | "tool_use") | None => match self.calls.is_empty() {
                true => Stop::End,
                false => Stop::ToolCalls,
            },
            Some(other) => Stop::Other(other.to_owned()),
        }
    }
}
