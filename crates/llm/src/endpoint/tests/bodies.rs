//! Tests the bodies of requests to providers.

use insta::assert_snapshot;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::NoDeltas;

/// Returns the path, headers and body that are sent for a request, with one line per list element.
async fn sent(mut config: EndpointConfig, path: &str, request: &Request) -> String {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(500))
        .mount(&server)
        .await;
    config.base_url = format!("{}{path}", server.uri()).parse().unwrap();
    let limits = ModelLimits {
        window: 8192,
        max_output: 2048,
    };
    let model = Endpoint::new(&config).unwrap();
    let model = model.model(Target::new("test", "meta/model-1"), limits);
    model.chat(request, &NoDeltas).await.unwrap_err();
    let seen = server.received_requests().await.unwrap().remove(0);
    let body: serde_json::Value = serde_json::from_slice(&seen.body).unwrap();
    let header = |name: &str| {
        let value = seen.headers.get(name);
        value.map(|value| format!("{name}: {}\n", value.to_str().unwrap()))
    };
    let names = [
        "authorization",
        "x-api-key",
        "anthropic-version",
        "content-type",
        "x-team-token",
    ];
    let headers: String = names.into_iter().filter_map(header).collect();
    let mut shown = format!("{} {}\n{headers}\n", seen.method, seen.url.path());
    for (name, value) in body.as_object().unwrap() {
        match value.as_array() {
            None => shown += &format!("{name}: {value}\n"),
            Some(list) => {
                let list: String = list.iter().map(|one| format!("  {one}\n")).collect();
                shown += &format!("{name}:\n{list}");
            }
        }
    }
    shown
}

#[tokio::test]
async fn a_conversation_in_openai_s_words() {
    let config = config(Dialect::OpenAi, "http://127.0.0.1/", true);
    let sent = sent(config, "/v1", &conversation()).await;
    assert_snapshot!(sent, @r#"
    POST /v1/chat/completions
    authorization: Bearer sk-live-0123456789abcdef/+=
    content-type: application/json
    x-team-token: tok_9876543210

    max_tokens: 500
    messages:
      {"content":"Extract.","role":"system"}
      {"content":"Find E4217.","role":"user"}
      {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{\"regex\": \"E4217\"}","name":"Grep"},"id":"call_1","type":"function"},{"function":{"arguments":"{\"not_an_object\":\"{\\\"regex\\\": \\\"E42\"}","name":"Grep"},"id":"call_2","type":"function"}]}
      {"content":"  12→E4217","role":"tool","tool_call_id":"call_1"}
      {"content":"the arguments are not JSON","role":"tool","tool_call_id":"call_2"}
      {"content":"Line 12.","role":"assistant"}
      {"content":"Quote it.","role":"user"}
    model: "meta/model-1"
    stream: true
    stream_options: {"include_usage":true}
    tool_choice: "none"
    tools:
      {"function":{"description":"Finds lines.","name":"Grep","parameters":{"properties":{"regex":{"type":"string"}},"type":"object"}},"type":"function"}
    "#);
}

#[tokio::test]
async fn a_conversation_in_anthropic_s_words() {
    let config = config(Dialect::Anthropic, "http://127.0.0.1/", true);
    let sent = sent(config, "", &conversation()).await;
    assert_snapshot!(sent, @r#"
    POST /v1/messages
    x-api-key: sk-live-0123456789abcdef/+=
    anthropic-version: 2023-06-01
    content-type: application/json
    x-team-token: tok_9876543210

    max_tokens: 500
    messages:
      {"content":"Find E4217.","role":"user"}
      {"content":[{"id":"call_1","input":{"regex":"E4217"},"name":"Grep","type":"tool_use"},{"id":"call_2","input":{"not_an_object":"{\"regex\": \"E42"},"name":"Grep","type":"tool_use"}],"role":"assistant"}
      {"content":[{"content":"  12→E4217","tool_use_id":"call_1","type":"tool_result"},{"content":"the arguments are not JSON","is_error":true,"tool_use_id":"call_2","type":"tool_result"}],"role":"user"}
      {"content":[{"text":"Line 12.","type":"text"}],"role":"assistant"}
      {"content":"Quote it.","role":"user"}
    model: "meta/model-1"
    stream: true
    system: "Extract."
    tool_choice: {"type":"none"}
    tools:
      {"description":"Finds lines.","input_schema":{"properties":{"regex":{"type":"string"}},"type":"object"},"name":"Grep"}
    "#);
}

#[tokio::test]
async fn little_is_sent_when_little_is_asked() {
    let mut openai = config(Dialect::OpenAi, "http://127.0.0.1/", false);
    openai.key = None;
    openai.max_tokens_field = MaxTokensField::MaxCompletionTokens;
    assert_snapshot!(sent(openai, "/api/v1/", &hello()).await, @r#"
    POST /api/v1/chat/completions
    content-type: application/json
    x-team-token: tok_9876543210

    max_completion_tokens: 100
    messages:
      {"content":"hello","role":"user"}
    model: "meta/model-1"
    "#);
    let mut anthropic = config(Dialect::Anthropic, "http://127.0.0.1/", false);
    anthropic.key = None;
    // The user's header replaces ours.
    let version = ("anthropic-version".to_owned(), Key::new("2099-01-01"));
    anthropic.headers = [version].into();
    assert_snapshot!(sent(anthropic, "/v1", &hello()).await, @r#"
    POST /v1/messages
    anthropic-version: 2099-01-01
    content-type: application/json

    max_tokens: 100
    messages:
      {"content":"hello","role":"user"}
    model: "meta/model-1"
    "#);
}

#[test]
fn what_no_header_may_have_is_refused_without_being_shown() {
    let mut with_key = config(Dialect::OpenAi, "http://127.0.0.1/", true);
    with_key.key = Some(Key::new("sk-\u{7}secret"));
    let mut with_header = config(Dialect::OpenAi, "http://127.0.0.1/", true);
    with_header.headers = [("x y".to_owned(), Key::new("secret"))].into();
    let cases = [
        (
            with_key,
            "the header \"authorization\" cannot be sent: its value has characters that no header may have",
        ),
        (
            with_header,
            "the header \"x y\" cannot be sent: its name has characters that no header may have",
        ),
    ];
    for (config, message) in cases {
        assert_eq!(Endpoint::new(&config).unwrap_err().to_string(), message);
    }
}
