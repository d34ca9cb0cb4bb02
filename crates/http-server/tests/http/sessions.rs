//! Tests of sessions (2025-11-25 and older): how they begin, what they answer, how they end.

use reqwest::Method;
use serde_json::{Value, json};
use spillgate_http_server::{Auth, HttpServerSettings};

use crate::fake::{Event, message, note};
use crate::running::{Reader, Running, call, initialize, request};

#[tokio::test]
#[rustfmt::skip]
async fn each_header_that_is_refused_has_its_status() {
    let (front, session) = Running::with_session().await;
    let both = "application/json, text/event-stream";
    for (accept, kind, session, version, status) in [
        (both, "application/json", session.as_str(), "2025-11-25", 200),
        ("text/*, application/json;q=0.1", "application/json; charset=utf-8", &session, "2025-03-26", 200),
        (both, "application/json", "x", "2025-11-25", 404),
        ("application/json", "application/json", &session, "2025-11-25", 406),
        ("text/event-stream, text/html", "application/json", &session, "2025-11-25", 406),
        ("application/json, text/event-stream;q=0", "application/json", &session, "2025-11-25", 406),
        (both, "text/plain", &session, "2025-11-25", 415),
        (both, "application/json", &session, "2031-01-01", 400),
    ] {
        let post = front.http.post(front.url()).header("accept", accept).header("content-type", kind);
        let post = post.header("mcp-session-id", session).header("mcp-protocol-version", version);
        let post = post.body(request(1, "ping", &json!({})).to_string());
        assert_eq!(post.send().await.unwrap().status(), status, "{accept} {kind} {version}");
    }
}

#[tokio::test]
#[rustfmt::skip]
async fn each_body_that_is_refused_has_its_status_and_code() {
    let settings = HttpServerSettings { max_body_bytes: 2000, ..HttpServerSettings::default() };
    let front = Running::new(settings).await;
    let session = front.begin().await;
    let initialize = initialize().to_string();
    for (session, body, status, code) in [
        (None, "{\"id\":1,\"method\":\"ping\"}", 400, -32000),
        (Some(&session), "{", 400, -32700),
        (Some(&session), "{}{}", 400, -32700),
        (Some(&session), "\u{0}", 400, -32700),
        (Some(&session), "[]", 400, -32600),
        (Some(&session), "7", 400, -32600),
        (Some(&session), "{\"jsonrpc\":\"2.0\"}", 400, -32600),
        (Some(&session), "{\"id\":{},\"method\":\"ping\"}", 400, -32600),
        (Some(&session), "{\"id\":1,\"id\":2,\"method\":\"ping\"}", 400, -32600),
        (None, &format!("[{initialize}]"), 400, -32600),
        (Some(&session), &"x".repeat(2001), 413, -32000),
    ] {
        let mut post = front.post(&json!({})).body(body.to_owned());
        if let Some(session) = session {
            post = post.header("mcp-session-id", session);
        }
        let response = post.send().await.unwrap();
        assert_eq!(response.status(), status, "{body}");
        let body: serde_json::Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        assert_eq!(body["error"]["code"], code);
    }
    let other = front.post(&crate::running::initialize());
    let other = other.header("mcp-protocol-version", "2025-06-18").send().await.unwrap();
    assert_eq!(other.status(), 400);
}

#[tokio::test]
async fn other_methods_are_told_what_is_served() {
    let (front, session) = Running::with_session().await;
    let get = |session: &str| front.get_in(session);
    for (request, status) in [
        (front.request(Method::PUT), 405),
        (front.request(Method::GET), 400),
        (get("x"), 404),
        (
            get(&session).header("mcp-protocol-version", "2026-07-28"),
            405,
        ),
        (
            front
                .request(Method::DELETE)
                .header("mcp-protocol-version", "2026-07-28"),
            405,
        ),
        (front.request(Method::DELETE), 400),
    ] {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status);
    }
    let plain = front
        .http
        .get(front.url())
        .header("accept", "application/json");
    assert_eq!(plain.send().await.unwrap().status(), 406);
}

