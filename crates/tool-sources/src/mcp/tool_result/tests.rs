//! Tests the text of each kind of content block.

use std::sync::Arc;

use insta::assert_snapshot;
use serde_json::json;
use spillgate_store::{ArtifactStore, MemoryStore};
use spillgate_transport::FrameReader;

use super::*;

fn read(mut given: Given) -> String {
    let mut text = if given.is_error { "ERROR " } else { "" }.to_owned();
    given.body.read_to_string(&mut text).unwrap();
    text
}

/// Returns the text of a frame. It must be the same whether the frame is in memory or in the store.
async fn gives(frame: &str) -> String {
    let in_memory = read(of_answer(Frame::Memory(frame.to_owned().into())));
    let large = ["\"result\":", "\"error\":"].iter();
    let mut large = large.filter_map(|name| Some(frame.find(name)? + name.len() + 1));
    let Some(within) = large.next() else {
        return in_memory;
    };
    let stored = spooled(frame, within).await;
    assert!(stored == in_memory, "it matters where it is");
    in_memory
}

/// Returns the text of a frame in the store. The frame arrives in two parts, split at byte `cut`.
async fn spooled(frame: &str, cut: usize) -> String {
    let store: Arc<dyn ArtifactStore> = Arc::new(MemoryStore::default());
    let mut taking = FrameReader::new(store).spooling_at(8).begin();
    taking.feed(&frame.as_bytes()[..cut]).await.unwrap();
    taking.feed(&frame.as_bytes()[cut..]).await.unwrap();
    let frame = taking.finish().await;
    assert!(matches!(frame, Frame::Spooled(_)));
    let given = tokio::task::spawn_blocking(|| read(of_answer(frame))).await;
    given.unwrap()
}

async fn of_result(result: &serde_json::Value) -> String {
    gives(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)).await
}

fn text(text: &str) -> serde_json::Value {
    json!({"type": "text", "text": text})
}

