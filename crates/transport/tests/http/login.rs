//! Tests of servers that require credentials.

use std::sync::{Arc, Mutex};

use axum::http::Request;
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::HeaderValue;
use spillgate_transport::{
    Authority, HttpConnection, HttpOptions, HttpServer, NoCredential, Refused,
};

use crate::server::{Log, answering, at, client, frame_reader, json, open, send, serve, sink};

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

/// An authority that supplies an old credential and, if set, a fresh one after a refusal.
#[derive(Debug)]
struct Keys {
    fresh: Option<&'static str>,
    asked: Mutex<Vec<String>>,
}

impl Authority for Keys {
    fn credential(&self) -> BoxFuture<'_, Option<HeaderValue>> {
        std::future::ready(Some(HeaderValue::from_static("Bearer old"))).boxed()
    }

    fn refused(&self, refused: Refused) -> BoxFuture<'_, Result<HeaderValue, NoCredential>> {
        let credential = refused.credential.unwrap();
        let asked = format!("{} {:?}", credential.to_str().unwrap(), refused.challenge);
        self.asked.lock().unwrap().push(asked);
        let fresh = self.fresh.map(HeaderValue::from_static);
        let fresh = fresh.ok_or_else(|| NoCredential("log in with `spillgate auth x`".to_owned()));
        std::future::ready(fresh).boxed()
    }
}

fn guarded(
    code: u16,
    challenge: &'static str,
) -> impl Fn(usize, Request<axum::body::Bytes>) -> Response + Clone {
    move |_, request| match request.headers().get("authorization") {
        Some(token) if token == "Bearer new" => json(r#"{"id":7,"result":{}}"#),
        _ => {
            let builder = Response::builder().status(code);
            let builder = builder.header("www-authenticate", challenge);
            builder.body("no".into()).unwrap()
        }
    }
}

fn with(authority: &Arc<Keys>) -> HttpOptions {
    HttpOptions {
        authority: Some(Arc::clone(authority) as _),
        ..HttpOptions::default()
    }
}

#[tokio::test]
async fn a_refused_credential_is_renewed_once() {
    let cases = [
        (
            401,
            "Bearer",
            Some("Bearer new"),
            "{\"id\":7,\"result\":{}}",
        ),
        (
            403,
            "Bearer error=\"insufficient_scope\"",
            Some("Bearer new"),
            "{\"id\":7,\"result\":{}}",
        ),
        (
            403,
            "Bearer",
            Some("Bearer new"),
            "refused 403 lost=false no",
        ),
        (
            401,
            "Bearer",
            None,
            "failed: requires authorization: log in with `spillgate auth x`",
        ),
        (
            401,
            "Bearer",
            Some("Bearer bad"),
            "failed: requires authorization: it refuses the credential that it has just given",
        ),
    ];
    for (code, challenge, fresh, want) in cases {
        let keys = Arc::new(Keys {
            fresh,
            asked: Mutex::default(),
        });
        let log = Log::default();
        let url = serve(answering(&log, guarded(code, challenge))).await;
        let (link, mut server_events) = open(&url, with(&keys));
        send(&link, CALL).await;
        assert_eq!(server_events.said().await, format!("7 - {want}"));
        let asked = keys.asked.lock().unwrap().join("\n");
        if !want.starts_with("refused") {
            assert_eq!(asked, format!("Bearer old Some({challenge:?})"));
        }
    }
}

#[tokio::test]
async fn headers_of_the_user_come_first() {
    let keys = Arc::new(Keys {
        fresh: Some("Bearer new"),
        asked: Mutex::default(),
    });
    let log = Log::default();
    let url = serve(answering(&log, guarded(401, "Bearer"))).await;
    let server = HttpServer {
        headers: [("authorization".to_owned(), "Bearer theirs".to_owned())].into(),
        ..at(&url)
    };
    let (sink, mut server_events) = sink(8);
    let link =
        HttpConnection::open_with(&server, client(), with(&keys), frame_reader(), sink).unwrap();
    send(&link, CALL).await;
    assert_eq!(server_events.said().await, "7 - refused 401 lost=false no");
    assert!(log.all().contains("authorization=Bearer theirs"));
}
