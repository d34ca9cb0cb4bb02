//! A web server that returns the requests that it receives.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use spillgate_transport::http_client;
use tokio::net::TcpListener;

/// Size of a block of the large response, in bytes.
pub(crate) const BLOCK: usize = 1 << 20;

/// Number of blocks in the large response.
pub(crate) const BLOCKS: usize = 64;

/// A server on loopback. `sent` counts the blocks of the large response that it has sent.
pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    pub(crate) sent: Arc<AtomicUsize>,
}

#[derive(Clone)]
struct Served {
    sent: Arc<AtomicUsize>,
    /// The address of another server, to which redirects lead.
    other: Option<SocketAddr>,
}

impl Web {
    pub(crate) async fn start() -> Self {
        Self::beside(None).await
    }

    pub(crate) async fn beside(other: Option<SocketAddr>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let sent = Arc::<AtomicUsize>::default();
        let served = Served {
            sent: Arc::clone(&sent),
            other,
        };
        let router = Router::new().fallback(answer).with_state(served);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, sent }
    }

    /// Returns the text with the server's address replaced by `HOST`.
    pub(crate) fn masked(&self, text: &str) -> String {
        text.replace(&self.address.to_string(), "HOST")
    }
}

/// Creates an HTTP client like the one in the binary.
pub(crate) fn client() -> reqwest::Client {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    http_client(reqwest::Client::builder())
        .no_proxy()
        .tls_backend_preconfigured(tls)
        .build()
        .unwrap()
}

async fn answer(
    State(served): State<Served>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let to = |status: u16, place: String| {
        let status = StatusCode::from_u16(status).unwrap();
        (status, [("location", place)]).into_response()
    };
    match uri.path() {
        "/large" => large(&served.sent),
        "/endless" => endless(),
        "/failing" => failing(),
        "/empty" => StatusCode::NO_CONTENT.into_response(),
        "/missing" => (StatusCode::NOT_FOUND, "no such thing").into_response(),
        "/around" => to(302, "/around".to_owned()),
        "/moved" => to(307, "/here?q=1".to_owned()),
        "/seen" => to(303, "/here".to_owned()),
        "/away" => to(302, format!("http://{}/there", served.other.unwrap())),
        "/sent-away" => to(308, format!("http://{}/there", served.other.unwrap())),
        "/file" => to(302, "file:///etc/passwd".to_owned()),
        _ => echo(&method, &uri, &headers, &body).into_response(),
    }
}

/// Returns `METHOD /path?query`, the headers that tools send, and the body.
fn echo(method: &Method, uri: &Uri, headers: &HeaderMap, body: &Bytes) -> String {
    let shown = ["authorization", "content-type", "x-key"];
    let shown = shown.iter().filter_map(|name| {
        let value = headers.get(*name)?;
        Some(format!(
            "\n{name}: {}",
            String::from_utf8_lossy(value.as_bytes())
        ))
    });
    let headers: String = shown.collect();
    let body = String::from_utf8_lossy(body);
    let body = if body.is_empty() {
        body.into_owned()
    } else {
        format!("\n{body}")
    };
    format!("{method} {uri}{headers}{body}")
}

fn large(sent: &Arc<AtomicUsize>) -> Response {
    let sent = Arc::clone(sent);
    let block = Bytes::from(vec![b'x'; BLOCK]);
    let blocks = stream::iter(0..BLOCKS);
    let blocks = futures_util::StreamExt::map(blocks, move |_| {
        sent.fetch_add(1, Ordering::Relaxed);
        Ok::<_, std::io::Error>(block.clone())
    });
    Body::from_stream(blocks).into_response()
}

/// An error response whose body does not end.
fn failing() -> Response {
    let start = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(
        b"quota exceeded",
    ))]);
    let body = futures_util::StreamExt::chain(start, stream::pending());
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    (status, Body::from_stream(body)).into_response()
}

/// An endless response with one line every 20 milliseconds.
fn endless() -> Response {
    let lines = stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        Some((Ok::<_, std::io::Error>(Bytes::from_static(b"more\n")), ()))
    });
    Body::from_stream(lines).into_response()
}
