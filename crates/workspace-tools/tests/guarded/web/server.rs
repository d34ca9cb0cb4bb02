//! A test server that answers each path with fixed bytes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
}

/// A response: status line, headers (each with its line end) and body.
pub(crate) struct ToolResult {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Whether the connection stays open forever.
    pub(crate) hangs: bool,
}

impl Server {
    /// Starts the server. `SERVER` in a head is replaced by the server's address.
    pub(crate) async fn start(answers: Vec<(&'static str, ToolResult)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answers: Arc<BTreeMap<_, _>> = Arc::new(answers.into_iter().collect());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let answers = Arc::clone(&answers);
                // It is not an error of the server if a client disconnects.
                tokio::spawn(async move { drop(answered(stream, address, &answers).await) });
            }
        });
        Self { address }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Replaces the server's address in the text with `SERVER`.
    pub(crate) fn masked(&self, text: &str) -> String {
        text.replace(&self.address.to_string(), "SERVER")
            .replace(&self.address.ip().to_string(), "HOST")
    }
}

async fn answered(
    mut stream: TcpStream,
    address: SocketAddr,
    answers: &BTreeMap<&str, ToolResult>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default();
    let missing = page(404, "text/html", "<title>Lost</title><h1>No such page</h1>");
    let answer = answers.get(path).unwrap_or(&missing);
    let head = answer.head.replace("SERVER", &address.to_string());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&answer.body).await?;
    match answer.hangs {
        true => std::future::pending().await,
        false => stream.shutdown().await,
    }
}

/// A complete response.
pub(crate) fn page(status: u16, content_type: &str, body: impl AsRef<[u8]>) -> ToolResult {
    let body = body.as_ref().to_vec();
    let length = body.len();
    ToolResult {
        head: format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n"
        ),
        body,
        hangs: false,
    }
}

/// A redirect.
pub(crate) fn to(place: &str) -> ToolResult {
    ToolResult {
        head: format!(
            "HTTP/1.1 302 Found\r\nlocation: {place}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        ),
        body: Vec::new(),
        hangs: false,
    }
}

/// A response whose body never ends.
pub(crate) fn endless(content_type: &str, body: &[u8]) -> ToolResult {
    ToolResult {
        head: format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\n\r\n"),
        body: body.to_vec(),
        hangs: true,
    }
}
