//! Tests of clients and servers of different generations of MCP.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_bridge::Bridging;
use spillgate_transport::{HttpServer, ServerSpec, Transport};
use spillgate_upstream::Server;

use crate::fake::{Client, Servers, the_end};

/// A server of 2025-11-25, which refuses all requests before `initialize`. Its tool `ask` asks the
/// client for a name before it answers.
fn legacy(name: &'static str) -> impl Fn(&Value) -> Vec<Value> + Clone {
    let asked: Arc<Mutex<BTreeMap<String, Value>>> = Arc::default();
    let is_open = Arc::new(Mutex::new(false));
    move |frame| {
        let id = &frame["id"];
        let answer = |result: Value| vec![json!({"jsonrpc": "2.0", "id": id, "result": result})];
        let refuse = |code: i64| {
            vec![json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no"}})]
        };
        let mut is_open = is_open.lock().unwrap();
        match frame["method"].as_str() {
            Some("initialize") => {
                *is_open = true;
                answer(json!({
                    "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": name, "version": "1"}, "instructions": format!("use {name}"),
                }))
            }
            Some("server/discover") => refuse(-32601),
            Some(_) if !*is_open => refuse(-32602),
            Some("tools/list") => answer(
                json!({"tools": [{"name": format!("{name}_tool"), "inputSchema": {"type": "object"}}]}),
            ),
            Some("tools/call") if frame["params"]["name"] == "ask" => {
                let question = format!("q{id}");
                asked.lock().unwrap().insert(question.clone(), id.clone());
                let params = json!({"message": "who?", "requestedSchema": {"type": "object", "properties": {}}});
                vec![
                    json!({"jsonrpc": "2.0", "id": question, "method": "elicitation/create", "params": params}),
                ]
            }
            Some("tools/call") => answer(
                json!({"content": [{"type": "text", "text": format!("{name} did {}", frame["params"]["arguments"])}]}),
            ),
            Some(_) => vec![],
            None => {
                let question = id.as_str().unwrap_or_default();
                let Some(call) = asked.lock().unwrap().remove(question) else {
                    return vec![];
                };
                let text = format!("hello {}", frame["result"]);
                vec![
                    json!({"jsonrpc": "2.0", "id": call, "result": {"content": [{"type": "text", "text": text}]}}),
                ]
            }
        }
    }
}

/// A server that supports only 2026-07-28. It refuses older versions with `refusal`.
fn modern(name: &'static str, refusal: Value) -> impl Fn(&Value) -> Vec<Value> + Clone {
    move |frame| {
        let id = &frame["id"];
        let answer = |result: Value| vec![json!({"jsonrpc": "2.0", "id": id, "result": result})];
        let version = &frame["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        match frame["method"].as_str() {
            None => vec![],
            _ if id.is_null() => vec![],
            Some("initialize") => vec![json!({"jsonrpc": "2.0", "id": id, "error": refusal})],
            Some(_) if version != "2026-07-28" => {
                vec![
                    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "no version"}}),
                ]
            }
            Some("server/discover") => answer(json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "instructions": format!("use {name}"), "ttlMs": 0, "cacheScope": "private",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": name, "version": "2"}},
            })),
            Some("tools/list") => answer(json!({
                "resultType": "complete", "tools": [{"name": format!("{name}_tool"), "inputSchema": {"type": "object"}}],
                "ttlMs": 0, "cacheScope": "private",
            })),
            Some("tools/call") => answer(json!({
                "resultType": "complete", "content": [{"type": "text", "text": format!("{name} did {}", frame["params"]["arguments"])}],
            })),
            Some(method) => vec![
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": method}}),
            ],
        }
    }
}

fn refused() -> Value {
    json!({"code": -32022, "message": "Unsupported protocol version", "data": {"supported": ["2026-07-28"], "requested": "2025-11-25"}})
}

/// Returns the parameters of a modern request.
fn of_today(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    });
    params
}

fn greeting() -> Value {
    json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}})
}