#[tokio::test]
async fn a_session_lives_until_it_is_deleted() {
    let (front, session) = Running::with_session().await;
    assert!(session.len() >= 32);
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let response = front.post_in(&session, &initialized).send().await.unwrap();
    assert_eq!(response.status(), 202);
    assert_eq!(response.bytes().await.unwrap(), "");
    let answered = json!({"jsonrpc": "2.0", "id": 9, "result": {}});
    assert_eq!(
        front
            .post_in(&session, &answered)
            .send()
            .await
            .unwrap()
            .status(),
        202
    );
    let response = front.post_in(&session, &call(1, "echo", &json!({"text": "hi"})));
    let response = response.send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    let text = response.text().await.unwrap();
    assert!(
        text.contains("\"text\":\"hi\"") && text.contains("\"id\":1"),
        "{text}"
    );
    let delete = || {
        front
            .request(Method::DELETE)
            .header("mcp-session-id", &session)
    };
    assert_eq!(delete().send().await.unwrap().status(), 204);
    front
        .log
        .until(|event| *event == Event::Closed(0, false))
        .await;
    assert_eq!(delete().send().await.unwrap().status(), 404);
    let late = front.post_in(&session, &call(2, "echo", &json!({})));
    assert_eq!(late.send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn a_refused_initialize_begins_nothing() {
    let front = Running::usual().await;
    let params = json!({"protocolVersion": "1999-01-01", "capabilities": {}});
    let response = front
        .post(&request(0, "initialize", &params))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.headers().get("mcp-session-id").is_none());
    assert!(response.text().await.unwrap().contains("too old"));
    front
        .log
        .until(|event| *event == Event::Closed(0, true))
        .await;
}

#[tokio::test]
async fn a_version_that_only_the_server_knows_may_be_used() {
    let front = Running::usual().await;
    let params = json!({"protocolVersion": "2025-12-31", "capabilities": {}});
    let response = front
        .post(&request(0, "initialize", &params))
        .send()
        .await
        .unwrap();
    let session = response.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let ping = front.post_in(&session, &request(1, "ping", &json!({})));
    let ping = ping.header("mcp-protocol-version", "2025-12-31");
    assert_eq!(ping.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn there_are_only_so_many_sessions_and_requests() {
    let settings = HttpServerSettings {
        max_sessions: Some(1),
        max_requests_per_session: 2,
        ..HttpServerSettings::default()
    };
    let front = Running::new(settings).await;
    let session = front.begin().await;
    let second = front.post(&initialize()).send().await.unwrap();
    assert_eq!(second.status(), 503);
    assert!(second.headers().contains_key("retry-after"));
    let mut pending = Vec::new();
    for id in [1, 2] {
        let never = front
            .post_in(&session, &call(id, "never", &json!({})))
            .send();
        pending.push(tokio::spawn(never));
        let took = format!("\"id\":{id},");
        front
            .log
            .until(|event| matches!(event, Event::Took(0, text) if text.contains(&took)))
            .await;
    }
    for (id, status) in [(3, 429), (1, 429)] {
        let third = front.post_in(&session, &call(id, "echo", &json!({})));
        let third = third.send().await.unwrap();
        assert_eq!(third.status(), status);
        assert!(third.headers().contains_key("retry-after"));
    }
}

#[tokio::test]
async fn an_id_is_under_way_once() {
    let (front, session) = Running::with_session().await;
    let never = front
        .post_in(&session, &call(1, "never", &json!({})))
        .send();
    let pending = tokio::spawn(never);
    front
        .log
        .until(|event| matches!(event, Event::Took(0, text) if text.contains("never")))
        .await;
    let again = front.post_in(&session, &call(1, "echo", &json!({})));
    assert_eq!(again.send().await.unwrap().status(), 400);
    pending.abort();
}

#[tokio::test]
async fn where_anyone_may_come_there_are_32_sessions() {
    let front = Running::new(HttpServerSettings::default()).await;
    for _ in 0..32 {
        front.begin().await;
    }
    let refused = front.post(&initialize()).send().await.unwrap();
    assert_eq!(refused.status(), 503);
    let said: Value = refused.json().await.unwrap();
    let said = said["error"]["message"].as_str().unwrap().to_owned();
    assert!(
        said.contains("32 sessions") && said.contains("http.max_sessions"),
        "{said}"
    );
    let with_tokens = HttpServerSettings {
        auth: Auth::Bearer {
            token_files: Vec::new(),
            token_env: Vec::new(),
        },
        ..HttpServerSettings::default()
    };
    assert_eq!(
        (with_tokens.sessions(), with_tokens.processes()),
        (1024, None)
    );
    assert_eq!(HttpServerSettings::default().processes(), Some(32));
}

#[tokio::test]
async fn a_quiet_session_is_forgotten_and_one_that_listens_is_not() {
    let settings = HttpServerSettings {
        session_idle_seconds: 1,
        ..HttpServerSettings::default()
    };
    let front = Running::new(settings).await;
    let (quiet, listening) = (front.begin().await, front.begin().await);
    let mut stream = Reader::new(front.get_in(&listening).send().await.unwrap());
    front
        .log
        .until(|event| *event == Event::Closed(0, false))
        .await;
    let ping = request(1, "ping", &json!({}));
    assert_eq!(
        front.post_in(&quiet, &ping).send().await.unwrap().status(),
        404
    );
    assert_eq!(
        front
            .post_in(&listening, &ping)
            .send()
            .await
            .unwrap()
            .status(),
        200
    );
    front
        .log
        .sink(1)
        .take(message(None, &note("still here")))
        .await;
    stream.until("still here").await;
}

#[tokio::test]
async fn batches_are_answered_on_one_stream() {
    let (front, session) = Running::with_session().await;
    let batch = json!([
        call(1, "slow", &json!({"text": "a", "wait_us": 2000})),
        call(2, "echo", &json!({"text": "b"})),
        {"jsonrpc": "2.0", "method": "notifications/x"},
    ]);
    let response = front.post_in(&session, &batch).send().await.unwrap();
    let all = Reader::new(response).end().await;
    assert_eq!(all.matches("data: ").count(), 2, "{all}");
    assert!(
        all.contains("\"text\":\"a\"") && all.contains("\"text\":\"b\""),
        "{all}"
    );
}

#[tokio::test]
async fn headers_pass_but_for_what_says_who_it_is() {
    let (front, session) = Running::with_session().await;
    let ping = front.post_in(&session, &request(1, "ping", &json!({})));
    let ping = ping
        .header("traceparent", "00-a-b-01")
        .header("Spillgate-Results", "whole")
        .header("Mcp-Thing", "x");
    let ping = ping
        .header("authorization", "Bearer secret")
        .header("cookie", "a=b");
    ping.send().await.unwrap();
    let passed = front.log.headers.lock().unwrap().clone();
    let mut names: Vec<String> = passed.into_iter().map(|(name, _)| name).collect();
    names.sort();
    assert_eq!(names, ["mcp-thing", "spillgate-results", "traceparent"]);
}
