//! Tests of resources with the same URI at several servers: the client uses a different URI for
//! each.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::fake::{Client, Servers};

/// A server with a resource and a template whose URIs other servers also use. Its tool `link`
/// returns links to both. A resource changes as soon as the client subscribes to it.
fn server(name: &'static str) -> impl Fn(&Value) -> Vec<Value> {
    move |frame| {
        let (id, params) = (&frame["id"], &frame["params"]);
        let answer = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
        let link = |uri: &str| json!({"type": "resource_link", "uri": uri, "name": "x"});
        match frame["method"].as_str() {
            Some("tools/list") => {
                let tool = |tool: &str, meta: Value| json!({"name": format!("{tool}_{name}"), "_meta": meta});
                vec![answer(json!({"tools": [
                    tool("link", json!({"ui": {"resourceUri": "ui://listed"}})),
                    tool("large", json!({"ui/resourceUri": "ui://unlisted"})),
                    tool("shown", json!({"openai/outputTemplate": format!("ui://only-{name}")})),
                ]}))]
            }
            Some("tools/call") if params["name"].as_str().unwrap().starts_with("large") => {
                let text = "line\n".repeat(50_000);
                vec![answer(json!({"content": [
                    link("memo://x"),
                    {"type": "resource", "resource": {"uri": "memo://7/y", "text": text}},
                    {"type": "text", "text": text},
                ]}))]
            }
            Some("tools/call") => vec![answer(json!({"content": [
                link("memo://x"),
                {"type": "resource", "resource": {"uri": "memo://7/y", "text": "y"}},
                link("other://z"),
            ]}))],
            Some("resources/list") => {
                vec![answer(
                    json!({"resources": [{"uri": "memo://x", "name": name}, {"uri": "ui://listed", "name": name}]}),
                )]
            }
            Some("resources/templates/list") => vec![answer(
                json!({"resourceTemplates": [{"uriTemplate": "memo://7/{n}", "name": name}]}),
            )],
            Some("resources/read") if params["uri"].as_str().unwrap().starts_with("ui:") => {
                let text = format!("{name}\n{}", "<p>line</p>\n".repeat(2000));
                vec![answer(
                    json!({"contents": [{"uri": params["uri"], "text": text}]}),
                )]
            }
            Some("resources/read") => vec![answer(
                json!({"contents": [{"uri": params["uri"], "text": name}]}),
            )],
            Some("completion/complete") => {
                let values = [format!("{name} {}", params["ref"]["uri"])];
                vec![answer(json!({"completion": {"values": values}}))]
            }
            Some("resources/subscribe") => vec![
                answer(json!({})),
                json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": params["uri"]}}),
            ],
            _ => vec![],
        }
    }
}

fn two() -> Servers {
    Servers::default()
        .with("a", server("a"))
        .with("b", server("b"))
}

#[tokio::test]
async fn the_same_uri_of_two_servers_leads_to_both() {
    let mut client = Client::of(two(), |server| server);
    let mut told = Vec::new();
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "memo://x"})),
        ("resources/read", json!({"uri": "b+memo://x"})),
        ("resources/read", json!({"uri": "memo://7/1"})),
        ("resources/read", json!({"uri": "b+memo://7/1"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": "b+memo://7/{n}"}}),
        ),
        ("tools/call", json!({"name": "link_a"})),
        ("tools/call", json!({"name": "link_b"})),
        ("resources/subscribe", json!({"uri": "b+memo://x"})),
    ] {
        told.push(client.ask(4, method, &params).await["result"].to_string());
    }
    told.push(client.next().await.to_string());
    assert_snapshot!(told.join("\n"), @r#"
    {"resources":[{"name":"a","uri":"memo://x"},{"name":"a","uri":"ui://listed"},{"name":"b","uri":"b+memo://x"},{"name":"b","uri":"b+ui://listed"}]}
    {"resourceTemplates":[{"name":"a","uriTemplate":"memo://7/{n}"},{"name":"b","uriTemplate":"b+memo://7/{n}"}]}
    {"contents":[{"text":"a","uri":"memo://x"}]}
    {"contents":[{"text":"b","uri":"b+memo://x"}]}
    {"contents":[{"text":"a","uri":"memo://7/1"}]}
    {"contents":[{"text":"b","uri":"b+memo://7/1"}]}
    {"completion":{"values":["b \"memo://7/{n}\""]}}
    {"content":[{"name":"x","type":"resource_link","uri":"memo://x"},{"resource":{"text":"y","uri":"memo://7/y"},"type":"resource"},{"name":"x","type":"resource_link","uri":"other://z"}]}
    {"content":[{"name":"x","type":"resource_link","uri":"b+memo://x"},{"resource":{"text":"y","uri":"b+memo://7/y"},"type":"resource"},{"name":"x","type":"resource_link","uri":"other://z"}]}
    {}
    {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"b+memo://x"}}
    "#);
}

