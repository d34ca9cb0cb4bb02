//! Tests how the replies of providers are parsed.

use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::{NoDeltas, Usage};

/// Returns the reply to `hello`, and the parts of its text as they arrived.
async fn reply(
    dialect: Dialect,
    answer: ResponseTemplate,
) -> (Result<Reply, LlmError>, Vec<String>) {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let heard = Heard::default();
    let reply = model(dialect, &server.uri(), true)
        .chat(&hello(), &heard)
        .await;
    (reply, heard.parts())
}

fn streamed(text: String) -> ResponseTemplate {
    ResponseTemplate::new(200)
        .insert_header("x-request-id", "req_1")
        .set_body_raw(text, "text/event-stream; charset=utf-8")
}

fn whole(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200)
        .insert_header("request-id", "req_1")
        .set_body_raw(body.to_string(), "application/json")
}

fn expected(text: &str, calls: &[(&str, &str, &str)], stop: Stop, usage: Usage) -> Reply {
    let calls = calls.iter().map(|(id, name, arguments)| ToolCall {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    });
    Reply {
        text: text.to_owned(),
        calls: calls.collect(),
        stop,
        usage,
        target: Target::new("test", "model-1"),
        request_id: Some("req_1".to_owned()),
    }
}

fn usage(input: u64, cached_input: u64, cache_write: u64, output: u64) -> Usage {
    Usage {
        input,
        cached_input,
        cache_write,
        output,
        cost: None,
    }
}

fn delta(delta: &Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn finish(why: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": why }] })
}

#[tokio::test]
async fn openai_streams_text_and_usage() {
    let parts = [
        delta(&json!({ "role": "assistant", "content": "", "refusal": null })),
        delta(&json!({ "reasoning_content": "hm", "reasoning": "hm" })),
        delta(&json!({ "content": "Hé" })),
        delta(&json!({ "content": "llo" })),
        finish("stop"),
        json!({ "choices": [], "usage": {
            "prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35,
            "prompt_tokens_details": { "cached_tokens": 20 },
        } }),
    ];
    let text = format!(": a comment\n\n{}data: [DONE]\n\n", events(&parts));
    let (reply, heard) = reply(Dialect::OpenAi, streamed(text)).await;
    let expected = expected("Héllo", &[], Stop::End, usage(30, 20, 0, 5));
    assert_eq!(reply.unwrap(), expected);
    assert_eq!(heard, ["Hé", "llo"]);
}

#[tokio::test]
async fn openai_streams_calls_in_parts() {
    let call = |call: Value| delta(&json!({ "tool_calls": [call] }));
    let cases = [
        // OpenAI assigns the parts of a call by index, and sends the name first.
        (
            vec![
                call(
                    json!({ "index": 0, "id": "a", "type": "function", "function": { "name": "Read", "arguments": "" } }),
                ),
                call(json!({ "index": 0, "function": { "arguments": "{\"file\":" } })),
                call(
                    json!({ "index": 1, "id": "b", "function": { "name": "Grep", "arguments": "{}" } }),
                ),
                call(json!({ "index": 0, "function": { "arguments": "\"x\"}" } })),
            ],
            vec![("a", "Read", "{\"file\":\"x\"}"), ("b", "Grep", "{}")],
        ),
        // Each call is complete, all calls have the index 0, and arguments are objects.
        (
            vec![
                call(
                    json!({ "index": 0, "id": "a", "function": { "name": "Read", "arguments": { "file": "x" } } }),
                ),
                call(
                    json!({ "index": 0, "id": "b", "function": { "name": "Grep", "arguments": null } }),
                ),
            ],
            vec![("a", "Read", "{\"file\":\"x\"}"), ("b", "Grep", "{}")],
        ),
        // Calls have neither index nor id, so we create the ids.
        (
            vec![
                call(json!({ "function": { "name": "Read", "arguments": "{" } })),
                call(json!({ "function": { "arguments": "}" } })),
            ],
            vec![("call_1_0", "Read", "{}")],
        ),
        // Calls have ids but no index.
        (
            vec![
                call(json!({ "id": "a", "function": { "name": "Read" } })),
                call(json!({ "id": "b", "function": { "name": "Grep", "arguments": "{" } })),
                call(json!({ "function": { "arguments": "}" } })),
            ],
            vec![("a", "Read", "{}"), ("b", "Grep", "{}")],
        ),
    ];
    for (mut parts, calls) in cases {
        parts.push(finish("tool_calls"));
        let text = events(&parts) + "data: [DONE]\n\n";
        let (reply, _) = reply(Dialect::OpenAi, streamed(text)).await;
        let expected = expected("", &calls, Stop::ToolCalls, Usage::default());
        assert_eq!(reply.unwrap(), expected);
    }
}

/// Returns answers of OpenAI-compatible servers, each with the expected reply.
fn answers() -> [(Value, Reply); 9] {
    let message = |message: Value, why: Value| json!({ "choices": [{ "message": message, "finish_reason": why }] });
    let none = Usage::default();
    [
        (
            message(json!({ "content": "hi" }), json!("length")),
            expected("hi", &[], Stop::Length, none),
        ),
        (
            message(
                json!({ "content": null, "refusal": "I can't." }),
                json!("stop"),
            ),
            expected("I can't.", &[], Stop::Refused, none),
        ),
        (
            message(json!({ "content": "" }), json!("content_filter")),
            expected("", &[], Stop::Refused, none),
        ),
        (
            message(json!({ "content": "" }), json!("stop")),
            expected("", &[], Stop::End, none),
        ),
        (
            message(json!({ "content": "x" }), json!("\u{1b}odd")),
            expected("x", &[], Stop::Other("⟨U+001B⟩odd".to_owned()), none),
        ),
        (
            message(json!({ "content": "x" }), Value::Null),
            expected("x", &[], Stop::End, none),
        ),
        // A list of parts with thinking, which is left out.
        (
            message(
                json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] }, { "type": "text", "text": "yes" }] }),
                json!("stop"),
            ),
            expected("yes", &[], Stop::End, none),
        ),
        // llama.cpp: arguments are an object, and the finish reason is `stop` in spite of calls.
        (
            message(
                json!({ "content": null, "tool_calls": [{ "function": { "name": "Read", "arguments": { "a": 1 } } }] }),
                json!("stop"),
            ),
            expected(
                "",
                &[("call_1_0", "Read", "{\"a\":1}")],
                Stop::ToolCalls,
                none,
            ),
        ),
        // DeepSeek's cached tokens.
        (
            json!({ "choices": [{ "message": { "content": "x" } }], "usage": { "prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4 } }),
            expected("x", &[], Stop::End, usage(9, 4, 0, 1)),
        ),
    ]
}

#[tokio::test]
async fn openai_answers_are_read_whole() {
    for (body, expected) in answers() {
        let (reply, heard) = reply(Dialect::OpenAi, whole(&body)).await;
        let refused = expected.stop == Stop::Refused;
        assert!(refused || heard.concat() == expected.text, "{body}");
        assert_eq!(reply.unwrap(), expected, "{body}");
    }
}

#[tokio::test]
async fn anthropic_streams_text_calls_and_usage() {
    let parts = [
        json!({ "type": "message_start", "message": { "content": [], "usage": { "input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 50, "output_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "hm" } }),
        json!({ "type": "ping" }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "Hé" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "llo" } }),
        json!({ "type": "content_block_stop", "index": 1 }),
        json!({ "type": "content_block_start", "index": 2, "content_block": { "type": "tool_use", "id": "toolu_1", "name": "Read", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "input_json_delta", "partial_json": "" } }),
        json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "input_json_delta", "partial_json": "{\"file\":" } }),
        json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "input_json_delta", "partial_json": "\"x\"}" } }),
        json!({ "type": "content_block_start", "index": 3, "content_block": { "type": "tool_use", "id": "toolu_2", "name": "List", "input": {} } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 40 } }),
        json!({ "type": "something_new" }),
        json!({ "type": "message_stop" }),
    ];
    let (reply, heard) = reply(Dialect::Anthropic, streamed(events(&parts))).await;
    let calls = [
        ("toolu_1", "Read", "{\"file\":\"x\"}"),
        ("toolu_2", "List", "{}"),
    ];
    let expected = expected("Héllo", &calls, Stop::ToolCalls, usage(160, 100, 50, 40));
    assert_eq!(reply.unwrap(), expected);
    assert_eq!(heard, ["Hé", "llo"]);
}

