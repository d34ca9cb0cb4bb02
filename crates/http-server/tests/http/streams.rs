//! Tests of streams: which messages they contain, and what happens when they break.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt;

use reqwest::Method;
use serde_json::json;
use spillgate_artifact::ByteSource;
use spillgate_http_server::HttpServerSettings;
use spillgate_transport::{Frame, Item, Pieces, ServerEvent};

use crate::fake::{Event, answer, key, message, note, server_event};
use crate::running::{Reader, Running, call};

async fn body_of(front: &Running, session: &str, tool: &str) -> (u16, String, String) {
    let response = front.post_in(session, &call(5, tool, &json!({"text": "done"})));
    let response = response.send().await.unwrap();
    let kind = response.headers()["content-type"]
        .to_str()
        .unwrap()
        .to_owned();
    (
        response.status().as_u16(),
        kind,
        response.text().await.unwrap(),
    )
}

#[tokio::test]
async fn what_comes_first_decides_the_kind_of_response() {
    let (front, session) = Running::with_session().await;
    let mut all = String::new();
    for tool in [
        "noisy",
        "primed",
        "ends",
        "gone",
        "refused",
        "refused_late",
        "lines",
    ] {
        let (status, kind, body) = body_of(&front, &session, tool).await;
        all.push_str(&format!("== {tool}: {status} {kind}\n{body}\n"));
        if tool == "primed" {
            // The request has no response yet. Send one, so that its id can be used again.
            front.log.sink(0).take(answer(&json!(5), &json!({}))).await;
        }
    }
    insta::assert_snapshot!(all.replace('\r', "\\r"), @r#"
    == noisy: 200 text/event-stream
    event: message
    data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"one","level":"info"}}

    event: message
    data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"two","level":"info"}}

    event: message
    data: {"id":5,"jsonrpc":"2.0","result":{"content":[{"text":"done","type":"text"}],"resultType":"complete"}}


    == primed: 200 text/event-stream
    id: e1
    retry: 7
    data: 


    == ends: 200 application/json
    {"jsonrpc":"2.0","id":5,"error":{"code":-32000,"message":"the server ended the stream before it answered"}}
    == gone: 200 application/json
    {"jsonrpc":"2.0","id":5,"error":{"code":-32000,"message":"exited with status 3"}}
    == refused: 403 text/plain
    not you
    == refused_late: 200 text/event-stream
    event: message
    data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"first","level":"info"}}

    event: message
    data: {"jsonrpc":"2.0","id":5,"error":{"code":-32000,"message":"the server answered with HTTP 403"}}


    == lines: 200 application/json
    {"jsonrpc":"2.0",\r
     "id":5,
    "result":{"content":[],"resultType":"complete"}}
    "#);
}

#[tokio::test]
async fn a_challenge_is_passed_on() {
    let (front, session) = Running::with_session().await;
    let response = front.post_in(&session, &call(1, "refused", &json!({})));
    let response = response.send().await.unwrap();
    assert_eq!(
        response.headers()["www-authenticate"],
        "Bearer realm=\"there\""
    );
}

#[tokio::test]
async fn what_belongs_to_no_request_comes_on_the_get_stream() {
    let settings = HttpServerSettings {
        kept_messages: 2,
        ..HttpServerSettings::default()
    };
    let front = Running::new(settings).await;
    let session = front.begin().await;
    let sink = front.log.sink(0);
    for text in ["one", "two", "three"] {
        sink.take(message(None, &note(text))).await;
    }
    let mut stream = Reader::new(front.get_in(&session).send().await.unwrap());
    stream.until("three").await;
    assert!(
        !stream.all.contains("one") && stream.all.contains("two"),
        "{}",
        stream.all
    );
    front
        .log
        .until(|event| *event == Event::Listened(0, None))
        .await;
    let second = front.get_in(&session).send().await.unwrap();
    assert_eq!(second.status(), 409);
    // The stream of a request in flight does not get the message.
    let never = front
        .post_in(&session, &call(1, "never", &json!({})))
        .send();
    let pending = tokio::spawn(never);
    front
        .log
        .until(|event| matches!(event, Event::Took(0, text) if text.contains("never")))
        .await;
    sink.take(message(None, &note("four"))).await;
    stream.until("four").await;
    drop(stream);
    pending.abort();
}

