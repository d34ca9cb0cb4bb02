//! Streams: what comes on which, and what becomes of broken ones.

use reqwest::Method;
use serde_json::json;
use spillgate_front::FrontSettings;
use spillgate_wire::{Item, Parcel};

use crate::fake::{Event, answer, key, message, note, parcel};
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
    let front = Running::new(FrontSettings::default()).await;
    let session = front.begin().await;
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
            // It has no answer yet; so that the id is free again.
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
    let front = Running::new(FrontSettings::default()).await;
    let session = front.begin().await;
    let response = front.post_in(&session, &call(1, "refused", &json!({})));
    let response = response.send().await.unwrap();
    assert_eq!(
        response.headers()["www-authenticate"],
        "Bearer realm=\"there\""
    );
}

#[tokio::test]
async fn what_belongs_to_no_request_comes_on_the_get_stream() {
    let settings = FrontSettings {
        kept_messages: 2,
        ..FrontSettings::default()
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
    // A request that is under way does not get it.
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
    let front = Running::new(FrontSettings::default()).await;
    let session = front.begin().await;
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
    // An answer that does not say whose it is.
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
    let front = Running::new(FrontSettings::default()).await;
    let session = front.begin().await;
    let response = front.post_in(&session, &call(1, "primed", &json!({})));
    let broken = Reader::new(response.send().await.unwrap()).end().await;
    assert_eq!(broken, "id: e1\nretry: 7\ndata: \n\n");
    // The general stream is another one, and is not disturbed.
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
    let front = Running::new(FrontSettings::default()).await;
    let session = front.begin().await;
    let old = Reader::new(front.get_in(&session).send().await.unwrap());
    let sink = front.log.sink(0);
    let place = Parcel {
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
    let front = Running::new(FrontSettings::default()).await;
    let session = front.begin().await;
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
    // Its answer goes nowhere, and the id is free after it.
    front.log.sink(0).take(answer(&json!(1), &json!({}))).await;
    let again = front.post_in(&session, &call(1, "echo", &json!({})));
    assert_eq!(again.send().await.unwrap().status(), 200);
    assert!(!front.log.events().iter().any(is_abandoned));
}

#[tokio::test]
async fn deleting_a_session_ends_its_streams() {
    let front = Running::new(FrontSettings::default()).await;
    let session = front.begin().await;
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
    let settings = FrontSettings {
        keep_alive_seconds: 1,
        ..FrontSettings::default()
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
    sink.take(parcel(Some(&json!(1)), Item::Mark { retry: None }))
        .await;
    let frame = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1.0}\n";
    sink.take(Parcel::message(frame).of(Some(key(&json!(1)))))
        .await;
    let all = stream.end().await;
    assert!(
        all.ends_with("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1.0}\n\n"),
        "{all}"
    );
}
