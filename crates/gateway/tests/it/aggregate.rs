//! Tests of one client with several servers.

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_gateway::Incoming;
use spillgate_upstream::{Server, ToolFilter};

use crate::fake::{Client, Servers, the_end};

/// A server with these tools, one per page. It answers a call with its own name and the tool's
/// name.
fn tools(server: &'static str, names: &'static [&'static str]) -> impl Fn(&Value) -> Vec<Value> {
    move |frame| {
        let answer =
            |result: Value| vec![json!({"jsonrpc": "2.0", "id": frame["id"], "result": result})];
        let params = &frame["params"];
        match frame["method"].as_str() {
            Some("initialize") => answer(json!({
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": server, "version": "1"}, "instructions": format!("use {server}"),
            })),
            Some("tools/list") => {
                let at: usize = params["cursor"]
                    .as_str()
                    .map_or(0, |at| at.parse().unwrap());
                let mut page = json!({"tools": [{"name": names[at], "inputSchema": {"type": "object"}, "x": server}]});
                if at + 1 < names.len() {
                    page["nextCursor"] = json!((at + 1).to_string());
                }
                answer(page)
            }
            Some("tools/call") => answer(
                json!({"content": [{"type": "text", "text": format!("{server} did {}", params["name"])}]}),
            ),
            Some("resources/list") => {
                answer(json!({"resources": [{"uri": format!("{server}://a"), "name": "a"}]}))
            }
            Some("resources/read")
                if params["uri"] == format!("{server}://a") || params["uri"] == "both://x" =>
            {
                answer(json!({"contents": [{"uri": params["uri"], "text": server}]}))
            }
            Some("resources/read") => vec![
                json!({"jsonrpc": "2.0", "id": frame["id"], "error": {"code": -32002, "message": "not here"}}),
            ],
            Some("die") => vec![the_end()],
            Some(method) if frame.get("id").is_some() => {
                vec![
                    json!({"jsonrpc": "2.0", "id": frame["id"], "error": {"code": -32601, "message": method}}),
                ]
            }
            _ => vec![],
        }
    }
}

fn two() -> Servers {
    Servers::default()
        .with("git", tools("git", &["log", "search"]))
        .with("web hub", tools("web hub", &["search", "fetch", "rm"]))
}

fn without_rm(server: Server) -> Server {
    let tools = ToolFilter::new(&[], &["r?".to_owned()]).unwrap();
    Server { tools, ..server }
}

fn names(list: &Value) -> Vec<&str> {
    let tools = list["result"]["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn they_look_like_one() {
    let mut client = Client::of(two(), without_rm);
    let greeting = client
        .ask(1, "initialize", &json!({"protocolVersion": "2025-11-25"}))
        .await;
    assert_snapshot!(greeting, @r##"{"id":1,"jsonrpc":"2.0","result":{"capabilities":{"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true},"tools":{"listChanged":true}},"instructions":"# git\nuse git\n\n# web hub\nuse web hub","protocolVersion":"2025-06-18","serverInfo":{"name":"spillgate","version":"0.1.0"}}}"##);
    let list = client.ask(2, "tools/list", &json!({})).await;
    assert_snapshot!(names(&list).join(" "), @"log git_search web_hub_search fetch spillgate_read spillgate_grep spillgate_query spillgate_search");
    assert_eq!(list["result"]["tools"][0]["x"], "git");
    let mut told = Vec::new();
    for name in [
        "log",
        "git_search",
        "web_hub_search",
        "fetch",
        "search",
        "rm",
    ] {
        let answer = client.ask(3, "tools/call", &json!({"name": name})).await;
        told.push(format!("{name}: {answer}"));
    }
    assert_snapshot!(told.join("\n"), @r#"
    log: {"id":3,"jsonrpc":"2.0","result":{"content":[{"text":"git did \"log\"","type":"text"}]}}
    git_search: {"id":3,"jsonrpc":"2.0","result":{"content":[{"text":"git did \"search\"","type":"text"}]}}
    web_hub_search: {"id":3,"jsonrpc":"2.0","result":{"content":[{"text":"web hub did \"search\"","type":"text"}]}}
    fetch: {"id":3,"jsonrpc":"2.0","result":{"content":[{"text":"web hub did \"fetch\"","type":"text"}]}}
    search: {"error":{"code":-32602,"data":{"fault":"client"},"message":"no tool `search`; there are git_search and web_hub_search"},"id":3,"jsonrpc":"2.0"}
    rm: {"error":{"code":-32602,"data":{"fault":"client"},"message":"no server behind this gateway has the tool `rm`"},"id":3,"jsonrpc":"2.0"}
    "#);
}

#[tokio::test]
async fn a_person_sees_how_many_tools_each_server_has() {
    let mut several = Client::of(two(), without_rm);
    assert_eq!(several.tools_seen(), [None, None]);
    several.ask(1, "tools/list", &json!({})).await;
    assert_eq!(several.tools_seen(), [Some(2), Some(3)]);
    // The list of an only server passes through, a page at a time.
    let servers = Servers::default().with("git", tools("git", &["log", "search"]));
    let mut only = Client::of(servers, |server| server);
    assert_eq!(only.tools_seen(), [None]);
    only.ask(1, "tools/list", &json!({})).await;
    only.ask(2, "tools/list", &json!({"cursor": "1"})).await;
    assert_eq!(only.tools_seen(), [Some(2)]);
    let mut second = only.second();
    second.ask(1, "tools/list", &json!({})).await;
    second.ask(2, "tools/list", &json!({"cursor": "1"})).await;
    assert_eq!(second.tools_seen(), [Some(2)]);
}

#[tokio::test]
async fn a_call_finds_its_server_before_anything_was_listed() {
    let mut client = Client::of(two(), without_rm);
    let answer = client
        .ask(1, "tools/call", &json!({"name": "web_hub_search"}))
        .await;
    assert_snapshot!(answer["result"]["content"][0]["text"], @r#""web hub did \"search\"""#);
}

#[tokio::test]
async fn resources_are_read_where_they_are() {
    let mut client = Client::of(two(), |server| server);
    let mut told = Vec::new();
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/read", json!({"uri": "web hub://a"})),
        ("resources/read", json!({"uri": "git://a"})),
        ("resources/read", json!({"uri": "both://x"})),
        ("resources/read", json!({"uri": "none://x"})),
        ("ping", json!({})),
        ("unheard/of", json!({})),
        ("tools/call", json!({})),
    ] {
        told.push(client.ask(4, method, &params).await.to_string());
    }
    client
        .session
        .take(spillgate_gateway::Incoming::new(
            r#"[{"id":1,"method":"ping"}, {"id":2,"method":"ping"}]"#,
        ))
        .await;
    let mut answers = [client.next().await, client.next().await].map(|one| one.to_string());
    answers.sort();
    told.extend(answers);
    assert_snapshot!(told.join("\n"), @r#"
    {"id":4,"jsonrpc":"2.0","result":{"resources":[{"name":"a","uri":"git://a"},{"name":"a","uri":"web hub://a"}]}}
    {"id":4,"jsonrpc":"2.0","result":{"contents":[{"text":"web hub","uri":"web hub://a"}]}}
    {"id":4,"jsonrpc":"2.0","result":{"contents":[{"text":"git","uri":"git://a"}]}}
    {"id":4,"jsonrpc":"2.0","result":{"contents":[{"text":"git","uri":"both://x"}]}}
    {"error":{"code":-32002,"message":"not here"},"id":4,"jsonrpc":"2.0"}
    {"id":4,"jsonrpc":"2.0","result":{}}
    {"error":{"code":-32601,"message":"unheard/of"},"id":4,"jsonrpc":"2.0"}
    {"error":{"code":-32602,"data":{"fault":"client"},"message":"`tools/call` needs a `name`"},"id":4,"jsonrpc":"2.0"}
    {"id":1,"jsonrpc":"2.0","result":{}}
    {"id":2,"jsonrpc":"2.0","result":{}}
    "#);
}

#[tokio::test]
async fn requests_of_servers_are_told_apart() {
    let asks = |frame: &Value| match frame["method"].as_str() {
        Some("notifications/initialized") => {
            vec![json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})]
        }
        _ => vec![],
    };
    let mut client = Client::of(
        Servers::default().with("a", asks).with("b", asks),
        |server| server,
    );
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    let mut asked = vec![client.next().await, client.next().await];
    asked.sort_by_key(|frame| frame["id"].to_string());
    assert_snapshot!(json!(asked), @r#"[{"id":"0:1","jsonrpc":"2.0","method":"roots/list"},{"id":"1:1","jsonrpc":"2.0","method":"roots/list"}]"#);
    client.sent();
    for frame in asked {
        let answer =
            json!({"jsonrpc": "2.0", "id": frame["id"], "result": {"roots": [frame["id"]]}});
        client.send(&answer).await;
    }
    assert_snapshot!(client.sent(), @r#"
    a: {"id":1,"jsonrpc":"2.0","result":{"roots":["0:1"]}}
    b: {"id":1,"jsonrpc":"2.0","result":{"roots":["1:1"]}}
    "#);
}

#[tokio::test]
async fn a_server_that_is_down_leaves_the_others() {
    let dies = |_: &Value| vec![the_end()];
    let servers = Servers::default()
        .with("dead", dies)
        .with("git", tools("git", &["log"]));
    let mut client = Client::of(servers, |server| server);
    let greeting = client.ask(1, "initialize", &json!({})).await;
    assert_snapshot!(greeting["result"]["instructions"].as_str().unwrap(), @r"
    # git
    use git

    [spillgate] Not available yet: `dead` (exited with status 7). What they offer is listed once they answer.
    ");
    assert_eq!(
        names(&client.ask(2, "tools/list", &json!({})).await)[0],
        "log"
    );
}

#[tokio::test]
async fn another_configuration_keeps_what_stays() {
    let servers = two().with("new", tools("new", &["create"]));
    let mut client = Client::of(servers, |server| server);
    client.keep(&["git", "web hub"]).await;
    for _ in 0..3 {
        client.next().await; // the notification that lists have changed
    }
    client.ask(1, "initialize", &json!({})).await;
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    client.ask(2, "tools/list", &json!({})).await;
    client.sent();
    client.keep(&["git", "new"]).await;
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(client.next().await["method"].to_string());
    }
    let list = client.ask(3, "tools/list", &json!({})).await;
    told.push(names(&list).join(" "));
    let answer = client
        .ask(4, "tools/call", &json!({"name": "create"}))
        .await;
    told.push(answer.to_string());
    let answer = client.ask(5, "tools/call", &json!({"name": "fetch"})).await;
    told.push(answer.to_string());
    assert_snapshot!(told.join("\n"), @r#"
    "notifications/tools/list_changed"
    "notifications/prompts/list_changed"
    "notifications/resources/list_changed"
    log search create spillgate_read spillgate_grep spillgate_query spillgate_search
    {"id":4,"jsonrpc":"2.0","result":{"content":[{"text":"new did \"create\"","type":"text"}]}}
    {"error":{"code":-32602,"data":{"fault":"client"},"message":"no server behind this gateway has the tool `fetch`"},"id":5,"jsonrpc":"2.0"}
    "#);
    assert_snapshot!(client.sent(), @r#"
    git: {"id":"spillgate:10","jsonrpc":"2.0","method":"tools/list","params":{"cursor":"1"}}
    git: {"id":"spillgate:7","jsonrpc":"2.0","method":"tools/list","params":{}}
    new: opened
    new: {"id":"spillgate:8","jsonrpc":"2.0","method":"tools/list","params":{}}
    new: {"id":"spillgate:9","jsonrpc":"2.0","method":"initialize","params":{}}
    new: {"id":4,"jsonrpc":"2.0","method":"tools/call","params":{"name":"create"}}
    new: {"jsonrpc":"2.0","method":"notifications/initialized"}
    web hub: closed
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_down_keeps_its_tools() {
    let servers = two();
    let stillborn = std::sync::Arc::clone(&servers.stillborn);
    let mut client = Client::of(servers, |server| server);
    client.ask(1, "tools/list", &json!({})).await;
    client.ask(2, "die", &json!({})).await;
    stillborn.store(1, std::sync::atomic::Ordering::Relaxed);
    let list = client.ask(3, "tools/list", &json!({})).await;
    // While the server is down, its last known list is used.
    assert!(names(&list).contains(&"log"), "{list}");
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let answer = client.ask(4, "tools/call", &json!({"name": "log"})).await;
    assert_eq!(
        answer["result"]["content"][0]["text"], "git did \"log\"",
        "{answer}"
    );
}

#[tokio::test]
async fn what_is_denied_is_denied_however_it_is_said() {
    let call = r#""method":"tools/call","params":{"name":"rm"}"#;
    let frames = [
        format!(r#"{{"jsonrpc":"2.0","id":1,{call}}}"#),
        format!(r#"[{{"jsonrpc":"2.0","id":2,{call}}}]"#),
        format!(
            r#"[{{"jsonrpc":"2.0","id":3,{call}}},{{"jsonrpc":"2.0","id":4,"method":"ping"}}]"#
        ),
        format!(
            r#"[{{"jsonrpc":"2.0","id":5,"id":6,{call}}},{{"jsonrpc":"2.0","id":7,"method":"ping"}}]"#
        ),
        r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"ok","name":"rm"}}"#
            .to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":9,"method":"ping",{call}}}"#),
        format!(r#"{{"jsonrpc":"2.0",{call}}}"#),
    ];
    for frame in frames {
        let servers = Servers::default().with("web hub", tools("web hub", &["rm"]));
        let client = Client::of(servers, without_rm);
        client.session.take(Incoming::new(frame.clone())).await;
        assert!(!client.sent().contains("rm"), "{frame}");
    }
}
