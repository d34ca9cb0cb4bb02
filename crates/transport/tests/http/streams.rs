//! Tests of streams that are long, slow, broken and resumed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::Method;
use axum::response::Response;
use futures_util::stream;
use spillgate_mcp::RequestId;
use spillgate_transport::{Connection, HttpConnection, HttpOptions, Item};

use crate::server::{
    Log, answering, at, client, dripping, events, frame_reader, json, open, passing, send, serve,
    sink, status, text, whole,
};

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}"#;

/// A stream that ends early, after an event with an id. The third attempt to resume it yields the
/// response.
fn breaking(log: &Log) -> axum::Router {
    answering(log, |before, _| match before {
        0 => events(
            "id: e1\nretry: 1\ndata:\n\nid: e2\ndata: {\"method\":\"n\"}\n\ndata: {\"id\":7,",
        ),
        1 => status(503, "busy"),
        2 => events("id: e3\ndata: {\"method\":\"m\"}\n\n"),
        _ => events("id: e4\ndata: {\"id\":7,\"result\":{}}\n\n"),
    })
}

#[tokio::test]
async fn a_broken_stream_is_taken_up_again() {
    let log = Log::default();
    let url = serve(breaking(&log)).await;
    let (link, mut server_events) = open(&url, HttpOptions::default());
    send(&link, CALL).await;
    insta::assert_snapshot!(server_events.many(4).await.join("\n"), @r#"
    7 e1 mark Some(1ms)
    7 e2 {"method":"n"}
    7 e3 {"method":"m"}
    7 e4 {"id":7,"result":{}}
    "#);
    insta::assert_snapshot!(log.all(), @r#"
    POST /mcp x-key=hush {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}
    GET /mcp last-event-id=e2 x-key=hush
    GET /mcp last-event-id=e2 x-key=hush
    GET /mcp last-event-id=e3 x-key=hush
    "#);
}

#[tokio::test]
async fn or_left_to_the_client() {
    let log = Log::default();
    let url = serve(breaking(&log)).await;
    let (link, mut server_events) = open(&url, passing());
    send(&link, CALL).await;
    insta::assert_snapshot!(server_events.many(3).await.join("\n"), @r#"
    7 - mark None
    7 e1 mark Some(1ms)
    7 e2 {"method":"n"}
    "#);
    let refused = link.listen(Some("e2".to_owned())).await.unwrap_err();
    assert_eq!(refused.to_string(), "returned the HTTP status 503");
    link.listen(Some("e2".to_owned())).await.unwrap();
    insta::assert_snapshot!(server_events.many(2).await.join("\n"), @r#"
    7 - ended
    - e3 {"method":"m"}
    "#);
    assert!(
        log.all().ends_with("GET /mcp last-event-id=e2 x-key=hush"),
        "{}",
        log.all()
    );
}

#[tokio::test]
async fn a_stream_that_brings_nothing_is_given_up() {
    let log = Log::default();
    let url = serve(answering(&log, |before, _| match before {
        0 => events("id: e1\nretry: 1\ndata:\n\n"),
        _ => status(503, "busy"),
    }))
    .await;
    let (link, mut server_events) = open(&url, HttpOptions::default());
    send(&link, CALL).await;
    insta::assert_snapshot!(server_events.many(2).await.join("\n"), @"
    7 e1 mark Some(1ms)
    7 - failed: could not be reached: HTTP status 503
    ");
    assert_eq!(log.all().lines().count(), 6);
}

#[tokio::test]
async fn the_servers_own_stream_is_opened_again() {
    let log = Log::default();
    let url = serve(answering(&log, |before, request| {
        assert_eq!(request.method(), Method::GET);
        match before {
            0 => events("id: 1\nretry: 1\ndata: {\"method\":\"a\"}\n\n"),
            1 => status(502, ""),
            2 => events("id: 2\ndata: {\"method\":\"b\"}\n\n"),
            _ => status(405, ""),
        }
    }))
    .await;
    let (link, mut server_events) = open(&url, HttpOptions::default());
    link.listen(None).await.unwrap();
    insta::assert_snapshot!(server_events.many(2).await.join("\n"), @r#"
    - 1 {"method":"a"}
    - 2 {"method":"b"}
    "#);
    assert!(
        log.all()
            .lines()
            .nth(2)
            .unwrap()
            .contains("last-event-id=1")
    );
}

#[tokio::test]
async fn a_thousand_events_in_order() {
    let log = Log::default();
    let url = serve(answering(&log, |_, _| {
        let mut body = String::new();
        for number in 0..1000 {
            body += &format!("id: {number}\r\ndata: {{\"method\":\"n{number}\"}}\r\n\r\n");
        }
        events(body + "data: {\"id\":7,\"result\":{}}\r\n\r\n")
    }))
    .await;
    let (link, mut server_events) = open(&url, HttpOptions::default());
    send(&link, CALL).await;
    for number in 0..1000 {
        let want = format!("7 {number} {{\"method\":\"n{number}\"}}");
        assert_eq!(server_events.said().await, want);
    }
    assert_eq!(server_events.said().await, "7 - {\"id\":7,\"result\":{}}");
}

/// A response of 64 MB that is sent in blocks, as the data of one event or as a body.
fn large(framing: [&'static str; 2], kind: &'static str) -> Response {
    const BLOCKS: usize = 1024;
    let block = move |number| match number {
        0 => Bytes::from_static(framing[0].as_bytes()),
        BLOCKS => Bytes::from_static(framing[1].as_bytes()),
        _ => Bytes::from(vec![b'x'; 64 << 10]),
    };
    let blocks =
        stream::iter((0..=BLOCKS).map(move |number| Ok::<_, std::io::Error>(block(number))));
    crate::server::typed(kind, Body::from_stream(blocks))
}

#[tokio::test]
async fn large_answers_come_whole() {
    let cases = [
        (["{\"id\":7,\"result\":\"", "\"}"], "application/json"),
        (
            ["data: {\"id\":7,\"result\":\"", "\"}\n\n"],
            "text/event-stream",
        ),
    ];
    for (framing, kind) in cases {
        let log = Log::default();
        let url = serve(answering(&log, move |_, _| large(framing, kind))).await;
        let (link, mut server_events) = open(&url, HttpOptions::default());
        send(&link, CALL).await;
        let Item::Message(frame) = server_events.next().await.item else {
            panic!("no message");
        };
        let text = whole(frame).await;
        assert!(text.starts_with("{\"id\":7,\"result\":\"x") && text.ends_with("x\"}"));
        assert_eq!(
            text.len(),
            "{\"id\":7,\"result\":\"\"}".len() + 1023 * (64 << 10)
        );
    }
}

#[tokio::test]
async fn a_slow_reader_slows_the_server_down() {
    const EVENTS: usize = 4000;
    let sent = Arc::new(AtomicUsize::new(0));
    let (log, counter) = (Log::default(), Arc::clone(&sent));
    let url = serve(answering(&log, move |_, _| {
        let counter = Arc::clone(&counter);
        let event = move |number| {
            counter.store(number, Ordering::SeqCst);
            let filler = "x".repeat(64 << 10);
            Ok::<_, std::io::Error>(format!("data: {{\"method\":\"{filler}\"}}\n\n"))
        };
        events(Body::from_stream(stream::iter((1..=EVENTS).map(event))))
    }))
    .await;
    let (sink, mut server_events) = sink(1);
    let link = HttpConnection::open(&at(&url), client(), frame_reader(), sink).unwrap();
    send(&link, CALL).await;
    server_events.next().await;
    // The server sends until the buffers are full, and then stops.
    let (mut before, mut same) = (0, 0);
    while same < 10 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = sent.load(Ordering::SeqCst);
        same = if now == before { same + 1 } else { 0 };
        before = now;
    }
    assert!(before < EVENTS / 2, "{before} of {EVENTS} were sent");
}

#[tokio::test]
async fn an_abandoned_request_closes_its_stream() {
    let (to, body) = dripping();
    let body = std::sync::Mutex::new(Some(body));
    let body = Arc::new(body);
    let log = Log::default();
    let url = serve(answering(&log, move |_, _| {
        events(body.lock().unwrap().take().unwrap())
    }))
    .await;
    let (link, mut server_events) = open(&url, HttpOptions::default());
    send(&link, CALL).await;
    to.send(Ok("data: {\"method\":\"n\"}\n\n".into()))
        .await
        .unwrap();
    server_events.next().await;
    link.abandon(&RequestId::number(8)).await;
    assert!(!to.is_closed());
    link.abandon(&RequestId::number(7)).await;
    to.closed().await;
}

#[tokio::test]
async fn many_requests_at_once() {
    let log = Log::default();
    let url = serve(answering(&log, |_, request| json(request.into_body()))).await;
    let (link, mut server_events) = open(&url, HttpOptions::default());
    for id in 0..200 {
        let frame = format!("{{\"id\":{id},\"method\":\"echo\"}}");
        // The server echoes each message, so make it look like a response.
        let frame = frame.replace("\"method\":\"echo\"", "\"result\":1,\"method\":\"echo\"");
        send(&link, &frame).await;
    }
    let mut ids: Vec<u64> = Vec::new();
    for _ in 0..200 {
        let server_event = server_events.next().await;
        let of = server_event.of.unwrap();
        let Item::Message(frame) = server_event.item else {
            panic!("no message");
        };
        assert!(text(&frame).starts_with(&format!("{{\"id\":{},", of.as_json())));
        ids.push(of.as_json().parse().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..200).collect::<Vec<u64>>());
}
