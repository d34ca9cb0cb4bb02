//! A mock provider of models.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;

use serde_json::json;
use tokio::runtime::Runtime;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::tool::Tool;

/// A server with the API of OpenAI. Its only model always gives the same answer, in the wrapper
/// that the request asks for.
pub(crate) struct Provider {
    // The runtime on which the mock server runs.
    runtime: Runtime,
    server: MockServer,
}

impl Provider {
    pub(crate) fn saying(answer: &'static str) -> Self {
        let runtime = Runtime::new().unwrap();
        let server = runtime.block_on(MockServer::start());
        let reply = move |request: &Request| {
            let asked = String::from_utf8_lossy(&request.body);
            let nonce = nonce(&asked).unwrap_or_default();
            let text = format!(
                "<ai-agent-{nonce}-FINAL format=\"text\">{answer}</ai-agent-{nonce}-FINAL>"
            );
            ResponseTemplate::new(200).set_body_json(json!({
                "id": "reply-1",
                "object": "chat.completion",
                "model": "reader",
                "choices": [{
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop",
                }],
                "usage": {
                    "prompt_tokens": 1000,
                    "completion_tokens": 20,
                    "total_tokens": 1020,
                    "prompt_tokens_details": {"cached_tokens": 400},
                },
            }))
        };
        let mock = Mock::given(method("POST")).and(path("/v1/chat/completions"));
        runtime.block_on(mock.respond_with(reply).mount(&server));
        Self { runtime, server }
    }

    /// Writes a configuration file that names this provider `mock` and takes its key from
    /// `MOCK_KEY`.
    pub(crate) fn config(&self, tool: &Tool, more: &str) -> PathBuf {
        config(tool, &format!("{}/v1", self.server.uri()), more)
    }

    /// Returns the `Authorization` headers that it received.
    pub(crate) fn keys(&self) -> Vec<String> {
        let requests = self.runtime.block_on(self.server.received_requests());
        let header = |request: &Request| {
            let value = request.headers.get("authorization")?;
            Some(value.to_str().unwrap().to_owned())
        };
        requests.unwrap().iter().filter_map(header).collect()
    }
}

/// Returns the nonce of the wrapper that a request asks for.
fn nonce(request: &str) -> Option<&str> {
    let (_, after) = request.split_once("<ai-agent-")?;
    after.split_once("-FINAL").map(|(nonce, _)| nonce)
}

/// Returns a provider that accepts requests and never answers, and a configuration file that names
/// it `mock`.
pub(crate) fn silent(tool: &Tool) -> (TcpListener, PathBuf) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let file = config(tool, &url, "");
    (listener, file)
}

fn config(tool: &Tool, url: &str, more: &str) -> PathBuf {
    let file = tool.home().join("mock.toml");
    let text = format!(
        "[tool_output]\nmodels = \"mock/reader\"\n{more}\n\
         [providers.mock]\nkind = \"openai\"\nbase_url = \"{url}\"\nkey_env = \"MOCK_KEY\"\n\
         stream = false\n\
         [models.\"mock/reader\"]\nwindow = 128000\nmax_output = 4096\n\
         prices = {{ input = 2.0, output = 8.0, cached_input = 0.5 }}\n"
    );
    fs::write(&file, text).unwrap();
    file
}
