//! Servers and sinks that these tests share.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use spillgate_mcp::messages;
use spillgate_store::MemoryStore;
use spillgate_transport::{
    Connection, Frame, FrameReader, HttpConnection, HttpOptions, HttpServer, Item, Message,
    ServerEvent, Sink, http_client,
};
use tokio::sync::mpsc;

/// Much longer than any step of these tests takes, so that only a hanging test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Serves a router on loopback and returns its URL.
pub(crate) async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// A sink with a queue of limited length.
#[derive(Debug)]
struct Channel(mpsc::Sender<ServerEvent>);

impl Sink for Channel {
    fn take(&self, server_event: ServerEvent) -> BoxFuture<'_, ()> {
        async move { drop(self.0.send(server_event).await) }.boxed()
    }
}

/// The events that a connection has delivered.
pub(crate) struct ServerEvents(mpsc::Receiver<ServerEvent>);

pub(crate) fn sink(room: usize) -> (Arc<dyn Sink>, ServerEvents) {
    let (to, from) = mpsc::channel(room);
    (Arc::new(Channel(to)), ServerEvents(from))
}

impl ServerEvents {
    pub(crate) async fn next(&mut self) -> ServerEvent {
        let next = tokio::time::timeout(PATIENCE, self.0.recv()).await;
        next.expect("no server_event came")
            .expect("the link is gone")
    }

    /// Returns the next event as one line of text.
    pub(crate) async fn said(&mut self) -> String {
        said(&self.next().await)
    }

    pub(crate) async fn many(&mut self, count: usize) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(self.said().await);
        }
        all
    }
}

pub(crate) fn said(server_event: &ServerEvent) -> String {
    let of = server_event.of.as_ref().map_or("-", |of| of.as_json());
    let event = server_event.event.as_deref().unwrap_or("-");
    let item = match &server_event.item {
        Item::Message(frame) => text(frame),
        Item::Mark { retry } => format!("mark {retry:?}"),
        Item::Refused(refusal) => format!(
            "refused {} lost={} {}",
            refusal.status,
            refusal.session_lost,
            String::from_utf8_lossy(&refusal.body)
        ),
        Item::Ended => "ended".to_owned(),
        Item::Failed(error) => format!("failed: {error}"),
        Item::Gone(how) => format!("gone: {how}"),
    };
    format!("{of} {event} {item}")
}

pub(crate) fn text(frame: &Frame) -> String {
    String::from_utf8_lossy(frame.in_memory().unwrap()).into_owned()
}

/// Returns the text of a frame of any size.
pub(crate) async fn whole(frame: Frame) -> String {
    let mut pieces = frame.into_pieces().unwrap();
    let mut text = Vec::new();
    while let Some(block) = pieces.next().await.unwrap() {
        text.extend_from_slice(&block);
    }
    String::from_utf8(text).unwrap()
}

pub(crate) fn frame_reader() -> FrameReader {
    FrameReader::new(Arc::new(MemoryStore::default()))
}

pub(crate) fn client() -> reqwest::Client {
    http_client(reqwest::Client::builder())
        .no_proxy()
        .tls_backend_preconfigured(no_tls())
        .build()
        .unwrap()
}

/// Returns a TLS configuration without root certificates: these tests use plain HTTP only.
fn no_tls() -> rustls::ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}

pub(crate) fn at(url: &str) -> HttpServer {
    HttpServer {
        url: format!("{url}/mcp"),
        headers: [("X-Key".to_owned(), "hush".to_owned())].into(),
    }
}

/// Returns a connection and the events that it delivers.
pub(crate) fn open(url: &str, options: HttpOptions) -> (HttpConnection, ServerEvents) {
    let (sink, server_events) = sink(1024);
    let link =
        HttpConnection::open_with(&at(url), client(), options, frame_reader(), sink).unwrap();
    (link, server_events)
}

/// Returns the options for a client that resumes streams itself.
pub(crate) fn passing() -> HttpOptions {
    HttpOptions {
        resume: false,
        ..HttpOptions::default()
    }
}

pub(crate) fn message(frame: &str) -> Message {
    let envelopes = messages(frame.as_bytes());
    let (id, method) = match envelopes.as_slice() {
        [only] => (
            only.key().filter(|_| only.method.is_some()),
            only.method.as_deref().map(str::to_owned),
        ),
        _ => (None, None),
    };
    Message {
        frame: frame.to_owned().into(),
        id,
        method,
        name: None,
        headers: Vec::new(),
    }
}

pub(crate) async fn send(link: &dyn Connection, frame: &str) {
    link.send(message(frame)).await.unwrap();
}

/// The requests that a server received: method, path, relevant headers, body.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    /// Records a request. Returns it with its body read.
    pub(crate) async fn enter(&self, request: Request) -> Request<Bytes> {
        let (parts, body) = request.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let mut line = format!("{} {}", parts.method, parts.uri.path());
        for (name, value) in &parts.headers {
            let name = name.as_str();
            let matters = name.starts_with("mcp-") || name.starts_with("x-");
            if matters || ["authorization", "last-event-id", "cookie"].contains(&name) {
                line += &format!(" {name}={}", value.to_str().unwrap());
            }
        }
        line += &format!(" {}", String::from_utf8_lossy(&body));
        self.0.lock().unwrap().push(line.trim_end().to_owned());
        Request::from_parts(parts, body)
    }

    pub(crate) fn all(&self) -> String {
        self.0.lock().unwrap().join("\n")
    }
}

pub(crate) fn json(body: impl Into<Body>) -> Response {
    typed("application/json", body)
}

/// An event stream whose whole body is available at once.
pub(crate) fn events(body: impl Into<Body>) -> Response {
    typed("text/event-stream; charset=utf-8", body)
}

pub(crate) fn typed(kind: &str, body: impl Into<Body>) -> Response {
    let builder = Response::builder().header("content-type", kind);
    builder.body(body.into()).unwrap()
}

pub(crate) fn status(status: u16, body: &'static str) -> Response {
    Response::builder()
        .status(status)
        .body(body.into())
        .unwrap()
}

/// Returns a body whose parts are sent through a channel. An error breaks the connection.
pub(crate) fn dripping() -> (mpsc::Sender<Result<Bytes, std::io::Error>>, Body) {
    let (to, from) = mpsc::channel(1);
    let parts = futures_util::stream::unfold(from, |mut from: mpsc::Receiver<_>| async move {
        Some((from.recv().await?, from))
    });
    (to, Body::from_stream(parts))
}

/// Returns a router that answers every request with `answer`. Its arguments are the number of
/// earlier requests and the request with its body.
pub(crate) fn answering<F>(log: &Log, answer: F) -> Router
where
    F: Fn(usize, Request<Bytes>) -> Response + Clone + Send + Sync + 'static,
{
    let log = log.clone();
    Router::new().fallback(move |request: Request| {
        let (log, answer) = (log.clone(), answer.clone());
        async move {
            let request = log.enter(request).await;
            let before = log.0.lock().unwrap().len() - 1;
            Ok::<_, Infallible>(answer(before, request))
        }
    })
}
