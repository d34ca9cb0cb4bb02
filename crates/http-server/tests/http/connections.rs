//! Tests of connections that are slow, half open, silent, or HTTP/2, and of shutdown.

use serde_json::json;
use spillgate_http_server::HttpServerSettings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fake::Event;
use crate::running::{Running, call, modern, request};

/// Returns a request as bytes, for a client that controls what it reads.
fn raw(front: &Running, session: Option<&str>, body: &str) -> String {
    let session = session.map_or(String::new(), |id| format!("mcp-session-id: {id}\r\n"));
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\n{session}accept: application/json, text/event-stream\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        front.at,
        body.len()
    )
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_up_nobody() {
    let (front, session) = Running::with_session().await;
    let mut slow = TcpStream::connect(front.at).await.unwrap();
    let flood = call(1, "flood", &json!({"notes": 2000, "text": "end"})).to_string();
    slow.write_all(raw(&front, Some(&session), &flood).as_bytes())
        .await
        .unwrap();
    front
        .log
        .until(|event| matches!(event, Event::Took(0, text) if text.contains("flood")))
        .await;
    // While the slow client does not read, other requests of its session and of another session are
    // served.
    let other = front.begin().await;
    for id in 2..30 {
        for session in [&session, &other] {
            let echo = front.post_in(session, &call(id, "echo", &json!({"text": "hi"})));
            assert_eq!(echo.send().await.unwrap().status(), 200);
        }
    }
    // The server does not keep 128 MB for the slow client: the response is cut off.
    front.log.until(|event| *event == Event::Played).await;
    let mut got = 0;
    let mut block = vec![0; 1 << 20];
    let mut tail = Vec::new();
    while !tail.ends_with(b"0\r\n\r\n") {
        let n = slow.read(&mut block).await.unwrap();
        assert!(n > 0 || got > 0);
        if n == 0 {
            break;
        }
        got += n;
        tail.extend_from_slice(&block[..n]);
        tail.drain(..tail.len().saturating_sub(16));
    }
    assert!(got < 100 << 20, "{got}");
}

#[tokio::test]
async fn a_reader_that_keeps_up_gets_everything() {
    let (front, session) = Running::with_session().await;
    // More events than the channel holds, and few enough for a busy machine to read in time.
    let flood = call(1, "flood", &json!({"notes": 150, "text": "end"}));
    let response = front.post_in(&session, &flood).send().await.unwrap();
    let text = response.text().await.unwrap();
    assert_eq!(
        text.matches("\"method\":\"notifications/message\"").count(),
        150
    );
    assert!(text.contains("\"text\":\"end\""));
}

#[tokio::test]
async fn a_client_that_closes_its_connection_is_noticed() {
    let front = Running::usual().await;
    let mut connection = TcpStream::connect(front.at).await.unwrap();
    let body = modern(&json!(1), "never", &json!({})).to_string();
    let headers = "content-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\n\
                   mcp-method: tools/call\r\nmcp-name: never";
    let raw = raw(&front, None, &body).replace("content-type: application/json", headers);
    connection.write_all(raw.as_bytes()).await.unwrap();
    front
        .log
        .until(|event| matches!(event, Event::Took(0, _)))
        .await;
    drop(connection);
    front
        .log
        .until(|event| *event == Event::Abandoned(0, "1".to_owned()))
        .await;
}

#[tokio::test]
async fn silent_connections_are_closed() {
    let settings = HttpServerSettings {
        read_seconds: 1,
        ..HttpServerSettings::default()
    };
    let front = Running::new(settings).await;
    let whole = raw(&front, None, "{}");
    let head = whole.find("\r\n\r\n").unwrap() + 4;
    for (part, answer) in [
        ("", ""),
        ("P", ""),
        ("PRI * HT", ""),
        ("POST /mcp HTTP/1.1\r\nhost: localhost\r\n", ""),
        (&whole[..=head], "HTTP/1.1 408 Request Timeout"),
    ] {
        let mut connection = TcpStream::connect(front.at).await.unwrap();
        connection.write_all(part.as_bytes()).await.unwrap();
        let mut all = Vec::new();
        connection.read_to_end(&mut all).await.unwrap();
        let all = String::from_utf8(all).unwrap();
        assert!(
            all.starts_with(answer) && all.is_empty() == answer.is_empty(),
            "{part}: {all}"
        );
    }
}

