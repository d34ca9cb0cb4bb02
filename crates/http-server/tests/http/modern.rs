//! Tests of stateless requests (2026-07-28).

use serde_json::{Value, json};
use spillgate_http_server::HttpServerSettings;

use crate::fake::{Event, message, note};
use crate::running::{Reader, Running, call, modern, request};

type Header = (&'static str, &'static str);
type Case = (&'static str, Value, &'static [Header], u16, i64);

const VERSION: Header = ("mcp-protocol-version", "2026-07-28");
const LEGACY: Header = ("mcp-protocol-version", "2025-11-25");
const CALL: Header = ("mcp-method", "tools/call");
const PING: Header = ("mcp-method", "ping");
const CANCEL: Header = ("mcp-method", "notifications/cancelled");
const ECHO: Header = ("mcp-name", "echo");
const ENCODED: Header = ("mcp-name", "=?base64?ZWNobw==?=");
const BROKEN: Header = ("mcp-name", "=?base64?!?=");
const OTHER: Header = ("mcp-name", "regional");
const EU: Header = ("mcp-param-region", "eu");
const US: Header = ("mcp-param-region", "us");

async fn check(cases: Vec<Case>) {
    let front = Running::usual().await;
    for (what, body, headers, status, code) in cases {
        let mut post = front.post(&body);
        for (name, value) in headers {
            post = post.header(*name, *value);
        }
        let response = post.send().await.unwrap();
        assert_eq!(response.status(), status, "{what}");
        let session = response.headers().get("mcp-session-id");
        assert!(session.is_none(), "{what}");
        let text = response.text().await.unwrap();
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        let got = body["error"]["code"].as_i64().unwrap_or_default();
        assert_eq!(got, code, "{what}: {text}");
    }
}

fn echo() -> Value {
    modern(&json!(1), "echo", &json!({"text": "hi"}))
}

#[tokio::test]
#[rustfmt::skip]
async fn headers_must_say_what_the_body_says() {
    let regional = || modern(&json!(1), "regional", &json!({"region": "eu"}));
    check(vec![
        ("all there", echo(), &[VERSION, CALL, ECHO], 200, 0),
        ("base64", echo(), &[VERSION, CALL, ENCODED], 200, 0),
        ("bad base64", echo(), &[VERSION, CALL, BROKEN], 400, -32020),
        ("no version", echo(), &[CALL, ECHO], 400, -32020),
        ("other version", echo(), &[LEGACY, CALL, ECHO], 400, -32020),
        ("no method", echo(), &[VERSION, ECHO], 400, -32020),
        ("other method", echo(), &[VERSION, PING, ECHO], 400, -32020),
        ("two methods", echo(), &[VERSION, CALL, CALL, ECHO], 400, -32020),
        ("no name", echo(), &[VERSION, CALL], 400, -32020),
        ("other name", echo(), &[VERSION, CALL, OTHER], 400, -32020),
        ("argument", regional(), &[VERSION, CALL, OTHER, EU], 200, 0),
        ("other argument", regional(), &[VERSION, CALL, OTHER, US], 400, -32020),
        ("missing argument", regional(), &[VERSION, CALL, OTHER], 400, -32020),
    ])
    .await;
}

#[tokio::test]
#[rustfmt::skip]
async fn bodies_must_be_whole() {
    let without = |name: &str| {
        let mut body = echo();
        let meta = body["params"]["_meta"].as_object_mut().unwrap();
        meta.remove(&format!("io.modelcontextprotocol/{name}")).unwrap();
        body
    };
    let note = || json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}});
    let discover = request(1, "server/discover", &json!({}));
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    check(vec![
        ("no version", without("protocolVersion"), &[VERSION, CALL, ECHO], 400, -32602),
        ("no capabilities", without("clientCapabilities"), &[VERSION, CALL, ECHO], 200, 0),
        ("bare discover", discover, &[], 400, -32602),
        ("notification", note(), &[VERSION, CANCEL], 202, 0),
        ("bare notification", note(), &[VERSION], 400, -32020),
        ("response", answer, &[VERSION], 400, -32600),
        ("batch", json!([echo()]), &[VERSION, CALL, ECHO], 400, -32600),
    ])
    .await;
}

