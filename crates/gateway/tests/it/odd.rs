//! Tests of servers that end or send at the wrong moment, and of requests cancelled at such a
//! moment.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_gateway::Incoming;
use spillgate_offload::{ByReference, Policy};
use spillgate_upstream::Server;
use tokio::time::sleep;

use crate::fake::{Client, Servers, no_session, stuck, the_end};

/// A server that answers all requests with an empty result.
fn plain(frame: &Value) -> Vec<Value> {
    match frame["method"].as_str() {
        Some("die") => vec![the_end()],
        Some("hang") => vec![],
        Some("lose") => vec![no_session(&frame["id"])],
        Some(_) if frame.get("id").is_some() => vec![answer(&frame["id"])],
        _ => vec![],
    }
}

fn answer(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {}})
}

fn client(server: impl Fn(&Value) -> Vec<Value> + Send + Sync + 'static) -> Client {
    let servers = Servers::default().with("s", server);
    Client::of(servers, |server| Server {
        timeout: Some(Duration::from_secs(90)),
        ..server
    })
}

async fn greet(client: &mut Client) {
    let version = json!({"protocolVersion": "2025-11-25"});
    client.ask(0, "initialize", &version).await;
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
}

/// Returns what the server received. Checks that it was closed exactly once.
fn without_closing(client: &Client) -> String {
    let log = client.in_order() + "\n";
    assert_eq!(log.matches("s: closed\n").count(), 1, "{log}");
    log.replace("s: closed\n", "")
}

#[tokio::test]
async fn a_server_that_ends_while_it_is_opened_is_opened_again() {
    let servers = Servers::default().with("s", plain);
    servers.stillborn.store(1, Ordering::Relaxed);
    let mut client = Client::of(servers, |server| server);
    let refused = client.ask(1, "x", &json!({})).await;
    assert_eq!(refused["error"]["data"]["server"], "s", "{refused}");
    assert_eq!(client.ask(2, "x", &json!({})).await, answer(&json!(2)));
    assert_snapshot!(without_closing(&client), @r#"
    s: opened
    s: opened
    s: {"id":2,"jsonrpc":"2.0","method":"x","params":{}}
    "#);
}

#[tokio::test]
async fn a_cancellation_with_an_id_is_a_request_and_is_answered() {
    let mut client = client(plain);
    greet(&mut client).await;
    let params = json!({"requestId": 12});
    let answered = client.ask(3, "notifications/cancelled", &params).await;
    assert_eq!(answered, answer(&json!(3)));
}

#[tokio::test]
async fn nothing_overtakes_the_greeting_of_a_server_that_is_opened_again() {
    let mut client = client(plain);
    greet(&mut client).await;
    client.ask(1, "die", &json!({})).await;
    client.in_order();
    for id in [2, 3] {
        let session = Arc::clone(&client.session);
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "x"}).to_string();
        tokio::spawn(async move { session.take(Incoming::new(call)).await });
    }
    client.next().await;
    client.next().await;
    assert_snapshot!(client.in_order(), @r#"
    s: opened
    s: {"id":"spillgate:0","jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-11-25"}}
    s: {"jsonrpc":"2.0","method":"notifications/initialized"}
    s: {"id":2,"jsonrpc":"2.0","method":"x"}
    s: {"id":3,"jsonrpc":"2.0","method":"x"}
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_greet_again_is_not_used_ungreeted() {
    let greeted = AtomicUsize::new(0);
    let mut client = client(move |frame| match frame["method"] == "initialize" {
        true if greeted.fetch_add(1, Ordering::Relaxed) == 1 => vec![],
        _ => plain(frame),
    });
    greet(&mut client).await;
    client.ask(1, "die", &json!({})).await;
    client.in_order();
    let refused = client.ask(2, "x", &json!({})).await;
    assert_eq!(refused["error"]["data"]["server"], "s", "{refused}");
    assert_eq!(client.ask(3, "x", &json!({})).await, answer(&json!(3)));
    assert_snapshot!(without_closing(&client), @r#"
    s: opened
    s: {"id":"spillgate:0","jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-11-25"}}
    s: opened
    s: {"id":"spillgate:1","jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-11-25"}}
    s: {"jsonrpc":"2.0","method":"notifications/initialized"}
    s: {"id":3,"jsonrpc":"2.0","method":"x","params":{}}
    "#);
}

