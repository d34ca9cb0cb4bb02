//! Tests endpoints against scripted HTTP servers.

mod bodies;
mod faults;
mod replies;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::{Message, ToolCall, ToolReply, ToolSpec};

/// A key that must never be shown.
pub(super) const KEY: &str = "sk-live-0123456789abcdef/+=";
/// A secret header that must never be shown.
pub(super) const TOKEN: &str = "tok_9876543210";

/// A step that a raw server performs on a connection.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Send(Vec<u8>),
    Wait(Duration),
}

pub(super) fn send(text: &str) -> Step {
    Step::Send(text.as_bytes().to_vec())
}

/// Starts a server that plays one script per connection, in order, and then closes the connection.
pub(super) async fn raw(scripts: Vec<Vec<Step>>) -> Url {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for script in scripts {
            let (socket, _) = listener.accept().await.unwrap();
            tokio::spawn(play(socket, script));
        }
    });
    url.parse().unwrap()
}

async fn play(mut socket: TcpStream, script: Vec<Step>) {
    read_request(&mut socket).await;
    for step in script {
        match step {
            Step::Send(bytes) => {
                let _ = socket.write_all(&bytes).await;
            }
            Step::Wait(time) => tokio::time::sleep(time).await,
        }
    }
}

async fn read_request(socket: &mut TcpStream) {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let read = socket.read(&mut buffer).await.unwrap_or(0);
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.split("content-length: ").nth(1).unwrap();
        let length: usize = length.lines().next().unwrap().trim().parse().unwrap();
        if read == 0 || body.len() >= length {
            return;
        }
    }
}

pub(super) const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

pub(super) fn config(dialect: Dialect, base_url: &str, stream: bool) -> EndpointConfig {
    EndpointConfig {
        dialect,
        base_url: base_url.parse().unwrap(),
        key: Some(Key::new(KEY)),
        headers: [("x-team-token".to_owned(), Key::new(TOKEN))].into(),
        stream,
        max_tokens_field: MaxTokensField::MaxTokens,
        timeouts: Timeouts {
            connect: Duration::from_secs(5),
            first: Duration::from_millis(400),
            idle: Duration::from_millis(300),
            total: Duration::from_millis(1500),
        },
    }
}

pub(super) fn model(dialect: Dialect, base_url: &str, stream: bool) -> EndpointModel {
    let limits = ModelLimits {
        window: 8192,
        max_output: 2048,
    };
    let endpoint = Endpoint::new(&config(dialect, base_url, stream)).unwrap();
    endpoint.model(Target::new("test", "model-1"), limits)
}

/// Returns a conversation that contains every kind of message.
pub(super) fn conversation() -> Request {
    let call = |id: &str, arguments: &str| ToolCall {
        id: id.to_owned(),
        name: "Grep".to_owned(),
        arguments: arguments.to_owned(),
    };
    let reply = |id: &str, text: &str, is_error| ToolReply {
        call_id: id.to_owned(),
        text: text.to_owned(),
        is_error,
    };
    Request {
        system: "Extract.".to_owned(),
        messages: vec![
            Message::User("Find E4217.".to_owned()),
            Message::Assistant {
                text: String::new(),
                calls: vec![
                    call("call_1", r#"{"regex": "E4217"}"#),
                    call("call_2", r#"{"regex": "E42"#),
                ],
            },
            Message::Tools(vec![
                reply("call_1", "  12→E4217", false),
                reply("call_2", "the arguments are not JSON", true),
            ]),
            Message::Assistant {
                text: "Line 12.".to_owned(),
                calls: Vec::new(),
            },
            Message::User("Quote it.".to_owned()),
        ],
        tools: vec![ToolSpec {
            name: "Grep".to_owned(),
            description: "Finds lines.".to_owned(),
            schema: json!({ "type": "object", "properties": { "regex": { "type": "string" } } }),
        }],
        no_calls: true,
        max_output_tokens: 500,
    }
}

pub(super) fn hello() -> Request {
    Request {
        messages: vec![Message::User("hello".to_owned())],
        max_output_tokens: 100,
        ..Request::default()
    }
}

/// Records the deltas.
#[derive(Debug, Default, Clone)]
pub(super) struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    pub(super) fn parts(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

impl OnDelta for Heard {
    fn text(&self, more: &str) {
        self.0.lock().push(more.to_owned());
    }
}

/// Returns events in the format of a stream.
pub(super) fn events(of: &[serde_json::Value]) -> String {
    of.iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect()
}