#[tokio::test]
async fn one_connection_carries_many_requests_in_http2() {
    let (front, session) = Running::with_session().await;
    let http = reqwest::Client::builder()
        .no_proxy()
        .http2_prior_knowledge()
        .build()
        .unwrap();
    for id in 0..3 {
        let post = http.execute(
            front
                .post_in(&session, &request(id, "ping", &json!({})))
                .build()
                .unwrap(),
        );
        let response = post.await.unwrap();
        assert_eq!(response.version(), reqwest::Version::HTTP_2);
        assert_eq!(response.status(), 200);
    }
    let evil = front
        .post_in(&session, &request(9, "ping", &json!({})))
        .header("host", "evil.example");
    let refused = http.execute(evil.build().unwrap()).await;
    assert!(refused.is_err() || refused.unwrap().status() == 403);
}

#[tokio::test]
async fn what_is_under_way_is_finished_before_the_end() {
    let mut front = Running::usual().await;
    let session = front.begin().await;
    let listening = front.get_in(&session).send().await.unwrap();
    let slow = call(1, "slow", &json!({"text": "done", "wait_us": 300_000}));
    let pending = tokio::spawn(front.post_in(&session, &slow).send());
    front
        .log
        .until(|event| matches!(event, Event::Took(0, text) if text.contains("slow")))
        .await;
    front.stop.take().unwrap().send(()).unwrap();
    assert!(
        pending
            .await
            .unwrap()
            .unwrap()
            .text()
            .await
            .unwrap()
            .contains("done")
    );
    listening.text().await.unwrap();
    front.served.await.unwrap().unwrap();
    let events = front.log.events();
    assert!(events.contains(&Event::Closed(0, false)), "{events:?}");
    assert!(TcpStream::connect(front.at).await.is_err());
}

#[tokio::test]
async fn what_does_not_finish_is_broken_off() {
    let settings = HttpServerSettings {
        shutdown_seconds: 1,
        ..HttpServerSettings::default()
    };
    let mut front = Running::new(settings).await;
    let session = front.begin().await;
    let never = front
        .post_in(&session, &call(1, "never", &json!({})))
        .send();
    let pending = tokio::spawn(never);
    front
        .log
        .until(|event| matches!(event, Event::Took(0, text) if text.contains("never")))
        .await;
    front.stop.take().unwrap().send(()).unwrap();
    front.served.await.unwrap().unwrap();
    assert!(front.log.events().contains(&Event::Closed(0, true)));
    // The client received the reason, or its connection was closed.
    if let Ok(response) = pending.await.unwrap() {
        let text = response.text().await.unwrap();
        assert!(text.contains("the session has ended"), "{text}");
    }
}

#[tokio::test]
async fn an_unused_connection_is_kept() {
    let settings = HttpServerSettings {
        read_seconds: 1,
        ..HttpServerSettings::default()
    };
    let front = Running::new(settings).await;
    let session = front.begin().await;
    let mut connection = TcpStream::connect(front.at).await.unwrap();
    for id in [1, 2] {
        let echo = call(id, "echo", &json!({"text": "hi"})).to_string();
        let echo = raw(&front, Some(&session), &echo);
        connection.write_all(echo.as_bytes()).await.unwrap();
        let mut part = [0; 15];
        connection.read_exact(&mut part).await.unwrap();
        assert_eq!(&part, b"HTTP/1.1 200 OK");
        let mut rest = vec![0; 4096];
        while !String::from_utf8_lossy(&rest).contains("hi") {
            let n = connection.read(&mut rest).await.unwrap();
            assert!(n > 0);
        }
        tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    }
}
