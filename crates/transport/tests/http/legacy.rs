//! Tests of sessions of 2025-11-25 and older.

use axum::http::Method;
use spillgate_transport::{Connection, ConnectionError, HttpOptions, Message};

use crate::server::{Log, answering, events, json, message, open, passing, send, serve, status};

const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}"#;

/// A server with sessions that answers calls with `call`.
fn with_sessions(
    log: &Log,
    call: impl Fn() -> axum::response::Response + Clone + Send + Sync + 'static,
) -> axum::Router {
    answering(log, move |_, request| {
        let body = String::from_utf8_lossy(request.body());
        if request.method() == Method::GET {
            status(405, "")
        } else if body.contains("\"initialize\"") {
            let answer = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}"#;
            let mut response = json(answer);
            let headers = response.headers_mut();
            headers.insert("mcp-session-id", "s1".parse().unwrap());
            response
        } else if body.contains("notifications/") || request.method() == Method::DELETE {
            status(202, "")
        } else {
            call()
        }
    })
}

#[tokio::test]
async fn a_session_from_beginning_to_end() {
    let log = Log::default();
    let answer = "id: 1\nretry: 10\ndata:\n\n\
        id: 2\ndata: {\"method\":\"notifications/progress\"}\n\n\
        event: other\ndata: {}\n\n\
        event: message\nid: 3\ndata: {\"id\":\"a\",\ndata: \"result\":{ \"x\" : 1.0}}\n\n";
    let url = serve(with_sessions(&log, move || events(answer))).await;
    let (link, mut server_events) = open(&url, HttpOptions::default());
    send(&link, INITIALIZE).await;
    let mut said = server_events.many(1).await;
    send(&link, INITIALIZED).await;
    let call = Message {
        headers: vec![("authorization".to_owned(), "Bearer theirs".to_owned())],
        ..message(CALL)
    };
    link.send(call).await.unwrap();
    said.extend(server_events.many(3).await);
    link.close(false).await;
    insta::assert_snapshot!(said.join("\n"), @r#"
    0 - {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}
    "a" 1 mark Some(10ms)
    "a" 2 {"method":"notifications/progress"}
    "a" 3 {"id":"a",
    "result":{ "x" : 1.0}}
    "#);
    insta::assert_snapshot!(log.all(), @r#"
    POST /mcp x-key=hush {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
    POST /mcp mcp-protocol-version=2025-06-18 mcp-session-id=s1 x-key=hush {"jsonrpc":"2.0","method":"notifications/initialized"}
    POST /mcp mcp-protocol-version=2025-06-18 mcp-session-id=s1 x-key=hush {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}
    DELETE /mcp mcp-session-id=s1 mcp-protocol-version=2025-06-18 x-key=hush
    "#);
    assert!(link.send(message(CALL)).await.is_err());
}

#[tokio::test]
async fn a_lost_session_is_told_and_another_begins() {
    let log = Log::default();
    let lost = || status(404, "no such session");
    let url = serve(with_sessions(&log, lost)).await;
    let (link, mut server_events) = open(&url, HttpOptions::default());
    send(&link, INITIALIZE).await;
    server_events.next().await;
    send(&link, CALL).await;
    assert_eq!(
        server_events.said().await,
        "\"a\" - refused 404 lost=true no such session"
    );
    // The session is already lost, so the next refusal is an ordinary one.
    send(&link, CALL).await;
    assert_eq!(
        server_events.said().await,
        "\"a\" - refused 404 lost=false no such session"
    );
    send(&link, INITIALIZE).await;
    server_events.next().await;
    send(&link, CALL).await;
    assert_eq!(
        server_events.said().await,
        "\"a\" - refused 404 lost=true no such session"
    );
}

/// Tests that a lost session is also reported when the server refuses the stream of a GET.
#[tokio::test]
async fn a_session_that_is_lost_while_nobody_calls_is_told() {
    let log = Log::default();
    let router = answering(&log, |_, request| {
        if request.method() == Method::GET {
            return status(404, "no such session");
        }
        let mut response =
            json(r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}"#);
        let headers = response.headers_mut();
        headers.insert("mcp-session-id", "s1".parse().unwrap());
        response
    });
    let url = serve(router).await;
    let (link, mut server_events) = open(&url, HttpOptions::default());
    send(&link, INITIALIZE).await;
    server_events.next().await;
    link.listen(None).await.unwrap();
    assert_eq!(
        server_events.said().await,
        "- - refused 404 lost=true no such session"
    );
}

#[tokio::test]
async fn a_server_without_a_stream_of_its_own() {
    let log = Log::default();
    let url = serve(with_sessions(&log, || status(500, ""))).await;
    let (link, _events) = open(&url, HttpOptions::default());
    link.listen(None).await.unwrap();
    let (link, _events) = open(&url, passing());
    let error = link.listen(None).await.unwrap_err();
    assert!(matches!(&error, ConnectionError::Refused(refusal) if refusal.status == 405));
}

#[tokio::test]
async fn refusals() {
    let body = r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32602,"message":"no"}}"#;
    for code in [400, 401, 403, 404, 429, 500, 503] {
        let log = Log::default();
        let url = serve(answering(&log, move |_, _| status(code, body))).await;
        let (link, mut server_events) = open(&url, HttpOptions::default());
        send(&link, CALL).await;
        let want = format!("\"a\" - refused {code} lost=false {body}");
        assert_eq!(server_events.said().await, want);
        let error = link.send(message(INITIALIZED)).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("returned the HTTP status {code}")
        );
    }
}

#[tokio::test]
async fn what_is_no_mcp() {
    let cases = [
        (
            "text/html",
            "<p>",
            "failed: answered with content of type text/html (HTTP status 200)",
        ),
        (
            "application/json",
            "{}",
            "failed: answered with JSON that is no answer to a request",
        ),
        (
            "application/json",
            "",
            "failed: answered with HTTP status 200 but no response to the request",
        ),
        (
            "text/event-stream",
            ": nothing\n\n",
            "failed: could not be reached: it closed the stream before the answer",
        ),
    ];
    for (kind, body, want) in cases {
        let log = Log::default();
        let url = serve(answering(&log, move |_, _| {
            crate::server::typed(kind, body)
        }))
        .await;
        let (link, mut server_events) = open(&url, HttpOptions::default());
        send(&link, CALL).await;
        assert_eq!(server_events.said().await, format!("\"a\" - {want}"));
    }
}

#[tokio::test]
async fn a_batch_and_its_answers() {
    let log = Log::default();
    let answers = r#"[{"id":1,"result":{}},{"id":2,"result":{}}]"#;
    let url = serve(answering(&log, move |_, _| json(answers))).await;
    let (link, mut server_events) = open(&url, HttpOptions::default());
    send(
        &link,
        r#"[{"id":1,"method":"ping"},{"id":2,"method":"ping"}]"#,
    )
    .await;
    assert_eq!(server_events.said().await, format!("- - {answers}"));
}
