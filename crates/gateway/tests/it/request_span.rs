//! Tests of the metrics of a conversation.

use std::sync::{Arc, Mutex};

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_gateway::{Incoming, ServerState};
use spillgate_testkit::log;
use spillgate_upstream::TracePropagator;
use tracing::Span;

use crate::fake::{Client, Servers, the_end};

/// A server that answers a call in the way that the tool's name says.
fn obedient(frame: &Value) -> Vec<Value> {
    let Some(id) = frame.get("id").cloned() else {
        return vec![];
    };
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let result = |result: Value| vec![json!({"jsonrpc": "2.0", "id": id, "result": result})];
    match frame["params"]["name"].as_str() {
        Some("small") => result(text("a word")),
        Some("large") => result(text(&log(600))),
        Some("fails") => result(json!({"content": [], "isError": true})),
        Some("refuses") => {
            let error = json!({"code": -32602, "message": "no"});
            vec![json!({"jsonrpc": "2.0", "id": id, "error": error})]
        }
        Some("ends") => vec![the_end()],
        Some("waits") => vec![],
        _ => result(json!({"tools": []})),
    }
}

/// Returns the metrics. Times vary, so only their number is included.
fn figures(client: &Client) -> String {
    let text = client.hub().metrics().text();
    let is_told = |line: &&str| {
        !line.starts_with('#') && !line.contains("_bucket{") && !line.contains("_seconds_sum{")
    };
    let mut lines: Vec<&str> = text.lines().filter(is_told).collect();
    lines.sort_unstable(); // their order is random
    lines.join("\n")
}

async fn conversation(client: &mut Client) {
    client.ask(1, "tools/list", &json!({})).await;
    let names = ["small", "large", "fails", "refuses", "ends"];
    for (id, name) in (2..).zip(names) {
        client.ask(id, "tools/call", &json!({"name": name})).await;
    }
    let method = "something/unheard-of";
    client.ask(7, method, &json!({"name": "small"})).await;
    let own = json!({"name": "spillgate_read", "arguments": {}});
    client.ask(8, "tools/call", &own).await;
    let call =
        json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "waits"}});
    client.send(&call).await;
}

