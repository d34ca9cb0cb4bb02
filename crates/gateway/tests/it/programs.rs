//! Tests of requests that say that a program reads their results.

use serde_json::{Value, json};
use spillgate_gateway::Incoming;
use spillgate_offload::{Policy, ResultMode, Rule};
use spillgate_testkit::records;

use crate::fake::{Client, Servers};

const META: &str = "spillgate/results";

fn rows() -> Value {
    serde_json::from_str(&records(400)).unwrap()
}

fn result() -> Value {
    json!({"content": [{"type": "text", "text": records(400)}], "structuredContent": rows()})
}

fn answer(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// A server of either generation, which answers a call of `slow` with a task.
fn server(frame: &Value) -> Vec<Value> {
    let id = &frame["id"];
    let result = match frame["method"].as_str() {
        Some("initialize") => {
            json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}})
        }
        Some("server/discover") => {
            return vec![
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}}),
            ];
        }
        Some("tools/list") => {
            json!({"tools": [{"name": "rows", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "required": ["items"]}}]})
        }
        Some("tools/call") if frame["params"]["name"] == "slow" => {
            json!({"task": {"taskId": "t", "status": "working"}})
        }
        Some("tools/call" | "tasks/result") => result(),
        Some("resources/read") => {
            json!({"contents": [{"uri": "a:b", "text": records(400)}]})
        }
        _ => return vec![],
    };
    vec![answer(id, &result)]
}

fn client(rule: Rule, names: &[&str]) -> Client {
    let servers = names
        .iter()
        .fold(Servers::default(), |all, name| all.with(name, server));
    let policy = Policy::new(rule, [], []).unwrap();
    let pctx = Rule {
        results: Some(ResultMode::Structured),
        ..Rule::default()
    };
    let policy = policy.with_clients([("pctx*".to_owned(), pctx)]).unwrap();
    Client::by(policy, servers, |server| server)
}

fn as_usual(names: &[&str]) -> Client {
    client(Rule::default(), names)
}

/// Returns the form of a result: `preview`, `structured` or `whole`.
fn form(answer: &Value) -> &'static str {
    let result = &answer["result"];
    let text = match result["contents"].is_array() {
        true => &result["contents"][0]["text"],
        false => &result["content"][0]["text"],
    };
    let is_preview = text.as_str().unwrap().contains("stored whole as");
    let is_kept = result["structuredContent"] == rows();
    match (is_preview, is_kept) {
        (true, false) => "preview",
        (true, true) => "structured",
        (false, _) => "whole",
    }
}

fn call(tool: &str, meta: &Value) -> Value {
    json!({"name": tool, "arguments": {}, "_meta": meta})
}

async fn with_header(client: &mut Client, value: &str, frame: &Value) -> Value {
    let mut incoming = Incoming::new(frame.to_string());
    incoming.headers = vec![("spillgate-results".to_owned(), value.to_owned())];
    client.session.take(incoming).await;
    client.next().await
}

#[tokio::test]
async fn a_call_says_that_a_program_reads_its_result() {
    for names in [&["s"][..], &["s", "t"]] {
        let mut client = as_usual(names);
        let tool = if names.len() == 1 { "rows" } else { "s_rows" };
        for mode in ["preview", "structured", "whole"] {
            let params = call(tool, &json!({META: mode}));
            let answer = client.ask(1, "tools/call", &params).await;
            assert_eq!(form(&answer), mode, "{names:?}");
            let frame = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call(tool, &json!({}))});
            let answer = with_header(&mut client, mode, &frame).await;
            assert_eq!(form(&answer), mode, "{names:?}");
            let frame = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call(tool, &json!({META: "whole"}))});
            let answer = with_header(&mut client, mode, &frame).await;
            assert_eq!(form(&answer), "whole", "`_meta` precedes the header");
        }
        let answer = client.ask(3, "tools/call", &call(tool, &json!({}))).await;
        assert_eq!(form(&answer), "preview", "{names:?}");
    }
}

#[tokio::test]
async fn a_modern_request_without_a_session_says_it_too() {
    let modern = |mut params: Value, more: &Value| {
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "pctx-1", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        for (name, value) in more.as_object().unwrap() {
            meta[name] = value.clone();
        }
        params["_meta"] = meta;
        params
    };
    let first = as_usual(&["s"]);
    for (params, want) in [
        (modern(json!({"name": "rows"}), &json!({})), "structured"),
        (
            modern(json!({"name": "rows"}), &json!({META: "whole"})),
            "whole",
        ),
        (
            modern(json!({"name": "rows"}), &json!({META: "preview"})),
            "preview",
        ),
        (json!({"name": "rows"}), "preview"),
    ] {
        let mut client = first.another();
        let answer = client.ask(1, "tools/call", &params).await;
        assert_eq!(form(&answer), want, "{params}");
    }
    let mut client = first.another();
    let params = modern(json!({"uri": "a:b"}), &json!({META: "whole"}));
    assert_eq!(
        form(&client.ask(1, "resources/read", &params).await),
        "whole"
    );
}

