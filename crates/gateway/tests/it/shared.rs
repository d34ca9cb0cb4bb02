//! Tests of stateless requests from many clients to one server process.

use std::sync::{Arc, Mutex};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::fake::{Client, Servers, large, the_end};

/// A server that reports progress on a request and answers it together with the next request, so
/// that two requests are in flight at the same time.
fn pairs() -> impl Fn(&Value) -> Vec<Value> {
    let earlier: Arc<Mutex<Option<Value>>> = Arc::default();
    move |frame| {
        let Some(id) = frame.get("id").cloned() else {
            return vec![];
        };
        if frame["method"] == "die" {
            return vec![the_end()];
        }
        let answer = |frame: &Value| json!({"jsonrpc": "2.0", "id": frame["id"], "result": frame["params"]["is"]});
        let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": id, "progress": 1}});
        let before = earlier.lock().unwrap().take();
        if let Some(first) = before {
            return vec![answer(frame), answer(&first)];
        }
        *earlier.lock().unwrap() = Some(frame.clone());
        vec![progress]
    }
}

#[tokio::test]
async fn clients_with_the_same_ids_get_their_own_answers() {
    let mut one = Client::stateless(Servers::default().with("s", pairs()));
    let mut other = one.another();
    let ask = |is: &str| json!({"jsonrpc": "2.0", "id": 7, "method": "x", "params": {"is": is, "_meta": {"progressToken": "t"}}});
    one.send(&ask("one's")).await;
    let mut told = vec![one.next().await.to_string()];
    other.send(&ask("the other's")).await;
    told.push(one.next().await.to_string());
    told.push(other.next().await.to_string());
    assert_snapshot!(told.join("\n"), @r#"
    {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":"t"}}
    {"id":7,"jsonrpc":"2.0","result":"one's"}
    {"id":7,"jsonrpc":"2.0","result":"the other's"}
    "#);
    assert_snapshot!(one.sent(), @r#"
    s: opened
    s: {"id":4294967296,"jsonrpc":"2.0","method":"x","params":{"_meta":{"progressToken":4294967296},"is":"one's"}}
    s: {"id":4294967297,"jsonrpc":"2.0","method":"x","params":{"_meta":{"progressToken":4294967297},"is":"the other's"}}
    "#);
}

#[tokio::test]
async fn when_the_process_ends_all_are_told_and_the_next_opens_it_again() {
    let mut one = Client::stateless(Servers::default().with("s", pairs()));
    let mut other = one.another();
    one.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "x"}))
        .await;
    one.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "die"}))
        .await;
    let mut told = vec![one.next().await.to_string(), one.next().await.to_string()];
    told.sort();
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"_meta": {"progressToken": 3}}});
    other.send(&asked).await;
    told.push(other.next().await.to_string());
    assert_snapshot!(told.join("\n"), @r#"
    {"error":{"code":-32000,"data":{"fault":"upstream","server":"s"},"message":"the upstream server `s` exited with status 7 before it answered"},"id":1,"jsonrpc":"2.0"}
    {"error":{"code":-32000,"data":{"fault":"upstream","server":"s"},"message":"the upstream server `s` exited with status 7 before it answered"},"id":2,"jsonrpc":"2.0"}
    {"id":1,"jsonrpc":"2.0","result":null}
    "#);
}

#[tokio::test]
async fn a_large_answer_reaches_its_client() {
    let server = |frame: &Value| {
        let text = "a line of it\n".repeat(4000);
        let result = json!({"content": [{"type": "text", "text": text}]});
        let answer = |id: &Value| large(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        frame.get("id").map(answer).into_iter().collect()
    };
    let mut client = Client::stateless(Servers::default().with("s", server));
    let answer = client.ask(7, "tools/call", &json!({"name": "t"})).await;
    assert_eq!(answer["id"], 7);
    let shown = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(shown.starts_with("[spillgate] t returned"), "{shown}");
}

#[tokio::test]
async fn an_answer_to_nobody_is_nobodys() {
    let earlier: Arc<Mutex<Value>> = Arc::default();
    let server = move |frame: &Value| match frame["method"].as_str() {
        Some("wait") => {
            *earlier.lock().unwrap() = frame["id"].clone();
            vec![]
        }
        Some("notifications/odd") => {
            vec![
                json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "what?"}}),
            ]
        }
        _ => vec![json!({"jsonrpc": "2.0", "id": *earlier.lock().unwrap(), "result": {}})],
    };
    let mut one = Client::stateless(Servers::default().with("s", server));
    let other = one.another();
    one.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "wait"}))
        .await;
    for method in ["notifications/odd", "notifications/go"] {
        other
            .send(&json!({"jsonrpc": "2.0", "method": method}))
            .await;
    }
    assert_eq!(
        one.next().await,
        json!({"jsonrpc": "2.0", "id": 1, "result": {}})
    );
}
