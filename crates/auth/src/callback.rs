//! Where does the browser bring the answer of a login?

use std::future::IntoFuture;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// What the person sees in the browser.
const DONE: &str = "<!doctype html><title>Spillgate</title><p>That is all that Spillgate needs. \
    You can close this page.";

/// Waits on a port of this machine for the browser.
#[derive(Debug)]
pub struct Callback {
    listener: TcpListener,
    origin: String,
}

impl Callback {
    /// Listens on a port that the system chooses, on loopback only.
    pub async fn listen() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let origin = format!("http://{}", listener.local_addr()?);
        Ok(Self { listener, origin })
    }

    /// The URL that the browser is to be sent to.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/callback", self.origin)
    }

    /// The URL, with all of its query, that the browser came to. Visits without an
    /// answer, and to other pages, do not count.
    pub async fn wait(self) -> io::Result<String> {
        let (tell, told) = oneshot::channel();
        let tell = Arc::new(Mutex::new(Some(tell)));
        let origin = self.origin;
        let visited = move |request: Request| {
            let answer = format!("{origin}{}", request.uri());
            let tell = Arc::clone(&tell);
            async move { came(&tell, &request, answer) }
        };
        let router = Router::new().route("/callback", get(visited));
        let serving = axum::serve(self.listener, router).into_future();
        tokio::pin!(serving);
        tokio::select! {
            answer = told => {
                let answer = answer.map_err(io::Error::other)?;
                // Time for the page to reach the browser.
                let moment = std::time::Duration::from_millis(200);
                drop(tokio::time::timeout(moment, serving).await);
                Ok(answer)
            }
            ended = &mut serving => {
                Err(ended.err().unwrap_or_else(|| io::Error::other("stopped listening")))
            }
        }
    }
}

fn came(
    tell: &Mutex<Option<oneshot::Sender<String>>>,
    request: &Request,
    answer: String,
) -> Response {
    let query = request.uri().query().unwrap_or_default();
    if !query.contains("state=") {
        return axum::http::StatusCode::BAD_REQUEST.into_response();
    }
    let waiting = tell.lock().take();
    if let Some(waiting) = waiting {
        // Nobody may wait for it any more.
        let _ = waiting.send(answer);
    }
    Html(DONE).into_response()
}