fn as_is(server: Server) -> Server {
    server
}

fn by(bridge: Bridging) -> impl Fn(Server) -> Server {
    move |server| Server { bridge, ..server }
}

async fn initialized(client: &Client) {
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    client.send(&note).await;
}

/// Returns the text in the result of a call.
async fn called(client: &mut Client, id: u64, params: &Value) -> String {
    let answer = client.ask(id, "tools/call", params).await;
    assert_eq!(answer["id"], id, "{answer}");
    answer["result"]["content"][0]["text"]
        .as_str()
        .map_or_else(|| answer.to_string(), str::to_owned)
}

#[tokio::test]
async fn a_legacy_client_and_a_legacy_server_are_left_alone() {
    let mut client = Client::of(Servers::default().with("s", legacy("s")), as_is);
    client.ask(1, "initialize", &greeting()).await;
    initialized(&client).await;
    let call = json!({"name": "x", "arguments": {"a": 1.50}});
    assert_eq!(called(&mut client, 7, &call).await, r#"s did {"a":1.5}"#);
    assert_snapshot!(client.sent(), @r#"
    s: opened
    s: {"id":1,"jsonrpc":"2.0","method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"c","version":"1"},"protocolVersion":"2025-11-25"}}
    s: {"id":7,"jsonrpc":"2.0","method":"tools/call","params":{"arguments":{"a":1.5},"name":"x"}}
    s: {"jsonrpc":"2.0","method":"notifications/initialized"}
    "#);
}

#[tokio::test]
async fn a_modern_client_and_a_modern_server_are_left_alone() {
    let servers = Servers::default().with("s", modern("s", refused()));
    let mut client = Client::of(servers, as_is);
    client.ask(1, "server/discover", &of_today(json!({}))).await;
    let call = of_today(json!({"name": "x", "arguments": {}}));
    assert_eq!(called(&mut client, 7, &call).await, "s did {}");
    assert_snapshot!(client.sent(), @r#"
    s: opened
    s: {"id":1,"jsonrpc":"2.0","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
    s: {"id":7,"jsonrpc":"2.0","method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"arguments":{},"name":"x"}}
    "#);
}

#[tokio::test]
async fn a_legacy_client_is_served_by_a_modern_server() {
    let cases = [
        ("by its version", refused()),
        (
            "by the method",
            json!({"code": -32601, "message": "Method not found"}),
        ),
        (
            "by what it wants",
            json!({"code": -32602, "message": "_meta is missing"}),
        ),
        ("for any reason", json!({"code": -32603, "message": "oh"})),
    ];
    for (how, refusal) in cases {
        let mut client = Client::of(Servers::default().with("s", modern("s", refusal)), as_is);
        let greeted = client.ask(1, "initialize", &greeting()).await;
        assert_eq!(greeted["result"]["protocolVersion"], "2025-11-25", "{how}");
        assert_eq!(greeted["result"]["serverInfo"]["name"], "s", "{how}");
        initialized(&client).await;
        let call = json!({"name": "x", "arguments": {"a": 1}});
        assert_eq!(
            called(&mut client, 7, &call).await,
            r#"s did {"a":1}"#,
            "{how}"
        );
    }
}

#[tokio::test]
async fn a_server_that_refuses_everybody_is_heard() {
    let refuses = |frame: &Value| {
        let error = json!({"code": -32603, "message": "no licence"});
        vec![json!({"jsonrpc": "2.0", "id": frame["id"], "error": error})]
    };
    let mut client = Client::of(Servers::default().with("s", refuses), as_is);
    let greeted = client.ask(1, "initialize", &greeting()).await;
    assert_snapshot!(greeted, @r#"{"error":{"code":-32603,"message":"no licence"},"id":1,"jsonrpc":"2.0"}"#);
}

#[tokio::test]
async fn our_own_tools_answer_in_the_generation_of_the_call() {
    let mut client = Client::of(Servers::default().with("s", legacy("s")), as_is);
    client.ask(1, "initialize", &greeting()).await;
    let call = json!({"name": "spillgate_read", "arguments": {}});
    for (id, params, kind) in [
        (2, call.clone(), Value::Null),
        (3, of_today(call), json!("complete")),
    ] {
        let answer = client.ask(id, "tools/call", &params).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert_eq!(answer["result"]["resultType"], kind, "{answer}");
    }
}

#[tokio::test]
async fn a_modern_client_that_insists_is_served_by_a_legacy_server() {
    let mut client = Client::of(Servers::default().with("s", legacy("s")), as_is);
    let refusal = client.ask(1, "server/discover", &of_today(json!({}))).await;
    assert_snapshot!(refusal, @r#"{"error":{"code":-32601,"message":"no"},"id":1,"jsonrpc":"2.0"}"#);
    let call = of_today(json!({"name": "x", "arguments": {"a": 1}}));
    assert_eq!(called(&mut client, 2, &call).await, r#"s did {"a":1}"#);
    assert_snapshot!(client.sent(), @r#"
    s: mcp-protocol-version: 2025-11-25
    s: mcp-protocol-version: 2025-11-25
    s: opened
    s: {"id":1,"jsonrpc":"2.0","method":"initialize","params":{"capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"c","version":"1"},"protocolVersion":"2025-11-25"}}
    s: {"id":1,"jsonrpc":"2.0","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
    s: {"id":2,"jsonrpc":"2.0","method":"tools/call","params":{"_meta":{},"arguments":{"a":1},"name":"x"}}
    s: {"jsonrpc":"2.0","method":"notifications/initialized"}
    "#);
    let greeted = client.ask(3, "server/discover", &of_today(json!({}))).await;
    assert_eq!(greeted["result"]["supportedVersions"][0], "2026-07-28");
}

#[tokio::test]
async fn a_modern_client_may_begin_with_a_call() {
    let servers = || Servers::default().with("s", legacy("s"));
    let mut client = Client::of(servers(), as_is);
    for (id, which) in [(1, 2), (2, 3)] {
        let call = of_today(json!({"name": "x", "arguments": {"n": which}}));
        client
            .send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}))
            .await;
    }
    let mut told = vec![client.next().await, client.next().await];
    told.sort_by_key(|frame| frame["id"].to_string());
    assert_snapshot!(json!(told), @r#"[{"id":1,"jsonrpc":"2.0","result":{"content":[{"text":"s did {\"n\":2}","type":"text"}],"resultType":"complete"}},{"id":2,"jsonrpc":"2.0","result":{"content":[{"text":"s did {\"n\":3}","type":"text"}],"resultType":"complete"}}]"#);
    assert_snapshot!(client.sent(), @r#"
    s: mcp-protocol-version: 2025-11-25
    s: mcp-protocol-version: 2025-11-25
    s: mcp-protocol-version: 2025-11-25
    s: mcp-protocol-version: 2026-07-28
    s: opened
    s: {"id":"spillgate:era","jsonrpc":"2.0","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"spillgate","version":"0.1.0"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
    s: {"id":1,"jsonrpc":"2.0","method":"initialize","params":{"capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"c","version":"1"},"protocolVersion":"2025-11-25"}}
    s: {"id":2,"jsonrpc":"2.0","method":"tools/call","params":{"_meta":{},"arguments":{"n":2},"name":"x"}}
    s: {"id":3,"jsonrpc":"2.0","method":"tools/call","params":{"_meta":{},"arguments":{"n":3},"name":"x"}}
    s: {"jsonrpc":"2.0","method":"notifications/initialized"}
    "#);
    // The same is tested with a modern server, which is asked only once.
    let servers = Servers::default().with("s", modern("s", refused()));
    let mut client = Client::of(servers, as_is);
    let call = of_today(json!({"name": "x", "arguments": {}}));
    assert_eq!(called(&mut client, 1, &call).await, "s did {}");
    assert_eq!(called(&mut client, 2, &call).await, "s did {}");
    assert_eq!(client.sent().matches("server/discover").count(), 1);
}

#[tokio::test]
async fn a_client_that_speaks_both_falls_back_by_itself() {
    let mut client = Client::of(Servers::default().with("s", legacy("s")), as_is);
    client.ask(1, "server/discover", &of_today(json!({}))).await;
    let greeted = client.ask(2, "initialize", &greeting()).await;
    assert_eq!(greeted["result"]["serverInfo"]["name"], "s");
    initialized(&client).await;
    let call = json!({"name": "x", "arguments": {}});
    assert_eq!(called(&mut client, 9, &call).await, "s did {}");
    assert!(client.sent().contains(r#""id":9"#), "it is passed as it is");
}

#[tokio::test]
async fn a_client_that_asks_for_both_at_once_hears_that_one_is_refused() {
    for discover_first in [true, false] {
        let served = modern("s", refused());
        let waiting: Arc<Mutex<Option<Value>>> = Arc::default();
        // Both requests are answered when both have arrived.
        let server = move |frame: &Value| match frame["method"].as_str() {
            Some("server/discover") => {
                *waiting.lock().unwrap() = Some(frame.clone());
                vec![]
            }
            Some("initialize") => {
                let asked = waiting.lock().unwrap().take().unwrap_or_default();
                let mut told = [served(frame), served(&asked)].concat();
                told.rotate_left(usize::from(discover_first));
                told
            }
            _ => served(frame),
        };
        let mut client = Client::of(Servers::default().with("s", server), as_is);
        let both = [
            (1, "server/discover", of_today(json!({}))),
            (2, "initialize", greeting()),
        ];
        for (id, method, params) in both {
            let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            client.send(&frame).await;
        }
        let mut told = [client.next().await, client.next().await];
        told.sort_by_key(|frame| frame["id"].to_string());
        assert_eq!(told[0]["result"]["supportedVersions"][0], "2026-07-28");
        assert_eq!(told[1]["error"], refused(), "{discover_first}");
        let call = of_today(json!({"name": "x", "arguments": {}}));
        assert_eq!(called(&mut client, 3, &call).await, "s did {}");
        assert!(!client.sent().contains("spillgate:era"), "it is not asked");
    }
}

#[tokio::test]
async fn always_and_never() {
    let servers = || Servers::default().with("s", legacy("s"));
    let mut client = Client::of(servers(), by(Bridging::Always));
    let greeted = client.ask(1, "server/discover", &of_today(json!({}))).await;
    assert_eq!(greeted["result"]["instructions"], "use s");
    let call = of_today(json!({"name": "x", "arguments": {}}));
    assert_eq!(called(&mut client, 2, &call).await, "s did {}");

    let mut client = Client::of(servers(), by(Bridging::Never));
    let refusal = client.ask(1, "tools/call", &call).await;
    assert_eq!(refusal["error"]["code"], -32602);
    let servers = Servers::default().with("s", modern("s", refused()));
    let mut client = Client::of(servers, by(Bridging::Never));
    let refusal = client.ask(1, "initialize", &greeting()).await;
    assert_eq!(refusal["error"]["code"], -32022);
}

#[tokio::test]
async fn exchanges_share_the_session_of_a_legacy_server() {
    let mut one = Client::stateless(Servers::default().with("s", legacy("s")));
    let mut other = one.another();
    let call = |who: &str| of_today(json!({"name": "x", "arguments": {"of": who}}));
    assert_eq!(
        called(&mut one, 7, &call("one")).await,
        r#"s did {"of":"one"}"#
    );
    assert_eq!(
        called(&mut other, 7, &call("other")).await,
        r#"s did {"of":"other"}"#
    );
    let refusal = one
        .another()
        .ask(8, "server/discover", &of_today(json!({})))
        .await;
    assert_snapshot!(refusal, @r#"{"error":{"code":-32601,"data":{"fault":"client","hint":"begin with `initialize`"},"message":"the server speaks MCP 2025-11-25 or older: `server/discover` is not part of it"},"id":8,"jsonrpc":"2.0"}"#);
    assert_snapshot!(one.sent(), @r#"
    s: mcp-protocol-version: 2025-11-25
    s: mcp-protocol-version: 2025-11-25
    s: mcp-protocol-version: 2025-11-25
    s: mcp-protocol-version: 2026-07-28
    s: opened
    s: {"id":1,"jsonrpc":"2.0","method":"initialize","params":{"capabilities":{"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{"context":{},"tools":{}}},"clientInfo":{"name":"c","version":"1"},"protocolVersion":"2025-11-25"}}
    s: {"id":2,"jsonrpc":"2.0","method":"tools/call","params":{"_meta":{},"arguments":{"of":"one"},"name":"x"}}
    s: {"id":3,"jsonrpc":"2.0","method":"tools/call","params":{"_meta":{},"arguments":{"of":"other"},"name":"x"}}
    s: {"id":4294967296,"jsonrpc":"2.0","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"spillgate","version":"0.1.0"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
    s: {"jsonrpc":"2.0","method":"notifications/initialized"}
    "#);
}

#[tokio::test]
async fn a_question_amid_a_call_is_answered_on_another_exchange() {
    let mut one = Client::stateless(Servers::default().with("s", legacy("s")));
    let ask = json!({"name": "ask", "arguments": {}});
    let asked = one.ask(1, "tools/call", &of_today(ask.clone())).await;
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let (name, question) = result["inputRequests"]
        .as_object()
        .unwrap()
        .iter()
        .next()
        .unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let state = &result["requestState"];
    assert_eq!(state.as_str().unwrap().len(), 32, "128 bits in hex");
    let mut other = one.another();
    one.session.close(false).await;
    let mut again = of_today(ask);
    again["requestState"] = state.clone();
    again["inputResponses"] = json!({name: {"action": "accept", "content": {}}});
    let answer = called(&mut other, 5, &again).await;
    assert_snapshot!(answer, @r#"hello {"action":"accept","content":{}}"#);
}

#[tokio::test]
async fn servers_of_both_generations_look_like_one() {
    let both = || {
        Servers::default()
            .with("new", modern("new", refused()))
            .with("old", legacy("old"))
    };
    let mut client = Client::of(both(), as_is);
    let greeted = client.ask(1, "server/discover", &of_today(json!({}))).await;
    assert_snapshot!(greeted, @r##"{"id":1,"jsonrpc":"2.0","result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"spillgate","version":"0.1.0"}},"cacheScope":"private","capabilities":{"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true},"tools":{"listChanged":true}},"instructions":"# new\nuse new\n\n# old\nuse old","resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0}}"##);
    let mut told = Vec::new();
    for (id, tool) in [(2, "new_tool"), (3, "old_tool")] {
        let call = of_today(json!({"name": tool, "arguments": {}}));
        told.push(called(&mut client, id, &call).await);
    }
    assert_eq!(told, ["new did {}", "old did {}"]);

    let mut client = Client::of(both(), as_is);
    let greeted = client.ask(1, "initialize", &greeting()).await;
    assert_snapshot!(greeted, @r##"{"id":1,"jsonrpc":"2.0","result":{"capabilities":{"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true},"tools":{"listChanged":true}},"instructions":"# new\nuse new\n\n# old\nuse old","protocolVersion":"2025-11-25","serverInfo":{"name":"spillgate","version":"0.1.0"}}}"##);
    initialized(&client).await;
    for (id, tool) in [(2, "new_tool"), (3, "old_tool")] {
        let call = json!({"name": tool, "arguments": {}});
        told.push(called(&mut client, id, &call).await);
    }
    assert_eq!(told[2..], ["new did {}", "old did {}"]);
}

#[tokio::test]
async fn several_legacy_servers_are_a_legacy_one() {
    let servers = Servers::default()
        .with("a", legacy("a"))
        .with("b", legacy("b"));
    let mut client = Client::of(servers, as_is);
    let refusal = client.ask(1, "server/discover", &of_today(json!({}))).await;
    assert_snapshot!(refusal, @r#"{"error":{"code":-32601,"data":{"fault":"client"},"message":"no server behind this gateway has the method `server/discover`"},"id":1,"jsonrpc":"2.0"}"#);
    let greeted = client.ask(2, "initialize", &greeting()).await;
    assert_eq!(greeted["result"]["protocolVersion"], "2025-11-25");
}

/// Returns the server's configuration with HTTP as its transport.
fn by_http(server: Server) -> Server {
    let http = HttpServer {
        url: "http://127.0.0.1:1/".to_owned(),
        headers: BTreeMap::new(),
    };
    let spec = ServerSpec {
        transport: Transport::Http(http),
        ..server.spec
    };
    Server { spec, ..server }
}

#[tokio::test]
async fn exchanges_share_one_session_over_http() {
    let servers = Servers::default().with("s", legacy("s"));
    let mut one = Client::of(servers, by_http).another();
    let mut other = one.another();
    let call = of_today(json!({"name": "x", "arguments": {}}));
    assert_eq!(called(&mut one, 1, &call).await, "s did {}");
    assert_eq!(called(&mut other, 1, &call).await, "s did {}");
    let sent = one.sent();
    assert_eq!(sent.matches("initialize\"").count(), 1, "{sent}");
    assert_eq!(sent.matches("s: opened").count(), 3, "{sent}");
}

#[tokio::test]
async fn a_bridged_server_that_ends_fails_what_waits_and_is_bridged_again() {
    let answers = legacy("s");
    let dies = move |frame: &Value| match frame["params"]["name"] == "die" {
        true => vec![the_end()],
        false => answers(frame),
    };
    for is_exchange in [false, true] {
        let client = Client::of(Servers::default().with("s", dies.clone()), as_is);
        let mut client = if is_exchange {
            client.another()
        } else {
            client
        };
        for (id, name) in [(1, "ask"), (2, "die")] {
            let call = of_today(json!({"name": name, "arguments": {}}));
            client
                .send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}))
                .await;
        }
        // The question arrived before the server ended, so it answers the first request and only
        // the second one fails.
        let told = [client.next().await, client.next().await];
        let failed: Vec<&Value> = told.iter().filter_map(|frame| frame.get("error")).collect();
        let message = failed.first().and_then(|error| error["message"].as_str());
        assert_eq!(failed.len(), 1);
        assert_eq!(
            message,
            Some("the upstream server `s` exited with status 7 before it answered")
        );
        let call = of_today(json!({"name": "x", "arguments": {}}));
        assert_eq!(called(&mut client, 3, &call).await, "s did {}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ignores_what_it_does_not_know_is_a_legacy_one() {
    let answers = legacy("s");
    let ignores = move |frame: &Value| match frame["method"] == "server/discover" {
        true => vec![],
        false => answers(frame),
    };
    let servers = || Servers::default().with("s", ignores.clone());
    let call = of_today(json!({"name": "x", "arguments": {}}));
    let mut client = Client::of(servers(), as_is);
    assert_eq!(called(&mut client, 1, &call).await, "s did {}");
    // A request that is cancelled in the meantime never reaches the server.
    let mut client = Client::of(servers(), as_is);
    for id in [1, 2] {
        client
            .send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}))
            .await;
    }
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .await;
    assert_eq!(client.next().await["id"], 2);
    assert_eq!(client.sent().matches("tools/call").count(), 1);
}

#[tokio::test]
async fn what_waits_when_the_client_leaves_is_still_served() {
    let mut client = Client::of(Servers::default().with("s", legacy("s")), as_is);
    let call = of_today(json!({"name": "x", "arguments": {}}));
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}))
        .await;
    client.session.close(false).await;
    let answer = client.next().await;
    assert_eq!(answer["id"], 1, "{answer}");
    let sent = client.sent();
    assert!(sent.contains("tools/call"), "{sent}");
}
