//! Tests that messages to and from several servers reach the right receivers.

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_testkit::log;

use crate::fake::{Client, Servers};

const STREAM: &str = "io.modelcontextprotocol/subscriptionId";

fn of_today(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}

fn answer(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn refusal(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// A modern server that reports changes of its tools and of one resource.
fn telling(server: &'static str) -> impl Fn(&Value) -> Vec<Value> {
    move |frame| {
        let id = &frame["id"];
        let note = |method: &str, stream: &Value, more: Value| {
            let mut params = more;
            params["_meta"] = json!({STREAM: stream});
            json!({"jsonrpc": "2.0", "method": format!("notifications/{method}"), "params": params})
        };
        match frame["method"].as_str() {
            Some("server/discover") => vec![answer(
                id,
                &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}}}),
            )],
            Some("resources/list") => vec![answer(
                id,
                &json!({"resultType": "complete", "resources": [
                    {"uri": format!("{server}:a"), "name": "a"}, {"uri": "both:x", "name": "x"},
                ]}),
            )],
            Some("resources/templates/list") => {
                vec![answer(
                    id,
                    &json!({"resultType": "complete", "resourceTemplates": []}),
                )]
            }
            Some("subscriptions/listen") if server == "dumb" => vec![refusal(id, -32601, "no")],
            Some("subscriptions/listen") => {
                let filter = &frame["params"]["notifications"];
                let uris = &filter["resourceSubscriptions"];
                let mut told = vec![note(
                    "subscriptions/acknowledged",
                    id,
                    json!({"notifications": filter}),
                )];
                if let Some(uri) = uris.get(0) {
                    told.push(note("resources/updated", id, json!({"uri": uri})));
                }
                told
            }
            _ => vec![],
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_changes_comes_from_all_servers() {
    let servers = Servers::default()
        .with("a", telling("a"))
        .with("b", telling("b"))
        .with("dumb", telling("dumb"));
    let mut client = Client::of(servers, |server| server);
    client.ask(1, "server/discover", &of_today(json!({}))).await;
    client.ask(2, "resources/list", &of_today(json!({}))).await;
    client.sent();
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["b:a", "x:y"]});
    let listen = of_today(json!({"notifications": filter}));
    client
        .send(&json!({"jsonrpc": "2.0", "id": "L", "method": "subscriptions/listen", "params": listen}))
        .await;
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(client.next().await.to_string());
    }
    told.sort();
    assert_snapshot!(told.join("\n"), @r#"
    {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"L"},"uri":"b:a"}}
    {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"L"},"uri":"x:y"}}
    {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"L"},"notifications":{"resourceSubscriptions":["b:a","x:y"],"toolsListChanged":true}}}
    "#);
    let sent = client.sent();
    let sent = sent.lines().filter(|line| line.contains("listen"));
    let filters = sent.map(|line| {
        let (server, frame) = line.split_once(": ").unwrap();
        let frame: Value = serde_json::from_str(frame).unwrap();
        format!("{server} {}", frame["params"]["notifications"])
    });
    assert_snapshot!(filters.collect::<Vec<_>>().join("\n"), @r#"
    a {"resourceSubscriptions":["x:y"],"toolsListChanged":true}
    b {"resourceSubscriptions":["b:a","x:y"],"toolsListChanged":true}
    dumb {"resourceSubscriptions":["x:y"],"toolsListChanged":true}
    "#);
    // The client closes the stream.
    let params = of_today(json!({"requestId": "L"}));
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
        .await;
    let sent = client.sent();
    assert_eq!(sent.matches("notifications/cancelled").count(), 2, "{sent}");
    assert!(!sent.contains("\"L\""), "{sent}");
}