#[tokio::test]
async fn a_link_leads_back_though_nothing_was_listed() {
    let mut client = Client::of(two(), |server| server);
    let call = json!({"name": "link_b"});
    let given = client.ask(1, "tools/call", &call).await;
    let uri = &given["result"]["content"][0]["uri"];
    let read = client.ask(2, "resources/read", &json!({"uri": uri})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "b", "{given}");
}

/// A page of an MCP App is a resource that a tool refers to. `resources/list` may not contain it.
#[tokio::test]
async fn a_tool_names_the_page_of_its_own_server() {
    let mut client = Client::of(two(), |server| server);
    let list = client.ask(1, "tools/list", &json!({})).await;
    let tools = list["result"]["tools"].as_array().unwrap().iter();
    let theirs = tools.filter(|tool| tool["_meta"].is_object());
    let mut told: Vec<String> = theirs.map(|tool| tool["_meta"].to_string()).collect();
    for uri in [
        "ui://listed",
        "b+ui://listed",
        "ui://unlisted",
        "b+ui://unlisted",
        "ui://only-b",
    ] {
        let read = client.ask(2, "resources/read", &json!({"uri": uri})).await;
        let contents = &read["result"]["contents"][0];
        // A page is shown by a program, so it passes unchanged.
        let text = contents["text"].as_str().unwrap();
        assert!(text.len() > 20_000, "{read}");
        let server = text.lines().next().unwrap();
        told.push(format!("{} of {server}", contents["uri"]));
    }
    assert_snapshot!(told.join("\n"), @r#"
    {"ui":{"resourceUri":"ui://listed"}}
    {"ui/resourceUri":"ui://unlisted"}
    {"openai/outputTemplate":"ui://only-a"}
    {"ui":{"resourceUri":"b+ui://listed"}}
    {"ui/resourceUri":"b+ui://unlisted"}
    {"openai/outputTemplate":"ui://only-b"}
    "ui://listed" of a
    "b+ui://listed" of b
    "ui://unlisted" of a
    "b+ui://unlisted" of b
    "ui://only-b" of b
    "#);
}

/// Tests links in a result that is so large that it is stored and its bytes are not held in memory.
#[tokio::test]
async fn links_in_a_large_result_lead_to_its_server() {
    let mut client = Client::of(two(), |server| server);
    let mut told = Vec::new();
    for tool in ["large_a", "large_b"] {
        let result = client.ask(1, "tools/call", &json!({"name": tool})).await;
        let content = &result["result"]["content"];
        let preview = &content[1]["resource"];
        assert!(
            preview["text"]
                .as_str()
                .unwrap()
                .contains("stored whole as"),
            "{result}"
        );
        told.push(format!("{} {}", content[0]["uri"], preview["uri"]));
    }
    assert_snapshot!(told.join("\n"), @r#"
    "memo://x" "memo://7/y"
    "b+memo://x" "b+memo://7/y"
    "#);
}