#[tokio::test]
async fn a_client_is_a_program_by_its_name_if_a_rule_says_so() {
    for (name, want) in [("pctx-2", "structured"), ("codex-mcp-client", "preview")] {
        let mut client = as_usual(&["s"]);
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}});
        client.ask(1, "initialize", &params).await;
        let answer = client.ask(2, "tools/call", &call("rows", &json!({}))).await;
        assert_eq!(form(&answer), want);
    }
}

#[tokio::test]
async fn results_in_a_batch_and_of_tasks_go_by_their_calls() {
    let mut client = as_usual(&["s"]);
    let params = json!({"name": "slow", "_meta": {META: "whole"}});
    client.ask(1, "tools/call", &params).await;
    let task = json!({"taskId": "t"});
    assert_eq!(form(&client.ask(2, "tasks/result", &task).await), "whole");
    let other = json!({"taskId": "t", "_meta": {META: "structured"}});
    assert_eq!(
        form(&client.ask(3, "tasks/result", &other).await),
        "structured"
    );
    // A server that answers a batch with a batch.
    let batching = |frame: &Value| {
        let all = frame.as_array().unwrap();
        let all = all.iter().map(|one| answer(&one["id"], &result()));
        vec![Value::from(all.collect::<Vec<_>>())]
    };
    for spool_at in [1 << 20, 4096] {
        let servers = Servers::default().spooling_at(spool_at).with("s", batching);
        let mut client = Client::of(servers, |server| server);
        let modes = ["whole", "preview", "structured"];
        let calls = (1..).zip(modes).map(|(id, mode)| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call("rows", &json!({META: mode}))}));
        client.send(&Value::from(calls.collect::<Vec<_>>())).await;
        let answers = client.next().await;
        let forms = answers.as_array().unwrap().iter().map(form);
        assert_eq!(forms.collect::<Vec<_>>(), modes, "{spool_at}");
    }
}

#[tokio::test]
async fn a_wrong_mode_is_an_error() {
    let mut client = as_usual(&["s"]);
    let told = |answer: &Value| answer["error"]["message"].as_str().unwrap().to_owned();
    let answer = client
        .ask(1, "tools/call", &call("rows", &json!({META: "raw"})))
        .await;
    let mut all = vec![told(&answer)];
    let plain = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call("rows", &json!({}))});
    all.push(told(&with_header(&mut client, "yes", &plain).await));
    let batch = json!([{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call("rows", &json!({META: 7}))}]);
    client.send(&batch).await;
    all.push(told(&client.next().await));
    all.push(told(
        &with_header(&mut client, "yes", &json!([plain])).await,
    ));
    insta::assert_snapshot!(all.join("\n"), @r#"
    `spillgate/results` in `_meta` is none of preview, structured, whole: "raw"
    the header `Spillgate-Results` is none of preview, structured, whole: "yes"
    `spillgate/results` in `_meta` must be a string: preview, structured or whole
    the header `Spillgate-Results` is none of preview, structured, whole: "yes"
    "#);
}

#[tokio::test]
async fn a_program_is_told_the_servers_own_output_schema() {
    let plain = json!({"type": "object", "required": ["items"]});
    let whole = Rule {
        results: Some(ResultMode::Whole),
        ..Rule::default()
    };
    let scanned = Rule {
        redact: Some(spillgate_offload::Redaction::All),
        ..whole.clone()
    };
    for names in [&["s"][..], &["s", "t"]] {
        for (rule, params, is_plain) in [
            (Rule::default(), json!({}), false),
            (Rule::default(), json!({"_meta": {META: "whole"}}), true),
            (whole.clone(), json!({}), true),
            (whole.clone(), json!({"_meta": {META: "preview"}}), false),
            // A result with secrets becomes a preview.
            (scanned.clone(), json!({}), false),
        ] {
            let mut client = client(rule, names);
            let listed = client.ask(1, "tools/list", &params).await;
            let schema = &listed["result"]["tools"][0]["outputSchema"];
            assert_eq!(*schema == plain, is_plain, "{names:?} {params}: {listed}");
        }
    }
}