/// Tests that each server is asked to report its own resource, and that the client is informed
/// under the URI that it used.
#[tokio::test(start_paused = true)]
async fn a_stream_tells_the_same_uri_of_two_servers_apart() {
    let servers = Servers::default()
        .with("a", telling("a"))
        .with("b", telling("b"));
    // This client has not requested any list before.
    let mut client = Client::of(servers, |server| server);
    let filter = json!({"resourceSubscriptions": ["both:x", "b+both:x"]});
    let listen = of_today(json!({"notifications": filter}));
    client
        .send(&json!({"jsonrpc": "2.0", "id": "L", "method": "subscriptions/listen", "params": listen}))
        .await;
    let mut told = Vec::new();
    for _ in 0..3 {
        let params = client.next().await["params"].take();
        told.push(format!("{} {}", params["uri"], params["notifications"]));
    }
    told.sort();
    for line in client.sent().lines().filter(|line| line.contains("listen")) {
        let (server, frame) = line.split_once(": ").unwrap();
        let frame: Value = serde_json::from_str(frame).unwrap();
        told.push(format!("{server} {}", frame["params"]["notifications"]));
    }
    assert_snapshot!(told.join("\n"), @r#"
    "b+both:x" null
    "both:x" null
    null {"resourceSubscriptions":["b+both:x","both:x"]}
    a {"resourceSubscriptions":["both:x"]}
    b {"resourceSubscriptions":["both:x"]}
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_no_server_opens_is_refused() {
    let servers = Servers::default()
        .with("dumb", telling("dumb"))
        .with("silent", |_| vec![crate::fake::the_end()]);
    let mut client = Client::of(servers, |server| server);
    let listen = of_today(json!({"notifications": {"toolsListChanged": true}}));
    let refused = client.ask(7, "subscriptions/listen", &listen).await;
    assert_eq!(refused["id"], 7);
    assert!(refused["error"]["message"].is_string(), "{refused}");
}

/// A legacy server with a prompt, a resource, log messages and completion.
fn with_all(server: &'static str) -> impl Fn(&Value) -> Vec<Value> {
    move |frame| {
        let (id, params) = (&frame["id"], &frame["params"]);
        let uri = format!("{server}:a");
        match frame["method"].as_str() {
            Some("prompts/list") => vec![answer(id, &json!({"prompts": [{"name": "ask"}]}))],
            Some("resources/list") => {
                vec![answer(
                    id,
                    &json!({"resources": [{"uri": uri, "name": "a"}]}),
                )]
            }
            Some("resources/templates/list") => vec![answer(id, &json!({"resourceTemplates": []}))],
            Some("resources/subscribe") if params["uri"] == uri => vec![answer(id, &json!({}))],
            Some("resources/read") if params["uri"] == uri => vec![
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": params["_meta"]["progressToken"], "progress": 1}}),
                answer(id, &json!({"contents": [{"uri": uri, "text": log(4000)}]})),
            ],
            Some("resources/read") if params["uri"] == format!("{server}:slow") => vec![],
            Some("resources/read" | "resources/subscribe") => vec![refusal(id, -32002, server)],
            Some("completion/complete") => {
                let name = &params["ref"]["name"];
                vec![answer(
                    id,
                    &json!({"completion": {"values": [format!("{server} {name}")]}}),
                )]
            }
            Some("logging/setLevel") if server == "b" => vec![answer(id, &json!({}))],
            Some("logging/setLevel") => vec![refusal(id, -32601, "no logs")],
            _ => vec![],
        }
    }
}

fn two() -> Servers {
    Servers::default()
        .with("a", with_all("a"))
        .with("b", with_all("b"))
}

#[tokio::test]
async fn what_one_server_is_asked_reaches_that_one() {
    let mut client = Client::of(two(), |server| server);
    let mut told = Vec::new();
    for (method, params) in [
        ("resources/subscribe", json!({"uri": "b:a"})),
        ("resources/subscribe", json!({"uri": "c:a"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "b_ask"}, "argument": {}}),
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "a_ask"}, "argument": {}}),
        ),
        ("logging/setLevel", json!({"level": "debug"})),
    ] {
        told.push(client.ask(4, method, &params).await.to_string());
    }
    assert_snapshot!(told.join("\n"), @r#"
    {"id":4,"jsonrpc":"2.0","result":{}}
    {"error":{"code":-32002,"message":"a"},"id":4,"jsonrpc":"2.0"}
    {"id":4,"jsonrpc":"2.0","result":{"completion":{"values":["b \"ask\""]}}}
    {"id":4,"jsonrpc":"2.0","result":{"completion":{"values":["a \"ask\""]}}}
    {"id":4,"jsonrpc":"2.0","result":{}}
    "#);
    let sent = client.sent();
    let of = |method: &str| {
        let lines = sent.lines().filter(|line| line.contains(method));
        let servers = lines.filter_map(|line| line.split_once(": "));
        servers
            .map(|(server, _)| server)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(of("resources/subscribe"), "a b b");
    assert_eq!(of("completion/complete"), "a b");
    assert_eq!(of("logging/setLevel"), "a b");
}

#[tokio::test]
async fn progress_cancellation_and_large_answers_are_those_of_the_request() {
    let mut client = Client::of(two(), |server| server);
    let read = json!({"uri": "b:a", "_meta": {"progressToken": "t"}});
    client
        .send(&json!({"jsonrpc": "2.0", "id": 5, "method": "resources/read", "params": read}))
        .await;
    let mut told = [client.next().await, client.next().await];
    told.sort_by_key(|one| one.get("id").is_some());
    assert_eq!(told[0]["params"]["progressToken"], "t");
    let text = told[1]["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("stored whole as"), "{text:.200}");
    client.sent();
    client
        .send(&json!({"jsonrpc": "2.0", "id": 6, "method": "resources/read", "params": {"uri": "b:slow"}}))
        .await;
    client.until_sent(r#"b: {"id":6"#).await;
    let params = json!({"requestId": 6});
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
        .await;
    assert_snapshot!(client.sent(), @r#"
    a: {"id":6,"jsonrpc":"2.0","method":"resources/read","params":{"uri":"b:slow"}}
    b: {"id":6,"jsonrpc":"2.0","method":"resources/read","params":{"uri":"b:slow"}}
    b: {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}
    "#);
}

#[tokio::test]
async fn lists_of_modern_servers_have_what_they_must() {
    let servers = Servers::default()
        .with("a", telling("a"))
        .with("dumb", telling("dumb"));
    let mut client = Client::of(servers, |server| server);
    client.ask(1, "server/discover", &of_today(json!({}))).await;
    let list = client.ask(2, "resources/list", &of_today(json!({}))).await;
    assert_snapshot!(list["result"], @r#"{"cacheScope":"private","resources":[{"name":"a","uri":"a:a"},{"name":"x","uri":"both:x"},{"name":"a","uri":"dumb:a"},{"name":"x","uri":"dumb+both:x"}],"resultType":"complete","ttlMs":0}"#);
}

#[tokio::test]
async fn our_own_answers_are_of_the_requests_generation() {
    let mut client = Client::of(Servers::default().with("a", telling("a")), |server| server);
    let call = json!({"name": "spillgate_read", "arguments": {"handle": "none"}});
    let modern = client.ask(1, "tools/call", &of_today(call.clone())).await;
    assert_eq!(modern["result"]["resultType"], "complete");
    assert_eq!(modern["result"]["isError"], true);
    let legacy = client.ask(2, "tools/call", &call).await;
    assert!(legacy["result"].get("resultType").is_none(), "{legacy}");
}

#[tokio::test]
async fn a_batch_is_taken_apart_where_we_have_to_do_with_it() {
    let call = json!({"name": "spillgate_read", "arguments": {"handle": "none"}});
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": 2, "method": "resources/templates/list"},
    ]);
    let mut solo = Client::of(Servers::default().with("a", with_all("a")), |server| server);
    let mut several = Client::of(two(), |server| server);
    for client in [&mut solo, &mut several] {
        client.send(&batch).await;
        let mut told = [client.next().await, client.next().await];
        told.sort_by_key(|one| one["id"].to_string());
        assert_eq!(told[0]["result"]["isError"], true);
        assert_eq!(told[1]["result"], json!({"resourceTemplates": []}));
    }
    let plain = json!([{"jsonrpc": "2.0", "id": 2, "method": "x"}, {"jsonrpc": "2.0", "id": 3, "method": "y"}]);
    solo.sent();
    solo.send(&plain).await;
    assert_eq!(solo.sent(), format!("a: {plain}"));
    several.send(&json!("no message")).await;
    assert_eq!(several.next().await["error"]["code"], -32700);
}

#[tokio::test]
async fn a_client_of_one_server_gets_several() {
    let asks = |frame: &Value| match frame["method"].as_str() {
        Some("initialize") => vec![answer(
            &frame["id"],
            &json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}),
        )],
        Some("notifications/initialized") => {
            vec![json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})]
        }
        Some("tools/list") => vec![answer(&frame["id"], &json!({"tools": [{"name": "x"}]}))],
        Some("tools/call") => vec![answer(&frame["id"], &json!({"content": []}))],
        _ => vec![],
    };
    let servers = Servers::default().with("a", asks).with("b", asks);
    let mut client = Client::beginning_with("a", servers);
    client
        .ask(1, "initialize", &json!({"protocolVersion": "2025-11-25"}))
        .await;
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    assert_eq!(client.next().await["id"], 1);
    client.keep(&["a", "b"]).await;
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(client.next().await["method"].to_string());
    }
    client.sent();
    // The first server sent this request while it was the only server. The response goes to it.
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "result": {"roots": []}}))
        .await;
    told.push(client.sent());
    client
        .send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))
        .await;
    let listed = loop {
        let frame = client.next().await;
        if frame["id"] == 2 {
            break frame;
        }
        told.push(frame.to_string()); // the new server also sends a request
    };
    let tools = listed["result"]["tools"].as_array().unwrap();
    told.extend(tools.iter().take(2).map(|tool| tool["name"].to_string()));
    let called = client.ask(3, "tools/call", &json!({"name": "b_x"})).await;
    told.push(called.to_string());
    assert_snapshot!(told.join("\n"), @r#"
    "notifications/tools/list_changed"
    "notifications/prompts/list_changed"
    "notifications/resources/list_changed"
    a: {"id":1,"jsonrpc":"2.0","result":{"roots":[]}}
    {"id":"1:1","jsonrpc":"2.0","method":"roots/list"}
    "a_x"
    "b_x"
    {"id":3,"jsonrpc":"2.0","result":{"content":[]}}
    "#);
}
