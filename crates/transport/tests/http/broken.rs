//! Tests of connections that break, and of servers that redirect.

use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::response::Response;
use spillgate_transport::{Connection, ConnectionError, HttpConnection, HttpOptions, HttpServer};

use crate::server::{
    Log, answering, client, dripping, frame_reader, json, message, open, send, serve, sink, typed,
};

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}"#;

#[tokio::test]
async fn no_server_at_all() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let server = HttpServer {
        url: format!("http://me:secret@127.0.0.1:{port}/mcp?key=secret"),
        headers: [("Authorization".to_owned(), "Bearer secret".to_owned())].into(),
    };
    let (sink, mut server_events) = sink(8);
    let link = HttpConnection::open(&server, client(), frame_reader(), sink).unwrap();
    send(&link, CALL).await;
    let said = server_events
        .said()
        .await
        .replace(&port.to_string(), "PORT");
    insta::assert_snapshot!(said, @"7 - failed: could not be reached: no connection (http://127.0.0.1:PORT/mcp: Connection refused (os error 111))");
    let error = link.send(message(r#"{"method":"n"}"#)).await.unwrap_err();
    assert!(matches!(error, ConnectionError::Unreachable(_)));
    let printed = format!("{server:?} {link:?} {error:?}");
    assert!(!printed.contains("secret"), "{printed}");
}

#[tokio::test]
async fn a_connection_cut_amid_the_body() {
    let cases = [
        ("application/json", r#"{"id":7,"result":""#),
        ("text/event-stream", "data: {\"id\":7,"),
    ];
    for (kind, part) in cases {
        let (to, body) = dripping();
        let body = Arc::new(Mutex::new(Some(body)));
        let log = Log::default();
        let url = serve(answering(&log, move |_, _| {
            typed(kind, body.lock().unwrap().take().unwrap())
        }))
        .await;
        let (link, mut server_events) = open(&url, HttpOptions::default());
        send(&link, CALL).await;
        to.send(Ok(Bytes::from_static(part.as_bytes())))
            .await
            .unwrap();
        to.send(Err(std::io::Error::other("cut"))).await.unwrap();
        let said = server_events.said().await;
        let want = "7 - failed: could not be reached: the answer was cut off (";
        assert!(said.starts_with(want), "{said}");
    }
}

/// Returns a redirect to `to`.
fn redirect(code: u16, to: String) -> Response {
    let builder = Response::builder().status(code).header("location", to);
    builder.body(axum::body::Body::empty()).unwrap()
}

#[tokio::test]
async fn redirects_are_followed_only_at_home() {
    let elsewhere = Log::default();
    let other = serve(answering(&elsewhere, |_, _| json("{}"))).await;
    for (code, to, is_followed) in [
        (307, "/other?x=1", true),
        (308, "/other", true),
        (301, "/other", true),
        (303, "/other", false),
        (307, "OTHER/mcp?key=secret", false),
        (307, "/mcp", false),
    ] {
        let log = Log::default();
        let target = to.replace("OTHER", &other);
        let url = serve(answering(&log, move |_, request| {
            match request.uri().path() {
                "/other" => json(r#"{"id":7,"result":{}}"#),
                _ => redirect(code, target.clone()),
            }
        }))
        .await;
        let (link, mut server_events) = open(&url, HttpOptions::default());
        send(&link, CALL).await;
        let said = server_events.said().await;
        assert_eq!(said == r#"7 - {"id":7,"result":{}}"#, is_followed, "{said}");
        assert!(!said.contains("secret"), "{said}");
        let followed = format!("POST /other x-key=hush {CALL}");
        assert_eq!(log.all().ends_with(&followed), is_followed, "{}", log.all());
    }
    assert_eq!(elsewhere.all(), "");
}

#[tokio::test]
async fn settings_that_cannot_be() {
    let cases = [
        ("no url", ""),
        ("ftp://host/", ""),
        ("http://127.0.0.1:1/", "Mcp-Session-Id"),
        ("http://127.0.0.1:1/", "Content-Length"),
        ("http://127.0.0.1:1/", "a b"),
    ];
    for (url, header) in cases {
        let mut server = HttpServer {
            url: url.to_owned(),
            headers: std::collections::BTreeMap::new(),
        };
        if !header.is_empty() {
            server.headers.insert(header.to_owned(), "1".to_owned());
        }
        let (sink, _) = sink(1);
        let opened = HttpConnection::open(&server, client(), frame_reader(), sink);
        assert!(
            matches!(opened, Err(ConnectionError::Settings(_))),
            "{url} {header}"
        );
    }
}