#[tokio::test]
async fn anthropic_answers_are_read_whole() {
    let text = |text: &str, why: &str| json!({ "type": "message", "content": [{ "type": "text", "text": text }], "stop_reason": why, "usage": { "input_tokens": 3, "output_tokens": 2 } });
    let used = usage(3, 0, 0, 2);
    let cases = [
        (text("hi", "end_turn"), expected("hi", &[], Stop::End, used)),
        (
            text("hi", "stop_sequence"),
            expected("hi", &[], Stop::End, used),
        ),
        (
            text("hi", "max_tokens"),
            expected("hi", &[], Stop::Length, used),
        ),
        (
            text("no", "refusal"),
            expected("no", &[], Stop::Refused, used),
        ),
        (
            text("", "pause_turn"),
            expected("", &[], Stop::Other("pause_turn".to_owned()), used),
        ),
        (
            json!({ "content": [{ "type": "redacted_thinking", "data": "x" }, { "type": "tool_use", "id": "t", "name": "Read", "input": { "a": [1] } }], "stop_reason": "tool_use" }),
            expected(
                "",
                &[("t", "Read", "{\"a\":[1]}")],
                Stop::ToolCalls,
                Usage::default(),
            ),
        ),
    ];
    for (body, expected) in cases {
        let (reply, _) = reply(Dialect::Anthropic, whole(&body)).await;
        assert_eq!(reply.unwrap(), expected, "{body}");
    }
}

#[tokio::test]
async fn an_answer_is_read_as_what_it_is_not_as_what_was_asked() {
    let server = MockServer::start().await;
    let text = events(&[delta(&json!({ "content": "hi" })), finish("stop")]);
    Mock::given(any())
        .respond_with(streamed(text))
        .mount(&server)
        .await;
    let model = model(Dialect::OpenAi, &server.uri(), false);
    let reply = model.chat(&hello(), &NoDeltas).await.unwrap();
    assert_eq!(reply.text, "hi");
}
