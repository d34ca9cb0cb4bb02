//! Tests of the transport of 2024-11-05.

use std::sync::{Arc, Mutex};

use axum::http::Method;
use spillgate_transport::{Connection, ConnectionError, SseConnection};

use crate::server::{
    Log, ServerEvents, answering, at, client, dripping, events, frame_reader, json, message, send,
    serve, sink, status,
};

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}"#;

fn open(url: &str) -> (SseConnection, ServerEvents) {
    let (sink, server_events) = sink(64);
    let link = SseConnection::open(&at(url), client(), None, frame_reader(), sink).unwrap();
    (link, server_events)
}

#[tokio::test]
async fn a_session() {
    let (to, body) = dripping();
    let body = Arc::new(Mutex::new(Some(body)));
    let log = Log::default();
    let url = serve(answering(&log, move |_, request| match *request.method() {
        Method::GET => events(body.lock().unwrap().take().unwrap()),
        _ => status(202, "Accepted"),
    }))
    .await;
    let (link, mut server_events) = open(&url);
    let endpoint = "event: endpoint\ndata: /messages?session=1\n\n";
    to.send(Ok(endpoint.into())).await.unwrap();
    send(&link, CALL).await;
    while !log.all().contains("POST") {
        tokio::task::yield_now().await;
    }
    let answer = "event: message\ndata: {\"id\":7,\"result\":{}}\n\nevent: ping\ndata: now\n\n";
    to.send(Ok(answer.into())).await.unwrap();
    assert_eq!(server_events.said().await, "- - {\"id\":7,\"result\":{}}");
    drop(to);
    assert_eq!(server_events.said().await, "- - gone: closed its stream");
    let error = link.send(message(CALL)).await.unwrap_err();
    assert_eq!(error, ConnectionError::Gone("closed its stream".to_owned()));
    insta::assert_snapshot!(log.all(), @r#"
    GET /mcp x-key=hush
    POST /messages x-key=hush {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}
    "#);
}

#[tokio::test]
async fn endpoints_are_at_home() {
    let cases = [
        (
            "http://127.0.0.1:1/steal?key=secret",
            "an endpoint elsewhere (http://127.0.0.1:1/steal)",
        ),
        ("//[", "an endpoint that is no URL"),
    ];
    for (endpoint, want) in cases {
        let log = Log::default();
        let url = serve(answering(&log, move |_, _| {
            let (to, body) = dripping();
            let event = format!("event: endpoint\ndata: {endpoint}\n\n");
            tokio::spawn(async move {
                drop(to.send(Ok(event.into())).await);
                to.closed().await;
            });
            events(body)
        }))
        .await;
        let (link, _events) = open(&url);
        let error = link.send(message(CALL)).await.unwrap_err();
        assert_eq!(error, ConnectionError::NotMcp(want.to_owned()));
    }
}

#[tokio::test]
async fn servers_that_do_not_speak_it() {
    let log = Log::default();
    let url = serve(answering(&log, |_, _| status(404, ""))).await;
    let error = open(&url).0.send(message(CALL)).await.unwrap_err();
    assert_eq!(error.to_string(), "returned the HTTP status 404");
    let url = serve(answering(&log, |_, _| json("{}"))).await;
    let error = open(&url).0.send(message(CALL)).await.unwrap_err();
    assert!(error.to_string().contains("application/json"), "{error}");
}

#[tokio::test]
async fn what_cannot_be_opened_is_told_so_that_it_is_opened_again() {
    let log = Log::default();
    let url = serve(answering(&log, |_, _| status(503, ""))).await;
    let (_link, mut server_events) = open(&url);
    assert_eq!(
        server_events.said().await,
        "- - gone: returned the HTTP status 503"
    );
}

#[tokio::test]
async fn a_post_that_is_answered_late_holds_up_nothing() {
    let (to, body) = dripping();
    let body = Arc::new(Mutex::new(Some(body)));
    let (accept, accepted) = tokio::sync::watch::channel(false);
    // Some servers answer the POST of a call only when the call is complete.
    let post = move |request: axum::extract::Request| {
        let (mut accepted, body) = (accepted.clone(), Arc::clone(&body));
        async move {
            if request.method() == Method::GET {
                return events(body.lock().unwrap().take().unwrap());
            }
            let bytes = axum::body::to_bytes(request.into_body(), usize::MAX);
            if String::from_utf8_lossy(&bytes.await.unwrap()).contains("tools/call") {
                accepted.wait_for(|accepted| *accepted).await.unwrap();
                return status(500, "");
            }
            status(202, "")
        }
    };
    let url = serve(axum::Router::new().fallback(post)).await;
    let (link, mut server_events) = open(&url);
    let endpoint = "event: endpoint\ndata: /messages\n\n";
    to.send(Ok(endpoint.into())).await.unwrap();
    let sent = tokio::time::timeout(std::time::Duration::from_secs(20), link.send(message(CALL)));
    sent.await.expect("sending waits for the answer").unwrap();
    send(&link, r#"{"id":"q","result":{}}"#).await;
    accept.send_replace(true);
    assert_eq!(
        server_events.said().await,
        "7 - failed: returned the HTTP status 500"
    );
}
