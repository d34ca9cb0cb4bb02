//! Tests all steps from a configuration to a model that answers.

use std::io;

use serde_json::json;
use wiremock::matchers::{header, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::{Dollars, ErrorKind, Message, NoDeltas, Request};

const KEY: &str = "sk-very-secret-1";

/// The secrets of the tests: two variables and two files.
struct Given;

impl Secrets for Given {
    fn variable(&self, name: &str) -> Option<String> {
        match name {
            "TEST_KEY" => Some(KEY.to_owned()),
            "EMPTY" => Some(" ".to_owned()),
            _ => None,
        }
    }

    fn file(&self, path: &Path) -> io::Result<String> {
        match path.to_str() {
            Some("/key") => Ok(format!("  {KEY}\n")),
            Some("/empty") => Ok("\n".to_owned()),
            _ => Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
        }
    }
}

fn catalogue(config: &serde_json::Value) -> Catalogue {
    Catalogue::deserialize(config).unwrap()
}

fn targets(of: &[&str]) -> Vec<Target> {
    of.iter().map(|target| target.parse().unwrap()).collect()
}

/// Invalid targets, each with the error that results.
const WRONG: [(&str, &str); 13] = [
    (
        "opneai/x",
        "unknown provider \"opneai\"; known providers: anthropic, deepseek, empty, emptyfile, ftp, gemini, groq, header, kindless, llamacpp, local, mistral, nofile, nowhere, ollama, openai, openrouter, query, text, user. To define another provider, set kind and base_url in [providers.opneai].",
    ),
    (
        "kindless/x",
        "provider \"kindless\" has no kind; set kind in [providers.kindless]",
    ),
    (
        "nowhere/x",
        "provider \"nowhere\" has no base_url; set base_url in [providers.nowhere]",
    ),
    (
        "ftp/x",
        "provider \"ftp\": base_url is ftp; only http and https are supported",
    ),
    (
        "user/x",
        "provider \"user\": base_url has a user or password in it; use key_env, key_file or headers",
    ),
    (
        "query/x",
        "provider \"query\": base_url has a key in its query; use key_env, key_file or headers",
    ),
    (
        "text/x",
        "provider \"text\": base_url is no URL: relative URL without a base",
    ),
    (
        "openai/x",
        "provider \"openai\": the environment variable OPENAI_API_KEY is not set; set it to the key, or name a file with the key as key_file in [providers.openai]",
    ),
    (
        "empty/x",
        "provider \"empty\": the environment variable EMPTY is not set; set it to the key, or name a file with the key as key_file in [providers.empty]",
    ),
    (
        "nofile/x",
        "provider \"nofile\": the key file /nokey: no such file",
    ),
    (
        "emptyfile/x",
        "provider \"emptyfile\": the key file /empty: it is empty",
    ),
    (
        "header/x",
        "provider \"header\": the header \"a b\" cannot be sent: its name has characters that no header may have",
    ),
    (
        "ollama/tiny",
        "[models.\"ollama/tiny\"]: max_output (100) must be greater than 0 and less than window (100)",
    ),
];

/// Returns providers that cover every possible configuration error.
fn wrong() -> Catalogue {
    catalogue(&json!({ "providers": {
        "kindless": { "base_url": "https://example.com" },
        "nowhere": { "kind": "openai" },
        "ftp": { "kind": "openai", "base_url": "ftp://example.com" },
        "user": { "kind": "openai", "base_url": "https://me:s3cret@example.com" },
        "query": { "kind": "openai", "base_url": "https://example.com?api_key=s3cret" },
        "text": { "kind": "openai", "base_url": "s3cret" },
        "empty": { "kind": "openai", "base_url": "https://example.com", "key_env": "EMPTY" },
        "nofile": { "kind": "openai", "base_url": "https://example.com", "key_file": "/nokey" },
        "emptyfile": { "kind": "openai", "base_url": "https://example.com", "key_file": "/empty" },
        "header": { "kind": "openai", "base_url": "https://example.com", "headers": { "a b": "s3cret" } },
    }, "models": { "ollama/tiny": { "window": 100, "max_output": 100 } } }))
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    for (target, message) in WRONG {
        let error = wrong().model(&targets(&[target]), &Given).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
    let error = wrong().model(&[], &Given).unwrap_err();
    let message = "no model is given; name one as provider/model";
    assert_eq!(error.to_string(), message);
    let nameless = catalogue(&json!({ "models": { "gpt-4o": {} } }));
    let error = nameless.model(&targets(&["ollama/x"]), &Given).unwrap_err();
    let message = "[models.\"gpt-4o\"] names no model; write [models.\"provider/model\"]";
    assert_eq!(error.to_string(), message);
}

#[test]
fn limits_are_the_user_s_then_the_known_ones_then_small() {
    let config = catalogue(&json!({
        "providers": {
            "work": { "kind": "openai", "base_url": "https://example.com" },
            "box": { "kind": "openai", "base_url": "http://gpu-box:11434/v1" },
            "groq": { "base_url": "http://localhost:9/v1" },
        },
        "models": {
            "ollama/llama3.1": { "window": 32768 },
            "work/gpt-4o": { "max_output": 1000, "prices": { "input": 1.0, "output": 2.0 } },
            "openai/gpt-4o": { "window": 4096 },
        },
    }));
    let cases = [
        ("openai/gpt-4o-mini", 128_000, 16_384, Some(0.15), true),
        ("openai/gpt-4o", 4096, 1024, Some(2.5), true),
        ("work/gpt-4o", 128_000, 1000, Some(1.0), true),
        ("work/new", 8192, 2048, None, false),
        ("ollama/llama3.1", 32_768, 2048, None, true),
        // The model tables do not apply to the user's own server, so the limits of an unknown model
        // are used.
        ("box/qwen2.5:7b", 8192, 2048, None, false),
        ("ollama/llama3.2", 8192, 2048, None, false),
        ("groq/llama-3.1-8b-instant", 8192, 2048, None, false),
        ("who/knows", 8192, 2048, None, false),
    ];
    for (target, window, max_output, input, is_known) in cases {
        let (limits, prices, known) = config.limits(&target.parse().unwrap());
        assert_eq!(limits, ModelLimits { window, max_output }, "{target}");
        assert_eq!(prices.map(|prices| prices.input), input, "{target}");
        assert_eq!(known, is_known, "{target}");
    }
    let model = config.model(&targets(&["ollama/llama3.1", "work/gpt-4o"]), &Given);
    let limits = model.unwrap().limits();
    assert_eq!((limits.window, limits.max_output), (32_768, 1000));
}

#[tokio::test]
async fn a_configured_model_is_tried_again_priced_and_replaced() {
    let server = MockServer::start().await;
    let busy = ResponseTemplate::new(503).insert_header("retry-after-ms", "1");
    let limited = Mock::given(path("/a/chat/completions")).respond_with(busy.clone());
    limited.up_to_n_times(2).expect(2).mount(&server).await;
    let gone = Mock::given(path("/a/chat/completions")).respond_with(ResponseTemplate::new(404));
    gone.expect(1).mount(&server).await;
    let answer = json!({
        "content": [{ "type": "text", "text": "hi" }], "stop_reason": "end_turn",
        "usage": { "input_tokens": 1000, "output_tokens": 100 },
    });
    let answers = Mock::given(path("/b/v1/messages"))
        .and(header("x-api-key", KEY))
        .and(header("x-title", "spillgate"))
        .respond_with(ResponseTemplate::new(200).set_body_json(answer));
    answers.expect(1).mount(&server).await;
    let config = catalogue(&json!({
        "providers": {
            "a": { "kind": "openai", "base_url": format!("{}/a", server.uri()), "keyEnv": "TEST_KEY" },
            "anthropic": {
                "base_url": format!("{}/b/", server.uri()), "key_file": "/key",
                "requestsPerMinute": 10, "concurrency": 2, "headers": { "x-title": "spillgate" },
            },
        },
        "models": { "anthropic/m": { "prices": { "input": 1.0, "output": 10.0 } } },
    }));
    let model = config
        .model(&targets(&["a/m", "anthropic/m"]), &Given)
        .unwrap();
    let request = Request {
        messages: vec![Message::User("hello".to_owned())],
        max_output_tokens: 10,
        ..Request::default()
    };
    let reply = model.chat(&request, &NoDeltas).await.unwrap();
    assert_eq!(reply.text, "hi");
    assert_eq!(reply.target, Target::new("anthropic", "m"));
    assert_eq!(reply.usage.cost, Some(Dollars::new(0.002)));
    assert_eq!(model.target(), Target::new("a", "m"));
    assert!(!format!("{model:?} {config:?}").contains(KEY));
}

#[tokio::test]
async fn when_all_fail_the_error_names_all() {
    let server = MockServer::start().await;
    let no = ResponseTemplate::new(401).set_body_string(format!("bad key {KEY}"));
    Mock::given(path("/chat/completions"))
        .respond_with(no)
        .mount(&server)
        .await;
    let provider = json!({ "kind": "openai", "base_url": server.uri(), "key_env": "TEST_KEY" });
    let config = catalogue(&json!({ "providers": { "a": provider, "b": provider } }));
    let model = config.model(&targets(&["a/m", "b/n"]), &Given).unwrap();
    let error = model
        .chat(&Request::default(), &NoDeltas)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Auth);
    assert_eq!(
        error.to_string(),
        "b/n: HTTP 401: bad key [key]; tried before: a/m: HTTP 401: bad key [key]"
    );
}