#[tokio::test]
async fn a_session_that_a_server_forgot_is_begun_again() {
    let mut client = client(|frame| match frame["method"] == "lose" {
        // All other requests that were sent in that session are also refused.
        true => vec![no_session(&frame["id"]), no_session(&json!(1))],
        false => plain(frame),
    });
    greet(&mut client).await;
    client.in_order();
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "hang"}))
        .await;
    let refused = client.ask(2, "lose", &json!({})).await;
    assert_eq!(refused, json!({"refused": 404}));
    assert_eq!(client.next().await["id"], 1, "nobody will answer it");
    assert_eq!(client.ask(3, "x", &json!({})).await, answer(&json!(3)));
    assert_snapshot!(client.in_order(), @r#"
    s: {"id":1,"jsonrpc":"2.0","method":"hang"}
    s: {"id":2,"jsonrpc":"2.0","method":"lose","params":{}}
    s: opened
    s: {"id":"spillgate:0","jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-11-25"}}
    s: {"jsonrpc":"2.0","method":"notifications/initialized"}
    s: {"id":3,"jsonrpc":"2.0","method":"x","params":{}}
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_client_is_told_of_silence_even_if_the_server_cannot_be() {
    let mut client = client(|frame| match frame["method"].as_str() {
        Some("notifications/cancelled") => vec![stuck()],
        _ => vec![],
    });
    for id in [1, 2] {
        let told = client.ask(id, "hang", &json!({})).await;
        assert_eq!(told["error"]["code"], -32001, "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_too_late_is_no_second_one() {
    let slow: Arc<Mutex<Value>> = Arc::default();
    let mut client = client(move |frame| match frame["method"].as_str() {
        Some("hang") => {
            *slow.lock().unwrap() = frame["id"].clone();
            vec![]
        }
        Some("notifications/cancelled") => vec![answer(&slow.lock().unwrap())],
        _ => plain(frame),
    });
    let told = client.ask(1, "hang", &json!({})).await;
    assert_eq!(told["error"]["code"], -32001, "{told}");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(client.ask(2, "x", &json!({})).await, answer(&json!(2)));
    // The id can be used again, and the new request is answered.
    assert_eq!(client.ask(1, "x", &json!({})).await, answer(&json!(1)));
}

#[test]
fn a_call_that_was_taken_back_in_time_is_not_sent() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    // References are looked up on blocking threads, of which there is only one here.
    runtime.enable_all().max_blocking_threads(1);
    runtime.build().unwrap().block_on(taken_back());
}

async fn taken_back() {
    let all = ["*".to_owned()];
    let rules = ByReference::new(Some(&all), None).unwrap();
    let servers = Servers::default().with("s", |frame: &Value| {
        let text = "a line of it\n".repeat(4000);
        let result = json!({"content": [{"type": "text", "text": text}]});
        let answer = |id| json!({"jsonrpc": "2.0", "id": id, "result": result});
        frame.get("id").map(answer).into_iter().collect()
    });
    let policy = Policy::default().with_references(rules);
    let mut client = Client::by(policy, servers, |server| server);
    let shown = client.ask(1, "tools/call", &json!({"name": "give"})).await;
    let shown = shown["result"]["content"][0]["text"].as_str().unwrap();
    let handle = shown.split("stored whole as ").nth(1).unwrap();
    let handle = handle.lines().next().unwrap();
    client.in_order();
    let arguments = json!({"text": {"$spill": handle}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "take", "arguments": arguments}});
    let session = Arc::clone(&client.session);
    let (release, held) = std::sync::mpsc::channel::<()>();
    let holding = tokio::task::spawn_blocking(move || held.recv());
    let calling = tokio::spawn(async move { session.take(Incoming::new(call.to_string())).await });
    tokio::task::yield_now().await;
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}))
        .await;
    drop(release);
    assert!(holding.await.unwrap().is_err());
    calling.await.unwrap();
    assert!(!client.in_order().contains("take"));
}
