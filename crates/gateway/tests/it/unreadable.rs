//! Tests of servers whose messages cannot be read.

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_testkit::log;

use crate::fake::{Client, Servers, raw};

/// A server that answers with truncated messages, small or large, and with lines that are not JSON.
fn server(frame: &Value) -> Vec<Value> {
    let id = &frame["id"];
    let large = json!(log(4000)).to_string();
    match frame["method"].as_str() {
        Some("initialize") => vec![
            json!({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": "2025-11-25", "capabilities": {}}}),
        ],
        Some("server/discover") => {
            vec![json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}})]
        }
        Some("cut") => vec![raw(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":[1,"#
        ))],
        Some("large") => vec![raw(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":{large},"b":"#
        ))],
        Some("odd") => vec![raw(&format!(
            r#"{{"jsonrpc":"2.0","result":{{"a":{large},"b":"\q"}},"id":{id}}}"#
        ))],
        Some("lost") => vec![raw(r#"{"jsonrpc":"2.0","result":{"#)],
        Some("line") => vec![raw("listening on port 7")],
        _ => vec![],
    }
}

#[tokio::test]
async fn a_request_is_answered_that_a_broken_message_was_for() {
    let today = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}});
    let servers = || Servers::default().spooling_at(100_000).with("s", server);
    let solo = Client::of(servers(), |server| server);
    let bridged = Client::of(servers(), |server| server);
    let shared = Client::stateless(servers());
    for (mut client, params) in [(solo, &json!({})), (bridged, &today), (shared, &today)] {
        let mut told = Vec::new();
        for method in ["cut", "large", "odd"] {
            let id = told.len() as u64;
            told.push(client.ask(id, method, params).await.to_string());
        }
        let bytes = |text: String| {
            let digits = |word: &str| match word.len() > 3 && word.parse::<u64>().is_ok() {
                true => "MANY".to_owned(),
                false => word.to_owned(),
            };
            text.split(' ').map(digits).collect::<Vec<_>>().join(" ")
        };
        let told: Vec<String> = told.into_iter().map(bytes).collect();
        insta::allow_duplicates! {
            assert_snapshot!(told[1..].join("\n"), @r#"
            {"error":{"code":-32000,"data":{"fault":"upstream","server":"s"},"message":"the upstream server `s` answered with a message of MANY bytes that cannot be read"},"id":1,"jsonrpc":"2.0"}
            {"error":{"code":-32000,"data":{"fault":"upstream","server":"s"},"message":"the upstream server `s` answered with a message of MANY bytes that cannot be read"},"id":2,"jsonrpc":"2.0"}
            "#);
        }
        assert!(told[0].contains("that cannot be read"), "{}", told[0]);
    }
}

#[tokio::test]
async fn what_nobody_can_read_passes_and_is_counted() {
    let mut client = Client::of(
        Servers::default().spooling_at(100_000).with("s", server),
        |server| server,
    );
    client
        .send(&json!({"jsonrpc": "2.0", "method": "line"}))
        .await;
    assert_eq!(client.next().await, json!({"raw": "listening on port 7"}));
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "lost"}))
        .await;
    assert_eq!(client.next().await["raw"], r#"{"jsonrpc":"2.0","result":{"#);
    let figures = client.hub().metrics().text();
    let line = figures
        .lines()
        .find(|line| line.starts_with("spillgate_unreadable_messages_total"));
    assert_eq!(
        line,
        Some("spillgate_unreadable_messages_total{server=\"s\"} 2")
    );
}
