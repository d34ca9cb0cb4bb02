//! Tests of servers that end, delay their answers, restart or stay silent.

use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_upstream::Server;
use tokio::time::sleep;

use crate::fake::{Client, Servers, the_end};

/// A server that answers everything, except that it ends on `die` and stays silent on `hang`.
fn mortal(frame: &Value) -> Vec<Value> {
    match frame["method"].as_str() {
        Some("die") => vec![the_end()],
        Some("hang") => vec![],
        Some(_) if frame.get("id").is_some() => {
            vec![json!({"jsonrpc": "2.0", "id": frame["id"], "result": {}})]
        }
        _ => vec![],
    }
}

fn client() -> Client {
    let servers = Servers::default().with("frail", mortal);
    Client::of(servers, |server| Server {
        timeout: Some(Duration::from_secs(90)),
        ..server
    })
}

#[tokio::test(start_paused = true)]
async fn it_is_greeted_again_and_rests_longer_each_time() {
    let mut client = client();
    client
        .ask(1, "initialize", &json!({"protocolVersion": "2025-11-25"}))
        .await;
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    let mut told = Vec::new();
    for round in 0..4 {
        told.push(client.ask(round, "die", &json!({})).await.to_string());
        told.push(client.ask(round, "x", &json!({})).await.to_string());
        sleep(Duration::from_secs(3)).await;
        told.push(client.ask(round, "x", &json!({})).await.to_string());
    }
    assert_snapshot!(told.join("\n"), @r#"
    {"error":{"code":-32000,"data":{"fault":"upstream","server":"frail"},"message":"the upstream server `frail` exited with status 7 before it answered"},"id":0,"jsonrpc":"2.0"}
    {"id":0,"jsonrpc":"2.0","result":{}}
    {"id":0,"jsonrpc":"2.0","result":{}}
    {"error":{"code":-32000,"data":{"fault":"upstream","server":"frail"},"message":"the upstream server `frail` exited with status 7 before it answered"},"id":1,"jsonrpc":"2.0"}
    {"error":{"code":-32000,"data":{"fault":"upstream","server":"frail"},"message":"the upstream server `frail` exited with status 7 and will be restarted in 2 s"},"id":1,"jsonrpc":"2.0"}
    {"id":1,"jsonrpc":"2.0","result":{}}
    {"error":{"code":-32000,"data":{"fault":"upstream","server":"frail"},"message":"the upstream server `frail` exited with status 7 before it answered"},"id":2,"jsonrpc":"2.0"}
    {"error":{"code":-32000,"data":{"fault":"upstream","server":"frail"},"message":"the upstream server `frail` exited with status 7 and will be restarted in 3 s"},"id":2,"jsonrpc":"2.0"}
    {"id":2,"jsonrpc":"2.0","result":{}}
    {"error":{"code":-32000,"data":{"fault":"upstream","server":"frail"},"message":"the upstream server `frail` exited with status 7 before it answered"},"id":3,"jsonrpc":"2.0"}
    {"error":{"code":-32000,"data":{"fault":"upstream","server":"frail"},"message":"the upstream server `frail` exited with status 7 and will be restarted in 5 s"},"id":3,"jsonrpc":"2.0"}
    {"error":{"code":-32000,"data":{"fault":"upstream","server":"frail"},"message":"the upstream server `frail` exited with status 7 and will be restarted in 2 s"},"id":3,"jsonrpc":"2.0"}
    "#);
    assert_snapshot!(client.sent(), @r#"
    frail: opened
    frail: opened
    frail: opened
    frail: opened
    frail: {"id":"spillgate:0","jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-11-25"}}
    frail: {"id":"spillgate:1","jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-11-25"}}
    frail: {"id":"spillgate:2","jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-11-25"}}
    frail: {"id":0,"jsonrpc":"2.0","method":"die","params":{}}
    frail: {"id":0,"jsonrpc":"2.0","method":"x","params":{}}
    frail: {"id":0,"jsonrpc":"2.0","method":"x","params":{}}
    frail: {"id":1,"jsonrpc":"2.0","method":"die","params":{}}
    frail: {"id":1,"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-11-25"}}
    frail: {"id":1,"jsonrpc":"2.0","method":"x","params":{}}
    frail: {"id":2,"jsonrpc":"2.0","method":"die","params":{}}
    frail: {"id":2,"jsonrpc":"2.0","method":"x","params":{}}
    frail: {"id":3,"jsonrpc":"2.0","method":"die","params":{}}
    frail: {"jsonrpc":"2.0","method":"notifications/initialized"}
    frail: {"jsonrpc":"2.0","method":"notifications/initialized"}
    frail: {"jsonrpc":"2.0","method":"notifications/initialized"}
    frail: {"jsonrpc":"2.0","method":"notifications/initialized"}
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ran_well_starts_again_at_once() {
    let mut client = client();
    for _ in 0..5 {
        client.ask(1, "x", &json!({})).await;
        sleep(Duration::from_secs(20)).await;
        client.ask(2, "die", &json!({})).await;
        assert_eq!(client.ask(3, "x", &json!({})).await["result"], json!({}));
    }
}

#[tokio::test(start_paused = true)]
async fn silence_is_cut_off_and_the_server_told() {
    let mut client = client();
    client.send(&json!({"jsonrpc": "2.0", "id": "a", "method": "hang", "params": {"_meta": {"progressToken": 7}}})).await;
    let answer = client.next().await;
    assert_snapshot!(answer, @r#"{"error":{"code":-32001,"data":{"fault":"upstream","server":"frail"},"message":"the upstream server `frail` has not answered `hang` for 90 s"},"id":"a","jsonrpc":"2.0"}"#);
    assert_snapshot!(client.sent(), @r#"
    frail: opened
    frail: {"id":"a","jsonrpc":"2.0","method":"hang","params":{"_meta":{"progressToken":7}}}
    frail: {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"no answer in time","requestId":"a"}}
    "#);
    // A late response has no effect; the next request is answered.
    assert_eq!(client.ask(2, "x", &json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn there_are_only_so_many_processes() {
    let servers = Servers::default().with("s", |frame: &Value| {
        vec![json!({"jsonrpc": "2.0", "id": frame["id"], "result": {}})]
    });
    let mut first = Client::of(servers, |server| server);
    first.hub().bound_processes(1);
    assert!(first.ask(1, "x", &json!({})).await["result"].is_object());
    let mut second = first.second();
    let refused = second.ask(1, "x", &json!({})).await;
    assert_eq!(
        refused["error"]["message"],
        "the upstream server `s` could not be started: 1 processes of servers run already, as many as `http.max_processes` allows"
    );
    first.session.close(false).await;
    let mut third = first.second();
    assert!(third.ask(1, "x", &json!({})).await["result"].is_object());
}