#[tokio::test]
async fn some_errors_have_a_status() {
    let front = Running::usual().await;
    let mut body = modern(&json!(1), "echo", &json!({}));
    body["method"] = json!("unknown/method");
    let post = front
        .post(&body)
        .header("mcp-protocol-version", "2026-07-28");
    let response = post
        .header("mcp-method", "unknown/method")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 404);
    let text = response.text().await.unwrap();
    assert!(text.contains("-32601"), "{text}");
}

#[tokio::test]
async fn each_request_is_an_exchange_of_its_own() {
    let front = Running::usual().await;
    for (tool, peer) in [("echo", 0), ("noisy", 1)] {
        let response = front.post_modern(&json!("same"), tool, &json!({"text": tool}));
        let text = response.send().await.unwrap().text().await.unwrap();
        assert!(text.contains(&format!("\"text\":\"{tool}\"")), "{text}");
        front
            .log
            .until(|event| *event == Event::Closed(peer, false))
            .await;
    }
    let events = front.log.events();
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::Abandoned(..))),
        "{events:?}"
    );
    let passed = front.log.headers.lock().unwrap().clone();
    assert!(passed.contains(&("mcp-name".to_owned(), "noisy".to_owned())));
}

#[tokio::test]
async fn closing_the_response_calls_the_request_off() {
    let front = Running::usual().await;
    // The client closes one response before any event, and one in the middle of its stream.
    let never = front.post_modern(&json!(1), "never", &json!({})).send();
    let pending = tokio::spawn(never);
    front
        .log
        .until(|event| matches!(event, Event::Took(0, _)))
        .await;
    pending.abort();
    front
        .log
        .until(|event| *event == Event::Abandoned(0, "1".to_owned()))
        .await;
    front
        .log
        .until(|event| *event == Event::Closed(0, true))
        .await;
    let listen = front.post_modern(&json!("s"), "never", &json!({})).send();
    let pending = tokio::spawn(listen);
    front
        .log
        .until(|event| matches!(event, Event::Took(1, _)))
        .await;
    front
        .log
        .sink(1)
        .take(message(Some(&json!("s")), &note("one")))
        .await;
    let mut stream = Reader::new(pending.await.unwrap().unwrap());
    stream.until("one").await;
    drop(stream);
    front
        .log
        .until(|event| *event == Event::Abandoned(1, "\"s\"".to_owned()))
        .await;
}

#[tokio::test]
async fn one_client_has_only_so_many_under_way() {
    let settings = HttpServerSettings {
        max_requests_per_session: 1,
        ..HttpServerSettings::default()
    };
    let front = Running::new(settings).await;
    let pending = tokio::spawn(front.post_modern(&json!(1), "never", &json!({})).send());
    front
        .log
        .until(|event| matches!(event, Event::Took(0, _)))
        .await;
    let second = front
        .post_modern(&json!(2), "echo", &json!({}))
        .send()
        .await
        .unwrap();
    assert_eq!(second.status(), 429);
    pending.abort();
    front
        .log
        .until(|event| matches!(event, Event::Closed(0, _)))
        .await;
    let third = front
        .post_modern(&json!(3), "echo", &json!({}))
        .send()
        .await
        .unwrap();
    assert_eq!(third.status(), 200);
    // Requests of a session are counted separately.
    let session = front.begin().await;
    let fourth = front.post_in(&session, &call(1, "echo", &json!({})));
    assert_eq!(fourth.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_subscription_lasts_until_the_front_ends() {
    let mut front = Running::usual().await;
    let mut body = modern(&json!(1), "never", &json!({}));
    body["method"] = json!("subscriptions/listen");
    let post = front
        .post(&body)
        .header("mcp-protocol-version", "2026-07-28");
    let pending = tokio::spawn(post.header("mcp-method", "subscriptions/listen").send());
    front
        .log
        .until(|event| matches!(event, Event::Took(0, _)))
        .await;
    let sink = front.log.sink(0);
    sink.take(message(None, &note("changed"))).await;
    let mut stream = Reader::new(pending.await.unwrap().unwrap());
    stream.until("changed").await;
    front.stop.take().unwrap().send(()).unwrap();
    stream.end().await;
    front.served.await.unwrap().unwrap();
}