#[tokio::test]
async fn blocks_become_text() {
    let image = json!({"type": "image", "data": "iVBORw0=", "mimeType": "image/png"});
    let resource = |resource: serde_json::Value| json!({"type": "resource", "resource": resource});
    let mut all = Vec::new();
    for result in [
        json!({"content": [text("one\ntwo \u{1f600}"), text(""), text("three")]}),
        json!({"content": [text("before"), image, text("after")]}),
        json!({"content": [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav\n[image]"}]}),
        json!({"content": [resource(json!({"uri": "file:///a.txt", "mimeType": "text/plain", "text": "inside"}))]}),
        json!({"content": [resource(json!({"uri": "file:///a.bin", "blob": "AAECAw=="}))]}),
        json!({"content": [{"type": "resource_link", "name": "report", "uri": "file:///r.pdf", "mimeType": "application/pdf", "size": 1234}]}),
        json!({"content": [{"type": "resource_link", "uri": "file:///r.pdf"}]}),
        json!({"content": [{"type": "video", "data": "x"}, 7, {"text": "typeless"}, {"type": "text"}]}),
    ] {
        all.push(of_result(&result).await);
    }
    assert_snapshot!(all.join("\n---\n"), @r#"
    one
    two 😀

    three
    ---
    before
    [image, image/png, 5 bytes: not shown]
    after
    ---
    [audio, audio/wav [image], 3 bytes: not shown]
    ---
    [resource, file:///a.txt, text/plain]
    inside
    ---
    [resource, file:///a.bin, 4 bytes: not shown]
    ---
    [resource link, report, file:///r.pdf, application/pdf, 1234 bytes]
    ---
    [resource link, file:///r.pdf]
    ---
    {"data":"x","type":"video"}
    7
    {"text":"typeless"}
    {"type":"text"}
    "#);
}

#[tokio::test]
async fn structured_content_is_said_once() {
    let image = json!({"type": "image", "data": "iVBORw0=", "mimeType": "image/png"});
    let value = json!({"a": 1, "b": ["x", "y"]});
    let mut all = Vec::new();
    for result in [
        json!({"content": [], "structuredContent": value}),
        json!({"structuredContent": value}),
        json!({"structuredContent": value, "content": [text(&value.to_string())]}),
        json!({"structuredContent": value, "content": [text(&serde_json::to_string_pretty(&value).unwrap())]}),
        json!({"structuredContent": {"content": "said"}, "content": [text("said")]}),
        json!({"structuredContent": value, "content": [text("other words")]}),
        json!({"structuredContent": value, "content": [image]}),
        json!({"structuredContent": null, "content": [text("alone")]}),
    ] {
        all.push(of_result(&result).await);
    }
    assert_snapshot!(all.join("\n---\n"), @r#"
    {"a":1,"b":["x","y"]}
    ---
    {"a":1,"b":["x","y"]}
    ---
    {"a":1,"b":["x","y"]}
    ---
    {
      "a": 1,
      "b": [
        "x",
        "y"
      ]
    }
    ---
    said
    ---
    other words
    {"a":1,"b":["x","y"]}
    ---
    [image, image/png, 5 bytes: not shown]
    {"a":1,"b":["x","y"]}
    ---
    alone
    "#);
}

#[tokio::test]
async fn failures_and_odd_results() {
    let mut all = Vec::new();
    for result in [
        json!({"content": [text("no such file")], "isError": true}),
        json!({"content": [], "isError": true}),
        json!({"content": []}),
        json!({}),
        json!({"content": "odd"}),
        json!([1]),
        json!({"resultType": "input_required", "inputRequests": {}}),
    ] {
        all.push(of_result(&result).await);
    }
    assert_snapshot!(all.join("\n---\n"), @r#"
    ERROR no such file
    ---
    ERROR The tool failed and does not say why.
    ---

    ---

    ---
    "odd"
    ---
    [1]
    ---
    ERROR The tool asks for something that nobody here can answer.
    "#);
}

#[tokio::test]
async fn errors_become_text() {
    let mut all = Vec::new();
    for frame in [
        r#"{"id":1,"error":{"code":-32602,"message":"no such\ntool"}}"#,
        r#"{"id":1,"error":{"code":-32602,"message":"no","data":{"known":["a"]}}}"#,
        r#"{"id":1,"error":{"code":-32000,"message":"it ended","data":{"fault":"upstream","server":"s"}}}"#,
        r#"{"id":1,"error":{"code":1}}"#,
        r#"{"id":1,"error":"odd"}"#,
        r#"{"id":1,"odd":true}"#,
    ] {
        all.push(gives(frame).await);
    }
    assert_snapshot!(all.join("\n"), @r#"
    ERROR no such
    tool
    ERROR no
    {"known":["a"]}
    ERROR it ended
    ERROR The server answered with an error.
    ERROR The server's answer is no answer of MCP.
    ERROR The server's answer is no answer of MCP.
    "#);
}

#[tokio::test]
async fn large_parts_are_read_from_the_store() {
    let log = "a line of a log \u{e9}\n".repeat(2000);
    let image = json!({"type": "image", "data": "AAAA".repeat(3000), "mimeType": "image/png"});
    let value = json!({"lines": log.lines().collect::<Vec<_>>()});
    let twin =
        of_result(&json!({"content": [text(&value.to_string())], "structuredContent": value}))
            .await;
    assert_eq!(twin, value.to_string());
    let other = of_result(&json!({"content": [text(&log)], "structuredContent": value})).await;
    assert_eq!(other, format!("{log}\n{value}"));
    let both = of_result(&json!({"content": [text(&log), image, text("end")]})).await;
    assert_eq!(
        both,
        format!("{log}\n[image, image/png, 9000 bytes: not shown]\nend")
    );
    let document = json!({"uri": "x:".repeat(4000), "text": log});
    let named = of_result(&json!({"content": [{"type": "resource", "resource": document}]})).await;
    assert!(named.starts_with("[resource, (too long to be named)]\n"));
    assert!(named.ends_with(&format!("]\n{log}")));
    let error = json!({"id": 1, "error": {"code": 1, "message": log}}).to_string();
    assert_eq!(gives(&error).await, format!("ERROR {log}"));
}

#[tokio::test]
async fn a_crowd_of_blocks_is_the_json_that_it_is() {
    let blocks = vec![text("n"); 200_000];
    let list = serde_json::Value::from(blocks).to_string();
    let start = r#"{"jsonrpc":"2.0","id":1,"result":{"content":"#;
    let given = spooled(&format!("{start}{list}}}}}"), start.len()).await;
    assert!(given == list, "{}", &given[..200]);
}
