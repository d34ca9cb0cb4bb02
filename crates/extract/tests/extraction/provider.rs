//! A mock provider of models that follows the script of a test.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use spillgate_llm::{Catalogue, ChatModel, Secrets, Target};
use spillgate_testkit::in_slot;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

/// The key of every provider here. Neither the key nor its beginning may ever be shown.
pub(crate) const KEY: &str = "sk-live-Zq8vK3xW7pLm2RtY5nBd9cHf/+=";
/// The beginning of the key's random part.
pub(crate) const KEY_START: &str = "Zq8vK3xW";

/// The API of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    OpenAi,
    Anthropic,
}

/// A request. Its methods create responses to it.
pub(crate) struct Asked {
    pub dialect: Dialect,
    /// Number of requests before this one.
    pub number: usize,
    pub body: String,
    /// The key that was sent.
    pub key: String,
}

impl Asked {
    fn of(dialect: Dialect, number: usize, request: &Request) -> Self {
        let header = |name: &str| request.headers.get(name)?.to_str().ok();
        let key = header("authorization").or_else(|| header("x-api-key"));
        Self {
            dialect,
            number,
            body: String::from_utf8_lossy(&request.body).into_owned(),
            key: key.unwrap_or_default().to_owned(),
        }
    }

    /// Replies with `text` unchanged.
    pub(crate) fn says(&self, text: &str) -> ResponseTemplate {
        self.stops(text, "stop", "end_turn")
    }

    /// Replies with `text` in the slot that the request asks for.
    pub(crate) fn answers(&self, text: &str) -> ResponseTemplate {
        self.says(&in_slot(&self.body, text))
    }

    /// Replies with `text` and a stop reason, given in the terms of OpenAI and of Anthropic.
    pub(crate) fn stops(&self, text: &str, open_ai: &str, anthropic: &str) -> ResponseTemplate {
        ok(&match self.dialect {
            Dialect::OpenAi => json!({
                "choices": [{"message": {"content": text}, "finish_reason": open_ai}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10},
            }),
            Dialect::Anthropic => json!({
                "type": "message",
                "content": [{"type": "text", "text": text}],
                "stop_reason": anthropic,
                "usage": {"input_tokens": 100, "output_tokens": 10},
            }),
        })
    }

    /// Replies with a call of `Read` for the file that the request names.
    pub(crate) fn reads(&self, mut arguments: Value) -> ResponseTemplate {
        let file = self.body.split("Handle/filename: ").nth(1).unwrap();
        arguments["file"] = file.split('\\').next().unwrap().into();
        ok(&match self.dialect {
            Dialect::OpenAi => json!({"choices": [{
                "message": {"tool_calls": [{
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "Read", "arguments": arguments.to_string()},
                }]},
                "finish_reason": "tool_calls",
            }]}),
            Dialect::Anthropic => json!({
                "type": "message",
                "content": [{"type": "tool_use", "id": "call_1", "name": "Read", "input": arguments}],
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 100, "output_tokens": 10},
            }),
        })
    }
}

fn ok(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

/// A function that creates the response to a request.
pub(crate) type Script = Arc<dyn Fn(&Asked) -> ResponseTemplate + Send + Sync>;

/// The behaviour of a provider.
#[derive(Clone)]
pub(crate) enum Wire {
    /// The provider answers.
    Http(Script),
    /// The provider sends these bytes, sends nothing more for this duration, then closes the
    /// connection.
    Bytes(String, Duration),
    /// The provider cannot be reached.
    Gone,
}

/// A running provider.
pub(crate) struct Provider {
    pub url: String,
    asked: Arc<AtomicUsize>,
    _server: Option<MockServer>,
}

impl Provider {
    pub(crate) async fn start(dialect: Dialect, wire: Wire) -> Self {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut url = format!("http://{}", listener.local_addr().unwrap());
        let mut server = None;
        match wire {
            Wire::Http(script) => {
                let up = MockServer::start().await;
                let respond = move |request: &Request| {
                    let number = counted.fetch_add(1, Ordering::Relaxed);
                    script(&Asked::of(dialect, number, request))
                };
                Mock::given(any()).respond_with(respond).mount(&up).await;
                url = up.uri();
                server = Some(up);
            }
            Wire::Bytes(bytes, silence) => {
                listener.set_nonblocking(true).unwrap();
                let listener = TcpListener::from_std(listener).unwrap();
                tokio::spawn(send_to_all(listener, bytes, silence, counted));
            }
            Wire::Gone => drop(listener),
        }
        Self {
            url,
            asked,
            _server: server,
        }
    }

    /// Returns the number of requests that the provider received.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

async fn send_to_all(
    listener: TcpListener,
    bytes: String,
    silence: Duration,
    asked: Arc<AtomicUsize>,
) {
    while let Ok((mut socket, _)) = listener.accept().await {
        asked.fetch_add(1, Ordering::Relaxed);
        let bytes = bytes.clone();
        tokio::spawn(async move {
            // The request is complete when nothing more has arrived for the time of `pause`.
            let mut buffer = vec![0; 1 << 16];
            let pause = Duration::from_millis(100);
            while let Ok(Ok(1..)) = tokio::time::timeout(pause, socket.read(&mut buffer)).await {}
            let _ = socket.write_all(bytes.as_bytes()).await;
            tokio::time::sleep(silence).await;
        });
    }
}

/// Provides [`KEY`] as the key of every provider.
pub(crate) struct Keys;

impl Secrets for Keys {
    fn variable(&self, _: &str) -> Option<String> {
        Some(KEY.to_owned())
    }
}

/// Returns providers `p0`, `p1` … at these URLs, each with short timeouts and the model `reader`.
pub(crate) fn catalogue(dialect: Dialect, urls: &[&str], retries: u32) -> Catalogue {
    let kind = match dialect {
        Dialect::OpenAi => "openai",
        Dialect::Anthropic => "anthropic",
    };
    let mut config = json!({"providers": {}, "models": {}});
    for (i, url) in urls.iter().enumerate() {
        config["providers"][format!("p{i}")] = json!({
            "kind": kind, "base_url": url, "key_env": "KEY", "retries": retries,
            "timeout_s": 2, "first_byte_timeout_s": 1, "idle_timeout_s": 1,
            "headers": {"X-Gateway-Auth": format!("Bearer {KEY}")},
        });
        config["models"][format!("p{i}/reader")] = json!({"window": 128_000, "max_output": 4096});
    }
    serde_json::from_value(config).unwrap()
}

/// Returns a model that tries the first model of each provider in turn.
pub(crate) fn model(catalogue: &Catalogue) -> Arc<dyn ChatModel> {
    let targets: Vec<Target> = catalogue
        .models
        .keys()
        .map(|name| name.parse().unwrap())
        .collect();
    catalogue.model(&targets, &Keys).unwrap()
}
