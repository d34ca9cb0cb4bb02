//! Resources of several servers with the same URI: each is reached by its own name, and
//! what is said of it names it so.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::fake::{Client, Servers};

/// A server with the resource and the template that others have, too. Its tool `link`
/// gives links to both; what is subscribed to changes at once.
fn server(name: &'static str) -> impl Fn(&Value) -> Vec<Value> {
    move |frame| {
        let (id, params) = (&frame["id"], &frame["params"]);
        let answer = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
        let link = |uri: &str| json!({"type": "resource_link", "uri": uri, "name": "x"});
        match frame["method"].as_str() {
            Some("tools/list") => {
                vec![answer(json!({"tools": [{"name": format!("link_{name}")}]}))]
            }
            Some("tools/call") => vec![answer(json!({"content": [
                link("memo://x"),
                {"type": "resource", "resource": {"uri": "memo://7/y", "text": "y"}},
                link("other://z"),
            ]}))],
            Some("resources/list") => {
                vec![answer(
                    json!({"resources": [{"uri": "memo://x", "name": name}]}),
                )]
            }
            Some("resources/templates/list") => vec![answer(
                json!({"resourceTemplates": [{"uriTemplate": "memo://7/{n}", "name": name}]}),
            )],
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
    {"resources":[{"name":"a","uri":"memo://x"},{"name":"b","uri":"b+memo://x"}]}
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
