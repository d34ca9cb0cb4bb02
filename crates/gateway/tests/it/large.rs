//! Tests of messages that are too large for memory, with and without a bridge.

use serde_json::{Value, json};
use spillgate_testkit::log;

use crate::fake::{Client, Servers};

/// Returns a text that is not held in memory.
fn text() -> String {
    log(4000)
}

fn content() -> Value {
    json!({"content": [{"type": "text", "text": text()}]})
}

fn answer(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// A legacy server whose responses are large and which first sends a large message.
fn legacy(frame: &Value) -> Vec<Value> {
    let id = &frame["id"];
    match frame["method"].as_str() {
        Some("initialize") => vec![answer(
            id,
            &json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "logging": {}}, "serverInfo": {"name": "s", "version": "1"}}),
        )],
        Some("server/discover") => {
            vec![json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}})]
        }
        Some("tools/call") if frame["params"]["name"] == "say" => {
            vec![json!({"jsonrpc": "2.0", "method": "x/said", "params": {"text": text()}})]
        }
        Some("tools/call") if frame["params"]["name"] == "ask" => vec![
            json!({"jsonrpc": "2.0", "id": "q", "method": "sampling/createMessage", "params": {"text": text()}}),
        ],
        Some("tools/call") => vec![answer(id, &content())],
        Some("resources/templates/list") => {
            vec![answer(
                id,
                &json!({"resourceTemplates": [{"name": text()}]}),
            )]
        }
        Some("resources/list") => {
            vec![json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": text()}})]
        }
        Some("resources/subscribe") => vec![answer(id, &json!([text()]))],
        _ => vec![],
    }
}

fn modern(frame: &Value) -> Vec<Value> {
    let id = &frame["id"];
    match frame["method"].as_str() {
        Some("initialize") => {
            vec![json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}})]
        }
        Some("server/discover") => vec![answer(
            id,
            &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}),
        )],
        Some("tools/call") if frame["params"]["name"] == "ask" => {
            let asks =
                json!({"1": {"method": "elicitation/create", "params": {"message": text()}}});
            vec![answer(
                id,
                &json!({"resultType": "input_required", "inputRequests": asks, "requestState": "s"}),
            )]
        }
        Some("tools/call") => {
            let mut result = content();
            result["resultType"] = json!("complete");
            vec![answer(id, &result)]
        }
        Some("prompts/list") => vec![
            json!({"jsonrpc": "2.0", "method": "x/said", "params": {"text": text()}}),
            answer(
                id,
                &json!({"resultType": "complete", "prompts": [{"name": text()}]}),
            ),
        ],
        _ => vec![],
    }
}

fn of_today(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"sampling": {}, "elicitation": {"form": {}}},
    });
    params
}

/// Checks that the stored result equals the server's byte for byte, and that the client received a
/// preview of it.
fn is_offloaded(client: &Client, answer: &Value, sent: &Value) {
    let shown = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(shown.contains("stored whole as"), "{shown:.200}");
    assert_eq!(client.stored(), [sent.to_string()]);
}

#[tokio::test]
async fn a_modern_client_gets_large_answers_of_a_legacy_server() {
    let servers = || Servers::default().spooling_at(100_000).with("s", legacy);
    for stateless in [false, true] {
        let mut client = match stateless {
            false => Client::of(servers(), |server| server),
            true => Client::stateless(servers()),
        };
        let call = of_today(json!({"name": "x"}));
        let called = client.ask(1, "tools/call", &call).await;
        assert_eq!(called["id"], 1);
        assert_eq!(called["result"]["resultType"], "complete");
        is_offloaded(&client, &called, &content());
        let listed = client
            .ask(2, "resources/templates/list", &of_today(json!({})))
            .await;
        let want = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "resourceTemplates": [{"name": text()}]});
        assert_eq!(listed, answer(&json!(2), &want));
        let refused = client.ask(3, "resources/list", &of_today(json!({}))).await;
        assert_eq!(
            (&refused["id"], &refused["error"]["message"]),
            (&json!(3), &json!(text()))
        );
    }
}

#[tokio::test]
async fn a_large_notice_is_passed_on_and_a_large_question_refused() {
    let mut client = Client::of(
        Servers::default().spooling_at(100_000).with("s", legacy),
        |server| server,
    );
    let said = client
        .ask(1, "tools/call", &of_today(json!({"name": "say"})))
        .await;
    assert_eq!(
        said,
        json!({"jsonrpc": "2.0", "method": "x/said", "params": {"text": text()}})
    );
    client.sent();
    client
        .send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": of_today(json!({"name": "ask"}))}))
        .await;
    let told = client.until_sent("too large to be brought over").await;
    assert!(
        told.contains(r#""id":"q""#) && told.contains("`s`"),
        "{told}"
    );
}

#[tokio::test]
async fn a_legacy_client_gets_large_answers_of_a_modern_server() {
    let mut client = Client::of(
        Servers::default().spooling_at(100_000).with("s", modern),
        |server| server,
    );
    client
        .ask(1, "initialize", &json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "c", "version": "1"}}))
        .await;
    let called = client.ask(2, "tools/call", &json!({"name": "x"})).await;
    let mut sent = content();
    sent["resultType"] = json!("complete");
    is_offloaded(&client, &called, &sent);
    client
        .send(&json!({"jsonrpc": "2.0", "id": 3, "method": "prompts/list"}))
        .await;
    let mut told = [client.next().await, client.next().await];
    told.sort_by_key(|one| one.get("id").is_some());
    assert_eq!(told[0]["params"]["text"], text());
    assert_eq!(told[1]["result"]["prompts"][0]["name"], text());
    assert_eq!(told[1]["id"], 3);
    let asked = client.ask(4, "tools/call", &json!({"name": "ask"})).await;
    let message = asked["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("of the server `s` is too large"),
        "{message}"
    );
}

#[tokio::test]
async fn clients_that_share_a_process_get_large_answers() {
    let mut one = Client::stateless(Servers::default().spooling_at(100_000).with("s", modern));
    let mut two = one.another();
    for client in [&mut one, &mut two] {
        let called = client
            .ask(7, "tools/call", &of_today(json!({"name": "x"})))
            .await;
        assert_eq!(called["id"], 7);
        let text = called["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("stored whole as"), "{text:.200}");
    }
    one.send(&json!({"jsonrpc": "2.0", "id": 8, "method": "prompts/list", "params": of_today(json!({}))})).await;
    let mut told = [one.next().await, one.next().await];
    told.sort_by_key(|one| one.get("id").is_some());
    assert_eq!(told[0]["params"]["text"], text());
    assert_eq!(told[1]["result"]["prompts"][0]["name"], text());
}
