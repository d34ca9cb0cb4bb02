//! A local HTTP listener that receives the browser's redirect at the end of a login.

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

/// The page that the browser shows after the login.
const DONE: &str = "<!doctype html><title>Spillgate</title><p>That is all that Spillgate needs. \
    You can close this page.";

/// Waits for the browser on a port of this machine.
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

    /// The URL that the browser has to be redirected to.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/callback", self.origin)
    }

    /// Waits for the browser and returns the URL that it visited, with the full query. Ignores
    /// other paths, and visits without a `state` parameter.
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
                // Gives the browser time to receive the page.
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
        // The caller may have stopped waiting.
        let _ = waiting.send(answer);
    }
    Html(DONE).into_response()
}