#[tokio::test]
async fn without_a_get_stream_the_only_request_carries_it() {
    let (front, session) = Running::with_session().await;
    let never = front
        .post_in(&session, &call(1, "never", &json!({})))
        .send();
    let pending = tokio::spawn(never);
    front
        .log
        .until(|event| matches!(event, Event::Took(0, text) if text.contains("never")))
        .await;
    let sink = front.log.sink(0);
    let asks = json!({"jsonrpc": "2.0", "id": 77, "method": "roots/list"});
    sink.take(message(None, &asks)).await;
    let mut stream = Reader::new(pending.await.unwrap().unwrap());
    stream.until("roots/list").await;
    // A response that does not arrive on its request's stream.
    let late = json!({"jsonrpc": "2.0", "id": 1, "result": {"is": "late"}});
    sink.take(message(None, &late)).await;
    assert!(
        stream
            .end()
            .await
            .ends_with("data: {\"id\":1,\"jsonrpc\":\"2.0\",\"result\":{\"is\":\"late\"}}\n\n")
    );
}

#[tokio::test]
async fn a_broken_stream_is_taken_up() {
    let (front, session) = Running::with_session().await;
    let response = front.post_in(&session, &call(1, "primed", &json!({})));
    let broken = Reader::new(response.send().await.unwrap()).end().await;
    assert_eq!(broken, "id: e1\nretry: 7\ndata: \n\n");
    // The general stream is separate and continues.
    let mut general = Reader::new(front.get_in(&session).send().await.unwrap());
    let again = front.get_in(&session).header("last-event-id", "e1").send();
    let again = Reader::new(again.await.unwrap());
    front
        .log
        .until(|event| *event == Event::Listened(0, Some("e1".to_owned())))
        .await;
    let sink = front.log.sink(0);
    let mut late = answer(&json!(1), &json!({"is": "late"}));
    late.event = Some("e2".to_owned());
    sink.take(late).await;
    let rest = again.end().await;
    assert!(rest.contains("id: e2\n") && rest.contains("late"), "{rest}");
    sink.take(message(None, &note("general"))).await;
    general.until("general").await;
    assert!(!general.all.contains("late"), "{}", general.all);
}

#[tokio::test]
async fn a_general_stream_is_taken_up_though_the_old_one_seems_open() {
    let (front, session) = Running::with_session().await;
    let old = Reader::new(front.get_in(&session).send().await.unwrap());
    let sink = front.log.sink(0);
    let place = ServerEvent {
        event: Some("g1".to_owned()),
        ..message(None, &note("first"))
    };
    sink.take(place).await;
    let new = front.get_in(&session).header("last-event-id", "g1").send();
    let mut new = Reader::new(new.await.unwrap());
    assert!(old.end().await.contains("id: g1\n"));
    sink.take(message(None, &note("second"))).await;
    new.until("second").await;
}

#[tokio::test]
async fn a_client_that_goes_does_not_call_off_its_request() {
    let (front, session) = Running::with_session().await;
    let never = front
        .post_in(&session, &call(1, "never", &json!({})))
        .send();
    let pending = tokio::spawn(never);
    front
        .log
        .until(|event| matches!(event, Event::Took(0, text) if text.contains("never")))
        .await;
    pending.abort();
    let is_abandoned = |event: &Event| matches!(event, Event::Abandoned(..));
    // The gateway is informed that the response is not read, so that it can save work.
    let is_unread = |event: &Event| *event == Event::Unread(0, "1".to_owned());
    front.log.until(is_unread).await;
    // The response is dropped. Its id can then be used again.
    front.log.sink(0).take(answer(&json!(1), &json!({}))).await;
    let again = front.post_in(&session, &call(1, "echo", &json!({})));
    assert_eq!(again.send().await.unwrap().status(), 200);
    assert!(!front.log.events().iter().any(is_abandoned));
}

#[tokio::test]
async fn deleting_a_session_ends_its_streams() {
    let (front, session) = Running::with_session().await;
    let general = Reader::new(front.get_in(&session).send().await.unwrap());
    let never = front
        .post_in(&session, &call(1, "never", &json!({})))
        .send();
    let pending = tokio::spawn(never);
    front
        .log
        .until(|event| matches!(event, Event::Took(0, text) if text.contains("never")))
        .await;
    let delete = front
        .request(Method::DELETE)
        .header("mcp-session-id", &session);
    assert_eq!(delete.send().await.unwrap().status(), 204);
    general.end().await;
    let text = pending.await.unwrap().unwrap().text().await.unwrap();
    assert!(text.contains("the session has ended"), "{text}");
}

#[tokio::test]
async fn a_quiet_stream_is_kept_open_with_comments() {
    let settings = HttpServerSettings {
        keep_alive_seconds: 1,
        ..HttpServerSettings::default()
    };
    let front = Running::new(settings).await;
    let session = front.begin().await;
    let response = front
        .post_in(&session, &call(1, "never", &json!({})))
        .send()
        .await
        .unwrap();
    let mut stream = Reader::new(response);
    stream.until(":\n\n:\n\n").await;
    let sink = front.log.sink(0);
    sink.take(server_event(Some(&json!(1)), Item::Mark { retry: None }))
        .await;
    let frame = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1.0}\n";
    sink.take(ServerEvent::message(frame).of(Some(key(&json!(1)))))
        .await;
    let all = stream.end().await;
    assert!(
        all.ends_with("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1.0}\n\n"),
        "{all}"
    );
}

