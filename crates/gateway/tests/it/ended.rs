//! Tests of look-ups that are cancelled or abandoned.
//!
//! They cover calls of built-in tools, reads of our resources, and arguments by reference.

use std::sync::mpsc::channel;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_mcp::RequestId;
use spillgate_offload::{ByReference, Policy};
use spillgate_testkit::log;
use tokio::runtime::Builder;

use crate::fake::{Client, Servers};

/// A server with a result that is stored, and with a tool that accepts arguments by reference.
fn server(frame: &Value) -> Vec<Value> {
    let text = match frame["params"]["name"].as_str() {
        Some("large") => log(2000),
        _ => "done".to_owned(),
    };
    let result = json!({"content": [{"type": "text", "text": text}]});
    vec![json!({"jsonrpc": "2.0", "id": frame["id"], "result": result})]
}

/// Returns a client, and the handle of a stored result. `limit` is the time limit of a look-up.
async fn client(limit: Duration) -> (Client, String) {
    let tools = ["take".to_owned()];
    let policy = Policy::default().with_references(ByReference::new(Some(&tools), None).unwrap());
    let mut client = Client::by(policy, Servers::default().with("s", server), |server| {
        server
    });
    client.ask(1, "tools/call", &json!({"name": "large"})).await;
    let handle = client.handles().remove(0);
    (client.limited_to(limit), handle)
}

/// Returns the requests, each with a description.
fn requests(handle: &str) -> [(&'static str, &'static str, Value); 4] {
    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let given = |reference: Value| call("take", json!({"text": reference}));
    let uri = format!("spillgate://artifact/{handle}");
    [
        (
            "tool",
            "tools/call",
            call("spillgate_read", json!({"handle": handle})),
        ),
        ("resource", "resources/read", json!({"uri": uri})),
        (
            "block",
            "resources/read",
            json!({"uri": format!("{uri}/content/0")}),
        ),
        (
            "reference",
            "tools/call",
            given(json!({"$spill": handle, "lines": "1-2"})),
        ),
    ]
}

#[tokio::test]
async fn each_ends_when_it_takes_too_long() {
    let (mut client, handle) = client(Duration::ZERO).await;
    client.in_order();
    let mut told = Vec::new();
    for (what, method, params) in requests(&handle) {
        let answer = client.ask(2, method, &params).await;
        let text = &answer["result"]["content"][0]["text"];
        let message = text.as_str().or(answer["error"]["message"].as_str());
        told.push(format!("{what}: {}", message.unwrap_or("an answer")));
    }
    assert_snapshot!(told.join("\n"), @"
    tool: the look-up was ended: it took longer than the 0 s it may take. Ask for less at a time: a part (`start`), or a simpler pattern
    resource: the resource was not read: the look-up was ended: it took longer than the 0 s it may take. Ask for less at a time: a part (`start`), or a simpler pattern
    block: the resource was not read: it took longer than the 0 s it may take
    reference: nothing was sent: `/text`: the look-up was ended: it took longer than the 0 s it may take. Ask for less at a time: a part (`start`), or a simpler pattern
    ");
    assert_eq!(client.in_order(), "");
}

/// A request that is abandoned or cancelled gets no response, and nothing is sent to the server. A
/// request whose response is not read gets a response immediately.
#[test]
fn each_ends_when_nobody_waits_for_it() {
    // The only thread for look-ups is busy until all messages have been sent.
    let runtime = Builder::new_current_thread()
        .max_blocking_threads(1)
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let (mut client, handle) = client(Duration::MAX).await;
        client.in_order();
        for (what, method, params) in requests(&handle) {
            let (free, held) = channel::<()>();
            tokio::task::spawn_blocking(move || held.recv());
            let request = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            client.send(&request(2)).await;
            client.session.abandon(&RequestId::number(2)).await;
            client.send(&request(3)).await;
            let cancel = json!({"requestId": 3});
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel})).await;
            client.send(&request(4)).await;
            client.session.unread(&RequestId::number(4));
            drop(free);
            let answer = client.next().await;
            assert_eq!(answer["id"], 4, "{what}: {answer}");
            assert!(answer.to_string().contains("cancelled"), "{what}: {answer}");
            // Only the `ping` is sent to the server.
            let ping = client.ask(7, "ping", &json!({})).await;
            assert_eq!(ping["id"], 7, "{what}: {ping}");
            let sent = client.in_order();
            let is_ping = |line: &str| line.contains("ping") || line == "s: opened";
            assert!(sent.lines().all(is_ping), "{what}: {sent}");
        }
    });
}
