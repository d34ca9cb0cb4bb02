//! A running server, and a client for it.

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::StreamExt;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use spillgate_http_server::{HttpServer, HttpServerError, HttpServerSettings};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::fake::{Fake, Log};

pub(crate) struct Running {
    pub(crate) at: SocketAddr,
    pub(crate) log: Arc<Log>,
    pub(crate) http: reqwest::Client,
    pub(crate) stop: Option<oneshot::Sender<()>>,
    pub(crate) served: JoinHandle<Result<(), HttpServerError>>,
}

/// An HTTP client without a proxy.
pub(crate) fn http() -> reqwest::Client {
    // Only the first test can install the provider; the error in all others is ignored.
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::builder().no_proxy().build().unwrap()
}

impl Running {
    /// Returns a server with the default settings.
    pub(crate) async fn usual() -> Self {
        Self::new(HttpServerSettings::default()).await
    }

    /// Returns a server with the default settings, and the id of a new session.
    pub(crate) async fn with_session() -> (Self, String) {
        let front = Self::usual().await;
        let session = front.begin().await;
        (front, session)
    }

    pub(crate) async fn new(settings: HttpServerSettings) -> Self {
        Self::with(settings, |front| front).await
    }

    pub(crate) async fn with(
        settings: HttpServerSettings,
        set: impl FnOnce(HttpServer) -> HttpServer,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let at = listener.local_addr().unwrap();
        let fake = Fake::new();
        let log = Arc::clone(&fake.log);
        let front = set(HttpServer::of(Arc::new(fake), settings));
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(front.serve(listener, async {
            drop(stopped.await);
        }));
        Self {
            at,
            log,
            http: http(),
            stop: Some(stop),
            served,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.at)
    }

    pub(crate) fn request(&self, method: Method) -> RequestBuilder {
        self.http
            .request(method, self.url())
            .header("accept", "application/json, text/event-stream")
    }

    pub(crate) fn post(&self, body: &Value) -> RequestBuilder {
        self.request(Method::POST)
            .header("content-type", "application/json")
            .body(body.to_string())
    }

    /// Begins a session and returns its id.
    pub(crate) async fn begin(&self) -> String {
        let response = self.post(&initialize()).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let id = response.headers()["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned();
        assert_eq!(response.headers()["content-type"], "application/json");
        id
    }

    pub(crate) fn post_in(&self, session: &str, body: &Value) -> RequestBuilder {
        self.post(body).header("mcp-session-id", session)
    }

    pub(crate) fn get_in(&self, session: &str) -> RequestBuilder {
        self.request(Method::GET).header("mcp-session-id", session)
    }

    /// Returns a 2026-07-28 request with all required headers.
    pub(crate) fn post_modern(&self, id: &Value, tool: &str, arguments: &Value) -> RequestBuilder {
        self.post(&modern(id, tool, arguments))
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", tool)
    }
}

pub(crate) fn initialize() -> Value {
    request(
        0,
        "initialize",
        &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
    )
}

pub(crate) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    request(
        id,
        "tools/call",
        &json!({"name": tool, "arguments": arguments}),
    )
}

pub(crate) fn modern(id: &Value, tool: &str, arguments: &Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// Reads a stream until a given text appears, and collects everything it has read.
pub(crate) struct Reader {
    stream:
        std::pin::Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<bytes::Bytes>> + Send>>,
    pub(crate) all: String,
}

impl Reader {
    pub(crate) fn new(response: Response) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            stream: Box::pin(response.bytes_stream()),
            all: String::new(),
        }
    }

    pub(crate) async fn until(&mut self, text: &str) {
        while !self.all.contains(text) {
            let part = self
                .stream
                .next()
                .await
                .expect("the stream ended early")
                .unwrap();
            self.all.push_str(std::str::from_utf8(&part).unwrap());
        }
    }

    /// Reads the rest of the stream.
    pub(crate) async fn end(mut self) -> String {
        while let Some(part) = self.stream.next().await {
            self.all
                .push_str(std::str::from_utf8(&part.unwrap()).unwrap());
        }
        self.all
    }
}