/// A text of `TEXT` bytes that counts how many bytes were read, and fails at a given position.
#[derive(Debug)]
struct Text {
    read: Arc<AtomicU64>,
    breaks_at: u64,
}

const TEXT: u64 = 200 << 20;

impl ByteSource for Text {
    fn len(&self) -> u64 {
        TEXT
    }

    fn read_at(&self, block: &mut [u8], at: u64) -> io::Result<usize> {
        let end = TEXT.min(at + block.len() as u64);
        if end > self.breaks_at {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read.fetch_max(end, Ordering::SeqCst);
        let n = usize::try_from(end - at).unwrap();
        block[..n].fill(b'x');
        Ok(n)
    }
}

/// Returns a response to request 1 that is not in memory, and the number of bytes that were read.
fn large(breaks_at: u64) -> (ServerEvent, Arc<AtomicU64>) {
    let read = Arc::new(AtomicU64::new(0));
    let text = Text {
        read: Arc::clone(&read),
        breaks_at,
    };
    let text: Arc<dyn ByteSource> = Arc::new(text);
    let mut pieces = Pieces::default();
    pieces.push("{\"id\":1,\n\"result\":\"");
    pieces.push_source(&text, 0..TEXT);
    pieces.push("\"}\n");
    let item = Item::Message(Frame::Pieces(pieces));
    (server_event(Some(&json!(1)), item), read)
}

/// Returns the HTTP response to request 1, for which the backend sends these server events.
async fn answered_with(front: &Running, server_events: Vec<ServerEvent>) -> reqwest::Response {
    let session = front.begin().await;
    let never = front.post_in(&session, &call(1, "never", &json!({})));
    let pending = tokio::spawn(never.send());
    front
        .log
        .until(|event| matches!(event, Event::Took(0, text) if text.contains("never")))
        .await;
    for server_event in server_events {
        front.log.sink(0).take(server_event).await;
    }
    pending.await.unwrap().unwrap()
}

/// Returns the beginning and the end of a body, and its length; an error if the body is truncated.
async fn ends(response: reqwest::Response) -> reqwest::Result<(String, String, u64)> {
    let (mut head, mut tail, mut bytes) = (Vec::new(), Vec::new(), 0);
    let mut body = response.bytes_stream();
    while let Some(part) = body.next().await {
        let part = part?;
        bytes += part.len() as u64;
        let room = 100usize.saturating_sub(head.len()).min(part.len());
        head.extend_from_slice(&part[..room]);
        tail.extend_from_slice(&part);
        tail.drain(..tail.len().saturating_sub(6));
    }
    let head = String::from_utf8(head).unwrap().replace('x', "");
    Ok((head, String::from_utf8(tail).unwrap(), bytes))
}

#[tokio::test]
async fn what_is_too_large_for_the_memory_is_written_piece_by_piece() {
    for is_stream in [false, true] {
        let front = Running::usual().await;
        let (answer, read) = large(u64::MAX);
        let mut server_events = vec![answer];
        if is_stream {
            server_events.insert(0, message(Some(&json!(1)), &note("first")));
        }
        let response = answered_with(&front, server_events).await;
        // Nothing is read yet, so the response waits when the socket buffers are full.
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert!(read.load(Ordering::SeqCst) < TEXT / 2);
        let kind = response.headers()["content-type"].clone();
        let (head, tail, bytes) = ends(response).await.unwrap();
        let around = "{\"id\":1,\n\"result\":\"\"}\n".len() as u64;
        if is_stream {
            assert_eq!(kind, "text/event-stream");
            assert!(head.starts_with("event: message\ndata: {"), "{head}");
            assert_eq!(tail, "xx\"}\n\n");
            assert!(bytes > TEXT + around);
        } else {
            assert_eq!(kind, "application/json");
            assert_eq!((&*head, &*tail), ("{\"id\":1,\n\"result\":\"", "xxx\"}\n"));
            assert_eq!(bytes, TEXT + around);
        }
        assert_eq!(read.load(Ordering::SeqCst), TEXT);
    }
}

#[tokio::test]
async fn an_error_amid_a_large_answer_ends_the_connection() {
    let front = Running::usual().await;
    let (answer, _) = large(TEXT / 100);
    let response = answered_with(&front, vec![answer]).await;
    assert_eq!(response.status(), 200);
    assert!(ends(response).await.is_err());
}
