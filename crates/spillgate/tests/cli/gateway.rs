//! Tests of the gateway's own tools with frames on standard streams, as a client sends them.

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_testkit::{log, records};

use super::session::{LARGE, SILENT, Session, names};
use super::tool::Tool;

/// A call of each tool, with arguments as models write them.
fn calls(json: &str, lines: &str) -> [(&'static str, Value); 7] {
    [
        ("read", json!({"handle": lines, "start": "501", "lines": 1})),
        ("grep", json!({"handle": lines, "pattern": "E\\d+"})),
        (
            "query",
            json!({"handle": json, "filter": ".items[4711].name"}),
        ),
        (
            "query",
            json!({"handle": json, "filter": "[.items[].id] | max, length"}),
        ),
        (
            "query",
            json!({"handle": json, "filter": ".items[].name", "max_tokens": "60"}),
        ),
        (
            "search",
            json!({"handle": lines, "words": "disk quota", "max_tokens": 60}),
        ),
        (
            "search",
            json!({"handle": lines, "words": "E9999 quota", "max_tokens": 60}),
        ),
    ]
}

#[test]
fn every_tool_looks_into_what_is_stored() {
    let tool = Tool::new();
    let (json, lines) = (
        tool.put(records(5000).as_bytes()),
        tool.put(log(5000).as_bytes()),
    );
    let mut session = Session::start(&tool, &[], SILENT);
    let calls = calls(&json, &lines);
    let answers =
        calls.map(|(name, arguments)| session.call(&format!("spillgate_{name}"), &arguments));
    session.end();
    let all = answers
        .join("\n---\n")
        .replace(&json, "JSON")
        .replace(&lines, "LOG");
    assert_snapshot!(all, @r#"
    [lines 501-501 of 5000]
    2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7

    ---
    [1 of 1 matching lines]
    501:2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7

    ---
    [results 0-0 of 1, counted from 0]
    "item 4711"

    ---
    [results 0-1 of 2, counted from 0]
    4999
    5000

    ---
    [results 0-5 of 5000, counted from 0]
    "item 0"
    "item 1"
    "item 2"
    "item 3"
    "item 4"
    "item 5"
    next: spillgate_query(handle="JSON", filter=".items[].name", max_tokens=60, start=6)
    ---
    [1 of 1 passage]
    501:2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7

    ---
    Not in the text: E9999
    [1 of 1 passage]
    501:2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
    "#);
}

#[test]
fn a_path_that_leads_nowhere_is_answered_with_the_shape() {
    let tool = Tool::new();
    let handle = tool.put(records(5000).as_bytes());
    let mut session = Session::start(&tool, &[], SILENT);
    let answers = [
        session.call(
            "spillgate_query",
            &json!({"handle": handle, "filter": ".items[].nmae"}),
        ),
        session.call(
            "spillgate_query",
            &json!({"handle": handle, "filter": ".items.name"}),
        ),
        session.call(
            "spillgate_query",
            &json!({"handle": handle, "filter": ".items[0"}),
        ),
    ];
    session.end();
    assert_snapshot!(answers.join("\n---\n"), @r#"
    [5000 results, all null]
    note: .items[] has no .nmae; did you mean .name? It has "name", "id", "price", "tags", "stock"
    shape:
      (laid out as 65005 lines)
      object
        .total: number: 5000
        .items[]: array(5,000) of object
          .id: number 0–4999
          .name: string: "item 0", …
          .price: number 0.50–14997.50
          .tags[]: array(2) of string (2 distinct: "a", "b")
          .stock: object {.site: string (4 distinct: "s0", "s1", "s2", "s3"), .left: number}

    ---
    error: cannot index array with "name": .items has no .name; it is an array of 5000 elements: write .items[].name
    shape:
      (laid out as 65005 lines)
      object
        .total: number: 5000
        .items[]: array(5,000) of object
          .id: number 0–4999
          .name: string: "item 0", …
          .price: number 0.50–14997.50
          .tags[]: array(2) of string (2 distinct: "a", "b")
          .stock: object {.site: string (4 distinct: "s0", "s1", "s2", "s3"), .left: number}

    hint: take a key that is there; `keys` lists them
    ---
    error: the filter is not valid jq: closing bracket expected
      .items[0
              ^
    try: .items[0]
    hint: filters are jq: .items[] | select(.price > 5) | .name
    "#);
}

#[test]
fn abuse_of_jq_ends_and_the_gateway_lives_on() {
    let tool = Tool::new();
    let records = tool.put(records(5000).as_bytes());
    let deep = tool.put(format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)).as_bytes());
    let mut session = Session::start(&tool, &[], SILENT);
    let cases = [
        (&records, "def f: f; f"),
        (&records, "def f: 1 + f; f"),
        (&records, "[range(1e9)]"),
        (&records, "\"x\" * 1e12"),
        (&records, "env"),
        (&records, "$ENV"),
        (&records, "halt"),
        (&records, "input_filename"),
        (&deep, "."),
        (&deep, "[..] | length"),
    ];
    for (handle, filter) in cases {
        let answer = session.call(
            "spillgate_query",
            &json!({"handle": handle, "filter": filter}),
        );
        assert!(answer.starts_with("error: "), "{filter}: {answer:.300}");
        assert!(answer.len() < 1500, "{filter}: {} bytes", answer.len());
    }
    let endless = session.call(
        "spillgate_query",
        &json!({"handle": records, "filter": "repeat(1)"}),
    );
    assert!(
        endless.starts_with("[results 0-"),
        "a page of an endless stream: {endless:.300}"
    );
    let answer = session.call(
        "spillgate_query",
        &json!({"handle": records, "filter": ".total"}),
    );
    assert!(
        answer.ends_with("5000\n") || answer.ends_with("5000"),
        "{answer}"
    );
    session.end();
}

#[test]
fn tools_are_listed_once_something_is_stored() {
    let tool = Tool::new();
    let config = tool.home().join("c.toml");
    std::fs::write(&config, "list_tools = \"when_stored\"\n").unwrap();
    let options = ["--config", config.to_str().unwrap()];
    let mut session = Session::start(&tool, &options, LARGE);
    session.send(1, "initialize", &json!({}));
    let greeting = session.receive();
    assert_eq!(
        greeting["result"]["capabilities"]["tools"]["listChanged"],
        true
    );
    session.send(2, "tools/list", &json!({}));
    assert_eq!(names(&session.receive()), ["big"]);
    session.send(3, "tools/call", &json!({"name": "big"}));
    let notice = session.receive();
    assert_eq!(notice["method"], "notifications/tools/list_changed");
    let result = session.receive();
    assert!(
        result["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .starts_with("[spillgate] big")
    );
    session.send(4, "tools/list", &json!({}));
    let list = session.receive();
    assert_eq!(
        names(&list),
        [
            "big",
            "spillgate_read",
            "spillgate_grep",
            "spillgate_query",
            "spillgate_search"
        ]
    );
    session.end();
    // The ledger contains the result and, once, the tokens of the definitions.
    let stats = tool.json(&["stats"], b"");
    let server = &stats["servers"]["sh"];
    let figure = |name: &str| server[name].as_i64().unwrap();
    assert_eq!(figure("offloaded"), 1);
    assert!((200..=500).contains(&figure("tokens_schema")), "{server}");
    assert_eq!(
        figure("tokens_saved"),
        figure("tokens_in")
            - figure("tokens_shown")
            - figure("tokens_retrieved")
            - figure("tokens_schema")
    );
}

#[test]
fn continuation_through_the_gateway() {
    let tool = Tool::new();
    let options = ["--profile", "continuation"];
    let mut session = Session::start(&tool, &options, LARGE);
    session.send(2, "tools/list", &json!({}));
    assert_eq!(names(&session.receive()).last(), Some(&"get_continuation"));
    session.send(3, "tools/call", &json!({"name": "big"}));
    let first = session.receive();
    let first = first["result"]["content"][0]["text"].as_str().unwrap();
    let (_, id) = first.rsplit_once("tool_call_id=\"").unwrap();
    let id = id.split('"').next().unwrap();
    let text: Vec<String> = (1..=20_000).map(|n| n.to_string()).collect();
    let text = text.join(",");
    let more = session.call(
        "get_continuation",
        &json!({"tool_call_id": id, "offset": "8000.0"}),
    );
    assert!(more.starts_with(&text[8000..12_000]), "{more:.200}");
    let unknown = session.call("get_continuation", &json!({"tool_call_id": "7"}));
    assert_eq!(
        unknown,
        "error: {\"error\": \"No cached result for tool_call_id '7'\"}"
    );
    session.end();
}

#[test]
fn a_rejected_result_is_an_error() {
    let tool = Tool::new();
    let options = ["--profile", "reject", "--max-tokens", "2500"];
    let mut session = Session::start(&tool, &options, LARGE);
    session.send(3, "tools/call", &json!({"name": "big"}));
    let result = session.receive()["result"].clone();
    assert_eq!(result["isError"], true);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with(
            "Error: Tool output (~27223 tokens) exceeds maximum allowed tokens (2500)."
        ),
        "{text}"
    );
    session.end();
}