#[tokio::test]
async fn a_conversation_in_figures() {
    let mut client = Client::of(Servers::default().with("s", obedient), |server| server);
    let before = client.hub().health();
    assert_eq!(
        before.into_values().collect::<Vec<_>>(),
        [ServerState::Idle]
    );
    conversation(&mut client).await;
    let health = client.hub().health();
    assert_eq!(health.into_values().collect::<Vec<_>>(), [ServerState::Up]);
    assert!(client.hub().metrics().text().ends_with("# EOF\n"));
    assert_snapshot!(figures(&client), @r#"
    spillgate_added_seconds_count{server="s"} 6
    spillgate_own_tool_calls_total{tool="spillgate_read"} 1
    spillgate_request_bytes_total{server="s"} 501
    spillgate_requests_in_flight{server="s"} 1
    spillgate_requests_total{server="s",method="other",outcome="ok"} 1
    spillgate_requests_total{server="s",method="tools/call",outcome="error"} 2
    spillgate_requests_total{server="s",method="tools/call",outcome="ok"} 2
    spillgate_requests_total{server="s",method="tools/call",outcome="upstream_gone"} 1
    spillgate_requests_total{server="s",method="tools/list",outcome="ok"} 1
    spillgate_response_bytes_total{server="s"} 38995
    spillgate_results_total{server="s",exit="inline"} 1
    spillgate_results_total{server="s",exit="offloaded"} 1
    spillgate_server_ends_total{server="s"} 1
    spillgate_server_failed_starts_total{server="s"} 0
    spillgate_server_links{server="s"} 1
    spillgate_server_starts_total{server="s"} 2
    spillgate_sessions 1
    spillgate_stored_bytes_total{server="s"} 37992
    spillgate_tokens_given_back_total{server="s"} 394
    spillgate_tokens_kept_out_total{server="s"} 9366
    spillgate_upstream_seconds_count{server="s",method="other"} 1
    spillgate_upstream_seconds_count{server="s",method="tools/call"} 4
    spillgate_upstream_seconds_count{server="s",method="tools/list"} 1
    "#);
}

/// Records the traces that clients sent, and always returns the same headers.
#[derive(Debug, Default)]
struct Heard(Mutex<Vec<String>>);

impl TracePropagator for Heard {
    fn join(&self, _: &Span, client: &[(String, String)]) {
        let said = client.iter().map(|(name, value)| format!("{name}={value}"));
        self.0
            .lock()
            .unwrap()
            .push(said.collect::<Vec<_>>().join(" "));
    }

    fn headers(&self, _: &Span) -> Vec<(String, String)> {
        vec![("traceparent".to_owned(), "ours".to_owned())]
    }
}

#[tokio::test]
async fn servers_are_told_our_span_and_meta_stays() {
    let mut client = Client::of(Servers::default().with("s", obedient), |server| server);
    let heard = Arc::new(Heard::default());
    client
        .hub()
        .trace_by(Arc::clone(&heard) as Arc<dyn TracePropagator>);
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    for meta in [
        json!({"traceparent": "of-mcp", "tracestate": "a=b"}),
        json!({}),
    ] {
        let frame = json!({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"_meta": meta}});
        let headers = vec![header("traceparent", "of-http"), header("mcp-x", "y")];
        let incoming = Incoming {
            frame: frame.to_string().into(),
            headers,
        };
        client.session.take(incoming).await;
        client.next().await;
    }
    assert_snapshot!(heard.0.lock().unwrap().join("\n"), @r#"
    traceparent=of-mcp tracestate=a=b
    traceparent=of-http
    "#);
    assert_snapshot!(client.sent(), @r#"
    s: mcp-x: y
    s: mcp-x: y
    s: opened
    s: traceparent: ours
    s: traceparent: ours
    s: {"id":1,"jsonrpc":"2.0","method":"x","params":{"_meta":{"traceparent":"of-mcp","tracestate":"a=b"}}}
    s: {"id":1,"jsonrpc":"2.0","method":"x","params":{"_meta":{}}}
    "#);
}

#[tokio::test]
async fn a_server_that_keeps_ending_rests() {
    let servers = Servers::default().with("s", |_| vec![the_end()]);
    let mut client = Client::of(servers, |server| server);
    let mut states = Vec::new();
    for id in 1..=2 {
        client.ask(id, "x", &json!({})).await;
        states.extend(client.hub().health().into_values());
    }
    assert_eq!(states, [ServerState::Idle, ServerState::Resting]);
}

#[tokio::test]
async fn a_cancelled_request_is_over() {
    let mut client = Client::of(Servers::default().with("s", obedient), |server| server);
    client.ask(1, "tools/list", &json!({})).await;
    let call =
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "waits"}});
    client.send(&call).await;
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
    client.send(&cancelled).await;
    let told = figures(&client);
    let of_requests = told.lines().filter(|line| line.contains("_requests_"));
    assert_snapshot!(of_requests.collect::<Vec<_>>().join("\n"), @r#"
    spillgate_requests_in_flight{server="s"} 0
    spillgate_requests_total{server="s",method="tools/call",outcome="cancelled"} 1
    spillgate_requests_total{server="s",method="tools/list",outcome="ok"} 1
    "#);
}

#[tokio::test]
async fn stateless_requests_share_one_start() {
    let mut one = Client::stateless(Servers::default().with("s", obedient));
    one.ask(1, "tools/list", &json!({})).await;
    let mut other = one.another();
    other.ask(1, "tools/list", &json!({})).await;
    let told = figures(&one);
    let of_servers = told.lines().filter(|line| line.contains("_server_"));
    assert_snapshot!(of_servers.collect::<Vec<_>>().join("\n"), @r#"
    spillgate_server_ends_total{server="s"} 0
    spillgate_server_failed_starts_total{server="s"} 0
    spillgate_server_links{server="s"} 1
    spillgate_server_starts_total{server="s"} 1
    "#);
}
